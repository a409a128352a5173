//! Two tabs, one storage, a network that loses and doubles, and a server. Nothing is locked: a tab
//! may start while the other one is sending, as when a lease was taken over.

use super::reference::History;
use super::requests::{RETENTION, parts, payload};
use super::server::{Fate, Said, Server};
use oncekey::intent::{
    Asked, Entry, Means, Payload, Purpose, Report, ResolveStep, Start, State, Stored, Submit,
    after_report, first_step, note_outcome, note_sending, remint, start,
};
use oncekey::retry::{Answer, Body, Heard, Next, Outcome, Progress, RetryPolicy, classify, next};
use oncekey::{FingerprintSecrets, Fingerprints, IdempotencyKey, Millis, Policy, UnixMillis};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// `crash` 1: the page dies after the key is stored; 2: before the first byte goes out.
    Submit {
        tab: usize,
        payload: u8,
        crash: u8,
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
    /// `gate`: somebody before the lifecycle answers.
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
    /// `keep`: it comes once more.
    Answer {
        pick: usize,
        keep: bool,
        cut: bool,
    },
    LoseAnswer {
        pick: usize,
    },
    Double {
        pick: usize,
    },
    Resolve {
        tab: usize,
        lost: bool,
    },
    Wait {
        seconds: u64,
    },
    /// The client's clock is this many minutes off.
    Clock {
        minutes: i64,
    },
    /// The client's clock jumps ahead for good.
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

struct Call {
    key: IdempotencyKey,
    payload: u8,
    attempt: u32,
    retries: u32,
    waiting: bool,
}

#[derive(Default)]
struct Tab {
    life: u32,
    call: Option<Call>,
    /// The payload that this page last sent, by its key.
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
    answers: Vec<((usize, u32, u32), IdempotencyKey, Said)>,
    executing: BTreeMap<(usize, u32, u32), IdempotencyKey>,
    pub(crate) history: History,
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
            answers: vec![],
            executing: BTreeMap::new(),
            history: History::default(),
            random: 0,
            retry: RetryPolicy::default(),
            milestones: BTreeMap::new(),
        }
    }

    pub(crate) fn step(&mut self, op: Op) {
        match op {
            Op::Submit { tab, payload, crash } => self.submit(tab, payload, crash),
            Op::Continue { tab } => self.send(tab, false),
            Op::Reload { tab } => self.reload(tab),
            Op::TimeOut { tab } => self.time_out(tab),
            Op::Arrive { pick, gate } => self.arrive(pick, gate),
            Op::LoseRequest { pick } => drop(take(&mut self.requests, pick)),
            Op::Finish { pick, fate } => self.finish(pick, fate),
            Op::Answer { pick, keep, cut } => self.answer(pick, keep, cut),
            Op::LoseAnswer { pick } => drop(take(&mut self.answers, pick)),
            Op::Double { pick } => self.double(pick),
            Op::Resolve { tab, lost } => self.resolve(tab, Purpose::FindOut, lost),
            Op::Wait { seconds } => self.wait(seconds),
            Op::Clock { minutes } => self.set_clock(minutes),
            Op::Ahead { days } => self.ahead += days,
        }
        self.check();
    }

    fn check(&mut self) {
        assert!(self.server.charges.len() <= 1, "paid twice: {:?}", self.server.charges);
        if let Some((key, _)) = &self.history.success {
            let Stored::Entry(entry) = self.stored() else { panic!("a success was lost") };
            assert_eq!(entry.key.as_str(), key);
            assert!(matches!(entry.state, State::Succeeded { .. }), "{entry:?}");
            assert_eq!(self.server.charges.len(), 1, "a success that nobody paid for");
        }
    }

    fn submit(&mut self, tab: usize, payload: u8, crash: u8) {
        if self.tabs[tab].call.is_some() {
            return;
        }
        let wanted = payload_of(payload);
        let started = start(&self.stored(), &self.submission(&wanted), self.now());
        self.reach(super::names::start_name(&started));
        match started {
            Start::Send { entry, fresh } => {
                if let Some((key, first)) = &self.history.success {
                    assert!(!fresh, "a fresh key after the intent's success");
                    assert_eq!((entry.key.as_str(), payload), (key.as_str(), *first));
                }
                self.write(&entry);
                if crash == 1 {
                    return self.reload(tab);
                }
                self.begin_call(tab, entry.key, payload, crash == 2);
            }
            Start::ResolveFirst => self.resolve(tab, Purpose::MakeRoom, crash == 1),
            _ => {}
        }
    }

    fn begin_call(&mut self, tab: usize, key: IdempotencyKey, payload: u8, crash: bool) {
        self.tabs[tab].body = Some((key.clone(), payload));
        let call = Call { key, payload, attempt: 0, retries: 0, waiting: true };
        self.tabs[tab].call = Some(call);
        self.send(tab, crash);
    }

    fn send(&mut self, tab: usize, crash: bool) {
        let (stored, now, real) = (self.stored(), self.now(), self.real);
        let Some(mut call) = self.tabs[tab].call.take_if(|call| call.waiting) else { return };
        let Ok(entry) = note_sending(&stored, &call.key, RETENTION, now) else {
            return self.reach("an attempt is not sent");
        };
        self.write(&entry);
        self.history.note_sent(call.key.as_str(), call.payload, entry.attempts);
        if crash {
            return self.reload(tab);
        }
        assert_eq!(self.stored(), Stored::Entry(entry.clone()), "stored before the first byte");
        (call.attempt, call.waiting) = (entry.attempts, false);
        let to = (tab, self.tabs[tab].life, call.attempt);
        self.requests.push(Request {
            key: call.key.clone(),
            payload: call.payload,
            to,
            sent_at: real,
        });
        self.tabs[tab].call = Some(call);
    }

    fn reload(&mut self, tab: usize) {
        self.tabs[tab] = Tab { life: self.tabs[tab].life + 1, ..Tab::default() };
        self.reach("a reload");
    }

    fn time_out(&mut self, tab: usize) {
        let Some(call) = self.tabs[tab].call.as_ref().filter(|call| !call.waiting) else { return };
        let (key, attempt) = (call.key.clone(), call.attempt);
        self.hear(tab, &key, attempt, &Heard::TimedOut, &Said::default());
    }

    fn arrive(&mut self, pick: usize, gate: Option<Gate>) {
        let Some(request) = take(&mut self.requests, pick) else { return };
        let blank = |status, code| Said { status, code, ..Said::default() };
        let said = match gate {
            None => {
                let prints = fingerprints_of(request.payload);
                self.executing.insert(request.to, request.key.clone());
                self.server.receive(&request.key, &prints, request.to, self.real)
            }
            Some(Gate::SignIn) => Some(blank(401, Some("authentication_error"))),
            Some(Gate::Down) => Some(blank(503, Some("api_connection_error"))),
            // Without proof this cannot be told from the key's answer: a stated limit.
            Some(Gate::Malformed) if !self.sends_proof => return,
            Some(Gate::Malformed) => Some(blank(400, Some("invalid_request_error"))),
            Some(Gate::Portal) => Some(Said { html: true, ..blank(200, None) }),
        };
        if let Some(said) = said {
            self.answers.push((request.to, request.key, said));
        }
    }

    fn finish(&mut self, pick: usize, fate: Fate) {
        if self.server.executions.is_empty() {
            return;
        }
        let index = pick % self.server.executions.len();
        let to = self.server.executions[index].to;
        let key = self.executing[&to].clone();
        if let Some(said) = self.server.finish(index, fate, self.real) {
            self.answers.push((to, key, said));
        }
    }

    fn answer(&mut self, pick: usize, keep: bool, cut: bool) {
        let Some(((tab, life, attempt), key, said)) = take(&mut self.answers, pick) else { return };
        if keep {
            self.answers.push(((tab, life, attempt), key.clone(), said.clone()));
        }
        if self.tabs[tab].life != life {
            return;
        }
        let answer = Answer {
            status: said.status,
            body: if cut { Body::Cut } else { Body::Whole },
            content_type: Some(if said.html { "text/html" } else { "application/json" }),
            error_code: said.code.filter(|_| !cut),
            state: said.state.filter(|_| self.sends_proof),
            replayed: (said.replayed && self.sends_proof).then_some("true"),
            stored: (said.not_stored && self.sends_proof).then_some("false"),
            ..Answer::default()
        };
        self.hear(tab, &key, attempt, &Heard::Answer(&answer), &said);
    }

    /// What a page does with the end of an attempt.
    fn hear(
        &mut self,
        tab: usize,
        key: &IdempotencyKey,
        attempt: u32,
        heard: &Heard<'_>,
        said: &Said,
    ) {
        let (stored, now) = (self.stored(), self.now());
        let Stored::Entry(entry) = &stored else { return };
        if entry.key != *key {
            return;
        }
        let outcome = classify(heard, &entry.context(self.sends_proof, "application/json"));
        self.history.note_heard(key.as_str(), attempt, outcome);
        let noted = note_outcome(&stored, key, attempt, &outcome, now);
        let mut entry = noted.unwrap_or_else(|| entry.clone());
        if self.sends_proof {
            let expires_at = said.expires_at.map(|point| now.plus(point.since(self.real)));
            entry.note_expiry(said.state, expires_at, RETENTION, now);
        }
        self.write(&entry);
        self.reach(milestone(&outcome));
        let is_of_call =
            |call: &&mut Call| call.key == *key && call.attempt == attempt && !call.waiting;
        let Some(call) = self.tabs[tab].call.as_mut().filter(is_of_call) else { return };
        let progress =
            Progress { retries: call.retries, elapsed: Millis::new(0), left: entry.time_left(now) };
        match next(&self.retry, &outcome, progress, None, 1 << 31) {
            Next::Again { counts, .. } => {
                call.retries += u32::from(counts);
                call.waiting = true;
            }
            Next::Stop(_) => self.tabs[tab].call = None,
        }
        if outcome == Outcome::KeyExpired {
            self.remint(tab, key);
        }
    }

    fn remint(&mut self, tab: usize, key: &IdempotencyKey) {
        let Some(call) = self.tabs[tab].call.take() else { return };
        let wanted = payload_of(call.payload);
        if let Some(entry) = remint(&self.stored(), key, &self.submission(&wanted), self.now()) {
            self.write(&entry);
            self.reach("a key without time");
            self.begin_call(tab, entry.key, call.payload, false);
        }
    }

    fn resolve(&mut self, tab: usize, purpose: Purpose, lost: bool) {
        let Stored::Entry(entry) = self.stored() else { return };
        let body = self.tabs[tab].body.clone().filter(|(key, _)| *key == entry.key);
        let means = Means { key_calls: self.key_calls, old_body: body.is_some() };
        let (mut write, mut step) = first_step(&entry, purpose, means, self.now());
        loop {
            if let Some(entry) = write {
                self.write(&entry);
                if step == ResolveStep::Settled {
                    let succeeded = matches!(entry.state, State::Succeeded { .. });
                    self.history.note_proven(entry.key.as_str(), succeeded);
                    self.reach("resolved");
                }
            }
            let Stored::Entry(entry) = self.stored() else { panic!("an entry was lost") };
            let asked = match step {
                ResolveStep::AskState => Asked::State,
                ResolveStep::Void => Asked::Void,
                ResolveStep::SendAgain if self.tabs[tab].call.is_none() => {
                    let (key, payload) = body.expect("the old body is in memory");
                    self.reach("the old payload again");
                    return self.begin_call(tab, key, payload, false);
                }
                _ => return,
            };
            let mut report = match asked {
                Asked::State => self.server.state(&entry.key, self.real),
                Asked::Void => self.server.void(&entry.key, self.real),
            };
            if lost {
                report = Report::NoAnswer;
            }
            (write, step) = after_report(&entry, asked, report, purpose, means, self.now());
        }
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
            self.answers.clear();
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

    fn write(&mut self, entry: &Entry) {
        self.store = Some(entry.encode());
        assert_eq!(self.stored(), Stored::Entry(entry.clone()), "what is stored is read again");
    }

    fn submission<'a>(&mut self, payload: &'a Payload) -> Submit<'a> {
        self.random = self.random.wrapping_add(1);
        Submit { payload, own_key: None, retention: RETENTION, random: [self.random; 16] }
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
