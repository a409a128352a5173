//! Counts and latencies of keyed writes: in `Server-Timing`, in Analytics Engine where a dataset is
//! bound, and as members of `/_oncekey/health` for an operator. None of them tells a key, a tenant or
//! a path.
//!
//! An isolate knows what it has served itself since it began, and nothing of the others. On the
//! platform time stands still while code computes, so what is measured is waiting.

mod report;

pub(crate) use report::tell;

use crate::http::body_budget;
use oncekey::{Millis, Rejection, UnixMillis};
use platform::json::writer::Shown;
use platform::{clock, random};
use std::cell::{Cell, RefCell};

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

/// What is counted and timed of one request.
pub(crate) struct Measure {
    began_at: UnixMillis,
    is_keyed: Cell<bool>,
    outcome: Cell<Option<Outcome>>,
    object: Cell<Option<Millis>>,
    origin: Cell<Option<Millis>>,
}

/// What an isolate has counted since it began.
#[derive(Default)]
struct Counters {
    isolate: String,
    outcomes: [u64; OUTCOMES.len()],
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
    }

    pub(crate) fn refused(&self, rejection: &Rejection) {
        self.became(match rejection {
            Rejection::OfBusinessKey { why, .. } => return self.refused(why),
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

/// What this isolate has counted, and what it holds now: `{"id","keyed_writes":{…},"held_bytes":{…}}`.
pub(crate) fn isolate() -> String {
    let held = body_budget::held();
    let held =
        held.into_iter().fold(Shown::new(), |all, (of, bytes)| all.integer(of, bytes as i64));
    COUNTERS.with_borrow_mut(|counters| {
        if counters.isolate.is_empty() {
            counters.isolate = random::id::<4>("");
        }
        let counts = OUTCOMES.iter().zip(counters.outcomes);
        let counts =
            counts.fold(Shown::new(), |all, (name, count)| all.integer(name, count as i64));
        let shown = Shown::new().text("id", &counters.isolate);
        shown.json("keyed_writes", &counts.finish()).json("held_bytes", &held.finish()).finish()
    })
}
