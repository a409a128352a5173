//! The journal: one row for each change of a key. Rows never change.
//!
//! An operator compares the journal with the origin's data. So the journal has a row for each end of
//! an attempt and for each decision about a key, but none for calls that only read: a client that
//! polls must not fill the journal. The lifecycle returns what a call did
//! ([`Transition::change`](crate::Transition::change)), and [`JournalEntry::new`] makes the row. The shell stores
//! the row together with the record.
//!
//! # The table
//!
//! | call | effect | row |
//! |---|---|---|
//! | `begin` | took the key from an attempt whose lease had expired | [`Overtook`](ChangeKind::Overtook) |
//! | `begin` | began a new record after an unknown outcome was forgotten | [`Expired`](ChangeKind::Expired), for the earlier record |
//! | `begin` | anything else | none |
//! | `renew`, `peek` | | none |
//! | `complete` | the owner's response became the key's response | [`Completed`](ChangeKind::Completed) |
//! | `complete`, `fail` | the outcome is unknown after the owner's end | [`Unknown`](ChangeKind::Unknown) |
//! | `complete`, `fail` | the owner was not executed | [`Released`](ChangeKind::Released) |
//! | `complete` | the origin redirected the owner, and the record was removed | [`Elsewhere`](ChangeKind::Elsewhere) |
//! | `complete` | an overtaken attempt's success became the key's response | [`LateSuccess`](ChangeKind::LateSuccess) |
//! | `complete` | the response came too late to count | [`LateIgnored`](ChangeKind::LateIgnored) |
//! | `complete` | the response was recorded before | none |
//! | `fail` | nothing changed | none |
//! | `void` | the key was voided | [`Voided`](ChangeKind::Voided) |
//! | `settle`, `look_up` | an unknown outcome was settled | [`Settled`](ChangeKind::Settled) |
//! | `void`, `settle`, `look_up` | nothing changed | none |
//! | `expire` | an unknown outcome was forgotten | [`Expired`](ChangeKind::Expired) |
//! | `expire` | any other record expired, which its age shows | none |
//!
//! So at most one row of a record is `completed` or `late_success`, or `settled` with the state
//! `completed`. A key that was forgotten gets a new record, with another
//! [`created_at`](JournalEntry::created_at).

use crate::decision::{ChangeKind, KeyChange, LifecycleCall};
use crate::record::KeyState;
use crate::time::UnixMillis;

/// A row: what a call did to a key, a business key or an event. The store adds which one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// The time of the change, by the store's clock.
    pub at: UnixMillis,
    /// The call.
    pub operation: &'static str,
    /// The effect of the call.
    pub kind: ChangeKind,
    /// The number of the attempt that made the call; for other calls, of the key's last attempt.
    pub attempt: u32,
    /// The id of the request that made the call, or the id in the response that the call brought.
    pub request_id: Option<String>,
    /// The status of the origin's response.
    pub http_status: Option<u16>,
    /// Why the outcome is unknown, or why it is certain that nothing was executed.
    pub cause: Option<&'static str>,
    /// The state of the key after the call; `None` if it has no record.
    pub state: Option<KeyState>,
    /// When the record was created; `None` if the key has no record. It distinguishes the records that
    /// a key has had over time.
    pub created_at: Option<UnixMillis>,
}

/// Who made a call, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestedBy<'a> {
    /// The number of the attempt.
    pub attempt: Option<u32>,
    /// The id of the request.
    pub request_id: Option<&'a str>,
    /// Whether an operator made the call. Any other settlement comes from a look-up at the origin.
    pub operator: bool,
}

impl JournalEntry {
    /// Makes the row of a change.
    pub fn new(change: KeyChange, by: RequestedBy<'_>, at: UnixMillis) -> Self {
        // An expired outcome belongs to the earlier record, whichever call noticed it.
        let by = if change.kind == ChangeKind::Expired { RequestedBy::default() } else { by };
        Self {
            at,
            operation: operation(change.call, by),
            kind: change.kind,
            attempt: by.attempt.unwrap_or(change.attempts),
            request_id: change.request_id.or_else(|| by.request_id.map(str::to_owned)),
            http_status: change.http_status,
            cause: change.cause.map(|cause| cause.name),
            state: change.state,
            created_at: change.created_at,
        }
    }
}

fn operation(call: LifecycleCall, by: RequestedBy<'_>) -> &'static str {
    match call {
        LifecycleCall::Begin => "begin",
        LifecycleCall::Complete => "complete",
        LifecycleCall::Fail => "fail",
        LifecycleCall::Void => "void",
        LifecycleCall::Settle if by.operator => "settle",
        LifecycleCall::Settle => "look_up",
        LifecycleCall::Expire => "expire",
    }
}
