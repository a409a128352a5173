//! What is said of a keyed write, in `Server-Timing` and to Analytics Engine.

use super::{COUNTERS, OUTCOMES, Outcome};
use crate::http::context::Caller;
use crate::http::response::Answer;
use oncekey::Millis;
use platform::clock;
use worker::Env;
use worker::js_sys::{JSON, Reflect};
use worker::wasm_bindgen::{self, JsCast, JsValue, prelude::wasm_bindgen};

/// The binding of the dataset.
const BINDING: &str = "METRICS";

#[wasm_bindgen]
extern "C" {
    /// A dataset of Analytics Engine.
    type Dataset;

    #[wasm_bindgen(method, catch, js_name = writeDataPoint)]
    fn write_data_point(this: &Dataset, point: &JsValue) -> Result<(), JsValue>;
}

/// Counts a keyed write, and tells its caller how long what took.
pub(crate) fn tell(env: &Env, caller: &Caller, mut answer: Answer) -> Answer {
    let measure = &caller.measure;
    let replayed = answer.is_replay.then_some(Outcome::Replayed);
    let outcome = measure.outcome.get().or(replayed);
    let Some(outcome) = outcome.filter(|_| measure.is_keyed.get()) else {
        return answer;
    };
    let state = if answer.is_stored { answer.key_state.unwrap_or_default() } else { "not_stored" };
    COUNTERS.with_borrow_mut(|counters| counters.outcomes[outcome as usize] += 1);
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
    answer.headers.append("server-timing", timing);
    answer
}

/// What Analytics Engine gets of a request: outcome, class of status, state; and the times in
/// milliseconds. In JSON; none of the texts needs an escape.
fn point(outcome: &str, class: &str, state: &str, times: &[Option<Millis>; 3]) -> String {
    let [object, origin, total] = times.map(|time| time.map_or(0, Millis::as_u64));
    format!(
        r#"{{"indexes":["{outcome}"],"blobs":["{outcome}","{class}","{state}"],"doubles":[{object},{origin},{total}]}}"#
    )
}

fn dataset(env: &Env) -> Option<Dataset> {
    let bound = Reflect::get(env, &BINDING.into()).ok()?;
    bound.is_object().then(|| bound.unchecked_into())
}
