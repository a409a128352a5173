//! The journal: what changed a key, one row a change, never changed again.
//!
//! It is what reconciliation reads when gateway and origin are compared, so it has a row for each
//! end of an attempt and for each decision about a key, and none for what only asks: a client that
//! polls must not fill it. The lifecycle says what a call did ([`Step::change`](crate::Step::change)),
//! [`JournalEntry::new`] makes the row, and whoever stores the record stores the row in the same step.
//!
//! # The table
//!
//! | call | what it did | row |
//! |---|---|---|
//! | `begin` | took the key from an attempt whose lease had died | [`Overtook`](ChangeKind::Overtook) |
//! | `begin` | began anew where an outcome had stayed unknown until it was forgotten | [`Expired`](ChangeKind::Expired), of the earlier life |
//! | `begin` | anything else | none |
//! | `renew`, `peek` | | none |
//! | `complete` | the owner's response is the key's | [`Completed`](ChangeKind::Completed) |
//! | `complete`, `fail` | the owner's end leaves it unknown | [`Unknown`](ChangeKind::Unknown) |
//! | `complete`, `fail` | the owner was not executed | [`Released`](ChangeKind::Released) |
//! | `complete` | the owner was sent elsewhere, and the record goes | [`Elsewhere`](ChangeKind::Elsewhere) |
//! | `complete` | an overtaken attempt's success is the key's response | [`LateSuccess`](ChangeKind::LateSuccess) |
//! | `complete` | a response that came too late to count | [`LateIgnored`](ChangeKind::LateIgnored) |
//! | `complete` | a response that was recorded before | none |
//! | `fail` | changes nothing | none |
//! | `void` | the key is given up | [`Voided`](ChangeKind::Voided) |
//! | `settle`, `look_up` | decides an unknown outcome | [`Settled`](ChangeKind::Settled) |
//! | `void`, `settle`, `look_up` | changes nothing | none |
//! | `expire` | forgets an outcome that stayed unknown | [`Expired`](ChangeKind::Expired) |
//! | `expire` | anything else: the age of a response says when it expires | none |
//!
//! So in one life of a record there is one row at most that says `completed` or `late_success`, or
//! `settled` with that state; a key that was forgotten begins another life, which has another
//! [`created_at`](JournalEntry::created_at).

use crate::decision::{Change, ChangeKind, LifecycleCall};
use crate::record::KeyState;
use crate::time::UnixMillis;

/// A row: what a call did to a key, a business key or an event. The store adds which of them it is
/// about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// When, by the store's clock.
    pub at: UnixMillis,
    /// The call.
    pub operation: &'static str,
    /// What it did.
    pub kind: ChangeKind,
    /// The attempt that made the call; where no attempt did, the last attempt of the key.
    pub attempt: u32,
    /// The id of the request that made the call. For a response, the id that the response carries.
    pub request_id: Option<String>,
    /// The status that the origin gave.
    pub http_status: Option<u16>,
    /// Why an outcome is unknown, or why it is sure that nothing was executed.
    pub cause: Option<&'static str>,
    /// The key after the call; `None` when there is no record.
    pub state: Option<KeyState>,
    /// When the record was begun, where there is one: what tells one life of a key from the next.
    pub created_at: Option<UnixMillis>,
}

/// Who made a call, where that is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestedBy<'a> {
    /// The number of the attempt.
    pub attempt: Option<u32>,
    /// The id of the request.
    pub request_id: Option<&'a str>,
    /// Whether an operator made it. A settlement by anybody else comes from a look-up at the origin.
    pub operator: bool,
}

impl JournalEntry {
    /// Makes the row of a change.
    pub fn new(change: Change, by: RequestedBy<'_>, at: UnixMillis) -> Self {
        // An expired outcome belongs to the life that has ended, whichever call noticed it.
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
