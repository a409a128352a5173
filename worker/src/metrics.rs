//! Counts and latencies of keyed writes: in the isolate's memory, in `Server-Timing`, and, where a
//! dataset is bound, in Analytics Engine. None of them tells a key, a tenant or a path.
//!
//! An isolate knows what it has served itself since it began, and nothing of the others. On the
//! platform time stands still while code computes, so what is measured is waiting.

use crate::answer::Answer;
use crate::budget;
use crate::clock;
use crate::context::Caller;
use crate::random;
use oncekey::{Millis, Rejection, UnixMillis};
use std::cell::{Cell, RefCell};
use worker::Env;
use worker::js_sys::{JSON, Reflect};
use worker::wasm_bindgen::{self, JsCast, JsValue, prelude::wasm_bindgen};

/// The binding of the dataset.
const BINDING: &str = "METRICS";

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

#[wasm_bindgen]
extern "C" {
    /// A dataset of Analytics Engine.
    type Dataset;

    #[wasm_bindgen(method, catch, js_name = writeDataPoint)]
    fn write_data_point(this: &Dataset, point: &JsValue) -> Result<(), JsValue>;
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

/// Counts a keyed write, and tells its caller how long what took.
pub(crate) fn tell(env: &Env, caller: &Caller, mut answer: Answer) -> Answer {
    let measure = &caller.measure;
    let replayed = answer.header("idempotent-replayed").map(|_| Outcome::Replayed);
    let outcome = measure.outcome.get().or(replayed);
    let Some(outcome) = outcome.filter(|_| measure.is_keyed.get()) else {
        return answer;
    };
    let is_executed = outcome == Outcome::Executed;
    let state = match answer.header("idempotency-state") {
        _ if answer.header("idempotency-stored").is_some() => "not_stored",
        state => state.unwrap_or_default(),
    };
    COUNTERS.with_borrow_mut(|counters| {
        counters.outcomes[outcome as usize] += 1;
        let place = STATES.iter().position(|known| *known == state);
        if let Some(place) = place.filter(|_| is_executed) {
            counters.states[place] += 1;
        }
    });
    let total = clock::now().since(measure.began_at);
    let times =
        [("store", measure.object.get()), ("origin", measure.origin.get()), ("total", Some(total))];
    let label = OUTCOMES[outcome as usize];
    if let Some(dataset) = dataset(env) {
        let class = (answer.status / 100).to_string();
        let point = point(label, &[&class, "xx"].concat(), state, &times.map(|(_, time)| time));
        // A text of ours is JSON, and that the dataset takes no point is no failure.
        let _ = JSON::parse(&point).and_then(|point| dataset.write_data_point(&point));
    }
    let mut timing = String::new();
    for (name, time) in times {
        if let Some(time) = time {
            let comma = if timing.is_empty() { "" } else { ", " };
            timing.extend([comma, name, ";dur=", &time.as_u64().to_string()]);
        }
    }
    // Beside what the origin says of itself.
    answer.headers.push(("server-timing".to_owned(), timing));
    answer
}

/// What Analytics Engine gets of a request: outcome, class of status, state; and the times in
/// milliseconds. In JSON; none of the texts needs an escape.
fn point(outcome: &str, class: &str, state: &str, times: &[Option<Millis>; 3]) -> String {
    let texts = ["\"", outcome, "\",\"", class, "\",\"", state, "\""].concat();
    let times = times.map(|time| time.map_or(0, Millis::as_u64).to_string()).join(",");
    let parts =
        ["{\"indexes\":[\"", outcome, "\"],\"blobs\":[", &texts, "],\"doubles\":[", &times, "]}"];
    parts.concat()
}

/// The counters in the text format of Prometheus.
pub(crate) fn page(caller: &Caller) -> Answer {
    let text = COUNTERS.with_borrow_mut(|counters| {
        if counters.isolate.is_empty() {
            counters.isolate = random::id::<4>("");
        }
        counters.text()
    });
    let mut answer = caller.json(200, text.into_bytes());
    answer.set("content-type", "text/plain; version=0.0.4; charset=utf-8");
    answer
}

/// The names of what is counted and what is timed, each with what it says.
const WRITES: [&str; 3] = [
    "oncekey_keyed_writes_total",
    "Keyed writes that this isolate answered, by what became of them.",
    ",outcome=\"",
];
const EXECUTIONS: [&str; 3] = [
    "oncekey_executions_total",
    "Executed writes, by how their key stood afterwards.",
    ",state=\"",
];
const HELD: [&str; 3] = [
    "oncekey_held_bytes",
    "Bytes of bodies that this isolate holds now; beyond its limits it answers 503.",
    ",of=\"",
];
const OBJECT: [&str; 2] =
    ["oncekey_object_seconds", "How long Durable Objects took to answer a call."];
const ORIGIN: [&str; 2] =
    ["oncekey_origin_seconds", "How long the origin took to answer, its body included."];

impl Counters {
    fn text(&self) -> String {
        let mut text = String::new();
        self.counts(&mut text, WRITES, &OUTCOMES, &self.outcomes);
        self.counts(&mut text, EXECUTIONS, &STATES, &self.states);
        head(&mut text, HELD[0], HELD[1], "gauge");
        for (of, bytes) in budget::held() {
            self.sample(&mut text, [HELD[0], ""], [HELD[2], of, "\""], bytes);
        }
        self.latencies(&mut text, OBJECT, &self.object);
        self.latencies(&mut text, ORIGIN, &self.origin);
        text
    }

    fn counts(
        &self,
        text: &mut String,
        [name, help, label]: [&str; 3],
        values: &[&str],
        counts: &[u64],
    ) {
        head(text, name, help, "counter");
        for (value, count) in values.iter().zip(counts) {
            self.sample(text, [name, ""], [label, value, "\""], *count);
        }
    }

    fn latencies(&self, text: &mut String, [name, help]: [&str; 2], histogram: &Histogram) {
        head(text, name, help, "histogram");
        let mut within = 0;
        for (place, count) in histogram.counts.iter().enumerate() {
            within += count;
            let bound = BOUNDS.get(place).map_or("+Inf", |(_, bound)| bound);
            self.sample(text, [name, "_bucket"], [",le=\"", bound, "\""], within);
        }
        self.sample(text, [name, "_count"], [""; 3], within);
        // Seconds with three decimals.
        let millis = (histogram.sum % 1000 + 1000).to_string();
        self.sample(text, [name, "_sum"], [""; 3], histogram.sum / 1000);
        text.truncate(text.len() - 1);
        text.extend([".", &millis[1..], "\n"]);
    }

    /// Each isolate has series of its own: they would contradict each other otherwise.
    fn sample(&self, text: &mut String, name: [&str; 2], label: [&str; 3], value: u64) {
        text.extend(name);
        text.extend(["{isolate=\"", &self.isolate, "\""]);
        text.extend(label);
        text.extend(["} ", &value.to_string(), "\n"]);
    }
}

fn head(text: &mut String, name: &str, help: &str, kind: &str) {
    text.extend(["# HELP ", name, " ", help, "\n# TYPE ", name, " ", kind, "\n"]);
}

impl Histogram {
    fn add(&mut self, length: Millis) {
        let length = length.as_u64();
        let place = BOUNDS.iter().position(|(bound, _)| length <= *bound);
        self.counts[place.unwrap_or(BOUNDS.len())] += 1;
        self.sum += length;
    }
}

fn dataset(env: &Env) -> Option<Dataset> {
    let bound = Reflect::get(env, &BINDING.into()).ok()?;
    bound.is_object().then(|| bound.unchecked_into())
}
