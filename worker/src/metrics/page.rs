//! The counters of this isolate as a page for Prometheus.

use super::{BOUNDS, COUNTERS, Counters, Histogram, OUTCOMES, STATES};
use crate::http::body_budget;
use crate::http::context::Caller;
use crate::http::response::Answer;
use platform::random;

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
        for (of, bytes) in body_budget::held() {
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
