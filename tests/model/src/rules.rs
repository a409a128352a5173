//! The calls of the core, as a world makes them: unchanged, or with one deliberate fault.
//!
//! Without a [`Mutant`] each function calls the core and does nothing else. A world that makes all its calls
//! through these functions can be run with any mutant, and must catch it.

mod client;

use crate::mutants::Mutant as M;
use oncekey::fingerprint::Comparison;
use oncekey::record::{EarlierAttempts, ReleaseCause};
use oncekey::replica::{self, Memory};
use oncekey::write_flow::{
    Action as FlowAction, CallerResponse, Event as FlowEvent, Identity, Target, Write, WriteFlow,
    WriteOutcome,
};
use oncekey::{
    Attempt, AttemptToken, Completion, Decision, Execution, FailCause, Fingerprint, Fingerprints,
    IdempotencyKey, KeyState, KeyStatus, LookUps, Millis, Policy, Record, RecordState,
    RecordUpdate, Renewal, Scope, ScopedKey, Settlement, Settling, StoredResponse, Transition,
    UnixMillis, lifecycle,
};
use std::sync::LazyLock;

pub use client::Ordered;

static LOOK_UPS: LazyLock<LookUps> = LazyLock::new(|| {
    let list = "POST:/v1/orders:/v1/orders?out_trade_no={/out_trade_no}#/data/id";
    LookUps::parse(list).expect("a list")
});

/// The calls of the core, with or without a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules {
    /// The fault.
    pub mutant: Option<M>,
}

/// The lifecycle of a record.
impl Rules {
    /// Calls [`ScopedKey::new`].
    pub fn name(self, scope: &Scope, key: &IdempotencyKey) -> ScopedKey {
        if self.has(M::ScopeLeftOut) {
            return ScopedKey::new(&Scope::anonymous(), key);
        }
        ScopedKey::new(scope, key)
    }

    /// Calls [`lifecycle::decision_time`], for the time of a shard.
    pub fn time(
        self,
        clock: UnixMillis,
        last_seen: UnixMillis,
        record: Option<&Record>,
    ) -> UnixMillis {
        if self.has(M::TimeGoesBack) {
            return clock;
        }
        let record = record.filter(|_| !self.has(M::RestartForgetsTime));
        lifecycle::decision_time(clock, last_seen, record)
    }

    /// Calls [`RecordUpdate::shows_time`].
    pub fn shows_time(self, next: &RecordUpdate, now: UnixMillis) -> bool {
        self.has(M::RemovalForgetsTime) || next.shows_time(now)
    }

    /// Returns whether the platform may send a request to the origin again by itself. No rule of the core can prevent
    /// that; the gateway must send its requests so that it cannot happen.
    pub fn repeats_on_the_way(self) -> bool {
        self.has(M::PlatformRepeatsWrites)
    }

    /// [`Policy::of_business_keys`].
    pub fn of_business_keys(self, policy: Policy) -> Policy {
        if self.has(M::BusinessKeyForgotten) { policy } else { policy.of_business_keys() }
    }

    /// [`Policy::of_events`].
    pub fn of_events(self, policy: Policy) -> Policy {
        let kept = policy.of_events();
        if self.has(M::EventForgotten) {
            return Policy { expired_key: policy.expired_key, ..kept };
        }
        kept
    }

    /// Calls [`lifecycle::begin`].
    pub fn begin(
        self,
        record: Option<Record>,
        attempt: &Attempt<'_>,
        now: UnixMillis,
    ) -> Transition<Decision> {
        let is_in_flight = record.as_ref().is_some_and(|record| is_alive(record, now));
        let mut step = lifecycle::begin(self.begun(record, attempt, now), attempt, now);
        if self.has(M::FingerprintAfterInProgress)
            && is_in_flight
            && step.decision == Decision::Mismatch
        {
            step.decision = Decision::InProgress;
        }
        self.replayed(step)
    }

