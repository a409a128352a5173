//! Counts and latencies of keyed writes: in `Server-Timing`, in Analytics Engine where a dataset is
//! bound, and in `/_oncekey/health` for an operator. They name no key, tenant or path.
//!
//! An isolate counts only what it served itself since it began. The platform's clock stands still
//! while code computes, so the latencies are times of waiting.

mod report;

pub(crate) use report::report;

use crate::gateway::memory;
use crate::http::body_budget;
use oncekey::write_result::WriteResult;
use oncekey::{Millis, UnixMillis};
use platform::json::writer::JsonObject;
use platform::{clock, random};
use std::cell::{Cell, RefCell};

/// The counts and times of one request.
pub(crate) struct Measure {
    began_at: UnixMillis,
    is_keyed: Cell<bool>,
    result: Cell<Option<WriteResult>>,
    object: Cell<Option<Millis>>,
    origin: Cell<Option<Millis>>,
}

/// The counts of an isolate since it began.
#[derive(Default)]
struct Counters {
    isolate: String,
    results: [u64; WriteResult::LABELS.len()],
}

thread_local! {
    static COUNTERS: RefCell<Counters> = RefCell::default();
}

impl Measure {
    pub(crate) fn begin() -> Self {
        Self {
            began_at: clock::now(),
            is_keyed: Cell::new(false),
            result: Cell::new(None),
            object: Cell::new(None),
            origin: Cell::new(None),
        }
    }

    /// Notes that the request is keyed, so that it counts.
    pub(crate) fn counts(&self) {
        self.is_keyed.set(true);
    }

    /// Notes that the origin was called, and how long the call took.
    pub(crate) fn executed(&self, length: Millis) {
        self.ended(WriteResult::Executed);
        self.origin.set(Some(length));
    }

    pub(crate) fn waited_for_object(&self, length: Millis) {
        let earlier = self.object.get().unwrap_or(Millis::new(0));
        self.object.set(Some(earlier.plus(length)));
    }

    /// Notes the result of the request. Only the first result counts: after an execution, nothing else
    /// is one.
    pub(crate) fn ended(&self, result: WriteResult) {
        self.result.set(self.result.get().or(Some(result)));
    }
}

/// Returns what this isolate has counted and what it holds now: `{"id","keyed_writes":{…},"held_bytes":{…}}`.
pub(crate) fn isolate() -> String {
    let held = body_budget::held();
    let held = held.into_iter().chain([("memory", memory::held())]);
    let held = held.fold(JsonObject::new(), |all, (of, bytes)| all.integer(of, bytes as i64));
    COUNTERS.with_borrow_mut(|counters| {
        if counters.isolate.is_empty() {
            counters.isolate = random::id::<4>("");
        }
        let counts = WriteResult::LABELS.iter().zip(counters.results);
        let counts =
            counts.fold(JsonObject::new(), |all, (name, count)| all.integer(name, count as i64));
        let json = JsonObject::new().text("id", &counters.isolate);
        json.json("keyed_writes", &counts.finish()).json("held_bytes", &held.finish()).finish()
    })
}
