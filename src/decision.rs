//! What the lifecycle returns: a decision for each call, the update of the stored record, and the
//! change for the journal.

use crate::record::{Cause, KeyState, KeyStatus, Record};
use crate::response::StoredResponse;
use crate::time::{Millis, UnixMillis};
use crate::{message_fields, message_variants};

/// What a call decided, what callers may see of the key after it, and what to store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transition<D> {
    /// What the call decided.
    pub decision: D,
    /// What callers may see of the key after this call; `None` when there is no record.
    pub status: Option<KeyStatus>,
    /// How to update the stored record.
    pub next: RecordUpdate,
    /// The change for the journal; `None` if the call leaves no row there.
    pub change: Option<KeyChange>,
}

/// How to update the stored record.
///
/// ```
/// # use oncekey::{Record, RecordUpdate, ScopedKey};
/// # use std::collections::BTreeMap;
/// fn store(records: &mut BTreeMap<ScopedKey, Vec<u8>>, name: ScopedKey, update: RecordUpdate) {
///     match update {
///         RecordUpdate::Keep => {}
///         RecordUpdate::Write(record) => drop(records.insert(name, record.encode())),
///         RecordUpdate::Remove => drop(records.remove(&name)),
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RecordUpdate {
    /// The record stays as it is.
    Keep,
    /// This record takes its place.
    Write(Box<Record>),
    /// The record is removed.
    Remove,
}

impl RecordUpdate {
    /// Returns the record that is stored after this update of `before`.
    pub fn applied_to(self, before: Option<Record>) -> Option<Record> {
        match self {
            Self::Keep => before,
            Self::Write(record) => Some(*record),
            Self::Remove => None,
        }
    }

    /// Returns whether the stored record shows that a call changed it at `now`. Where it does not, and
    /// the call leaves no row in the journal either, the store keeps the time by itself, for
    /// [`lifecycle::decision_time`](crate::lifecycle::decision_time).
    pub fn shows_time(&self, now: UnixMillis) -> bool {
        match self {
            Self::Keep => true,
            Self::Write(record) => record.changed_at() >= now,
            Self::Remove => false,
        }
    }
}

/// What a call changed, or came too late to change: the meaning of a row in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyChange {
    /// The call.
    pub call: LifecycleCall,
    /// The effect of the call.
    pub kind: ChangeKind,
    /// How many attempts were begun, up to this change.
    pub attempts: u32,
    /// The id of the request that the response belongs to, where the call brought a response.
    pub request_id: Option<String>,
    /// The status of the origin's response.
    pub http_status: Option<u16>,
    /// Why the outcome is unknown, or why it is certain that nothing was executed.
    pub cause: Option<Cause>,
    /// The state of the key after the call; `None` if it has no record.
    pub state: Option<KeyState>,
    /// When the record was created; `None` if the key has no record.
    pub created_at: Option<UnixMillis>,
}

/// A call of [`lifecycle`](crate::lifecycle) that can leave a row in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LifecycleCall {
    /// [`begin`](crate::lifecycle::begin).
    Begin,
    /// [`complete`](crate::lifecycle::complete).
    Complete,
    /// [`fail`](crate::lifecycle::fail).
    Fail,
    /// [`void`](crate::lifecycle::void).
    Void,
    /// [`settle`](crate::lifecycle::settle).
    Settle,
    /// [`expire`](crate::lifecycle::expire).
    Expire,
}

/// What a call did to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// An attempt took the key from an attempt whose lease had expired and whose outcome is unknown.
    Overtook,
    /// The key has its response.
    Completed,
    /// An attempt ended, and its outcome is unknown.
    Unknown,
    /// An attempt ended without being executed.
    Released,
    /// The origin redirected an attempt to another URL, and no record is left.
    Elsewhere,
    /// An overtaken attempt brought the key's response.
    LateSuccess,
    /// A response came too late to count.
    LateIgnored,
    /// The caller voided the key.
    Voided,
    /// An operator or a look-up decided an unknown outcome.
    Settled,
    /// An outcome stayed unknown until the key was forgotten or refused.
    Expired,
}

/// What an attempt may do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(tag = "decision", rename_all = "snake_case")
)]
pub enum Decision {
    /// Call the origin.
    Execute(Execution),
    /// Respond with the stored response.
    Replay(StoredResponse),
    /// The response was not kept, or its fingerprint cannot be checked because the secret is gone.
    NotReplayable {
        /// The status of the response, where there is one.
        http_status: Option<u16>,
        /// The id of the resource that was created, where it is known.
        resource: Option<String>,
    },
    /// Another attempt is in flight: retry later.
    InProgress,
    /// An earlier attempt may have been executed, and the policy puts the key on hold.
    OutcomeUnknown,
    /// The key belongs to another request.
    Mismatch,
    /// The caller voided the key.
    KeyVoided,
    /// The key's response has expired, and the policy refuses expired keys.
    KeyExpired,
}

