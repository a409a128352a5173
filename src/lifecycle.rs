//! The life of a key: what each call does in each state.
//!
//! These functions decide; they read no clock and touch no store. A caller reads the record, calls
//! one of them, and writes what it says, with nothing in between.
//!
//! # The rules
//!
//! 1. One attempt at a time owns a key, for as long as its lease lives.
//! 2. Once an attempt *may* have been executed the key never counts as untouched again
//!    (`maybe_executed`), whatever later attempts are told.
//! 3. The first final answer is the key's answer and never changes.
//! 4. An attempt that was overtaken may add one thing: the first success, to a key without answer.
//! 5. An attempt that has ended changes nothing any more, however often its calls arrive, and no
//!    earlier attempt begins again.
//!
//! # The table
//!
//! | state | `begin`, same request | `complete` by the owner | `complete` by another | `fail` by the owner | `void` |
//! |---|---|---|---|---|---|
//! | absent | Execute → InFlight | – | RecordGone | RecordGone | → Voided |
//! | InFlight, alive | InProgress (same token: Execute) | → by its status | 2xx → Completed, else LeaseLost | → Unknown or Released | stands |
//! | InFlight, dead | as Unknown | → by its status | 2xx → Completed, else LeaseLost | → Unknown or Released | stands |
//! | Unknown | `retry`: Execute; `hold`: OutcomeUnknown | – | 2xx → Completed, else LeaseLost | – | stands |
//! | Released | Execute → InFlight | – | 2xx → Completed, else LeaseLost | – | → Voided, unless `maybe_executed` |
//! | Completed | Replay or NotReplayable | – | LeaseLost | – | stands |
//! | Voided | KeyVoided | – | LeaseLost | – | stands |
//! | Expired | KeyExpired | – | LeaseLost | – | stands |
//!
//! [`peek`] asks what `begin` would be told, and begins nothing.
//!
//! Each branch also says what it means for the [`journal`](crate::journal), in [`Step::change`].
//!
//! # Business numbers
//!
//! A number is a key with a record of its own, under the policy [`ExpiredKey::Remember`]. Of the
//! table, this differs:
//!
//! | state | what differs |
//! |---|---|
//! | InFlight, Unknown | final, but no 2xx → as not executed: only a success binds a number |
//! | Released | belongs to no request: another one executes too. Goes after the retention |
//! | Completed | after the retention NotReplayable, for good: status, resource and fingerprint stay |
//! | Unknown, Voided | never expire |
//!
//! By its status ([`AnswerClass`]): final → Completed; not executed → Released, or Unknown when
//! `maybe_executed`; unknown → Unknown; repeat elsewhere → absent, or Unknown when `maybe_executed`.
//! An attempt that has ended or was overtaken is told what stands when its `begin` comes late. One
//! that the record does not know is told to come again (InProgress), whatever stands: it may be of
//! another request. So is one that ended before a number went to another request told Recorded, and
//! nothing more.

use crate::decision::{
    Change, ChangeKind, Completion, Decision, Execution, FailCause, LifecycleCall, Next, Renewal,
    Settlement, Settling, Step,
};
use crate::fingerprint::{Comparison, Fingerprints};
use crate::policy::{AnswerClass, ExpiredKey, Policy, UnknownOutcome};
use crate::record::{
    EarlierAttempts, KeyState, KeyStatus, Life, Record, ReleaseCause, State, Token, UnknownCause,
};
use crate::response::StoredResponse;
use crate::time::UnixMillis;

/// An attempt that wants to execute a request.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The request.
    pub fingerprints: &'a Fingerprints,
    /// What tells this attempt from every other; the same for a repeated call.
    pub token: Token,
    /// When the key was made, where it tells.
    pub minted_at: Option<UnixMillis>,
    /// Today's policy, for a record that is new.
    pub policy: &'a Policy,
}

