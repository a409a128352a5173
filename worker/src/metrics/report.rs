//! Reports each keyed write in `Server-Timing` and to Analytics Engine.

use super::COUNTERS;
use crate::http::context::Caller;
use crate::http::response::HttpResponse;
use oncekey::Millis;
use oncekey::write_result::WriteResult;
use platform::clock;
use worker::AnalyticsEngineDataPointBuilder;

/// The binding of the dataset.
const BINDING: &str = "METRICS";

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
    // A dataset that is missing, or that refuses a data point, is not an error.
    if let Ok(dataset) = caller.env.analytics_engine(BINDING) {
        let label = result.label();
        let point = AnalyticsEngineDataPointBuilder::new().indexes([label]).add_blob(label);
        let point = point.add_blob(format!("{}xx", response.status / 100)).add_blob(state);
        let millis =
            |(_, time): (&str, Option<Millis>)| time.map_or(0.0, |time| time.as_u64() as f64);
        let point = times.into_iter().map(millis).fold(point, |point, time| point.add_double(time));
        let _ = dataset.write_data_point(&point.build());
    }
    let timing =
        times.into_iter().filter_map(|(name, time)| time.map(|time| (name, time.as_u64())));
    let timing: Vec<_> = timing.map(|(name, millis)| format!("{name};dur={millis}")).collect();
    // The origin may have sent a `Server-Timing` of its own.
    response.headers.append("server-timing", timing.join(", "));
    response
}
