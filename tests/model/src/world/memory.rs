//! The memories of the gateways: a gateway reads its memory before it calls the first record.

use super::World;
use super::requests;
use crate::config::{Clock, Scene};
use crate::reached::Milestone;
use oncekey::replica::Memory;
use oncekey::write_flow::{Event as FlowEvent, Identity, Target};
use oncekey::{Attempt, Decision, KeyStatus, StoredResponse};

impl World {
    /// Returns the event by which the memory decides in place of the first record; `None` if only the record can decide.
    pub(super) fn recalls(&mut self, scene: &Scene, at: usize, of: Target) -> Option<FlowEvent> {
        let running = &self.running[at];
        let request = running.request;
        if !scene.config.memory || of != Target::First || request.identity == Identity::Event {
            return None;
        }
        let policy = scene.config.gateways[usize::from(request.gateway)].policy;
        let policy = match request.identity {
            Identity::BusinessKey => scene.rules.of_business_keys(policy),
            _ => policy,
        };
        let attempt = Attempt {
            fingerprints: request.fingerprints(),
            token: requests::token(running.number, Target::First),
            minted_at: request.minted_at,
            policy: &policy,
        };
        let name = self.shelves[usize::from(running.first)].name;
        let now = self.time_at(Clock::Gateway(request.gateway));
        let memory = &mut self.memories[usize::from(request.gateway)];
        let Some(step) = scene.rules.recall(memory, name, &attempt, now) else {
            scene.reached.note(Milestone::NotRecalled);
            return None;
        };
        scene.reached.note(Milestone::Recalled);
        if let Decision::Replay(response) = &step.decision {
            self.witness_copy(scene, at, response);
        }
        Some(FlowEvent::Recalled(step.decision, step.status))
    }

    /// Keeps a response that the first record has recorded or replayed.
    pub(super) fn keep(
        &mut self,
        scene: &Scene,
        at: usize,
        response: &StoredResponse,
        status: &KeyStatus,
    ) {
        let running = &self.running[at];
        if !scene.config.memory || running.request.identity == Identity::Event {
            return;
        }
        let fingerprint = &running.request.fingerprints().signing();
        let name = self.shelves[usize::from(running.first)].name;
        let now = self.time_at(Clock::Gateway(running.request.gateway));
        let memory = &mut self.memories[usize::from(running.request.gateway)];
        scene.rules.keep(memory, name, fingerprint, response, status, now);
    }

    /// Runs before a response is recorded.
    pub(super) fn keep_early(
        &mut self,
        scene: &Scene,
        at: usize,
        of: Target,
        response: &StoredResponse,
    ) {
        let running = &self.running[at];
        if !scene.config.memory || of != Target::First {
            return;
        }
        let fingerprint = &running.request.fingerprints().signing();
        let name = self.shelves[usize::from(running.first)].name;
        let now = self.time_at(Clock::Gateway(running.request.gateway));
        let memory = &mut self.memories[usize::from(running.request.gateway)];
        scene.rules.keep_early(memory, name, fingerprint, response, now);
    }

    /// Empties the memory of a gateway, whose isolate has ended.
    pub(super) fn forget(&mut self, gateway: u8) {
        self.memories[usize::from(gateway)] = Memory::new();
    }
}
