//! The gateways' calls to a shard, which are repeated when they fail (as in `worker/src/shard/client.rs`).

use super::coverage::Milestone;
use super::gateway::Purpose;
use super::message::Event;
use super::shard::{Reply, ShardMessage, ShardOperation};
use super::world::World;
use std::rc::Rc;

/// A call that is repeated until it gets a reply.
pub(super) struct ShardCall {
    pub(super) gateway: usize,
    name: usize,
    operation: Rc<ShardOperation>,
    patience: Patience,
    attempt: u8,
    pub(super) purpose: Purpose,
}

/// How often a call is made, how long each try may take, and the pause before the next try, which grows.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    tries: u8,
    each: u64,
    pause: u64,
}

impl Patience {
    pub(super) fn within(whole: u64) -> Self {
        Self { tries: 3, each: whole / 3, pause: (whole / 50).min(50) }
    }

    pub(super) const fn after_execution() -> Self {
        Self { tries: 4, each: 4_000, pause: 150 }
    }

    pub(super) const fn in_background() -> Self {
        Self { tries: 6, each: 4_000, pause: 400 }
    }
}

impl World<'_> {
    pub(super) fn call(
        &mut self,
        gateway: usize,
        name: usize,
        operation: ShardOperation,
        patience: Patience,
        purpose: Purpose,
    ) {
        let operation = Rc::new(operation);
        let call = ShardCall { gateway, name, operation, patience, attempt: 1, purpose };
        let number = self.calls.len() as u32;
        self.calls.push(Some(Box::new(call)));
        self.try_once(number);
    }

    fn try_once(&mut self, number: u32) {
        let Some(call) = &self.calls[number as usize] else { return };
        let (attempt, each) = (call.attempt, call.patience.each);
        let (name, operation) = (call.name, Rc::clone(&call.operation));
        let message = ShardMessage { call: number, attempt, name, operation, sent_at: self.now };
        self.later(each, Event::TryIsOver { call: number, attempt });
        let after = self.transit();
        if !self.goes_wrong(self.settings.fault_rates.calls) {
            return self.later(after, Event::AtShard(Box::new(message)));
        }
        match self.choices.below(3) {
            0 => {
                self.note(Milestone::CallLost);
                self.log(|_| "  a call to a shard is lost".to_owned());
            }
            1 => {
                self.note(Milestone::CallDoubled);
                self.log(|_| "  a call to a shard is sent twice".to_owned());
                let again = self.lateness();
                self.later(after, Event::AtShard(Box::new(message.clone())));
                self.later(again, Event::AtShard(Box::new(message)));
            }
            _ => {
                self.note(Milestone::CallLate);
                self.log(|_| "  a call to a shard will be late".to_owned());
                let after = self.lateness();
                self.later(after, Event::AtShard(Box::new(message)));
            }
        }
    }

    /// Handles the reply to a try. After an error, the call is made again.
    pub(super) fn replied(&mut self, number: u32, attempt: u8, reply: Option<Rc<Reply>>) {
        let Some(call) = &self.calls[number as usize] else { return };
        // A reply to an earlier try is ignored, because the gateway no longer waits for that try.
        if call.attempt != attempt {
            return;
        }
        match reply.as_deref() {
            None | Some(Reply::NotStored) => self.try_is_over(number, attempt),
            Some(_) => {
                if let Some(call) = self.calls[number as usize].take() {
                    self.call_ended(call.purpose, reply);
                }
            }
        }
    }

    pub(super) fn try_is_over(&mut self, number: u32, attempt: u8) {
        let Some(call) = &mut self.calls[number as usize] else { return };
        if call.attempt != attempt {
            return;
        }
        if attempt < call.patience.tries {
            // A late reply to this try is ignored.
            call.attempt += 1;
            let pause = call.patience.pause * u64::from(attempt);
            let attempt = call.attempt;
            self.later(pause, Event::TryAgain { call: number, attempt });
        } else if let Some(call) = self.calls[number as usize].take() {
            self.call_ended(call.purpose, None);
        }
    }

    pub(super) fn try_again(&mut self, number: u32, attempt: u8) {
        let is_due =
            self.calls[number as usize].as_ref().is_some_and(|call| call.attempt == attempt);
        if is_due {
            self.try_once(number);
        }
    }
}