/// An attempt asks to execute its request.
pub fn begin(record: Option<Record>, attempt: &Attempt<'_>, now: UnixMillis) -> Step<Decision> {
    // 1. What has expired is absent, or refused where the record's policy says so.
    let change = record.as_ref().and_then(|record| forgotten(record, LifecycleCall::Begin, now));
    let Some(record) = unless_gone(record, now) else {
        return begin_absent(attempt, change, now);
    };
    if let Some(decision) = refusal(&record, attempt.fingerprints, now) {
        // A number that nothing was executed under belongs to no request: another one begins anew.
        return if is_unbound(&record) && !record.earlier.contains(attempt.token) {
            begin_anew(record, attempt, now)
        } else {
            keep(decision, &record, now)
        };
    }
    match record.state {
        // 4. The answer is given again.
        State::Completed { .. } => stands(record, now),
        // 5. The owner that asks again is told the same; everybody else comes again later.
        State::InFlight { token, lease_until } if now < lease_until => {
            if token == attempt.token {
                let execution = execution(&record);
                keep(Decision::Execute(execution), &record, now)
            } else {
                stands(record, now)
            }
        }
        // An attempt that has ended or was overtaken does not begin again, or its late calls would
        // count as the owner's.
        _ if record.earlier.contains(attempt.token) => stands(record, now),
        // 6. An attempt whose lease died was dispatched, or may have been.
        // 7. What may have been executed is executed again only where the policy says so.
        State::InFlight { .. } | State::Unknown { .. } => match record.policy.unknown_outcome {
            UnknownOutcome::Retry => {
                execute(Record { maybe_executed: true, ..record }, attempt, now)
            }
            UnknownOutcome::Hold => stands(record, now),
        },
        // 8. What surely was not executed is executed.
        State::Released { .. } => execute(record, attempt, now),
        State::Voided { .. } | State::Expired { .. } => stands(record, now),
    }
}

