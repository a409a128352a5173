//! The memories of the gateways: a gateway reads its memory before it calls the first record.

use super::coverage::Milestone;
use super::gateway::{CurrentStep, RecordHandle};
use super::world::{Clock, World};
use oncekey::write_flow::{Event as FlowEvent, Identity};
use oncekey::{Attempt, Decision, KeyStatus, StoredResponse};

impl World<'_> {
    /// Returns the event by which the memory decides in place of the first record; `None` if only the record can decide.
    pub(super) fn recalls(&mut self, flow: u32) -> Option<FlowEvent> {
        if !self.settings.memory {
            return None;
        }
        let running = self.flows[flow as usize].as_deref()?;
        let (gateway, prints) = (running.request.gateway, running.prints);
        let RecordHandle { name, token, minted_at, policy } = running.first;
        let attempt = Attempt { fingerprints: prints, token, minted_at, policy: &policy };
        let (scoped, now) = (self.ledger.names[name].scoped, self.time(Clock::Gateway(gateway)));
        let recalled = self.rules.recall(&mut self.memories[gateway], scoped, &attempt, now);
        self.note(if recalled.is_some() { Milestone::Recalled } else { Milestone::NotRecalled });
        let step = recalled?;
        self.check_copy(name, &step.decision, now);
        self.log(|_| format!("write flow {flow}: the memory of gateway {gateway} has a copy"));
        Some(FlowEvent::Recalled(step.decision, step.status))
    }

    /// Keeps the response that the first record replays in its reply to `begin`.
    pub(super) fn keep_begun(
        &mut self,
        flow: u32,
        decision: &Decision,
        status: Option<&KeyStatus>,
    ) {
        let is_first =
            self.running(flow).is_some_and(|running| running.current == CurrentStep::BeginFirst);
        if let (Decision::Replay(response), true) = (decision, is_first) {
            self.keep(flow, response, status);
        }
    }

    /// Keeps a response that the first record has recorded or replayed.
    pub(super) fn keep(
        &mut self,
        flow: u32,
        response: &StoredResponse,
        status: Option<&KeyStatus>,
    ) {
        let Some(running) = self.flows[flow as usize].as_deref() else { return };
        let is_event = running.write.identity == Identity::Event;
        let Some(status) = status.filter(|_| self.settings.memory && !is_event) else { return };
        let (gateway, fingerprint) = (running.request.gateway, running.prints.signing());
        let scoped = self.ledger.names[running.first.name].scoped;
        let now = self.time(Clock::Gateway(gateway));
        let memory = &mut self.memories[gateway];
        self.rules.keep(memory, scoped, &fingerprint, response, status, now);
    }
}
