//! The life of a key: what each call does in each state.
//!
//! These functions decide; they read no clock and touch no store. A caller reads the record, calls a
//! function and stores what the function returns. Nothing else may change the record in between.
//!
//! # The rules
//!
//! 1. At most one attempt owns a key, and no other attempt can take the key before its lease expires.
//! 2. Once an attempt *may* have been executed, the key never counts as untouched again
//!    (`maybe_executed`), whatever later attempts return.
//! 3. The first final response is the key's response and never changes.
//! 4. An overtaken attempt can change one thing: if the key has no response yet, a success (2xx) of
//!    the attempt becomes the key's response.
//! 5. An attempt that has ended changes nothing any more, even if its calls arrive again. An attempt
//!    that has ended or was overtaken never begins again.
//!
//! # The table
//!
//! | state | `begin`, same request | `complete` by the owner | `complete` by another | `fail` by the owner | `void` |
//! |---|---|---|---|---|---|
//! | absent | Execute → InFlight | – | RecordGone | RecordGone | → Voided |
//! | InFlight, alive | InProgress (same token: Execute) | → by its status | 2xx → Completed, else LeaseLost | → Unknown or Released | unchanged |
//! | InFlight, dead | as Unknown | → by its status | 2xx → Completed, else LeaseLost | → Unknown or Released | unchanged |
//! | Unknown | policy `retry`: Execute; policy `hold`: OutcomeUnknown | – | 2xx → Completed, else LeaseLost | – | unchanged |
//! | Released | Execute → InFlight | – | 2xx → Completed, else LeaseLost | – | → Voided, unless `maybe_executed` |
//! | Completed | Replay or NotReplayable | – | LeaseLost | – | unchanged |
//! | Voided | KeyVoided | – | LeaseLost | – | unchanged |
//! | Expired | KeyExpired | – | LeaseLost | – | unchanged |
//!
//! *Alive* and *dead* are an attempt before and after the end of its lease. *By its status* means by
//! the [`ResponseClass`] of the response: final → Completed; not executed →
//! Released, or Unknown when `maybe_executed`; unknown → Unknown; repeat elsewhere → absent, or Unknown
//! when `maybe_executed`.
//!
//! Another request with the same key gets Mismatch, also while an attempt is alive, or NotReplayable if
//! the fingerprints cannot be compared. Only KeyVoided and KeyExpired come before that.
//!
//! The table leaves out three calls. [`renew`] extends the lease of the owner, alive or dead.
//! [`settle`] turns Unknown, and InFlight with a dead lease, into Completed or Released, and leaves
//! every other state unchanged (NotUnknown). [`expire`] is for the sweep.
//!
//! An attempt that has ended or was overtaken gets the current decision when its `begin`, `complete` or
//! `fail` arrives late. An attempt whose token the record does not know gets `InProgress` and must
//! retry, because the record may now belong to another request.
//!
//! [`peek`] returns what `begin` would return, and begins nothing. [`Transition::change`] is the row that a
//! call adds to the [`journal`](crate::journal).
//!
//! # Business keys
//!
//! A business key has a record of its own, under the policy
//! [`ExpiredKey::Remember`](crate::ExpiredKey::Remember). It differs from the table above:
//!
//! | state | what differs |
//! |---|---|
//! | InFlight, Unknown | a final response other than a 2xx counts as not executed: only a success binds a business key to its request |
//! | Released | the key belongs to no request, so a different request gets Execute too; the record expires after the retention |
//! | Completed | after the retention always NotReplayable: status, resource and fingerprint are kept, the rest is removed |
//! | Unknown, Voided | never expire |
//!
//! If the business key now belongs to another request, an attempt that ended before gets `Recorded`,
//! and learns nothing about the other request.

mod attempt;
mod end;
mod step;

pub use attempt::Attempt;

use crate::decision::{
    ChangeKind, Completion, Decision, FailCause, KeyChange, LifecycleCall, RecordUpdate, Renewal,
    Settlement, Settling, Transition,
};
use crate::fingerprint::Fingerprints;
use crate::policy::{Policy, ResponseClass, UnknownOutcome};
use crate::record::{
    AttemptToken, EarlierAttempts, KeyState, Life, Record, RecordState, ReleaseCause, UnknownCause,
};
use crate::response::StoredResponse;
use crate::time::UnixMillis;
use attempt::{begin_absent, begin_anew, execute, execution, is_unbound, refusal};
use end::{completed, kind_of_end, not_ended, not_executed, overtaken, record_response, too_late};
use step::{
    current, dispossess, expired_unseen, forgotten, keep, owns, unless_gone, untouched, write,
};

