//! Helpers of the lifecycle's calls: they build the [`Transition`] that a call returns, and read the record.

use crate::decision::{ChangeKind, Decision, KeyChange, LifecycleCall, RecordUpdate, Transition};
use crate::policy::UnknownOutcome;
use crate::record::{AttemptToken, KeyState, KeyStatus, Life, Record, RecordState};
use crate::time::UnixMillis;

/// Returns the current decision, which every attempt except the owner gets.
pub(super) fn current(record: Record, now: UnixMillis) -> Transition<Decision> {
    let status = record.status(now);
    if record.life(now) == Life::Expired {
        return Transition {
            decision: Decision::KeyExpired,
            status,
            next: RecordUpdate::Keep,
            change: None,
        };
    }
    let retry = record.policy.unknown_outcome == UnknownOutcome::Retry;
    let decision = match record.state {
        RecordState::Completed { response, .. } if response.body().is_some() => {
            Decision::Replay(response)
        }
        RecordState::Completed { response, .. } => Decision::NotReplayable {
            http_status: Some(response.status),
            resource: response.resource().map(str::to_owned),
        },
        RecordState::InFlight { lease_until, .. } if now < lease_until => Decision::InProgress,
        // The key is free again: the next attempt executes.
        RecordState::InFlight { .. } | RecordState::Unknown { .. } if retry => Decision::InProgress,
        RecordState::Released { .. } => Decision::InProgress,
        RecordState::InFlight { .. } | RecordState::Unknown { .. } => Decision::OutcomeUnknown,
        RecordState::Voided { .. } => Decision::KeyVoided,
        RecordState::Expired { .. } => Decision::KeyExpired,
    };
    Transition { decision, status, next: RecordUpdate::Keep, change: None }
}

/// Returns the journal's change for a record that expires while its outcome is unknown; `None` for
/// every other record.
pub(super) fn forgotten(
    record: &Record,
    call: LifecycleCall,
    now: UnixMillis,
) -> Option<KeyChange> {
    let is_unknown = match record.state {
        RecordState::InFlight { lease_until, .. } => lease_until <= now,
        RecordState::Unknown { .. } => true,
        _ => false,
    };
    is_unknown.then(|| KeyChange::new(call, ChangeKind::Expired, record, now))
}

pub(super) fn owns(record: &Record, token: AttemptToken) -> bool {
    matches!(record.state, RecordState::InFlight { token: owner, .. } if owner == token)
}

/// Takes the key from the attempt that owns it.
pub(super) fn dispossess(record: &mut Record) {
    if let RecordState::InFlight { token, .. } = record.state {
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
) -> Transition<D> {
    let status = KeyStatus {
        state: KeyState::Expired,
        attempts: 0,
        http_status: None,
        request_id: None,
        created_at: minted_at.unwrap_or(now),
        completed_at: None,
        expires_at: None,
    };
    Transition { decision, status: Some(status), next: RecordUpdate::Keep, change: None }
}

pub(super) fn keep<D>(decision: D, record: &Record, now: UnixMillis) -> Transition<D> {
    untouched(decision, Some(record), now)
}

pub(super) fn untouched<D>(decision: D, record: Option<&Record>, now: UnixMillis) -> Transition<D> {
    let status = record.and_then(|record| record.status(now));
    Transition { decision, status, next: RecordUpdate::Keep, change: None }
}

pub(super) fn write<D>(
    decision: D,
    record: Record,
    change: Option<KeyChange>,
    now: UnixMillis,
) -> Transition<D> {
    Transition {
        decision,
        status: record.status(now),
        next: RecordUpdate::Write(Box::new(record)),
        change,
    }
}