/// What a request would be told, were it to begin now; `None` if it would execute. Nothing is begun.
pub fn peek(
    record: Option<Record>,
    fingerprints: &Fingerprints,
    now: UnixMillis,
) -> Step<Option<Decision>> {
    let Some(record) = unless_gone(record, now) else {
        return untouched(None, None, now);
    };
    let refusal = refusal(&record, fingerprints, now);
    let would_execute = match record.state {
        State::Released { .. } => refusal.is_none() || is_unbound(&record),
        State::InFlight { lease_until, .. } if now < lease_until => false,
        State::InFlight { .. } | State::Unknown { .. } => {
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
    let Step { decision, status, next, change } = stands(record, now);
    Step { decision: Some(decision), status, next, change }
}

/// The attempt that owns the key asks for its lease to begin anew.
pub fn renew(record: Option<Record>, token: Token, now: UnixMillis) -> Step<Renewal> {
    match unless_gone(record, now) {
        // Even a dead lease is renewed as long as nobody took the key over.
        Some(mut record) if record.life(now) == Life::Live && owns(&record, token) => {
            let lease_until = now.plus(record.policy.lease);
            record.state = State::InFlight { token, lease_until };
            write(Renewal::Renewed, record, None, now)
        }
        record => untouched(Renewal::Lost, record.as_ref(), now),
    }
}

/// An attempt brings the origin's answer.
pub fn complete(
    record: Option<Record>,
    token: Token,
    response: StoredResponse,
    now: UnixMillis,
) -> Step<Completion> {
    let too_late = too_late(record.as_ref(), token, &response, now);
    let mut record = match not_ended(record, token, Some(&response), now) {
        Ok(record) => record,
        Err(step) => return Step { change: too_late, ..*step },
    };
    if owns(&record, token) {
        record.earlier.note_ended(token);
        return record_answer(record, response, now);
    }
    // An overtaken attempt may bring the first success: a success proves what was executed. It must
    // be one of this record's: a forgotten record's attempt may have brought another request.
    let has_no_answer = matches!(
        record.state,
        State::InFlight { .. } | State::Unknown { .. } | State::Released { .. }
    );
    if has_no_answer && response.is_success() && record.earlier.contains(token) {
        record.earlier.note_ended(token);
        // Who owns the key is overtaken by this, and will be told what stands.
        dispossess(&mut record);
        let (http_status, request_id) = (response.status, response.request_id.clone());
        record.state = completed(&record, response, now);
        let change = Change::new(LifecycleCall::Complete, ChangeKind::LateSuccess, &record, now)
            .with_response(http_status, request_id);
        return write(Completion::Recorded, record, Some(change), now);
    }
    Step { change: too_late, ..overtaken(record, token, now) }
}

/// An attempt ends without an answer.
pub fn fail(
    record: Option<Record>,
    token: Token,
    cause: FailCause,
    now: UnixMillis,
) -> Step<Completion> {
    let mut record = match not_ended(record, token, None, now) {
        Ok(record) => record,
        Err(step) => return *step,
    };
    if !owns(&record, token) {
        return overtaken(record, token, now);
    }
    record.earlier.note_ended(token);
    let unknown = |cause| State::Unknown { cause, since: now };
    record.state = match cause {
        FailCause::NotDispatched => not_executed(&record, ReleaseCause::NotDispatched, now),
        FailCause::TimedOut => unknown(UnknownCause::TimedOut),
        FailCause::ConnectionLost => unknown(UnknownCause::ConnectionLost),
        FailCause::NotStored => {
            // The caller has an answer that nobody can give again: a retry must not make another.
            record.policy.unknown_outcome = UnknownOutcome::Hold;
            unknown(UnknownCause::NotStored)
        }
    };
    record.maybe_executed |= matches!(record.state, State::Unknown { .. });
    let change = Change::new(LifecycleCall::Fail, kind_of_end(&record), &record, now);
    write(Completion::Recorded, record, Some(change), now)
}

/// The caller gives the key up. Only the state `voided` after it proves that nothing was executed
/// and nothing will be.
pub fn void(
    record: Option<Record>,
    minted_at: Option<UnixMillis>,
    policy: &Policy,
    now: UnixMillis,
) -> Step<()> {
    match unless_gone(record, now) {
        // A key about as old as the retention may have been executed and forgotten: that it is
        // absent proves nothing.
        None if may_be_forgotten(minted_at, policy, now) => expired_unseen(minted_at, (), now),
        None => {
            let voided = Record {
                fingerprint: None,
                policy: *policy,
                state: State::Voided { since: now },
                attempts: 0,
                maybe_executed: false,
                earlier: EarlierAttempts::default(),
                created_at: now,
            };
            give_up(voided, now)
        }
        Some(mut record) if was_never_executed(&record, minted_at, now) => {
            record.state = State::Voided { since: now };
            give_up(record, now)
        }
        Some(record) => keep((), &record, now),
    }
}

/// An operator, or a look-up at the origin, tells what became of an unknown outcome.
pub fn settle(record: Option<Record>, settlement: Settlement, now: UnixMillis) -> Step<Settling> {
    let status = record.as_ref().and_then(|record| record.status(now));
    match record {
        Some(mut record) if status.as_ref().is_some_and(|s| s.state == KeyState::Unknown) => {
            // The attempt that left it unknown is over by this; only its success may still come.
            dispossess(&mut record);
            let change = |record: &Record| {
                Change::new(LifecycleCall::Settle, ChangeKind::Settled, record, now)
            };
            let change = match settlement {
                Settlement::NotExecuted => {
                    record.maybe_executed = false;
                    record.state = State::Released { cause: ReleaseCause::Settled, since: now };
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
        _ => Step { decision: Settling::NotUnknown, status, next: Next::Keep, change: None },
    }
}

/// What the sweep does with a record: `Keep` until it is due (and then look again at
/// [`Record::due_at`]), `Write` what is left of it, be it a tombstone, or `Remove` it.
pub fn expire(record: Record, now: UnixMillis) -> Step<()> {
    let change = forgotten(&record, LifecycleCall::Expire, now);
    match (record.life(now), record.due_at()) {
        (Life::Gone, _) => Step { decision: (), status: None, next: Next::Remove, change },
        // Of a number's answer the content goes.
        (Life::Live, Some(due_at)) if due_at <= now => write((), record.at(now), None, now),
        (Life::Live, _) | (_, None) => keep((), &record, now),
        (Life::Expired, _) if matches!(record.state, State::Expired { .. }) => {
            keep((), &record, now)
        }
        // The tombstone needs no answer and no fingerprint.
        (Life::Expired, Some(due_at)) => {
            let tombstone = Record {
                state: State::Expired { since: due_at },
                fingerprint: None,
                earlier: EarlierAttempts::default(),
                ..record
            };
            write((), tombstone, change, now)
        }
    }
}

/// What a request is told by checks 1 to 3, whatever the attempt is; `None` if it gets past them.
fn refusal(record: &Record, fingerprints: &Fingerprints, now: UnixMillis) -> Option<Decision> {
    if record.life(now) == Life::Expired {
        return Some(Decision::KeyExpired);
    }
    // 2. A voided key refuses every request, whatever it is.
    if matches!(record.state, State::Voided { .. }) {
        return Some(Decision::KeyVoided);
    }
    // 3. The key belongs to one request. That outranks all that follows: waiting would not help.
    match record.fingerprint.as_ref().map(|stored| fingerprints.compare(stored)) {
        Some(Comparison::Same) => None,
        Some(Comparison::Unlisted) => {
            // Nobody knows whether it is the same request. Of a number not even the status is told,
            // for that would be read as "it is, and look the object up".
            let http_status = answer_status(record).filter(|_| !record.remembers());
            Some(Decision::NotReplayable { http_status, resource: None })
        }
        Some(Comparison::Different) | None => Some(Decision::Mismatch),
    }
}

/// Whether a number belongs to no request: only a success binds it.
fn is_unbound(record: &Record) -> bool {
    let is_released = matches!(record.state, State::Released { .. });
    record.remembers() && is_released && !record.maybe_executed
}

/// Another request gets a number that nothing was executed under.
fn begin_anew(mut record: Record, attempt: &Attempt<'_>, now: UnixMillis) -> Step<Decision> {
    record.earlier.leave_to_another();
    execute(Record { earlier: record.earlier, ..new_record(attempt, now) }, attempt, now)
}

/// Nothing counts that was stored under the key. `change` says what was forgotten there.
fn begin_absent(attempt: &Attempt<'_>, change: Option<Change>, now: UnixMillis) -> Step<Decision> {
    let refuses = attempt.policy.expired_key == ExpiredKey::Refuse;
    // The key's own time is a tombstone that needs no storage.
    if refuses && is_older_than_retention(attempt.minted_at, attempt.policy, now) {
        return expired_unseen(attempt.minted_at, Decision::KeyExpired, now);
    }
    Step { change, ..execute(new_record(attempt, now), attempt, now) }
}

/// The record of a key that nobody has yet.
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

/// The attempt gets the key.
fn execute(mut record: Record, attempt: &Attempt<'_>, now: UnixMillis) -> Step<Decision> {
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

/// The owner's answer, by its status.
fn record_answer(
    mut record: Record,
    response: StoredResponse,
    now: UnixMillis,
) -> Step<Completion> {
    let (status, request_id) = (response.status, response.request_id.clone());
    let call = LifecycleCall::Complete;
    record.state = match record.policy.class_of(status) {
        AnswerClass::Final => completed(&record, response, now),
        AnswerClass::NotExecuted => not_executed(&record, ReleaseCause::Status(status), now),
        AnswerClass::Unknown => State::Unknown { cause: UnknownCause::Status(status), since: now },
        AnswerClass::RepeatElsewhere if record.maybe_executed => {
            State::Unknown { cause: UnknownCause::EarlierAttempt, since: now }
        }
        AnswerClass::RepeatElsewhere => {
            let change = Change {
                cause: None,
                state: None,
                ..Change::new(call, ChangeKind::Elsewhere, &record, now)
            };
            return Step {
                decision: Completion::Recorded,
                status: None,
                next: Next::Remove,
                change: Some(change.with_response(status, request_id)),
            };
        }
    };
    record.maybe_executed |= matches!(record.state, State::Unknown { .. });
    let change = Change::new(call, kind_of_end(&record), &record, now);
    let change = change.with_response(status, request_id);
    write(Completion::Recorded, record, Some(change), now)
}

/// What the end of the owner's attempt did.
fn kind_of_end(record: &Record) -> ChangeKind {
    match record.state {
        State::Completed { .. } => ChangeKind::Completed,
        State::Released { .. } => ChangeKind::Released,
        _ => ChangeKind::Unknown,
    }
}

/// The change that the journal records for a response that is not taken, unless it is recorded
/// already that its attempt has ended.
fn too_late(
    record: Option<&Record>,
    token: Token,
    response: &StoredResponse,
    now: UnixMillis,
) -> Option<Change> {
    if record.is_some_and(|record| record.earlier.has_ended(token)) {
        return None;
    }
    Some(Change {
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

/// The change that the journal records when this record is forgotten or refused: its outcome stayed
/// unknown. `None` for a record with any other outcome.
fn forgotten(record: &Record, call: LifecycleCall, now: UnixMillis) -> Option<Change> {
    let is_unknown = match record.state {
        State::InFlight { lease_until, .. } => lease_until <= now,
        State::Unknown { .. } => true,
        _ => false,
    };
    is_unknown.then(|| Change::new(call, ChangeKind::Expired, record, now))
}

fn give_up(record: Record, now: UnixMillis) -> Step<()> {
    let change = Change::new(LifecycleCall::Void, ChangeKind::Voided, &record, now);
    write((), record, Some(change), now)
}

/// The answer that came. A number outlives it, so what it says of the resource is noted.
fn completed(record: &Record, mut response: StoredResponse, now: UnixMillis) -> State {
    if record.remembers() {
        response.note_resource();
    }
    State::Completed { response, completed_at: now }
}

/// This attempt surely was not executed; whether the key is free depends on the earlier ones.
fn not_executed(record: &Record, cause: ReleaseCause, now: UnixMillis) -> State {
    if record.maybe_executed {
        State::Unknown { cause: UnknownCause::EarlierAttempt, since: now }
    } else {
        State::Released { cause, since: now }
    }
}

/// What everybody but the owner is told about the key as it stands.
fn stands(record: Record, now: UnixMillis) -> Step<Decision> {
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
        // Free again: who comes again executes.
        State::InFlight { .. } | State::Unknown { .. } if retry => Decision::InProgress,
        State::Released { .. } => Decision::InProgress,
        State::InFlight { .. } | State::Unknown { .. } => Decision::OutcomeUnknown,
        State::Voided { .. } => Decision::KeyVoided,
        State::Expired { .. } => Decision::KeyExpired,
    };
    Step { decision, status, next: Next::Keep, change: None }
}

/// The record that an attempt's end is brought to, or what to say where the end changes nothing
/// whatever it is: the record is gone, has expired, or knows already that the attempt has ended.
fn not_ended(
    record: Option<Record>,
    token: Token,
    brought: Option<&StoredResponse>,
    now: UnixMillis,
) -> Result<Record, Box<Step<Completion>>> {
    let step = match unless_gone(record, now) {
        None => untouched(Completion::RecordGone, None, now),
        Some(record) if record.life(now) == Life::Expired => lease_lost(record, now),
        // What stands is another request's, and nothing of it is this one's to tell.
        Some(record) if record.earlier.was_of_another(token) => {
            untouched(Completion::Recorded, None, now)
        }
        Some(record) if record.earlier.has_ended(token) => repeated(record, brought, now),
        Some(record) => return Ok(record),
    };
    Err(Box::new(step))
}

/// A repeated call of an attempt that has ended: what it brought is recorded already. Where another
/// attempt has brought the answer meanwhile, its caller gets that: with the state `completed`, a
/// refusal of its own would read as the key's answer.
fn repeated(record: Record, brought: Option<&StoredResponse>, now: UnixMillis) -> Step<Completion> {
    match &record.state {
        State::Completed { response, .. }
            if !brought.is_some_and(|brought| response.is_same_answer(brought)) =>
        {
            lease_lost(record, now)
        }
        _ => keep(Completion::Recorded, &record, now),
    }
}

/// An attempt that is not the owner is told what stands. One that the record does not know may be of
/// another request: it comes again, and `begin` compares the requests.
fn overtaken(record: Record, token: Token, now: UnixMillis) -> Step<Completion> {
    let is_for_all = matches!(record.state, State::Voided { .. });
    if is_for_all || record.earlier.contains(token) {
        return lease_lost(record, now);
    }
    untouched(Completion::LeaseLost(Box::new(Decision::InProgress)), None, now)
}

fn lease_lost(record: Record, now: UnixMillis) -> Step<Completion> {
    let Step { decision, status, next, change } = stands(record, now);
    Step { decision: Completion::LeaseLost(Box::new(decision)), status, next, change }
}

fn owns(record: &Record, token: Token) -> bool {
    matches!(record.state, State::InFlight { token: owner, .. } if owner == token)
}

/// Whether it is sure that nothing was executed under the key, also before this record was begun,
/// and that nobody is about to.
fn was_never_executed(record: &Record, minted_at: Option<UnixMillis>, now: UnixMillis) -> bool {
    let is_released = matches!(record.state, State::Released { .. });
    is_released
        && !record.maybe_executed
        && !may_be_forgotten(minted_at, &record.policy, record.created_at)
        && record.life(now) == Life::Live
}

/// The attempt that owns the key owns it no more.
fn dispossess(record: &mut Record) {
    if let State::InFlight { token, .. } = record.state {
        record.earlier.note_overtaken(token);
    }
}

/// The record as it counts now, unless it is as if it had never been.
fn unless_gone(record: Option<Record>, now: UnixMillis) -> Option<Record> {
    let record = record.map(|record| record.at(now));
    record.filter(|record| record.life(now) != Life::Gone)
}

fn execution(record: &Record) -> Execution {
    Execution { attempt: record.attempts, lease: record.policy.lease }
}

fn answer_status(record: &Record) -> Option<u16> {
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

/// Whether a key that is absent at `now` may have had an answer that is gone by now. Here the doubt is on the
/// other side: the clock that made the key may be ahead of ours.
fn may_be_forgotten(minted_at: Option<UnixMillis>, policy: &Policy, now: UnixMillis) -> bool {
    let tolerance = Policy::CLOCK_TOLERANCE.min(policy.retention.half());
    minted_at.is_some_and(|minted_at| now.since(minted_at).plus(tolerance) >= policy.retention)
}

/// A key without a record that must have expired.
fn expired_unseen<D>(minted_at: Option<UnixMillis>, decision: D, now: UnixMillis) -> Step<D> {
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

fn keep<D>(decision: D, record: &Record, now: UnixMillis) -> Step<D> {
    untouched(decision, Some(record), now)
}

fn untouched<D>(decision: D, record: Option<&Record>, now: UnixMillis) -> Step<D> {
    let status = record.and_then(|record| record.status(now));
    Step { decision, status, next: Next::Keep, change: None }
}

fn write<D>(decision: D, record: Record, change: Option<Change>, now: UnixMillis) -> Step<D> {
    Step { decision, status: record.status(now), next: Next::Write(Box::new(record)), change }
}