/// Returns the time for a decision about a record: the store's clock, but never earlier than the
/// record's last change, and never earlier than `last_seen`, the newest time that the store knows of. So
/// a store that restarts while its clock is behind does not revive a lease that it saw end.
///
/// ```
#[doc = include_str!("lifecycle/example.txt")]
/// let last_seen = now;
/// let clock = UnixMillis::new(0); // The clock was set back.
/// assert_eq!(decision_time(clock, last_seen, begun().as_ref()), now);
/// ```
pub fn decision_time(
    clock: UnixMillis,
    last_seen: UnixMillis,
    record: Option<&Record>,
) -> UnixMillis {
    let now = clock.never_before(last_seen);
    record.map_or(now, |record| now.never_before(record.changed_at()))
}

/// Decides whether an attempt may execute its request. The first check that applies counts:
///
/// 1. The record has expired: it counts as absent, or the key is refused where its policy says so.
/// 2. The key is voided: `KeyVoided`.
/// 3. The key belongs to another request: `Mismatch`, or `NotReplayable` if the fingerprints cannot be
///    compared. A business key under which nothing was executed belongs to no request.
/// 4. The key has its response: `Replay`, or `NotReplayable` if the response was not kept.
/// 5. An attempt owns the key, and its lease is alive: `Execute` for a repeated call of that attempt,
///    `InProgress` for any other.
/// 6. The attempt has ended or was overtaken before: it gets the current decision.
/// 7. An earlier attempt may have been executed: `Execute` or `OutcomeUnknown`, as the policy says.
/// 8. Nothing was executed: `Execute`.
///
/// ```
#[doc = include_str!("lifecycle/example.txt")]
/// let begun = begin(None, &attempt, now);
/// let Decision::Execute(execution) = begun.decision else { panic!("the key is new") };
/// assert_eq!(execution.attempt, 1);
/// let record = begun.next.applied_to(None);
///
/// let other = Attempt { token: AttemptToken::new([8; 16]), ..attempt };
/// assert_eq!(begin(record, &other, now).decision, Decision::InProgress);
/// ```
pub fn begin(
    record: Option<Record>,
    attempt: &Attempt<'_>,
    now: UnixMillis,
) -> Transition<Decision> {
    // 1.
    let change = record.as_ref().and_then(|record| forgotten(record, LifecycleCall::Begin, now));
    let Some(record) = unless_gone(record, now) else {
        return begin_absent(attempt, change, now);
    };
    // 2. and 3.
    if let Some(decision) = refusal(&record, attempt.fingerprints, now) {
        return if is_unbound(&record) && !record.earlier.contains(attempt.token) {
            begin_anew(record, attempt, now)
        } else {
            keep(decision, &record, now)
        };
    }
    match record.state {
        // 4.
        RecordState::Completed { .. } => current(record, now),
        // 5.
        RecordState::InFlight { token, lease_until } if now < lease_until => {
            if token == attempt.token {
                let execution = execution(&record);
                keep(Decision::Execute(execution), &record, now)
            } else {
                current(record, now)
            }
        }
        // 6. If the attempt began again, its late calls would count as the owner's.
        _ if record.earlier.contains(attempt.token) => current(record, now),
        // 7. An attempt whose lease has expired may have been dispatched.
        RecordState::InFlight { .. } | RecordState::Unknown { .. } => {
            match record.policy.unknown_outcome {
                UnknownOutcome::Retry => {
                    execute(Record { maybe_executed: true, ..record }, attempt, now)
                }
                UnknownOutcome::Hold => current(record, now),
            }
        }
        // 8.
        RecordState::Released { .. } => execute(record, attempt, now),
        RecordState::Voided { .. } | RecordState::Expired { .. } => current(record, now),
    }
}

