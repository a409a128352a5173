//! An attempt, and how its `begin` gets the key or is refused.

use super::step::{dispossess, expired_unseen, write};
use crate::decision::{Change, ChangeKind, Decision, Execution, LifecycleCall, Step};
use crate::fingerprint::{Comparison, Fingerprints};
use crate::policy::{ExpiredKey, Policy};
use crate::record::{EarlierAttempts, Life, Record, ReleaseCause, State, Token};
use crate::time::UnixMillis;

/// An attempt that wants to execute a request.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The request.
    pub fingerprints: &'a Fingerprints,
    /// What distinguishes this attempt from every other; the same for a repeated call.
    pub token: Token,
    /// When the key was made, if the key says so.
    pub minted_at: Option<UnixMillis>,
    /// Today's policy, for a new record.
    pub policy: &'a Policy,
}

/// Returns the decision of checks 1 to 3, which every attempt at this request gets; `None` if the
/// request passes them.
pub(super) fn refusal(
    record: &Record,
    fingerprints: &Fingerprints,
    now: UnixMillis,
) -> Option<Decision> {
    if record.life(now) == Life::Expired {
        return Some(Decision::KeyExpired);
    }
    // 2. A voided key refuses every request.
    if matches!(record.state, State::Voided { .. }) {
        return Some(Decision::KeyVoided);
    }
    // 3. The key belongs to one request. This comes before all other checks: waiting would not help.
    match record.fingerprint.as_ref().map(|stored| fingerprints.compare(stored)) {
        Some(Comparison::Same) => None,
        Some(Comparison::Unlisted) => {
            // Nobody knows whether it is the same request. A business key does not even show the
            // status: a client would take that for "it is the same, look the object up".
            let http_status = response_status(record).filter(|_| !record.remembers());
            Some(Decision::NotReplayable { http_status, resource: None })
        }
        Some(Comparison::Different) | None => Some(Decision::Mismatch),
    }
}

/// Returns whether a business key belongs to no request: only a success binds it.
pub(super) fn is_unbound(record: &Record) -> bool {
    let is_released = matches!(record.state, State::Released { .. });
    record.remembers() && is_released && !record.maybe_executed
}

/// Gives a business key under which nothing was executed to another request.
pub(super) fn begin_anew(
    mut record: Record,
    attempt: &Attempt<'_>,
    now: UnixMillis,
) -> Step<Decision> {
    record.earlier.leave_to_another();
    execute(Record { earlier: record.earlier, ..new_record(attempt, now) }, attempt, now)
}

/// Decides for a key without a record that counts. `change` says what was forgotten under the key.
pub(super) fn begin_absent(
    attempt: &Attempt<'_>,
    change: Option<Change>,
    now: UnixMillis,
) -> Step<Decision> {
    let refuses = attempt.policy.expired_key == ExpiredKey::Refuse;
    // The time in the key serves as a tombstone that needs no storage.
    if refuses && is_older_than_retention(attempt.minted_at, attempt.policy, now) {
        return expired_unseen(attempt.minted_at, Decision::KeyExpired, now);
    }
    Step { change, ..execute(new_record(attempt, now), attempt, now) }
}

/// Makes the record of a key that no attempt owns yet.
fn new_record(attempt: &Attempt<'_>, now: UnixMillis) -> Record {
    Record {
        fingerprint: Some(attempt.fingerprints.signing().clone()),
        policy: *attempt.policy,
        state: State::Released { cause: ReleaseCause::NotDispatched, since: now },
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
) -> Step<Decision> {
    let cause = record.cause(now);
    let overtakes = matches!(record.state, State::InFlight { token, .. } if token != attempt.token);
    if overtakes {
        dispossess(&mut record);
    }
    record.attempts = record.attempts.saturating_add(1);
    record.state =
        State::InFlight { token: attempt.token, lease_until: now.plus(record.policy.lease) };
    let execution = execution(&record);
    let change = overtakes.then(|| {
        let change = Change::new(LifecycleCall::Begin, ChangeKind::Overtook, &record, now);
        Change { cause, ..change }
    });
    write(Decision::Execute(execution), record, change, now)
}

pub(super) fn execution(record: &Record) -> Execution {
    Execution { attempt: record.attempts, lease: record.policy.lease }
}

fn response_status(record: &Record) -> Option<u16> {
    match &record.state {
        State::Completed { response, .. } => Some(response.status),
        _ => None,
    }
}

fn is_older_than_retention(
    minted_at: Option<UnixMillis>,
    policy: &Policy,
    now: UnixMillis,
) -> bool {
    let limit = policy.retention.plus(Policy::CLOCK_TOLERANCE);
    minted_at.is_some_and(|minted_at| now.since(minted_at) > limit)
}

/// Returns whether a key that is absent at `now` may have had a response that has expired. Here the
/// tolerance works the other way: the clock that made the key may be ahead of ours.
pub(super) fn may_be_forgotten(
    minted_at: Option<UnixMillis>,
    policy: &Policy,
    now: UnixMillis,
) -> bool {
    let tolerance = Policy::CLOCK_TOLERANCE.min(policy.retention.half());
    minted_at.is_some_and(|minted_at| now.since(minted_at).plus(tolerance) >= policy.retention)
}
