//! A server with the real lifecycle, and an origin behind it that charges.

use oncekey::client::intent::Report;
use oncekey::{
    Attempt, AttemptToken, Completion, Decision, Dialect, FailCause, Fingerprints, IdempotencyKey,
    KeyState, KeyStatus, Policy, Record, RecordUpdate, StoredResponse, Transition, UnixMillis,
    UnknownOutcome, lifecycle,
};
use std::collections::BTreeMap;

/// The parts of a response that the client sees.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenResponse {
    pub(crate) status: u16,
    pub(crate) code: Option<&'static str>,
    pub(crate) state: Option<&'static str>,
    pub(crate) expires_at: Option<UnixMillis>,
    pub(crate) replayed: bool,
    pub(crate) not_stored: bool,
    pub(crate) html: bool,
}

/// What the origin does with one execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Charge,
    Decline,
    Throttle,
    SignIn,
    FailBefore,
    FailAfter,
    TimeOutAfter,
    /// The isolate dies, and its lease is no longer renewed.
    Crash {
        charged: bool,
    },
}

pub(crate) struct Execution {
    pub(crate) key: IdempotencyKey,
    token: AttemptToken,
    pub(crate) to: (usize, u32, u32),
    since: UnixMillis,
}

pub(crate) struct Server {
    pub(crate) policy: Policy,
    records: BTreeMap<String, Record>,
    pub(crate) executions: Vec<Execution>,
    /// The keys that were charged, one entry for each charge.
    pub(crate) charges: Vec<String>,
    /// The keys that a deduplicating origin has declined.
    declined: Vec<String>,
    tokens: u8,
}

impl Server {
    pub(crate) fn new(policy: Policy) -> Self {
        Self {
            policy,
            records: BTreeMap::new(),
            executions: vec![],
            charges: vec![],
            declined: vec![],
            tokens: 0,
        }
    }

    /// Handles a request. Returns `None` while it is being executed.
    pub(crate) fn receive(
        &mut self,
        key: &IdempotencyKey,
        request: &Fingerprints,
        to: (usize, u32, u32),
        now: UnixMillis,
    ) -> Option<SeenResponse> {
        self.tokens = self.tokens.wrapping_add(1);
        let token = AttemptToken::new([self.tokens; 16]);
        let attempt = Attempt {
            fingerprints: request,
            token,
            minted_at: key.minted_at(),
            policy: &self.policy,
        };
        let record = self.records.get(key.as_str()).cloned();
        let step = lifecycle::begin(record, &attempt, now);
        self.store(key, &step);
        if matches!(step.decision, Decision::Execute(_)) {
            self.executions.push(Execution { key: key.clone(), token, to, since: now });
            return None;
        }
        Some(seen(&step.decision, step.status.as_ref()))
    }

    /// Ends an execution. Returns `None` if no caller gets a response.
    pub(crate) fn finish(
        &mut self,
        index: usize,
        fate: Fate,
        now: UnixMillis,
    ) -> Option<SeenResponse> {
        let Execution { key, token, .. } = self.executions.swap_remove(index);
        let charges = match fate {
            Fate::Charge | Fate::FailAfter | Fate::TimeOutAfter => true,
            Fate::Crash { charged } => charged,
            _ => false,
        };
        let deduplicates = self.policy.unknown_outcome == UnknownOutcome::Retry;
        let known = deduplicates && self.charges.iter().any(|charged| charged == key.as_str());
        let declined =
            deduplicates && self.declined.iter().any(|declined| declined == key.as_str());
        if fate == Fate::Decline && !known {
            self.declined.push(key.as_str().to_owned());
        }
        if charges && !known && !declined {
            self.charges.push(key.as_str().to_owned());
        }
        let status = match fate {
            Fate::Crash { .. } => return None,
            Fate::FailAfter => 500,
            Fate::TimeOutAfter => 504,
            _ if known => 201,
            _ if declined => 402,
            Fate::Charge => 201,
            Fate::Decline => 402,
            Fate::Throttle => 429,
            Fate::SignIn => 401,
            Fate::FailBefore => 500,
        };
        let record = self.records.get(key.as_str()).cloned();
        let step = if fate == Fate::TimeOutAfter {
            lifecycle::fail(record, token, FailCause::TimedOut, now)
        } else {
            let (response, _) = StoredResponse::keep(status, [], vec![], "", 1000);
            lifecycle::complete(record, token, response, now)
        };
        self.store(&key, &step);
        let own = SeenResponse { status, ..head(step.status.as_ref()) };
        Some(match &step.decision {
            Completion::Recorded => own,
            Completion::LeaseLost(decision) => seen(decision, step.status.as_ref()),
            Completion::RecordGone => SeenResponse { not_stored: true, ..own },
        })
    }

    /// Drops executions that have run longer than the platform allows.
    pub(crate) fn drop_old(&mut self, now: UnixMillis) {
        self.executions.retain(|execution| now.since(execution.since).as_u64() < 60_000);
    }

    pub(crate) fn state(&self, key: &IdempotencyKey, now: UnixMillis) -> Report {
        let record = self.records.get(key.as_str());
        report(record.and_then(|record| record.status(now)).as_ref())
    }

    pub(crate) fn void(&mut self, key: &IdempotencyKey, now: UnixMillis) -> Report {
        let record = self.records.get(key.as_str()).cloned();
        let step = lifecycle::void(record, key.minted_at(), &self.policy, now);
        self.store(key, &step);
        report(step.status.as_ref())
    }

    fn store<D>(&mut self, key: &IdempotencyKey, step: &Transition<D>) {
        match &step.next {
            RecordUpdate::Keep => {}
            RecordUpdate::Write(record) => {
                self.records.insert(key.as_str().to_owned(), (**record).clone());
            }
            RecordUpdate::Remove => {
                self.records.remove(key.as_str());
            }
        }
    }
}

fn seen(decision: &Decision, status: Option<&KeyStatus>) -> SeenResponse {
    match (decision.rejection(), decision) {
        (Some(rejection), _) => {
            let error =
                rejection.to_response(Dialect::Kukopay, None, "", oncekey::RequestKind::KeyedWrite);
            SeenResponse { status: error.status, code: Some(error.code), ..head(status) }
        }
        (None, Decision::Replay(response)) => {
            SeenResponse { status: response.status, replayed: true, ..head(status) }
        }
        (None, _) => panic!("no response to {decision:?}"),
    }
}

fn head(status: Option<&KeyStatus>) -> SeenResponse {
    SeenResponse {
        state: status.map(|status| status.state.as_str()),
        expires_at: status.and_then(|status| status.expires_at),
        ..SeenResponse::default()
    }
}

fn report(status: Option<&KeyStatus>) -> Report {
    let Some(status) = status else {
        return Report::read(404, None, None);
    };
    let name = match status.state {
        KeyState::Completed => "completed",
        other => other.as_str(),
    };
    Report::read(200, Some(name), status.http_status)
}