/// Returns what a new attempt's `begin` would return; `None` if the attempt would execute. The record
/// stays as it is.
///
/// ```
#[doc = include_str!("lifecycle/example.txt")]
/// assert_eq!(peek(None, &fingerprints, now).decision, None);
/// assert_eq!(peek(begun(), &fingerprints, now).decision, Some(Decision::InProgress));
/// ```
pub fn peek(
    record: Option<Record>,
    fingerprints: &Fingerprints,
    now: UnixMillis,
) -> Transition<Option<Decision>> {
    let Some(record) = unless_gone(record, now) else {
        return untouched(None, None, now);
    };
    let refusal = refusal(&record, fingerprints, now);
    let would_execute = match record.state {
        RecordState::Released { .. } => refusal.is_none() || is_unbound(&record),
        RecordState::InFlight { lease_until, .. } if now < lease_until => false,
        RecordState::InFlight { .. } | RecordState::Unknown { .. } => {
            refusal.is_none() && record.policy.unknown_outcome == UnknownOutcome::Retry
        }
        _ => false,
    };
    if would_execute {
        return keep(None, &record, now);
    }
    if refusal.is_some() {
        return keep(refusal, &record, now);
    }
    let Transition { decision, status, next, change } = current(record, now);
    Transition { decision: Some(decision), status, next, change }
}

/// Renews the lease of the attempt that owns the key: it expires one [`Policy::lease`] from `now`.
///
/// ```
#[doc = include_str!("lifecycle/example.txt")]
/// let later = now.plus(policy.lease.half());
/// let renewed = renew(begun(), token, later);
/// assert_eq!(renewed.decision, Renewal::Renewed);
///
/// // The lease now ends later.
/// let record = renewed.next.applied_to(begun());
/// let other = Attempt { token: AttemptToken::new([8; 16]), ..attempt };
/// assert_eq!(begin(record, &other, now.plus(policy.lease)).decision, Decision::InProgress);
///
/// // Without its record, the attempt does not own the key any more.
/// assert_eq!(renew(None, token, later).decision, Renewal::Lost);
/// ```
pub fn renew(record: Option<Record>, token: AttemptToken, now: UnixMillis) -> Transition<Renewal> {
    match unless_gone(record, now) {
        // Even an expired lease is renewed if no other attempt has taken the key.
        Some(mut record) if record.life(now) == Life::Live && owns(&record, token) => {
            let lease_until = now.plus(record.policy.lease);
            record.state = RecordState::InFlight { token, lease_until };
            write(Renewal::Renewed, record, None, now)
        }
        record => untouched(Renewal::Lost, record.as_ref(), now),
    }
}

/// Ends an attempt with the origin's response.
///
/// ```
#[doc = include_str!("lifecycle/example.txt")]
/// let completed = complete(begun(), token, response(201), now);
/// assert_eq!(completed.decision, Completion::Recorded);
/// let record = completed.next.applied_to(begun());
/// let retry = Attempt { token: AttemptToken::new([8; 16]), ..attempt };
/// assert_eq!(begin(record, &retry, now).decision, Decision::Replay(response(201)));
///
/// // A response of 429 releases the key, and one of 500 leaves its outcome unknown.
/// let state = |status| complete(begun(), token, response(status), now).status.unwrap().state;
/// assert_eq!((state(429), state(500)), (KeyState::Released, KeyState::Unknown));
///
/// // The record has disappeared. The caller gets the response, marked as not stored.
/// assert_eq!(complete(None, token, response(201), now).decision, Completion::RecordGone);
/// ```
pub fn complete(
    record: Option<Record>,
    token: AttemptToken,
    response: StoredResponse,
    now: UnixMillis,
) -> Transition<Completion> {
    let class = ResponseClass::of_status(response.status);
    complete_as(record, token, response, class, now)
}

