//! Two tabs, one storage, a network that loses and doubles messages, and a server. The tabs have no lock: a tab
//! may start while the other one is sending, as after a lease was taken over.

mod page;

use super::reference::History;
use super::requests::{parts, payload};
use super::server::{Fate, SeenResponse, Server};
use oncekey::client::intent::{Call, IntentState, Payload, Stored, Submit};
use oncekey::client::retry::{AttemptResult, BodyState, Outcome, ResponseSummary, RetryPolicy};
use oncekey::{FingerprintSecrets, Fingerprints, IdempotencyKey, Millis, Policy, UnixMillis};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// `crash`: the page crashes after the key is stored and before the request is sent.
    Submit {
        tab: usize,
        payload: u8,
        crash: bool,
        /// Whether the tab has waited for the other tab.
        waited: bool,
    },
    Continue {
        tab: usize,
    },
    Reload {
        tab: usize,
    },
    TimeOut {
        tab: usize,
    },
    /// `gate`: an intermediary responds before the request reaches the lifecycle.
    Arrive {
        pick: usize,
        gate: Option<Gate>,
    },
    LoseRequest {
        pick: usize,
    },
    Finish {
        pick: usize,
        fate: Fate,
    },
    /// `keep`: the message stays and arrives again.
    Deliver {
        pick: usize,
        keep: bool,
        cut: bool,
    },
    LoseResponse {
        pick: usize,
    },
    Double {
        pick: usize,
    },
    /// `lost`: the key calls get no response.
    FindOut {
        tab: usize,
        gives_up: bool,
        lost: bool,
    },
    Wait {
        seconds: u64,
    },
    /// Sets the client's clock to this many minutes from the true time.
    Clock {
        minutes: i64,
    },
    /// Moves the client's clock ahead permanently.
    Ahead {
        days: u64,
    },
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Gate {
    SignIn,
    Down,
    Malformed,
    Portal,
}

#[derive(Clone)]
struct Request {
    key: IdempotencyKey,
    payload: u8,
    to: (usize, u32, u32),
    sent_at: UnixMillis,
}

struct Running {
    call: Call,
    payload: u8,
    /// The attempt whose end the call waits for.
    sent: Option<(IdempotencyKey, u32)>,
    waits: bool,
}

#[derive(Default)]
struct Tab {
    life: u32,
    running: Option<Running>,
    /// The payload that this page sent last, with its key.
    body: Option<(IdempotencyKey, u8)>,
}

pub(crate) struct World {
    pub(crate) server: Server,
    sends_proof: bool,
    key_calls: bool,
    real: UnixMillis,
    offset_minutes: i64,
    ahead: u64,
    store: Option<String>,
    tabs: [Tab; 2],
    requests: Vec<Request>,
    responses: Vec<((usize, u32, u32), IdempotencyKey, SeenResponse)>,
    pub(crate) history: History,
    limit: bool,
    random: u8,
    retry: RetryPolicy,
    pub(crate) milestones: BTreeMap<&'static str, u32>,
}

impl World {
    pub(crate) fn new(policy: Policy, sends_proof: bool, key_calls: bool, behind: u64) -> Self {
        Self {
            server: Server::new(policy),
            sends_proof,
            key_calls,
            real: UnixMillis::new(1_764_000_000_000),
            offset_minutes: -(behind as i64) * 24 * 60,
            ahead: 0,
            store: None,
            tabs: Default::default(),
            requests: vec![],
            responses: vec![],
            history: History::default(),
            limit: false,
            random: 0,
            retry: RetryPolicy::default(),
            milestones: BTreeMap::new(),
        }
    }

    pub(crate) fn step(&mut self, op: Op) {
        if self.is_beyond_the_limit() {
            return self.reach("the stated limit");
        }
        match op {
            Op::Submit { tab, payload, crash, waited } => self.submit(tab, payload, crash, waited),
            Op::Continue { tab } => self.go_on(tab),
            Op::Reload { tab } => self.reload(tab),
            Op::TimeOut { tab } => self.time_out(tab),
            Op::Arrive { pick, gate } => self.arrive(pick, gate),
            Op::LoseRequest { pick } => drop(take(&mut self.requests, pick)),
            Op::Finish { pick, fate } => self.finish(pick, fate),
            Op::Deliver { pick, keep, cut } => self.deliver(pick, keep, cut),
            Op::LoseResponse { pick } => drop(take(&mut self.responses, pick)),
            Op::Double { pick } => self.double(pick),
            Op::FindOut { tab, gives_up, lost } => self.find_out(tab, gives_up, lost),
            Op::Wait { seconds } => self.wait(seconds),
            Op::Clock { minutes } => self.set_clock(minutes),
            Op::Ahead { days } => self.ahead += days,
        }
        self.check();
    }

    /// The limit that `intent.rs` states: the browser sent an attempt twice, one copy got "not executed" as its
    /// response, the other copy was executed, and the client did not request the state of the key, or could not,
    /// while the server remembered it.
    fn is_beyond_the_limit(&self) -> bool {
        if self.limit {
            return true;
        }
        let Stored::Entry(entry) = self.stored() else { return false };
        let is_prepared = entry.state == IntentState::Prepared && entry.attempts > 0;
        is_prepared && self.is_alive(&entry.key) && entry.time_left(self.now()) == Millis::new(0)
    }

    fn check(&mut self) {
        assert!(self.server.charges.len() <= 1, "paid twice: {:?}", self.server.charges);
        if let Some((key, _)) = &self.history.success {
            let Stored::Entry(entry) = self.stored() else { panic!("a success was lost") };
            assert_eq!(entry.key.as_str(), key);
            assert!(matches!(entry.state, IntentState::Succeeded { .. }), "{entry:?}");
            assert_eq!(self.server.charges.len(), 1, "a success without a payment");
        }
    }

