//! The witness remembers everything that happened to a key, and checks the properties. A record keeps the tokens of
//! only four earlier attempts; the witness remembers every attempt for ever.

use oncekey::{
    Decision, Execution, ExpiredKey, FailCause, Millis, Policy, Record, RecordState,
    StoredResponse, UnixMillis, UnknownOutcome,
};
use std::collections::BTreeSet;

/// The result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Response,
    Unknown,
    NotExecuted,
    NotStored,
}

impl End {
    /// For a business key, only a success counts as its response.
    pub(crate) fn of_status(status: u16, is_business_key: bool) -> Self {
        match status {
            300..=399 | 400..=407 | 410..=499 if is_business_key => Self::NotExecuted,
            401 | 403 | 407 | 417 | 421 | 423 | 425 | 429 | 307 | 308 => Self::NotExecuted,
            408 | 409 => Self::Unknown,
            status if status >= 500 => Self::Unknown,
            _ => Self::Response,
        }
    }

    pub(crate) fn of_failure(cause: FailCause) -> Self {
        match cause {
            FailCause::NotDispatched => Self::NotExecuted,
            FailCause::TimedOut | FailCause::ConnectionLost => Self::Unknown,
            FailCause::NotStored => Self::NotStored,
        }
    }
}

/// An attempt that got `Execute` at least once.
#[derive(Clone)]
struct Known {
    attempt: usize,
    generation: u32,
    lease_until: UnixMillis,
    end: Option<End>,
    /// Whether an operator settled that neither it nor an earlier attempt was executed.
    cleared: bool,
    executed: bool,
}

impl Known {
    /// Returns whether the attempt may have been executed, as far as it can be known at `now`.
    fn may_have_executed(&self, now: UnixMillis) -> bool {
        let unknown = match self.end {
            Some(end) => matches!(end, End::Unknown | End::NotStored),
            None => now >= self.lease_until,
        };
        unknown && !self.cleared
    }
}

pub(crate) struct Witness {
    /// The policy of the generation. A key that was forgotten begins a new generation.
    policy: Policy,
    /// Whether the generation began with `hold`. A response that is not stored changes it to hold later.
    begun_with_hold: bool,
    policy_is_constant: bool,
    key_tells_its_time: bool,
    generation: u32,
    /// The attempts in the order in which they got `Execute`, the latest last.
    known: Vec<Known>,
    owner: Option<usize>,
    responses_seen: Vec<(u32, StoredResponse)>,
    voided: Option<(u32, UnixMillis)>,
    executions: u32,
    milestones: BTreeSet<&'static str>,
}

impl Witness {
    pub(crate) fn new(policy: Policy, key_tells_its_time: bool) -> Self {
        Self {
            policy,
            begun_with_hold: false,
            policy_is_constant: true,
            key_tells_its_time,
            generation: 0,
            known: Vec::new(),
            owner: None,
            responses_seen: Vec::new(),
            voided: None,
            executions: 0,
            milestones: BTreeSet::new(),
        }
    }

    pub(crate) fn milestone(&mut self, what: &'static str) {
        self.milestones.insert(what);
    }

