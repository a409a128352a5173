//! Counts how often responses were replayed since this object woke, for operators who look at a key.
//!
//! The counts are only in memory. A replay writes nothing, so a client that polls cannot fill the
//! database. Replays by a replica, or from an isolate's memory, are not counted.

use oncekey::UnixMillis;
use platform::json::writer::JsonObject;
use std::cell::RefCell;
use std::collections::HashMap;

/// How many keys are counted. Beyond that, the counts start again.
const MOST: usize = 4096;

pub(super) struct Replays {
    since: UnixMillis,
    of: RefCell<HashMap<Vec<u8>, Tally>>,
}

struct Tally {
    count: u32,
    last_at: UnixMillis,
}

impl Replays {
    pub(super) fn since(now: UnixMillis) -> Self {
        Self { since: now, of: RefCell::default() }
    }

    pub(super) fn note(&self, name: &[u8], now: UnixMillis) {
        let mut of = self.of.borrow_mut();
        if of.len() >= MOST && !of.contains_key(name) {
            of.clear();
        }
        let tally = of.entry(name.to_vec()).or_insert(Tally { count: 0, last_at: now });
        tally.count = tally.count.saturating_add(1);
        tally.last_at = now;
    }

    /// Returns `{"count","last_at","since"}`, if there were any replays.
    pub(super) fn shown(&self, name: &[u8]) -> Option<String> {
        let of = self.of.borrow();
        let tally = of.get(name)?;
        let json = JsonObject::new().integer("count", tally.count.into());
        Some(json.time("last_at", tally.last_at).time("since", self.since).finish())
    }
}