    fn begun(
        self,
        record: Option<Record>,
        attempt: &Attempt<'_>,
        now: UnixMillis,
    ) -> Option<Record> {
        let mut record = record?;
        let Some(mutant) = self.mutant else { return Some(record) };
        let is_other = |token| token != attempt.token;
        match (mutant, record.state.clone()) {
            (M::LeaseNotChecked, RecordState::InFlight { token, .. }) if is_other(token) => {
                record.state = RecordState::InFlight { token, lease_until: now };
            }
            (M::LeaseNeverExpires, RecordState::InFlight { token, .. }) if is_other(token) => {
                let lease_until = now.plus(record.policy.lease);
                record.state = RecordState::InFlight { token, lease_until };
            }
            (M::ExpiredLeaseCountsAsReleased, RecordState::InFlight { lease_until, .. })
                if lease_until <= now =>
            {
                record.state = released(now);
            }
            (M::HoldTreatedAsRetry, _) => {
                record.policy.unknown_outcome = oncekey::UnknownOutcome::Retry;
            }
            (M::LateBeginOwnsAgain, _) => record.earlier = EarlierAttempts::default(),
            (M::FingerprintNotCompared, _) => {
                record.fingerprint = Some(attempt.fingerprints.signing());
            }
            (M::UnlistedSecretIsNew, _) => {
                let stored = record.fingerprint.as_ref();
                let compared = stored.map(|stored| attempt.fingerprints.compare(stored));
                if compared == Some(Comparison::SecretRemoved) {
                    return None;
                }
            }
            _ => {}
        }
        Some(record)
    }

    /// Calls [`lifecycle::peek`].
    pub fn peek(
        self,
        record: Option<Record>,
        fingerprints: &Fingerprints,
        now: UnixMillis,
    ) -> Transition<Option<Decision>> {
        lifecycle::peek(record, fingerprints, now)
    }

    /// Calls [`lifecycle::renew`].
    pub fn renew(
        self,
        record: Option<Record>,
        token: AttemptToken,
        now: UnixMillis,
    ) -> Transition<Renewal> {
        let record = record.map(|mut record| {
            if self.has(M::RenewalTakesOver) && matches!(record.state, RecordState::InFlight { .. })
            {
                record.state = RecordState::InFlight { token, lease_until: now };
            }
            record
        });
        lifecycle::renew(record, token, now)
    }

    /// Calls [`lifecycle::complete`].
    pub fn complete(
        self,
        record: Option<Record>,
        token: AttemptToken,
        response: StoredResponse,
        now: UnixMillis,
    ) -> Transition<Completion> {
        let (status, mut token) = (response.status, token);
        let record = record.map(|mut record| {
            let owner = RecordState::InFlight { token, lease_until: now };
            match (self.mutant, &record.state) {
                (Some(M::NoAttemptCheckInComplete), RecordState::InFlight { token: owner, .. }) => {
                    token = *owner;
                }
                (Some(M::CompletedIsOverwritten), RecordState::Completed { .. }) => {
                    (record.state, record.earlier) = (owner, EarlierAttempts::default());
                }
                (Some(M::OvertakenMayRecordRefusal), state)
                    if !response.is_success()
                        && record.earlier.contains(token)
                        && !matches!(state, RecordState::Completed { .. }) =>
                {
                    (record.state, record.earlier) = (owner, EarlierAttempts::default());
                }
                (Some(M::MaybeExecutedForgotten), _) => record.maybe_executed = false,
                _ => {}
            }
            record
        });
        let mut step = lifecycle::complete(record, token, response, now);
        match (self.mutant, &mut step.next) {
            (Some(M::ReleaseOn5xx), RecordUpdate::Write(record))
                if status >= 500 && matches!(record.state, RecordState::Unknown { .. }) =>
            {
                (record.state, record.maybe_executed) = (released(now), false);
            }
            (Some(M::ReleaseForgetsFingerprint), RecordUpdate::Write(record))
                if matches!(record.state, RecordState::Released { .. }) =>
            {
                step.next = RecordUpdate::Remove;
            }
            _ => {}
        }
        step
    }

    /// Calls [`lifecycle::fail`].
    pub fn fail(
        self,
        record: Option<Record>,
        token: AttemptToken,
        cause: FailCause,
        now: UnixMillis,
    ) -> Transition<Completion> {
        let cause = match cause {
            FailCause::TimedOut if self.has(M::TimeOutReleases) => FailCause::NotDispatched,
            cause => cause,
        };
        let record = record.map(|mut record| {
            record.maybe_executed &= !self.has(M::MaybeExecutedForgotten);
            record
        });
        lifecycle::fail(record, token, cause, now)
    }

    /// Calls [`lifecycle::void`].
    pub fn void(
        self,
        record: Option<Record>,
        minted_at: Option<UnixMillis>,
        policy: &Policy,
        now: UnixMillis,
    ) -> Transition<()> {
        let record = record.map(|mut record| {
            if self.has(M::VoidOfInFlight) && matches!(record.state, RecordState::InFlight { .. }) {
                record.state = released(now);
            }
            record
        });
        lifecycle::void(record, minted_at, policy, now)
    }