    pub(crate) fn milestones(&self) -> &BTreeSet<&'static str> {
        &self.milestones
    }

    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    fn is_business_key(&self) -> bool {
        self.policy.expired_key == ExpiredKey::Remember
    }

    pub(crate) fn policy_changed(&mut self) {
        self.policy_is_constant = false;
    }

    /// Records that an attempt gets the key. Property 1.
    pub(crate) fn granted(
        &mut self,
        attempt: usize,
        execution: &Execution,
        policy: Policy,
        now: UnixMillis,
    ) {
        if execution.attempt == 1 {
            if self.is_business_key() && self.known.iter().any(|known| known.end.is_some()) {
                self.milestone("a business key that was not bound is begun anew");
            }
            self.generation += 1;
            self.policy = policy;
            self.begun_with_hold = policy.unknown_outcome == UnknownOutcome::Hold;
        }
        for earlier in self.known.iter().filter(|known| known.generation == self.generation) {
            assert!(
                earlier.end.is_some() || earlier.cleared || now >= earlier.lease_until,
                "attempt {attempt} begins while {} owns the key",
                earlier.attempt
            );
            if self.policy.unknown_outcome == UnknownOutcome::Hold {
                assert!(
                    !earlier.may_have_executed(now),
                    "attempt {attempt} begins although {} may have been executed, with hold",
                    earlier.attempt
                );
            }
        }
        if self
            .known
            .iter()
            .any(|earlier| earlier.generation == self.generation && earlier.end.is_none())
        {
            self.milestone("an attempt is overtaken");
        }
        let executed = self.known.iter().any(|known| known.attempt == attempt && known.executed);
        self.known.retain(|known| known.attempt != attempt);
        self.known.push(Known {
            attempt,
            generation: self.generation,
            lease_until: now.plus(execution.lease),
            end: None,
            cleared: false,
            executed,
        });
        self.owner = Some(attempt);
    }

    pub(crate) fn renewed(&mut self, attempt: usize, now: UnixMillis) {
        assert_eq!(self.owner, Some(attempt), "only the owner renews");
        let lease = self.policy.lease;
        self.find(attempt).lease_until = now.plus(lease);
    }

    /// Records a call of the origin. If no clock was set, no other attempt can own the key by then.
    pub(crate) fn dispatched(&mut self, attempt: usize, now: UnixMillis, clocks_are_right: bool) {
        let known = self.find(attempt);
        assert!(!clocks_are_right || now < known.lease_until, "{attempt} is sent without a lease");
    }

    /// Records an execution by the origin. Checks property 1 by its effect, and the promise of `voided`.
    pub(crate) fn executed(&mut self, attempt: usize, now: UnixMillis) {
        self.executions += 1;
        self.find(attempt).executed = true;
        let generation = self.find(attempt).generation;
        if let Some((voided, since)) = self.voided
            && (self.is_business_key() || now < since.plus(Millis::from_days(30)))
        {
            assert!(
                generation < voided && !self.key_tells_its_time,
                "{attempt} is executed after the key was voided"
            );
        }
        let holds = self.begun_with_hold;
        let executed = self.known.iter().filter(|k| k.generation == generation && k.executed);
        if holds && generation == self.generation {
            assert_eq!(executed.count(), 1, "with hold the request is executed once");
        }
        if holds && self.is_business_key() && self.policy_is_constant {
            assert_eq!(
                self.executions, 1,
                "with hold the request of a business key is executed once for ever"
            );
        }
        let refuses = self.policy.expired_key == ExpiredKey::Refuse;
        if holds && refuses && self.key_tells_its_time && self.policy_is_constant {
            assert_eq!(
                self.executions, 1,
                "with hold and refuse the request is executed once for ever"
            );
        }
    }

    pub(crate) fn executed_in_this_generation(&self) -> bool {
        self.known.iter().any(|known| known.generation == self.generation && known.executed)
    }

    /// Records that an attempt's end is stored.
    pub(crate) fn ended(&mut self, attempt: usize, end: End) {
        if self.owner != Some(attempt) {
            assert_eq!(end, End::Response, "an overtaken attempt adds only a success");
            self.milestone("an overtaken attempt brings the first success");
        }
        self.find(attempt).end = Some(end);
        self.owner = None;
        match end {
            End::Response => self.milestone("a key gets its response"),
            End::Unknown => self.milestone("an end is unknown"),
            End::NotExecuted => self.milestone("a key is released"),
            End::NotStored => {
                self.policy.unknown_outcome = UnknownOutcome::Hold;
                self.milestone("a response is not stored");
            }
        }
    }

    pub(crate) fn settled(&mut self, executed: bool) {
        self.owner = None;
        self.milestone(if executed { "settled as executed" } else { "settled as not executed" });
        if !executed {
            self.known.iter_mut().for_each(|known| known.cleared = true);
        }
    }

    /// Records that a caller sees a kept response. Property 2.
    pub(crate) fn saw(&mut self, response: &StoredResponse, generation: u32) {
        for (other, seen) in &self.responses_seen {
            assert!(
                *other != generation || seen == response,
                "two responses: {seen:?}, {response:?}"
            );
        }
        self.responses_seen.push((generation, response.clone()));
    }

    pub(crate) fn decided(&mut self, decision: &Decision, generation: u32) {
        match decision {
            Decision::Replay(response) => {
                self.milestone("a replay");
                self.saw(response, generation);
            }
            Decision::OutcomeUnknown => self.milestone("an unknown outcome is on hold"),
            Decision::KeyExpired => self.milestone("an expired key is refused"),
            Decision::KeyVoided => self.milestone("a voided key is refused"),
            Decision::Mismatch => self.milestone("another request is refused"),
            Decision::InProgress => self.milestone("a key is in progress"),
            Decision::NotReplayable { .. } => self.milestone("a response cannot be given again"),
            Decision::Execute(_) => {}
        }
    }

    /// Checks the stored record before and after a call of `who`. Properties 3 and 5.
    pub(crate) fn changed(
        &mut self,
        who: Option<usize>,
        brings_success: bool,
        before: Option<&Record>,
        after: Option<&Record>,
        now: UnixMillis,
    ) {
        if let Some(Record { state: RecordState::InFlight { lease_until, .. }, policy, .. }) = after
        {
            assert!(*lease_until <= now.plus(policy.lease), "a lease ends");
        }
        if before == after {
            return;
        }
        if let Some(Record { state: RecordState::Completed { completed_at, .. }, policy, .. }) =
            before
        {
            assert!(now >= completed_at.plus(policy.retention), "a response changes: {after:?}");
            if self.is_business_key() {
                let stripped = before.cloned().map(|mut record| {
                    if let RecordState::Completed { response, .. } = &mut record.state {
                        *response = response.clone().into_status_only();
                    }
                    record
                });
                assert_eq!(after, stripped.as_ref(), "a business key is never forgotten");
                self.milestone("a business key outlives its response");
            }
            self.milestone("a response expires");
        }
        // A new record, and a record that has expired, contain no earlier attempts.
        let counts = before.is_some_and(|before| before.status(now).is_some());
        if let Some(who) = who
            && counts
            && let Some(at) = self.known.iter().position(|known| known.attempt == who)
            && self.known[at].generation == self.generation
            && self.owner != Some(who)
        {
            let is_responseed =
                after.is_some_and(|r| matches!(r.state, RecordState::Completed { .. }));
            let is_first_success = brings_success && is_responseed && self.known[at].end.is_none();
            // A record remembers only four of the attempts that no longer own the key.
            let is_remembered = self.known.len() - at <= 4;
            assert!(
                is_first_success || !is_remembered,
                "attempt {who}, which does not own the key, changes {before:?} to {after:?}"
            );
        }
        let is_voided = |record: Option<&Record>| {
            record.is_some_and(|record| matches!(record.state, RecordState::Voided { .. }))
        };
        if is_voided(after) && !is_voided(before) {
            if !counts {
                self.generation += 1;
            }
            self.assert_voidable(counts);
            self.voided = Some((self.generation, now));
            self.owner = None;
            self.milestone("a key is voided");
        }
    }

    /// Checks that a `void` at this time would be true: of all attempts if the key contains its time, otherwise
    /// of the attempts in the record, if the record counts.
    pub(crate) fn assert_voidable(&self, record_counts: bool) {
        let promised = |known: &&Known| {
            self.key_tells_its_time
                || self.is_business_key()
                || record_counts && known.generation == self.generation
        };
        let executed = self.known.iter().filter(promised).find(|known| known.executed);
        let executed = executed.map(|known| known.attempt);
        assert_eq!(executed, None, "voided although this attempt was executed");
    }

    fn find(&mut self, attempt: usize) -> &mut Known {
        self.known
            .iter_mut()
            .find(|known| known.attempt == attempt)
            .expect("every attempt has got `Execute` before")
    }
}
