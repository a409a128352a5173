//! The end of an attempt: what is recorded, and what a late call gets.

use super::step::{current, keep, unless_gone, untouched, write};
use crate::decision::{
    ChangeKind, Completion, Decision, KeyChange, LifecycleCall, RecordUpdate, Transition,
};
use crate::policy::ResponseClass;
use crate::record::{AttemptToken, Life, Record, RecordState, ReleaseCause, UnknownCause};
use crate::response::StoredResponse;
use crate::time::UnixMillis;

/// Records the owner's response, by what it proves.
pub(super) fn record_response(
    mut record: Record,
    response: StoredResponse,
    class: ResponseClass,
    now: UnixMillis,
) -> Transition<Completion> {
    let (status, request_id) = (response.status, response.request_id.clone());
    let call = LifecycleCall::Complete;
    record.state = match record.policy.class_under(class, status) {
        ResponseClass::Final => completed(&record, response, now),
        ResponseClass::NotExecuted => not_executed(&record, ReleaseCause::Status(status), now),
        ResponseClass::Unknown => {
            RecordState::Unknown { cause: UnknownCause::Status(status), since: now }
        }
        ResponseClass::RepeatElsewhere if record.maybe_executed => {
            RecordState::Unknown { cause: UnknownCause::EarlierAttempt, since: now }
        }
        ResponseClass::RepeatElsewhere => {
            let change = KeyChange {
                cause: None,
                state: None,
                ..KeyChange::new(call, ChangeKind::Elsewhere, &record, now)
            };
            return Transition {
                decision: Completion::Recorded,
                status: None,
                next: RecordUpdate::Remove,
                change: Some(change.with_response(status, request_id)),
            };
        }
    };
    record.maybe_executed |= matches!(record.state, RecordState::Unknown { .. });
    let change = KeyChange::new(call, kind_of_end(&record), &record, now);
    let change = change.with_response(status, request_id);
    write(Completion::Recorded, record, Some(change), now)
}

/// Returns what the end of the owner's attempt did.
pub(super) fn kind_of_end(record: &Record) -> ChangeKind {
    match record.state {
        RecordState::Completed { .. } => ChangeKind::Completed,
        RecordState::Released { .. } => ChangeKind::Released,
        _ => ChangeKind::Unknown,
    }
}

/// Returns the journal's change for a response that came too late to count; `None` if the end of its
/// attempt is recorded already.
pub(super) fn too_late(
    record: Option<&Record>,
    token: AttemptToken,
    response: &StoredResponse,
    now: UnixMillis,
) -> Option<KeyChange> {
    if record.is_some_and(|record| record.earlier.has_ended(token)) {
        return None;
    }
    Some(KeyChange {
        call: LifecycleCall::Complete,
        kind: ChangeKind::LateIgnored,
        attempts: record.map_or(0, |record| record.attempts),
        request_id: Some(response.request_id.clone()),
        http_status: Some(response.status),
        cause: None,
        state: record.and_then(|record| record.status(now)).map(|status| status.state),
        created_at: record.map(|record| record.created_at),
    })
}

/// Completes the key. A business key outlives the response, so the resource in it is noted.
pub(super) fn completed(
    record: &Record,
    mut response: StoredResponse,
    now: UnixMillis,
) -> RecordState {
    if record.remembers() {
        response.note_resource();
    }
    RecordState::Completed { response, completed_at: now }
}

/// Ends an attempt that was not executed. Whether the key is free depends on the earlier attempts.
pub(super) fn not_executed(record: &Record, cause: ReleaseCause, now: UnixMillis) -> RecordState {
    if record.maybe_executed {
        RecordState::Unknown { cause: UnknownCause::EarlierAttempt, since: now }
    } else {
        RecordState::Released { cause, since: now }
    }
}

/// Returns the record that the end of an attempt may change. Otherwise the end changes nothing: the
/// record is gone, has expired, or knows that the attempt has ended.
pub(super) fn not_ended(
    record: Option<Record>,
    token: AttemptToken,
    brought: Option<&StoredResponse>,
    now: UnixMillis,
) -> Result<Record, Box<Transition<Completion>>> {
    let step = match unless_gone(record, now) {
        None => untouched(Completion::RecordGone, None, now),
        Some(record) if record.life(now) == Life::Expired => lease_lost(record, now),
        // The record belongs to another request now, and this attempt must see nothing of it.
        Some(record) if record.earlier.was_of_another(token) => {
            untouched(Completion::Recorded, None, now)
        }
        Some(record) if record.earlier.has_ended(token) => repeated(record, brought, now),
        Some(record) => return Ok(record),
    };
    Err(Box::new(step))
}

/// Decides for a repeated call of an attempt whose end is recorded. If the key now has the response of
/// another attempt, the caller gets that response. Its own response, together with the state
/// `completed`, would look like the key's response.
fn repeated(
    record: Record,
    brought: Option<&StoredResponse>,
    now: UnixMillis,
) -> Transition<Completion> {
    match &record.state {
        RecordState::Completed { response, .. }
            if !brought.is_some_and(|brought| response.is_same_response(brought)) =>
        {
            lease_lost(record, now)
        }
        _ => keep(Completion::Recorded, &record, now),
    }
}

/// Decides for the end of an attempt that does not own the key: it gets the current decision. An
/// attempt that the record does not know must retry, so that `begin` compares the requests.
pub(super) fn overtaken(
    record: Record,
    token: AttemptToken,
    now: UnixMillis,
) -> Transition<Completion> {
    let is_for_all = matches!(record.state, RecordState::Voided { .. });
    if is_for_all || record.earlier.contains(token) {
        return lease_lost(record, now);
    }
    untouched(Completion::LeaseLost(Box::new(Decision::InProgress)), None, now)
}

fn lease_lost(record: Record, now: UnixMillis) -> Transition<Completion> {
    let Transition { decision, status, next, change } = current(record, now);
    Transition { decision: Completion::LeaseLost(Box::new(decision)), status, next, change }
}