    /// Calls [`lifecycle::settle`].
    pub fn settle(
        self,
        record: Option<Record>,
        settlement: Settlement,
        now: UnixMillis,
    ) -> Transition<Settling> {
        lifecycle::settle(record, settlement, now)
    }

    /// Calls [`lifecycle::expire`].
    pub fn expire(self, record: Record, now: UnixMillis) -> Transition<()> {
        let mut step = lifecycle::expire(record, now);
        if self.has(M::SweepRemovesLiveRecord) {
            step.next = RecordUpdate::Remove;
        }
        step
    }
}

/// The replica.
impl Rules {
    /// Calls [`replica::copy`].
    pub fn copy(
        self,
        fingerprint: &Fingerprint,
        response: &StoredResponse,
        status: &KeyStatus,
        shortest: Millis,
        now: UnixMillis,
    ) -> Option<(Record, Millis)> {
        replica::copy(fingerprint, response, status, shortest, now)
    }

    /// Calls [`replica::verify`].
    pub fn verify(
        self,
        mut copy: Record,
        attempt: &Attempt<'_>,
        now: UnixMillis,
    ) -> Option<Transition<Decision>> {
        if self.has(M::ReplicaExpiryIgnored) {
            copy.policy.retention = Millis::from_days(100_000);
        }
        if self.has(M::ReplicaFingerprintIgnored) {
            copy.fingerprint = Some(attempt.fingerprints.signing());
        }
        replica::verify(copy, attempt, now).map(|step| self.replayed(step))
    }
}

/// The memory of a gateway. It is never full in a world; a copy that leaves for want of room is like a copy that is lost in
/// a crash.
impl Rules {
    /// [`Memory::keep`].
    pub fn keep(
        self,
        memory: &mut Memory,
        name: ScopedKey,
        fingerprint: &Fingerprint,
        response: &StoredResponse,
        status: &KeyStatus,
        now: UnixMillis,
    ) {
        let (name, now) = self.remembered(name, now);
        let forged = self.has(M::MemoryKeepsEveryResponse).then(|| as_final(response, status));
        let status = forged.as_ref().unwrap_or(status);
        memory.keep(name, fingerprint, response, status, usize::MAX, now);
    }

    /// Runs before a response is recorded. Keeps nothing, unless a mutant does.
    pub fn keep_early(
        self,
        memory: &mut Memory,
        name: ScopedKey,
        fingerprint: &Fingerprint,
        response: &StoredResponse,
        now: UnixMillis,
    ) {
        if self.has(M::MemoryKeepsUnstoredResponse) {
            let (http_status, request_id) = (Some(response.status), None);
            let (completed_at, expires_at) = (Some(now), Some(now.plus(Millis::from_days(1))));
            let (state, attempts, created_at) = (KeyState::Completed, 1, now);
            let status = KeyStatus {
                state,
                attempts,
                http_status,
                request_id,
                created_at,
                completed_at,
                expires_at,
            };
            let status = as_final(response, &status);
            memory.keep(name, fingerprint, response, &status, usize::MAX, now);
        }
    }

    /// [`Memory::recall`].
    pub fn recall(
        self,
        memory: &mut Memory,
        name: ScopedKey,
        attempt: &Attempt<'_>,
        now: UnixMillis,
    ) -> Option<Transition<Decision>> {
        let (name, now) = self.remembered(name, now);
        memory.recall(name, attempt, now).map(|step| self.replayed(step))
    }

    fn remembered(self, name: ScopedKey, now: UnixMillis) -> (ScopedKey, UnixMillis) {
        let key = || IdempotencyKey::mint(UnixMillis::new(0), [0; 10]);
        (
            if self.has(M::MemoryNamesMixed) {
                ScopedKey::new(&Scope::anonymous(), &key())
            } else {
                name
            },
            if self.has(M::MemoryExpiryIgnored) { UnixMillis::new(0) } else { now },
        )
    }
}

/// The flow of a write through a gateway.
impl Rules {
    /// Calls [`WriteFlow::begin`].
    pub fn begin_write(self, write: Write, now: UnixMillis) -> (WriteFlow, FlowAction) {
        let business_key =
            write.business_key.clone().filter(|_| !self.has(M::BusinessKeyNotChecked));
        WriteFlow::begin(Write { business_key, ..write }, now)
    }

