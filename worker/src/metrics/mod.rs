//! Counts and latencies of keyed writes: in the isolate's memory, in `Server-Timing`, and, where a
//! dataset is bound, in Analytics Engine. None of them tells a key, a tenant or a path.
//!
//! An isolate knows what it has served itself since it began, and nothing of the others. On the
//! platform time stands still while code computes, so what is measured is waiting.

mod page;
mod report;

pub(crate) use page::page;
pub(crate) use report::tell;

use oncekey::{Millis, Rejection, UnixMillis};
use platform::clock;
use std::cell::{Cell, RefCell};

/// Upper bounds of latencies in milliseconds, and how they are spelt in seconds.
const BOUNDS: [(u64, &str); 11] = [
    (5, "0.005"),
    (10, "0.01"),
    (25, "0.025"),
    (50, "0.05"),
    (100, "0.1"),
    (250, "0.25"),
    (500, "0.5"),
    (1000, "1"),
    (2500, "2.5"),
    (10_000, "10"),
    (25_000, "25"),
];

/// What became of a keyed write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The origin was called.
    Executed,
    Replayed,
    InProgress,
    Mismatched,
    /// An earlier outcome is unknown, and the key is held.
    Unknown,
    NotReplayable,
    Voided,
    Expired,
    StoreDown,
    Overloaded,
    /// The request itself was wrong.
    Refused,
    Failed,
}

/// The labels of outcomes, in their order.
const OUTCOMES: [&str; 12] = [
    "executed",
    "replayed",
    "in_progress",
    "mismatched",
    "unknown",
    "not_replayable",
    "voided",
    "expired",
    "store_down",
    "overloaded",
    "refused",
    "failed",
];

/// How the key of an executed write stands afterwards. The last is for answers that are not stored.
const STATES: [&str; 7] =
    ["completed", "unknown", "released", "in_progress", "voided", "expired", "not_stored"];

/// What is counted and timed of one request.
pub(crate) struct Measure {
    began_at: UnixMillis,
    is_keyed: Cell<bool>,
    outcome: Cell<Option<Outcome>>,
    object: Cell<Option<Millis>>,
    origin: Cell<Option<Millis>>,
}

#[derive(Default)]
struct Histogram {
    /// How many were within each bound and beyond the one before; the last are beyond all.
    counts: [u64; BOUNDS.len() + 1],
    sum: u64,
}

#[derive(Default)]
struct Counters {
    isolate: String,
    outcomes: [u64; OUTCOMES.len()],
    states: [u64; STATES.len()],
    object: Histogram,
    origin: Histogram,
}

thread_local! {
    static COUNTERS: RefCell<Counters> = RefCell::default();
}

impl Measure {
    pub(crate) fn begin() -> Self {
        Self {
            began_at: clock::now(),
            is_keyed: Cell::new(false),
            outcome: Cell::new(None),
            object: Cell::new(None),
            origin: Cell::new(None),
        }
    }

    /// The request is one that is executed once: it counts.
    pub(crate) fn counts(&self) {
        self.is_keyed.set(true);
    }

    /// The origin was called and has answered, or not, after this time.
    pub(crate) fn executed(&self, length: Millis) {
        self.became(Outcome::Executed);
        self.origin.set(Some(length));
        COUNTERS.with_borrow_mut(|counters| counters.origin.add(length));
    }

    pub(crate) fn refused(&self, rejection: &Rejection) {
        self.became(match rejection {
            Rejection::OfNumber { why, .. } => return self.refused(why),
            Rejection::Mismatch => Outcome::Mismatched,
            Rejection::InProgress => Outcome::InProgress,
            Rejection::OutcomeUnknown => Outcome::Unknown,
            Rejection::NotReplayable { .. } => Outcome::NotReplayable,
            Rejection::KeyVoided => Outcome::Voided,
            Rejection::KeyExpired => Outcome::Expired,
            Rejection::StoreUnavailable | Rejection::TooLateToDispatch => Outcome::StoreDown,
            Rejection::Overloaded => Outcome::Overloaded,
            Rejection::RecordUnreadable | Rejection::Internal => Outcome::Failed,
            _ => Outcome::Refused,
        });
    }

    pub(crate) fn waited_for_object(&self, length: Millis) {
        let earlier = self.object.get().unwrap_or(Millis::new(0));
        self.object.set(Some(earlier.plus(length)));
    }

    /// The first counts: what an attempt that executed is told later is no outcome of its own.
    fn became(&self, outcome: Outcome) {
        self.outcome.set(self.outcome.get().or(Some(outcome)));
    }
}

/// An object has answered a call.
pub(crate) fn object_answered(length: Millis) {
    COUNTERS.with_borrow_mut(|counters| counters.object.add(length));
}

impl Histogram {
    fn add(&mut self, length: Millis) {
        let length = length.as_u64();
        let place = BOUNDS.iter().position(|(bound, _)| length <= *bound);
        self.counts[place.unwrap_or(BOUNDS.len())] += 1;
        self.sum += length;
    }
}
