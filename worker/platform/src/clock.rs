//! The platform's clock, and times in the form in which callers see them.

use crate::operation::{self, Operation};
use crate::task;
use futures_util::future::{Either, select};
use oncekey::{Millis, UnixMillis};
use std::pin::pin;

/// Returns the current time. The platform advances it only while a task waits for I/O.
pub fn now() -> UnixMillis {
    UnixMillis::new(task::time_of_turn().unwrap_or_else(js_sys::Date::now) as u64)
}

/// Waits for `length`, or for 2^31-1 ms if `length` is longer: the platform's timers would fire at once.
pub async fn sleep(length: Millis) {
    let millis = length.as_u64().min(i32::MAX as u64);
    Operation::start(|operation| operation::sleep(operation, millis as f64)).await;
}

/// Waits for `work`, but not longer than `length`. Returns `None` if it takes longer.
pub async fn within<T>(length: Millis, work: impl Future<Output = T>) -> Option<T> {
    match select(pin!(work), pin!(sleep(length))).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(_) => None,
    }
}

/// Formats a time as RFC 3339 in UTC, as in `2026-11-29T20:40:00.000Z`.
pub fn rfc3339(time: UnixMillis) -> String {
    String::from(date(time).to_iso_string())
}

fn date(time: UnixMillis) -> js_sys::Date {
    // The largest time that a Date can hold (ECMA-262 §21.4.1.1); a later one has no text.
    let millis = (time.as_u64() as f64).min(8.64e15);
    js_sys::Date::new(&millis.into())
}
