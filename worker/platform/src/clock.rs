//! The platform's clock, and times as callers read them.

use oncekey::{Millis, UnixMillis};
use std::time::Duration;
use worker::{SqlStorageValue, js_sys};

/// Now. On the platform time stands still between two waits for input or output.
pub(crate) fn now() -> UnixMillis {
    UnixMillis::new(worker::Date::now().as_millis())
}

/// Waits. The longest wait of the platform's timers is 2^31-1 ms; a longer one would fire at once.
pub(crate) async fn sleep(length: Millis) {
    let millis = length.as_u64().min(i32::MAX as u64);
    worker::Delay::from(Duration::from_millis(millis)).await;
}

/// RFC 3339 in UTC, as in `2026-11-29T20:40:00.000Z`.
pub(crate) fn rfc3339(time: UnixMillis) -> String {
    String::from(date(time).to_iso_string())
}

/// The fixed date form of HTTP (RFC 9110 §5.6.7), as in `Sun, 29 Nov 2026 20:40:00 GMT`.
pub(crate) fn imf_fixdate(time: UnixMillis) -> String {
    String::from(date(time).to_utc_string())
}

/// A time as a database holds it: an integer that JavaScript's numbers hold exactly, which they do
/// until the year 287396.
pub(crate) fn column(time: UnixMillis) -> SqlStorageValue {
    SqlStorageValue::Integer(i64::try_from(time.as_u64()).unwrap_or(i64::MAX).min(1 << 53))
}

fn date(time: UnixMillis) -> js_sys::Date {
    // The largest time that a Date can hold (ECMA-262 §21.4.1.1): beyond it, it has no text.
    let millis = (time.as_u64() as f64).min(8.64e15);
    js_sys::Date::new(&millis.into())
}
