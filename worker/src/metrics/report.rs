//! Reports each keyed write in `Server-Timing` and to Analytics Engine.

use super::COUNTERS;
use crate::http::context::Caller;
use crate::http::response::HttpResponse;
use oncekey::write_result::WriteResult;
use platform::clock;

/// Counts a keyed write, and tells its caller how long each part took.
pub(crate) fn report(caller: &Caller, mut response: HttpResponse) -> HttpResponse {
    let measure = &caller.measure;
    let replayed = response.is_replay.then_some(WriteResult::Replayed);
    let result = measure.result.get().or(replayed);
    let Some(result) = result.filter(|_| measure.is_keyed.get()) else {
        return response;
    };
    let state =
        if response.is_stored { response.key_state.unwrap_or_default() } else { "not_stored" };
    COUNTERS.with_borrow_mut(|counters| counters.results[result as usize] += 1);
    let total = clock::now().since(measure.began_at);
    let times =
        [("store", measure.object.get()), ("origin", measure.origin.get()), ("total", Some(total))];
    if caller.config.has_metrics {
        let blobs = format!("{}\n{}xx\n{state}", result.label(), response.status / 100);
        let [store, origin, total] =
            times.map(|(_, time)| time.map_or(0.0, |time| time.as_u64() as f64));
        caller.bridge.write_point(&blobs, store, origin, total);
    }
    let timing =
        times.into_iter().filter_map(|(name, time)| time.map(|time| (name, time.as_u64())));
    let timing: Vec<_> = timing.map(|(name, millis)| format!("{name};dur={millis}")).collect();
    // The origin may have sent a `Server-Timing` of its own.
    response.headers.append("server-timing", timing.join(", "));
    response
}