    fn reload(&mut self, tab: usize) {
        self.tabs[tab] = Tab { life: self.tabs[tab].life + 1, ..Tab::default() };
        self.reach("a reload");
    }

    fn arrive(&mut self, pick: usize, gate: Option<Gate>) {
        let Some(request) = take(&mut self.requests, pick) else { return };
        let blank = |status, code| SeenResponse { status, code, ..SeenResponse::default() };
        let seen = match gate {
            None => {
                let prints = fingerprints_of(request.payload);
                self.server.receive(&request.key, &prints, request.to, self.real)
            }
            Some(Gate::SignIn) => Some(blank(401, Some("authentication_error"))),
            Some(Gate::Down) => Some(blank(503, Some("api_connection_error"))),
            // Without proof, the page cannot distinguish this from the key's response. This is a stated limit.
            Some(Gate::Malformed) if !self.sends_proof => return,
            Some(Gate::Malformed) => Some(blank(400, Some("invalid_request_error"))),
            Some(Gate::Portal) => Some(SeenResponse { html: true, ..blank(200, None) }),
        };
        if let Some(seen) = seen {
            self.responses.push((request.to, request.key, seen));
        }
    }

    fn finish(&mut self, pick: usize, fate: Fate) {
        if self.server.executions.is_empty() {
            return;
        }
        let index = pick % self.server.executions.len();
        let execution = &self.server.executions[index];
        let (to, key) = (execution.to, execution.key.clone());
        if let Some(seen) = self.server.finish(index, fate, self.real) {
            self.responses.push((to, key, seen));
        }
    }

    fn deliver(&mut self, pick: usize, keep: bool, cut: bool) {
        let Some(((tab, life, attempt), key, seen)) = take(&mut self.responses, pick) else {
            return;
        };
        if keep {
            self.responses.push(((tab, life, attempt), key.clone(), seen.clone()));
        }
        if self.tabs[tab].life != life {
            return;
        }
        let response = ResponseSummary {
            status: seen.status,
            body: if cut { BodyState::Cut } else { BodyState::Whole },
            content_type: Some(if seen.html { "text/html" } else { "application/json" }),
            error_code: seen.code.filter(|_| !cut),
            state: seen.state.filter(|_| self.sends_proof),
            replayed: (seen.replayed && self.sends_proof).then_some("true"),
            stored: (seen.not_stored && self.sends_proof).then_some("false"),
            ..ResponseSummary::default()
        };
        self.attempt_ended(tab, &key, attempt, &AttemptResult::Response(&response), &seen);
    }

    /// Returns whether something was or may still be executed under the key.
    fn is_alive(&self, key: &IdempotencyKey) -> bool {
        self.requests.iter().any(|request| request.key == *key)
            || self.server.executions.iter().any(|execution| execution.key == *key)
            || self.server.charges.iter().any(|charged| charged == key.as_str())
    }

    fn double(&mut self, pick: usize) {
        if let Some(request) = take(&mut self.requests, pick) {
            self.requests.extend([request.clone(), request]);
        }
    }

    fn wait(&mut self, seconds: u64) {
        self.real = self.real.plus(Millis::from_seconds(seconds));
        self.server.drop_old(self.real);
        let now = self.real;
        self.requests.retain(|request| now.since(request.sent_at).as_u64() < 300_000);
        if seconds > 300 {
            self.responses.clear();
            self.tabs =
                std::array::from_fn(|tab| Tab { life: self.tabs[tab].life + 1, ..Tab::default() });
        }
    }

    fn set_clock(&mut self, minutes: i64) {
        self.offset_minutes = self.offset_minutes / (24 * 60) * (24 * 60) + minutes;
    }

    fn now(&self) -> UnixMillis {
        let offset = Millis::new(self.offset_minutes.unsigned_abs() * 60_000);
        let now = self.real.plus(Millis::from_days(self.ahead));
        if self.offset_minutes < 0 { now.minus(offset) } else { now.plus(offset) }
    }

    fn stored(&self) -> Stored {
        Stored::read(self.store.as_deref())
    }

    fn submission<'a>(&mut self, payload: &'a Payload) -> Submit<'a> {
        self.random = self.random.wrapping_add(1);
        Submit {
            payload,
            own_key: None,
            waited_since: None,
            retention: super::requests::RETENTION,
            random: [self.random; 16],
        }
    }

    fn reach(&mut self, milestone: &'static str) {
        *self.milestones.entry(milestone).or_default() += 1;
    }
}

fn milestone(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded { .. } => "succeeded",
        Outcome::Refused { .. } => "refused",
        Outcome::NotExecuted { .. } => "not executed",
        Outcome::InProgress => "in progress",
        Outcome::Ambiguous(_) => "ambiguous",
        Outcome::Unsettled(_) => "unsettled",
        Outcome::KeyVoided => "key voided",
        Outcome::KeyReused { .. } => "key reused",
        Outcome::KeyExpired => "key expired",
    }
}

fn take<T>(list: &mut Vec<T>, pick: usize) -> Option<T> {
    (!list.is_empty()).then(|| list.swap_remove(pick % list.len()))
}

fn payload_of(number: u8) -> Payload {
    payload(&format!("{{\"amount\":{number}}}"))
}

fn fingerprints_of(number: u8) -> Fingerprints {
    Fingerprints::compute(&parts(&format!("{{\"amount\":{number}}}")), &FingerprintSecrets::none())
}
