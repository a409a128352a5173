//! Helpers of the lifecycle's calls: they build the [`Step`] that a call returns, and read the record.

use crate::decision::{Change, ChangeKind, Decision, LifecycleCall, Next, Step};
use crate::policy::UnknownOutcome;
use crate::record::{KeyState, KeyStatus, Life, Record, State, Token};
use crate::time::UnixMillis;

/// Returns the current decision, which every attempt except the owner gets.
pub(super) fn current(record: Record, now: UnixMillis) -> Step<Decision> {
    let status = record.status(now);
    if record.life(now) == Life::Expired {
        return Step { decision: Decision::KeyExpired, status, next: Next::Keep, change: None };
    }
    let retry = record.policy.unknown_outcome == UnknownOutcome::Retry;
    let decision = match record.state {
        State::Completed { response, .. } if response.body().is_some() => {
            Decision::Replay(response)
        }
        State::Completed { response, .. } => Decision::NotReplayable {
            http_status: Some(response.status),
            resource: response.resource().map(str::to_owned),
        },
        State::InFlight { lease_until, .. } if now < lease_until => Decision::InProgress,
        // The key is free again: the next attempt executes.
        State::InFlight { .. } | State::Unknown { .. } if retry => Decision::InProgress,
        State::Released { .. } => Decision::InProgress,
        State::InFlight { .. } | State::Unknown { .. } => Decision::OutcomeUnknown,
        State::Voided { .. } => Decision::KeyVoided,
        State::Expired { .. } => Decision::KeyExpired,
    };
    Step { decision, status, next: Next::Keep, change: None }
}

/// Returns the journal's change for a record that expires while its outcome is unknown; `None` for
/// every other record.
pub(super) fn forgotten(record: &Record, call: LifecycleCall, now: UnixMillis) -> Option<Change> {
    let is_unknown = match record.state {
        State::InFlight { lease_until, .. } => lease_until <= now,
        State::Unknown { .. } => true,
        _ => false,
    };
    is_unknown.then(|| Change::new(call, ChangeKind::Expired, record, now))
}

pub(super) fn owns(record: &Record, token: Token) -> bool {
    matches!(record.state, State::InFlight { token: owner, .. } if owner == token)
}

/// Takes the key from the attempt that owns it.
pub(super) fn dispossess(record: &mut Record) {
    if let State::InFlight { token, .. } = record.state {
        record.earlier.note_overtaken(token);
    }
}

/// Returns the record as it counts now; `None` if it counts as absent.
pub(super) fn unless_gone(record: Option<Record>, now: UnixMillis) -> Option<Record> {
    let record = record.map(|record| record.at(now));
    record.filter(|record| record.life(now) != Life::Gone)
}

/// Returns the step for a key that has no record and must have expired.
pub(super) fn expired_unseen<D>(
    minted_at: Option<UnixMillis>,
    decision: D,
    now: UnixMillis,
) -> Step<D> {
    let status = KeyStatus {
        state: KeyState::Expired,
        attempts: 0,
        http_status: None,
        request_id: None,
        created_at: minted_at.unwrap_or(now),
        completed_at: None,
        expires_at: None,
    };
    Step { decision, status: Some(status), next: Next::Keep, change: None }
}

pub(super) fn keep<D>(decision: D, record: &Record, now: UnixMillis) -> Step<D> {
    untouched(decision, Some(record), now)
}

pub(super) fn untouched<D>(decision: D, record: Option<&Record>, now: UnixMillis) -> Step<D> {
    let status = record.and_then(|record| record.status(now));
    Step { decision, status, next: Next::Keep, change: None }
}

pub(super) fn write<D>(
    decision: D,
    record: Record,
    change: Option<Change>,
    now: UnixMillis,
) -> Step<D> {
    Step { decision, status: record.status(now), next: Next::Write(Box::new(record)), change }
}
