//! What a page does: it carries out what the core decides, in the order that the core asks for.

use super::super::client::names;
use super::super::requests::RETENTION;
use super::{Call, Request, Said, World, milestone, payload_of};
use oncekey::intent::{
    Asked, Means, Purpose, Report, ResolveStep, Start, State, Stored, after_report, first_step,
    note_outcome, note_sending, remint, start,
};
use oncekey::retry::{Heard, Next, Outcome, Progress, classify, next};
use oncekey::{IdempotencyKey, Millis};

impl World {
    pub(super) fn submit(&mut self, tab: usize, payload: u8, crash: u8) {
        if self.tabs[tab].call.is_some() {
            return;
        }
        let wanted = payload_of(payload);
        let started = start(&self.stored(), &self.submission(&wanted), self.now());
        self.reach(names::start_name(&started));
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

    pub(super) fn begin_call(&mut self, tab: usize, key: IdempotencyKey, payload: u8, crash: bool) {
        self.tabs[tab].body = Some((key.clone(), payload));
        let call = Call { key, payload, attempt: 0, retries: 0, waiting: true };
        self.tabs[tab].call = Some(call);
        self.send(tab, crash);
    }

    pub(super) fn send(&mut self, tab: usize, crash: bool) {
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

    pub(super) fn time_out(&mut self, tab: usize) {
        let Some(call) = self.tabs[tab].call.as_ref().filter(|call| !call.waiting) else { return };
        let (key, attempt) = (call.key.clone(), call.attempt);
        self.hear(tab, &key, attempt, &Heard::TimedOut, &Said::default());
    }

    /// What a page does with the end of an attempt.
    pub(super) fn hear(
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

    pub(super) fn resolve(&mut self, tab: usize, purpose: Purpose, lost: bool) {
        let Stored::Entry(entry) = self.stored() else { return };
        let body = self.tabs[tab].body.clone().filter(|(key, _)| *key == entry.key);
        let means = Means { key_calls: self.key_calls, old_body: body.is_some() };
        let (mut write, mut step) = first_step(&entry, purpose, means, self.now());
        let mut report = Report::NoAnswer;
        loop {
            if let Some(entry) = write {
                self.write(&entry);
                if step == ResolveStep::Settled {
                    let unproven = entry.state == State::Voided && report != Report::Voided;
                    self.limit |= unproven && self.is_alive(&entry.key);
                    self.history.note_proven(entry.key.as_str(), entry.state);
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
            report = match asked {
                Asked::State => self.server.state(&entry.key, self.real),
                Asked::Void => self.server.void(&entry.key, self.real),
            };
            if lost {
                report = Report::NoAnswer;
            }
            (write, step) = after_report(&entry, asked, report, purpose, means, self.now());
        }
    }
}
