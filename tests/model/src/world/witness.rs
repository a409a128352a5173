//! The witness: what callers, the origin and the records have seen. The properties are checked against the witness,
//! never against the core.

mod seen;

use super::object::Shelf;
use super::requests::{WriteRequest, is_same};
use super::{World, requests};
use crate::config::{Scene, Secrets};
use crate::property::Property;
use crate::reached::Milestone;
use oncekey::write_flow::Target;
use oncekey::{
    AttemptToken, Decision, ExpiredKey, FailCause, KeyState, Policy, Record, RecordState,
    RecordUpdate, ResponseClass, StoredResponse, UnixMillis,
};

/// What was seen of one record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Witness {
    attempts: Vec<Attempt>,
    /// The tenant and the content of its request.
    belongs_to: Option<(u8, u8)>,
    /// The time from which the record may be forgotten.
    forgotten_from: Option<UnixMillis>,
    /// Its kept responses, in their order.
    responses: Vec<Kept>,
    /// How many executions there were under it, and the number of the first.
    charges: u8,
    executed: Option<u8>,
    /// For a business key: the first success that a caller saw, and the time until which every caller must see it.
    seen: Option<(StoredResponse, UnixMillis)>,
    /// Whether the origin has refused the request finally.
    is_refused: bool,
    is_voided: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Attempt {
    running: u8,
    /// Whether a record returned `Execute` to the attempt.
    is_granted: bool,
    /// Whether its request was sent to the origin.
    is_dispatched: bool,
    /// Whether its outcome is recorded, or its lease had expired when another attempt took over.
    is_free: bool,
    /// Whether it was certainly not executed, according to the origin or an operator.
    is_clear: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Kept {
    response: StoredResponse,
    /// `None` if the response is permanent.
    until: Option<UnixMillis>,
    /// The time until which the content is kept.
    content_until: Option<UnixMillis>,
}

/// A change of a record.
pub(super) enum Change<'a> {
    Begun(&'a WriteRequest, u8, &'a Decision),
    ByAttempt(u8, AttemptToken, EndOfAttempt<'a>),
    Voided(bool),
    Settled,
    Swept,
}

pub(super) enum EndOfAttempt<'a> {
    Response(&'a StoredResponse),
    Failure(FailCause),
    Renewal,
}

impl EndOfAttempt<'_> {
    fn is_success(&self) -> bool {
        matches!(self, Self::Response(response) if response.is_success())
    }

    /// Returns whether it proves that nothing was executed.
    fn clears(&self, policy: &Policy) -> bool {
        match self {
            Self::Response(response) => matches!(
                policy.class_of(response.status),
                ResponseClass::NotExecuted | ResponseClass::RepeatElsewhere
            ),
            Self::Failure(cause) => *cause == FailCause::NotDispatched,
            Self::Renewal => false,
        }
    }
}

impl World {
    /// Records that a record is about to be changed.
    pub(super) fn witness(
        &mut self,
        scene: &Scene,
        shelf: u8,
        before: Option<&Record>,
        next: &RecordUpdate,
        change: &Change<'_>,
        now: UnixMillis,
    ) {
        let after = match next {
            RecordUpdate::Keep => before,
            RecordUpdate::Remove => None,
            RecordUpdate::Write(record) => Some(&**record),
        };
        let Shelf { witness, for_good, .. } = &mut self.shelves[usize::from(shelf)];
        let for_good = *for_good;
        if witness.forgotten_from.is_some_and(|from| from <= now) {
            witness.forget();
        }
        let mut broken = Vec::new();
        if let Change::Begun(request, running, decision) = change {
            witness.begun(request, *running, decision, &mut broken);
        }
        if let Change::Voided(true) = change {
            witness.is_voided = true;
            if witness.charges > 0 {
                broken.push(Property::VoidedNeverExecutes);
            }
        }
        if !matches!(next, RecordUpdate::Keep) {
            broken.extend(completed_changes(before, after, now));
            broken.extend(stale_changes(scene, before, after, change));
            broken.extend(witness.takes(before, after, for_good, now));
            broken.extend(witness.begins_again(change));
            witness.frees(before, after, change, now);
            witness.remember(before, after, for_good, change);
        }
        for property in broken {
            self.breaks(property);
        }
    }
}

impl Witness {
    /// Forgets what was seen, as if the record had never existed.
    fn forget(&mut self) {
        let responses = core::mem::take(&mut self.responses);
        *self = Self { responses, ..Self::default() };
    }

    fn attempt(&mut self, running: u8) -> &mut Attempt {
        let known = self.attempts.iter().position(|attempt| attempt.running == running);
        let at = known.unwrap_or_else(|| {
            let (is_granted, is_dispatched) = (false, false);
            let (is_free, is_clear) = (false, false);
            self.attempts.push(Attempt { running, is_granted, is_dispatched, is_free, is_clear });
            self.attempts.len() - 1
        });
        &mut self.attempts[at]
    }

    fn begun(
        &mut self,
        request: &WriteRequest,
        running: u8,
        decision: &Decision,
        broken: &mut Vec<Property>,
    ) {
        let sender = (request.tenant, request.content);
        let refuses = match decision {
            Decision::Mismatch | Decision::KeyVoided | Decision::KeyExpired => true,
            // If the record's secret is not listed, the gateway may report only its status.
            Decision::NotReplayable { http_status, .. } => {
                http_status.is_none() || request.secrets != Secrets::None
            }
            _ => false,
        };
        match self.belongs_to {
            Some((tenant, _)) if tenant != request.tenant && !refuses => {
                broken.push(Property::ScopesApart);
            }
            Some(owner) if owner != sender && !refuses => broken.push(Property::OneRequest),
            _ => {}
        }
        if matches!(decision, Decision::Execute(_)) {
            self.belongs_to.get_or_insert(sender);
            self.attempt(running).is_granted = true;
        }
    }