message_variants!(Decision {
    0: Execute(execution),
    1: Replay(response),
    2: NotReplayable { http_status, resource },
    3: InProgress,
    4: OutcomeUnknown,
    5: Mismatch,
    6: KeyVoided,
    7: KeyExpired,
});

/// The right to call the origin once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Execution {
    /// The attempt's number, from 1.
    pub attempt: u32,
    /// The length of the lease.
    pub lease: Millis,
}

message_fields!(Execution { attempt, lease });

/// How the end of an attempt was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(tag = "completion", rename_all = "snake_case")
)]
pub enum Completion {
    /// The end is recorded, now or by an earlier arrival of the same call. The caller gets the
    /// attempt's response.
    Recorded,
    /// The attempt was overtaken. The caller gets the current decision, never the attempt's response.
    LeaseLost(Box<Decision>),
    /// The record is gone. The caller gets the attempt's response, marked as not stored.
    RecordGone,
}

message_variants!(Completion { 0: Recorded, 1: LeaseLost(current), 2: RecordGone });

/// Why an attempt ended without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum FailCause {
    /// The request never left for the origin.
    NotDispatched,
    /// The origin did not respond in time.
    TimedOut,
    /// The connection to the origin broke.
    ConnectionLost,
    /// The origin responded, but the response cannot be stored. The key is on hold from now on.
    NotStored,
}

message_variants!(FailCause { 0: NotDispatched, 1: TimedOut, 2: ConnectionLost, 3: NotStored });

/// Whether an attempt still owns its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Renewal {
    /// The lease is renewed.
    Renewed,
    /// The attempt was overtaken or has ended, or the record is gone.
    Lost,
}

message_variants!(Renewal { 0: Renewed, 1: Lost });

/// The result of settling an unknown outcome, by an operator or a look-up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(tag = "outcome", rename_all = "snake_case")
)]
pub enum Settlement {
    /// Nothing was executed.
    NotExecuted,
    /// The request was executed, and this is its response.
    Executed(StoredResponse),
}

message_variants!(Settlement { 0: NotExecuted, 1: Executed(response) });

/// Whether a settlement was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Settling {
    /// The outcome is settled.
    Settled,
    /// The outcome is not unknown, so there is nothing to settle.
    NotUnknown,
}

message_variants!(Settling { 0: Settled, 1: NotUnknown });

impl Execution {
    /// Returns whether the origin may be called at `now` if `begin` was first sent at `sent_at`, both by
    /// the caller's own clock. It may not be called after half the lease, because another attempt may
    /// own the key by the time the request arrives.
    ///
    /// ```
    /// # use oncekey::{Execution, Millis, UnixMillis};
    /// let execution = Execution { attempt: 1, lease: Millis::from_seconds(15) };
    /// let sent_at = UnixMillis::new(1_764_000_000_000);
    /// assert!(execution.may_dispatch(sent_at, sent_at.plus(Millis::from_seconds(7))));
    /// assert!(!execution.may_dispatch(sent_at, sent_at.plus(Millis::from_seconds(8))));
    /// assert_eq!(execution.renew_after(), Millis::new(7_500));
    /// ```
    pub fn may_dispatch(&self, sent_at: UnixMillis, now: UnixMillis) -> bool {
        now.since(sent_at) < self.lease.half()
    }

    /// Returns how long after `begin`, and after each renewal, to renew the lease: half of it.
    pub fn renew_after(&self) -> Millis {
        self.lease.half()
    }
}

impl KeyChange {
    /// Describes a change after which the key has this record.
    pub(crate) fn new(
        call: LifecycleCall,
        kind: ChangeKind,
        record: &Record,
        now: UnixMillis,
    ) -> Self {
        let cause = record.cause(now);
        Self {
            call,
            kind,
            attempts: record.attempts,
            request_id: None,
            http_status: cause.and_then(|cause| cause.http_status),
            cause,
            state: record.status(now).map(|status| status.state),
            created_at: Some(record.created_at),
        }
    }

    /// Adds the response that the call brought.
    pub(crate) fn with_response(self, http_status: u16, request_id: String) -> Self {
        Self { http_status: Some(http_status), request_id: Some(request_id), ..self }
    }
}

impl ChangeKind {
    /// Returns the name in the journal.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Overtook => "overtook",
            Self::Completed => "completed",
            Self::Unknown => "unknown",
            Self::Released => "released",
            Self::Elsewhere => "elsewhere",
            Self::LateSuccess => "late_success",
            Self::LateIgnored => "late_ignored",
            Self::Voided => "voided",
            Self::Settled => "settled",
            Self::Expired => "expired",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_may_be_called_only_in_the_first_half_of_a_lease() {
        let execution = Execution { attempt: 1, lease: Millis::from_seconds(10) };
        let sent_at = UnixMillis::new(1_764_000_000_000);
        let after = |millis| sent_at.plus(Millis::new(millis));
        assert!(execution.may_dispatch(sent_at, after(4_999)));
        assert!(!execution.may_dispatch(sent_at, after(5_000)));
        assert_eq!(execution.renew_after(), Millis::new(5_000));
    }
}
