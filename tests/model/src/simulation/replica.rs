//! The replica, which is eventually consistent and slow, and may lack copies that were written. It stores bytes.

use super::coverage::Milestone;
use super::message::Event;
use super::world::World;
use oncekey::{Millis, Record};
use std::rc::Rc;

/// How long a gateway waits for a read.
const PATIENCE: u64 = 1_000;
/// How long a location may return copies that have expired.
const STALE: u64 = 1_200_000;

#[derive(Default)]
pub(super) struct Replica(Vec<Copy>);

struct Copy {
    name: usize,
    bytes: Rc<[u8]>,
    until: u64,
}

impl World<'_> {
    pub(super) fn put_copy(&mut self, name: usize, record: &Record, left: Millis) {
        let (bytes, left) = (record.encode().into(), left.as_u64() / 1000 * 1000);
        if self.goes_wrong(self.settings.fault_rates.replica) {
            if self.choices.below(2) == 0 {
                self.note(Milestone::CopyLost);
                return;
            }
            let after = self.lateness();
            self.later(after, Event::CopyArrives { name, bytes, left });
        } else {
            self.later(20, Event::CopyArrives { name, bytes, left });
        }
    }

    pub(super) fn copy_arrives(&mut self, name: usize, bytes: Rc<[u8]>, left: u64) {
        let until = self.now + left;
        self.log(|world| format!("the replica has a copy of {}", world.ledger.names[name].label));
        match self.replica.0.iter_mut().find(|copy| copy.name == name) {
            Some(copy) => (copy.bytes, copy.until) = (bytes, until),
            None => self.replica.0.push(Copy { name, bytes, until }),
        }
    }

    pub(super) fn ask_replica(&mut self, flow: u32, step: u8, name: usize) {
        let (mut after, mut is_stale) = (self.transit(), false);
        if !self.settings.replica {
            return self.later(0, Event::Copied { flow, step, bytes: None });
        }
        if self.goes_wrong(self.settings.fault_rates.replica) {
            match self.choices.below(4) {
                0 => {
                    self.note(Milestone::KvNegative);
                    return self.later(after, Event::Copied { flow, step, bytes: None });
                }
                1 => {
                    self.note(Milestone::KvSlow);
                    return self.later(PATIENCE, Event::Copied { flow, step, bytes: None });
                }
                2 => {
                    self.note(Milestone::KvDown);
                    after = 1;
                    return self.later(after, Event::Copied { flow, step, bytes: None });
                }
                _ => is_stale = true,
            }
        }
        let now = self.now;
        let copy = self.replica.0.iter().find(|copy| copy.name == name);
        let alive = copy.filter(|copy| now < copy.until + if is_stale { STALE } else { 0 });
        let has_expired = alive.is_some_and(|copy| copy.until <= now);
        let bytes = alive.map(|copy| Rc::clone(&copy.bytes));
        if has_expired {
            self.note(Milestone::KvStale);
        }
        self.later(after, Event::Copied { flow, step, bytes });
    }
}