    /// Returns whether a response may be kept: the first one, or one after the earlier response has expired.
    fn takes(
        &mut self,
        before: Option<&Record>,
        after: Option<&Record>,
        for_good: bool,
        now: UnixMillis,
    ) -> Option<Property> {
        let response = |record: Option<&Record>| match record.map(|record| &record.state) {
            Some(RecordState::Completed { response, .. }) => Some(response.clone()),
            _ => None,
        };
        let kept = response(after)?;
        if response(before).is_some() {
            return None;
        }
        let has_expired = |last: &Kept| last.until.is_some_and(|until| until <= now);
        let is_first = self.responses.last().is_none_or(has_expired);
        let content_until = after.and_then(Record::expires_at);
        let until = content_until.filter(|_| !for_good);
        self.responses.push(Kept { response: kept, until, content_until });
        (!is_first).then_some(Property::OneResponse)
    }

    /// Marks the attempts that a change ends.
    fn frees(
        &mut self,
        before: Option<&Record>,
        after: Option<&Record>,
        change: &Change<'_>,
        now: UnixMillis,
    ) {
        if let Change::Settled = change {
            for attempt in &mut self.attempts {
                (attempt.is_free, attempt.is_clear) = (true, true);
            }
        }
        if let Change::ByAttempt(running, _, end) = change
            && !matches!(end, EndOfAttempt::Renewal)
        {
            let clears = before.is_some_and(|record| end.clears(&record.policy));
            let attempt = self.attempt(*running);
            attempt.is_free = true;
            attempt.is_clear |= clears;
        }
        let Some(RecordState::InFlight { token, lease_until }) = before.map(|record| &record.state)
        else {
            return;
        };
        let goes_on = matches!(after.map(|r| &r.state), Some(RecordState::InFlight { token: owner, .. }) if owner == token);
        let has_response = matches!(after.map(|r| &r.state), Some(RecordState::Completed { .. }));
        if !goes_on && (*lease_until <= now || has_response) {
            for attempt in &mut self.attempts {
                let is_owner = [Target::First, Target::BusinessKey]
                    .map(|of| requests::token(attempt.running, of))
                    .contains(token);
                attempt.is_free |= is_owner;
            }
        }
    }

    /// Records the current state, and how long it counts.
    fn remember(
        &mut self,
        before: Option<&Record>,
        after: Option<&Record>,
        for_good: bool,
        change: &Change<'_>,
    ) {
        let Some(record) = after else {
            // A redirected request leaves no record. The sweep removes records that may be forgotten.
            let leaves_nothing = matches!(
                change,
                Change::ByAttempt(_, _, EndOfAttempt::Response(response))
                    if ResponseClass::of_status(response.status) == ResponseClass::RepeatElsewhere
            );
            if leaves_nothing && before.is_some_and(|record| !record.maybe_executed) {
                // The attempts are forgotten with their record.
                self.belongs_to = None;
                self.forgotten_from = None;
                self.attempts.clear();
            }
            return;
        };
        let is_released = matches!(record.state, RecordState::Released { .. });
        if for_good && is_released && !record.maybe_executed {
            self.belongs_to = None;
        }
        let long = |from: UnixMillis| from.plus(record.policy.long_retention());
        self.forgotten_from = match (record.policy.expired_key, &record.state) {
            (_, RecordState::Released { .. }) if for_good => record.due_at(),
            _ if for_good => None,
            (ExpiredKey::Refuse, RecordState::Voided { .. } | RecordState::Expired { .. }) => {
                record.due_at()
            }
            (ExpiredKey::Refuse, _) => record.due_at().map(long),
            (ExpiredKey::Forget | ExpiredKey::Remember, _) => record.due_at(),
        };
    }

    /// Checks that an attempt which has ended or was overtaken does not begin again.
    fn begins_again(&self, change: &Change<'_>) -> Option<Property> {
        let Change::Begun(_, running, _) = change else { return None };
        let is_over = self.attempts.iter().any(|a| a.running == *running && a.is_free);
        is_over.then_some(Property::StaleAddsOnlySuccess)
    }
}

/// 3. Checks that a completed record does not change until it expires.
fn completed_changes(
    before: Option<&Record>,
    after: Option<&Record>,
    now: UnixMillis,
) -> Option<Property> {
    let before = before?;
    let RecordState::Completed { response, .. } = &before.state else { return None };
    let is_alive = before.due_at().is_none_or(|due| now < due)
        && before.status(now).is_some_and(|status| status.state == KeyState::Completed);
    let stays = matches!(
        after.map(|record| &record.state),
        Some(RecordState::Completed { response: after, .. }) if is_same(response, after)
    );
    (is_alive && !stays).then_some(Property::CompletedStays)
}

/// 3. Checks that an attempt that does not own the key adds only the first success.
fn stale_changes(
    scene: &Scene,
    before: Option<&Record>,
    after: Option<&Record>,
    change: &Change<'_>,
) -> Option<Property> {
    let Change::ByAttempt(_, token, end) = change else { return None };
    let state = before.map(|record| &record.state);
    if matches!(state, Some(RecordState::InFlight { token: owner, .. }) if owner == token) {
        return None;
    }
    let has_response =
        matches!(state, Some(RecordState::Completed { .. } | RecordState::Voided { .. }) | None);
    let adds = matches!(after.map(|record| &record.state), Some(RecordState::Completed { .. }));
    let is_first_success = !has_response && end.is_success() && adds;
    if is_first_success {
        scene.reached.note(Milestone::LateSuccess);
    }
    (!is_first_success && before != after).then_some(Property::StaleAddsOnlySuccess)
}