/// Ends an attempt with the origin's response, where the [rules](crate::policy::OutcomeRules) of an
/// operator say what the response proves.
pub fn complete_as(
    record: Option<Record>,
    token: AttemptToken,
    response: StoredResponse,
    class: ResponseClass,
    now: UnixMillis,
) -> Transition<Completion> {
    let too_late = too_late(record.as_ref(), token, &response, now);
    let mut record = match not_ended(record, token, Some(&response), now) {
        Ok(record) => record,
        Err(step) => return Transition { change: too_late, ..*step },
    };
    if owns(&record, token) {
        record.earlier.note_ended(token);
        return record_response(record, response, class, now);
    }
    // The first success counts even if the attempt was overtaken, because it proves what was executed.
    // The record must know the attempt: an attempt that it does not know may belong to another request.
    let has_no_response = matches!(
        record.state,
        RecordState::InFlight { .. } | RecordState::Unknown { .. } | RecordState::Released { .. }
    );
    let is_success = response.is_success() && class == ResponseClass::Final;
    if has_no_response && is_success && record.earlier.contains(token) {
        record.earlier.note_ended(token);
        // This overtakes the owner, which gets the current decision when it ends.
        dispossess(&mut record);
        let (http_status, request_id) = (response.status, response.request_id.clone());
        record.state = completed(&record, response, now);
        let change = KeyChange::new(LifecycleCall::Complete, ChangeKind::LateSuccess, &record, now)
            .with_response(http_status, request_id);
        return write(Completion::Recorded, record, Some(change), now);
    }
    Transition { change: too_late, ..overtaken(record, token, now) }
}

/// Ends an attempt without a response.
///
/// ```
#[doc = include_str!("lifecycle/example.txt")]
/// let timed_out = fail(begun(), token, FailCause::TimedOut, now);
/// assert_eq!(timed_out.decision, Completion::Recorded);
/// assert_eq!(timed_out.status.unwrap().state, KeyState::Unknown);
///
/// let not_sent = fail(begun(), token, FailCause::NotDispatched, now);
/// assert_eq!(not_sent.status.unwrap().state, KeyState::Released);
/// ```
pub fn fail(
    record: Option<Record>,
    token: AttemptToken,
    cause: FailCause,
    now: UnixMillis,
) -> Transition<Completion> {
    let mut record = match not_ended(record, token, None, now) {
        Ok(record) => record,
        Err(step) => return *step,
    };
    if !owns(&record, token) {
        return overtaken(record, token, now);
    }
    record.earlier.note_ended(token);
    let unknown = |cause| RecordState::Unknown { cause, since: now };
    record.state = match cause {
        FailCause::NotDispatched => not_executed(&record, ReleaseCause::NotDispatched, now),
        FailCause::TimedOut => unknown(UnknownCause::TimedOut),
        FailCause::ConnectionLost => unknown(UnknownCause::ConnectionLost),
        FailCause::NotStored => {
            // The caller has a response that cannot be replayed, so no retry may execute.
            record.policy.unknown_outcome = UnknownOutcome::Hold;
            unknown(UnknownCause::NotStored)
        }
    };
    record.maybe_executed |= matches!(record.state, RecordState::Unknown { .. });
    let change = KeyChange::new(LifecycleCall::Fail, kind_of_end(&record), &record, now);
    write(Completion::Recorded, record, Some(change), now)
}

/// Voids the key, if it is certain that nothing was executed. Only the state `voided` in
/// [`Transition::status`] proves that nothing was executed and nothing will be.
///
/// ```
#[doc = include_str!("lifecycle/example.txt")]
/// let voided = void(None, attempt.minted_at, &policy, now);
/// assert_eq!(voided.status.unwrap().state, KeyState::Voided);
/// // The request of the key arrives late, and is refused.
/// let record = voided.next.applied_to(None);
/// assert_eq!(begin(record, &attempt, now).decision, Decision::KeyVoided);
///
/// // An attempt is in progress, so the key is not voided.
/// assert_eq!(void(begun(), None, &policy, now).status.unwrap().state, KeyState::InProgress);
/// ```
pub fn void(
    record: Option<Record>,
    minted_at: Option<UnixMillis>,
    policy: &Policy,
    now: UnixMillis,
) -> Transition<()> {
    match unless_gone(record, now) {
        // A key about as old as the retention may have been executed and forgotten, so its absence
        // proves nothing.
        None if policy.may_have_forgotten(minted_at, now) => expired_unseen(minted_at, (), now),
        None => {
            let voided = Record {
                fingerprint: None,
                policy: *policy,
                state: RecordState::Voided { since: now },
                attempts: 0,
                maybe_executed: false,
                earlier: EarlierAttempts::default(),
                created_at: now,
            };
            give_up(voided, now)
        }
        Some(mut record) if was_never_executed(&record, minted_at, now) => {
            record.state = RecordState::Voided { since: now };
            give_up(record, now)
        }
        Some(record) => keep((), &record, now),
    }
}

