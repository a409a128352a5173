//! An attempt, and how its `begin` gets the key or is refused.

use super::step::{dispossess, expired_unseen, write};
use crate::decision::{ChangeKind, Decision, Execution, KeyChange, LifecycleCall, Transition};
use crate::fingerprint::{Comparison, Fingerprints};
use crate::policy::{ExpiredKey, Policy};
use crate::record::{AttemptToken, EarlierAttempts, Life, Record, RecordState, ReleaseCause};
use crate::time::UnixMillis;

/// An attempt that wants to execute a request.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The fingerprints of the request.
    pub fingerprints: &'a Fingerprints,
    /// The attempt's random token. Repeated calls of one attempt have the same token.
    pub token: AttemptToken,
    /// When the key was made; `None` if the key does not contain the time.
    pub minted_at: Option<UnixMillis>,
    /// The current policy, for a new record. An existing record keeps its own.
    pub policy: &'a Policy,
}

/// Returns the decision that refuses every attempt to execute this request: the key has expired, was
/// voided, or belongs to another request. Returns `None` if the request is not refused.
pub(super) fn refusal(
    record: &Record,
    fingerprints: &Fingerprints,
    now: UnixMillis,
) -> Option<Decision> {
    if record.life(now) == Life::Expired {
        return Some(Decision::KeyExpired);
    }
    // 2. A voided key refuses every request.
    if matches!(record.state, RecordState::Voided { .. }) {
        return Some(Decision::KeyVoided);
    }
    // 3. The key belongs to one request. This is checked before the state, because a retry of another
    // request would not help.
    match record.fingerprint.as_ref().map(|stored| fingerprints.compare(stored)) {
        Some(Comparison::Same) => None,
        Some(Comparison::SecretRemoved) => {
            // The requests cannot be compared. For a business key not even the status is returned,
            // because a client would read it as "the request is the same, look up the object".
            let http_status = response_status(record).filter(|_| !record.remembers());
            Some(Decision::NotReplayable { http_status, resource: None })
        }
        Some(Comparison::Different) | None => Some(Decision::Mismatch),
    }
}

/// Returns whether a business key belongs to no request: only a success binds it.
pub(super) fn is_unbound(record: &Record) -> bool {
    let is_released = matches!(record.state, RecordState::Released { .. });
    record.remembers() && is_released && !record.maybe_executed
}

/// Gives a business key under which nothing was executed to another request.
pub(super) fn begin_anew(
    mut record: Record,
    attempt: &Attempt<'_>,
    now: UnixMillis,
) -> Transition<Decision> {
    record.earlier.leave_to_another();
    execute(Record { earlier: record.earlier, ..new_record(attempt, now) }, attempt, now)
}

/// Begins a key whose record is missing or counts as absent. `change` is the journal's change for a
/// record that was forgotten.
pub(super) fn begin_absent(
    attempt: &Attempt<'_>,
    change: Option<KeyChange>,
    now: UnixMillis,
) -> Transition<Decision> {
    let refuses = attempt.policy.expired_key == ExpiredKey::Refuse;
    // The time in the key shows that the key has expired, even without a stored tombstone.
    if refuses && is_older_than_retention(attempt.minted_at, attempt.policy, now) {
        return expired_unseen(attempt.minted_at, Decision::KeyExpired, now);
    }
    Transition { change, ..execute(new_record(attempt, now), attempt, now) }
}

/// Makes the record of a key that no attempt owns yet.
fn new_record(attempt: &Attempt<'_>, now: UnixMillis) -> Record {
    Record {
        fingerprint: Some(attempt.fingerprints.signing()),
        policy: *attempt.policy,
        state: RecordState::Released { cause: ReleaseCause::NotDispatched, since: now },
        attempts: 0,
        maybe_executed: false,
        earlier: EarlierAttempts::default(),
        created_at: now,
    }
}

/// Gives the key to the attempt.
pub(super) fn execute(
    mut record: Record,
    attempt: &Attempt<'_>,
    now: UnixMillis,
) -> Transition<Decision> {
    let cause = record.cause(now);
    let overtakes =
        matches!(record.state, RecordState::InFlight { token, .. } if token != attempt.token);
    if overtakes {
        dispossess(&mut record);
    }
    record.attempts = record.attempts.saturating_add(1);
    record.state =
        RecordState::InFlight { token: attempt.token, lease_until: now.plus(record.policy.lease) };
    let execution = execution(&record);
    let change = overtakes.then(|| {
        let change = KeyChange::new(LifecycleCall::Begin, ChangeKind::Overtook, &record, now);
        KeyChange { cause, ..change }
    });
    write(Decision::Execute(execution), record, change, now)
}

pub(super) fn execution(record: &Record) -> Execution {
    Execution { attempt: record.attempts, lease: record.policy.lease }
}

fn response_status(record: &Record) -> Option<u16> {
    match &record.state {
        RecordState::Completed { response, .. } => Some(response.status),
        _ => None,
    }
}

/// Unlike [`Policy::may_have_forgotten`], this takes the tolerance off the age.
fn is_older_than_retention(
    minted_at: Option<UnixMillis>,
    policy: &Policy,
    now: UnixMillis,
) -> bool {
    let limit = policy.retention.plus(Policy::CLOCK_TOLERANCE);
    minted_at.is_some_and(|minted_at| now.since(minted_at) > limit)
}
