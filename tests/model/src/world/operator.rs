//! Operators, who settle unknown outcomes truthfully, and callers who void their keys.

use super::network::Message;
use super::witness::Change;
use super::{Action, World};
use crate::config::Scene;
use crate::reached::Milestone;
use oncekey::{KeyState, Settlement, Settling};

impl World {
    pub(super) fn settlements(&self, scene: &Scene, actions: &mut Vec<Action>) {
        if self.left.settlements > 0 {
            for at in 0..self.shelves.len() as u8 {
                if self.is_unknown(scene, at) && self.truth(at).is_some() {
                    actions.push(Action::Settle(at));
                }
            }
        }
        if self.left.voids > 0 {
            let callers = scene.config.callers.iter().enumerate();
            let with_key = callers.filter(|(_, caller)| caller.key.is_some());
            actions.extend(with_key.map(|(at, _)| Action::Void(at as u8)));
        }
    }

    pub(super) fn is_unknown(&self, scene: &Scene, at: u8) -> bool {
        let shelf = &self.shelves[usize::from(at)];
        let now = self.shelf_time(scene, shelf);
        let status = shelf.record.as_ref().and_then(|record| record.status(now));
        status.is_some_and(|status| status.state == KeyState::Unknown)
    }

    /// Returns what became of a record's request, if that is certain. While a message in the network may still execute
    /// the request, an operator must wait.
    pub(super) fn truth(&self, shelf: u8) -> Option<Settlement> {
        if let Some(response) = self.found(shelf) {
            return Some(Settlement::Executed(response));
        }
        (!self.may_execute(shelf)).then_some(Settlement::NotExecuted)
    }

    /// Returns whether a message in the network may execute a request under this record.
    pub(super) fn may_execute(&self, shelf: u8) -> bool {
        let runs = self.running.iter().any(|r| r.is_of(shelf) && r.may_execute());
        let travels = self.net.iter().any(|message| match message {
            Message::ToOrigin { first, business_key, .. } => {
                *first == shelf || *business_key == Some(shelf)
            }
            _ => false,
        });
        runs || travels
    }

    pub(super) fn settle(&mut self, scene: &Scene, shelf: u8) {
        self.left.settlements -= 1;
        self.settle_truly(scene, shelf);
    }

    /// Settles a record truthfully. Returns whether there was an unknown outcome to settle.
    pub(super) fn settle_truly(&mut self, scene: &Scene, shelf: u8) -> bool {
        let Some(settlement) = self.truth(shelf) else { return false };
        let now = self.object_time(scene, shelf);
        let record = self.shelves[usize::from(shelf)].record.as_deref().cloned();
        let step = scene.rules.settle(record, settlement, now);
        let is_settled = step.decision == Settling::Settled;
        scene.reached.note(if is_settled { Milestone::Settled } else { Milestone::NotUnknown });
        let (next, has_row) = (step.next, step.change.is_some());
        self.change(scene, shelf, next, has_row, Change::Settled, now);
        is_settled
    }

    pub(super) fn void(&mut self, scene: &Scene, caller: u8) {
        self.left.voids -= 1;
        let shelf = self.shelf_of(scene, caller);
        let caller = &scene.config.callers[usize::from(caller)];
        self.void_key(scene, shelf, caller.timed.then_some(super::START));
    }
}
