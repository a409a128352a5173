//! Payloads and entries to test with.

use oncekey::client::intent::{Entry, IntentState, Payload, Start, Stored, Submit, start};
use oncekey::fingerprint::RequestParts;
use oncekey::{IdempotencyKey, Millis, UnixMillis};

pub(crate) const NOW: UnixMillis = UnixMillis::new(1_764_000_000_000);
pub(crate) const RETENTION: Millis = Millis::from_days(1);
/// How long a key may be sent again, counted from the first byte that was sent with it.
pub(crate) const SAFE: Millis = Millis::from_seconds(23 * 3600);

pub(crate) fn parts(body: &str) -> RequestParts<'_> {
    RequestParts {
        method: "POST",
        path: "/v1/payments",
        query: None,
        content_encoding: None,
        content_type: Some("application/json"),
        body: body.as_bytes(),
        ignore: &[],
    }
}

pub(crate) fn payload(body: &str) -> Payload {
    Payload::of("https://api.example", &parts(body))
}

pub(crate) fn submit(payload: &Payload) -> Submit<'_> {
    Submit { payload, own_key: None, waited_since: None, retention: RETENTION, random: [7; 16] }
}

pub(crate) fn key(text: &str) -> IdempotencyKey {
    IdempotencyKey::parse_bare(text).expect("a key")
}

/// Returns the entry of an intent that begins now.
pub(crate) fn fresh_entry(payload: &Payload, now: UnixMillis) -> Entry {
    match start(&Stored::Nothing, &submit(payload), now) {
        Start::Send { entry, fresh: true } => entry,
        other => panic!("{other:?}"),
    }
}

/// Returns an entry in this state, after one attempt.
pub(crate) fn entry_in(state: IntentState, payload: &Payload, now: UnixMillis) -> Entry {
    let maybe_executed = state == IntentState::Unknown;
    Entry { state, attempts: 1, maybe_executed, ..fresh_entry(payload, now) }
}
