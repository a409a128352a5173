//! The times that a server returns: `Retry-After` and `Idempotency-Expires`.

use crate::codec::http_date::parse_http_date;
use crate::time::{Millis, UnixMillis};

/// Returns how long `Retry-After` (RFC 9110 §10.2.3) asks to wait, at most `max`.
///
/// | value | read as |
/// |---|---|
/// | `^[0-9]+$` | seconds |
/// | one of the three HTTP-dates, in the future | the time from the response's `Date` to it |
/// | an HTTP-date that is not in the future | nothing |
/// | anything else: `-3`, `1.5`, `2, 3`, `5s` | nothing |
///
/// If the value is read as nothing, the policy's own delay applies. A date is a time on the server's
/// clock, and the clock of the client is often wrong. So `date`, the response's `Date`, counts as the
/// present if it can be read (across origins it must be exposed). Otherwise `now` counts. Then a
/// client's clock that is behind makes the wait longer, up to `max`. A clock that is ahead puts the
/// date in the past, so a past date is read as nothing, and not as "retry at once".
pub fn retry_after(
    value: &str,
    date: Option<&str>,
    now: UnixMillis,
    max: Millis,
) -> Option<Millis> {
    let wait = match delta_seconds(value) {
        Some(wait) => wait,
        None => ahead(value, date, now)?,
    };
    Some(wait.min(max))
}

/// Returns the time of `Idempotency-Expires` by the client's clock. `None` if the value is not a date
/// or is in the past. It is compared with the response's `Date`, as in [`retry_after`].
pub fn expires_at(value: &str, date: Option<&str>, now: UnixMillis) -> Option<UnixMillis> {
    ahead(value, date, now).map(|wait| now.plus(wait))
}

fn delta_seconds(value: &str) -> Option<Millis> {
    if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds = value.bytes().fold(0_u64, |seconds, byte| {
        seconds.saturating_mul(10).saturating_add(u64::from(byte - b'0'))
    });
    Some(Millis::from_seconds(seconds))
}

fn ahead(value: &str, date: Option<&str>, now: UnixMillis) -> Option<Millis> {
    let point = parse_http_date(value, now)?;
    let present = date.and_then(|date| parse_http_date(date, now)).unwrap_or(now);
    (point > present).then(|| point.since(present))
}
