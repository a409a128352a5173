//! The replica: a read returns any copy that was ever written, or nothing.

use super::requests;
use super::{Action, World};
use crate::config::{Clock, Scene};
use crate::reached::Milestone;
use oncekey::write_flow::{Action as FlowAction, Event as FlowEvent, Identity, Target};
use oncekey::{Attempt, Decision};

impl World {
    pub(super) fn readings(&self, scene: &Scene, at: u8, nothing: bool, actions: &mut Vec<Action>) {
        if !scene.config.replica {
            return;
        }
        let copies = self.shelves[usize::from(self.running[usize::from(at)].first)].copies.len();
        let newest = copies.checked_sub(1).map(|newest| newest as u8);
        if nothing && (newest.is_none() || self.left.stale_reads > 0) {
            actions.push(Action::ReplicaReplies { running: at, copy: None });
        }
        for copy in 0..copies as u8 {
            if Some(copy) == newest || self.left.stale_reads > 0 {
                actions.push(Action::ReplicaReplies { running: at, copy: Some(copy) });
            }
        }
    }

    pub(super) fn replica_replies(&mut self, scene: &Scene, at: u8, copy: Option<u8>) {
        let running = &self.running[usize::from(at)];
        let shelf = &self.shelves[usize::from(running.first)];
        let is_stale = copy.map_or(0, |copy| usize::from(copy) + 1) < shelf.copies.len();
        let policy = scene.config.gateways[usize::from(running.request.gateway)].policy;
        let policy = match running.request.identity {
            Identity::BusinessKey => scene.rules.of_business_keys(policy),
            _ => policy,
        };
        let attempt = Attempt {
            fingerprints: running.request.fingerprints(),
            token: requests::token(running.number, Target::First),
            minted_at: running.request.minted_at,
            policy: &policy,
        };
        let now = self.time_at(Clock::Gateway(running.request.gateway));
        let read = copy.map(|copy| (*shelf.copies[usize::from(copy)]).clone());
        let step = read.and_then(|copy| scene.rules.verify(copy, &attempt, now));
        scene.reached.note(match (&step, copy) {
            (Some(_), _) => Milestone::ReplicaGave,
            (None, Some(_)) => Milestone::CopyNotVerified,
            (None, None) => Milestone::ReplicaHadNothing,
        });
        let (number, waits) = (running.number, matches!(running.doing, FlowAction::Begin(_)));
        if let Some(Decision::Replay(response)) = step.as_ref().map(|step| &step.decision) {
            self.witness_copy(scene, usize::from(at), response);
        }
        self.left.stale_reads -= u8::from(is_stale && self.left.stale_reads > 0);
        match step {
            Some(step) => {
                self.on_event(scene, number, FlowEvent::Copied(Some((step.decision, step.status))));
            }
            // The gateway still waits for the object.
            None if waits => {}
            None => self.on_event(scene, number, FlowEvent::Copied(None)),
        }
    }
}