    /// Calls [`WriteFlow::advance`]. `write` is the write that the flow began with.
    pub fn advance(
        self,
        flow: &mut WriteFlow,
        write: &Write,
        event: FlowEvent,
        now: UnixMillis,
    ) -> FlowAction {
        let now = if self.has(M::DispatchAfterHalfLease) { UnixMillis::new(0) } else { now };
        let event = match event {
            FlowEvent::Ended(Some((Completion::LeaseLost(_), status)))
                if self.has(M::OvertakenSendsItsOwn) =>
            {
                FlowEvent::Ended(Some((Completion::Recorded, status)))
            }
            FlowEvent::Copied(None) if self.has(M::ReplicaMissCountsAsNew) => {
                *flow = self.begin_write(write.clone(), now).0;
                let execution = Execution { attempt: 1, lease: write.lease };
                FlowEvent::Begun(Ok((Decision::Execute(execution), None)))
            }
            event => event,
        };
        match flow.advance(event, now) {
            FlowAction::Complete(of, response) if self.swaps(write) => {
                FlowAction::Complete(other(of), response)
            }
            FlowAction::Respond(WriteOutcome {
                response: CallerResponse::NotStored,
                status,
                follow_ups,
            }) if self.has(M::NotStoredIsUnmarked) => FlowAction::Respond(WriteOutcome {
                response: CallerResponse::Own,
                status,
                follow_ups,
            }),
            action => action,
        }
    }

    /// Returns the response that a mutant sends before the step is carried out. Without a fault, there is no such
    /// response. With it, the flow's own later response is ignored.
    pub fn leaves_early(self, step: &FlowAction) -> Option<WriteOutcome> {
        match step {
            FlowAction::Complete(..) if self.has(M::ResponseBeforeStored) => Some(WriteOutcome {
                response: CallerResponse::Own,
                status: None,
                follow_ups: Vec::new(),
            }),
            _ => None,
        }
    }

    /// [`LookUp::is_proved_by`](oncekey::lookup::LookUp::is_proved_by).
    pub fn is_proved_by(self, response: &StoredResponse) -> bool {
        if self.has(M::LookUpSuccessAlwaysProves) {
            return response.is_success();
        }
        let body = br#"{"out_trade_no":"1"}"#;
        let look_up = LOOK_UPS.find("POST", "/v1/orders", Some("application/json"), body);
        look_up.is_some_and(|look_up| look_up.is_proved_by(response))
    }

    fn swaps(self, write: &Write) -> bool {
        let has_both = write.identity == Identity::Key && write.business_key.is_some();
        self.has(M::KeyBeforeBusinessKey) && has_both
    }
}

impl Rules {
    /// The core without a fault.
    pub const PLAIN: Self = Self { mutant: None };

    /// Returns the core with this fault.
    pub const fn with(mutant: M) -> Self {
        Self { mutant: Some(mutant) }
    }

    fn has(self, mutant: M) -> bool {
        self.mutant == Some(mutant)
    }

    fn replayed(self, mut step: Transition<Decision>) -> Transition<Decision> {
        if let (true, Decision::Replay(response)) = (self.has(M::ReplayLosesBody), &step.decision) {
            let (status, id) = (response.status, &response.request_id);
            let (shorter, _) = StoredResponse::keep(status, [], Vec::new(), id, 1000);
            step.decision = Decision::Replay(shorter);
        }
        step
    }
}

/// Returns the status that a key would have if this were its final response.
fn as_final(response: &StoredResponse, status: &KeyStatus) -> KeyStatus {
    let completed_at = status.completed_at.or(Some(status.created_at));
    let expires_at = status.expires_at.or(completed_at.map(|at| at.plus(Millis::from_days(1))));
    KeyStatus {
        state: KeyState::Completed,
        http_status: Some(response.status),
        request_id: Some(response.request_id.clone()),
        completed_at,
        expires_at,
        ..status.clone()
    }
}

fn is_alive(record: &Record, now: UnixMillis) -> bool {
    matches!(record.state, RecordState::InFlight { lease_until, .. } if now < lease_until)
}

fn released(now: UnixMillis) -> RecordState {
    RecordState::Released { cause: ReleaseCause::NotDispatched, since: now }
}

fn other(of: Target) -> Target {
    match of {
        Target::First => Target::BusinessKey,
        Target::BusinessKey => Target::First,
    }
}