/// Settles an unknown outcome, for an operator or after a look-up at the origin.
///
/// ```
#[doc = include_str!("lifecycle/example.txt")]
/// let unknown = fail(begun(), token, FailCause::ConnectionLost, now).next.applied_to(begun());
/// let executed = Settlement::Executed(response(201));
/// let settled = settle(unknown.clone(), executed, now);
/// assert_eq!(settled.decision, Settling::Settled);
/// assert_eq!(settled.status.unwrap().state, KeyState::Completed);
///
/// // After this settlement, the next request with the key is executed.
/// let settled = settle(unknown, Settlement::NotExecuted, now);
/// assert_eq!(settled.status.unwrap().state, KeyState::Released);
/// ```
pub fn settle(
    record: Option<Record>,
    settlement: Settlement,
    now: UnixMillis,
) -> Transition<Settling> {
    let status = record.as_ref().and_then(|record| record.status(now));
    match record {
        Some(mut record) if status.as_ref().is_some_and(|s| s.state == KeyState::Unknown) => {
            // The attempt that left the outcome unknown loses the key. Only its success still counts.
            dispossess(&mut record);
            let change = |record: &Record| {
                KeyChange::new(LifecycleCall::Settle, ChangeKind::Settled, record, now)
            };
            let change = match settlement {
                Settlement::NotExecuted => {
                    record.maybe_executed = false;
                    record.state =
                        RecordState::Released { cause: ReleaseCause::Settled, since: now };
                    change(&record)
                }
                Settlement::Executed(response) => {
                    let (http_status, request_id) = (response.status, response.request_id.clone());
                    record.state = completed(&record, response, now);
                    change(&record).with_response(http_status, request_id)
                }
            };
            write(Settling::Settled, record, Some(change), now)
        }
        _ => Transition {
            decision: Settling::NotUnknown,
            status,
            next: RecordUpdate::Keep,
            change: None,
        },
    }
}

/// Decides what the sweep does with a record: [`RecordUpdate::Keep`] until the record is due (see
/// [`Record::due_at`]), [`RecordUpdate::Write`] for what is left of it, which may be a tombstone, or
/// [`RecordUpdate::Remove`].
///
/// ```
#[doc = include_str!("lifecycle/example.txt")]
/// let completed = complete(begun(), token, response(201), now).next.applied_to(begun()).unwrap();
/// let due_at = completed.due_at().unwrap();
/// assert_eq!(expire(completed.clone(), now).next, RecordUpdate::Keep);
/// assert_eq!(expire(completed, due_at).next, RecordUpdate::Remove);
/// ```
pub fn expire(record: Record, now: UnixMillis) -> Transition<()> {
    let change = forgotten(&record, LifecycleCall::Expire, now);
    match (record.life(now), record.due_at()) {
        (Life::Gone, _) => {
            Transition { decision: (), status: None, next: RecordUpdate::Remove, change }
        }
        // A business key loses the content of its response.
        (Life::Live, Some(due_at)) if due_at <= now => write((), record.at(now), None, now),
        (Life::Live, _) | (_, None) => keep((), &record, now),
        (Life::Expired, _) if matches!(record.state, RecordState::Expired { .. }) => {
            keep((), &record, now)
        }
        // The tombstone needs no response and no fingerprint.
        (Life::Expired, Some(due_at)) => {
            let tombstone = Record {
                state: RecordState::Expired { since: due_at },
                fingerprint: None,
                earlier: EarlierAttempts::default(),
                ..record
            };
            write((), tombstone, change, now)
        }
    }
}

/// Returns whether it is certain that nothing was executed under the key, even before this record was
/// begun, and that no attempt is about to execute.
fn was_never_executed(record: &Record, minted_at: Option<UnixMillis>, now: UnixMillis) -> bool {
    let is_released = matches!(record.state, RecordState::Released { .. });
    is_released
        && !record.maybe_executed
        && !record.policy.may_have_forgotten(minted_at, record.created_at)
        && record.life(now) == Life::Live
}

fn give_up(record: Record, now: UnixMillis) -> Transition<()> {
    let change = KeyChange::new(LifecycleCall::Void, ChangeKind::Voided, &record, now);
    write((), record, Some(change), now)
}
