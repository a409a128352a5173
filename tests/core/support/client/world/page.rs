//! A page, which carries out the commands of a [`Call`] in their order.

use super::super::names;
use super::super::requests::RETENTION;
use super::{Request, Running, SeenResponse, World, milestone, payload_of};
use oncekey::client::intent::{
    Call, CallInput, CallSettings, CallStep, Command, EndReason, Entry, Goal, IntentState, Report,
    SentRequest, Stored, WaitReason, note_outcome, start,
};
use oncekey::client::retry::{AttemptResult, Outcome, classify};
use oncekey::{IdempotencyKey, Millis};

impl World {
    pub(super) fn submit(&mut self, tab: usize, payload: u8, crash: bool, waited: bool) {
        if self.tabs[tab].running.is_some() {
            return;
        }
        let wanted = payload_of(payload);
        let started = start(&self.stored(), &self.submission(&wanted), self.now());
        self.reach(names::start_name(&started));
        let waited_since = waited.then(|| self.now().minus(Millis::from_seconds(5)));
        let goal = Goal::Submit { payload: wanted, own_key: None, waited_since };
        self.begin(tab, goal, payload, crash, false);
    }

    /// `lost`: no key call gets a response.
    pub(super) fn find_out(&mut self, tab: usize, gives_up: bool, lost: bool) {
        if self.tabs[tab].running.is_some() {
            return;
        }
        let goal = if gives_up { Goal::Abandon } else { Goal::Resolve { look_up: false } };
        self.begin(tab, goal, 0, false, lost);
    }

    fn begin(&mut self, tab: usize, goal: Goal, payload: u8, crash: bool, lost: bool) {
        let settings = CallSettings {
            retry: self.retry.clone(),
            retention: RETENTION,
            key_calls: self.key_calls,
            sends_proof: self.sends_proof,
            final_statuses: vec![],
            expects: "application/json".into(),
        };
        let mut call = Call::new(goal, settings);
        let input = self.input(tab);
        let step = call.begin(&input);
        self.tabs[tab].running = Some(Running { call, payload, sent: None, waits: false });
        self.settle_unproven(&input.stored, &step);
        self.follow(tab, step, crash, lost);
    }

    /// Continues the call of this tab after its wait.
    pub(super) fn go_on(&mut self, tab: usize) {
        let input = self.input(tab);
        let Some(running) = self.tabs[tab].running.as_mut().filter(|running| running.waits) else {
            return;
        };
        running.waits = false;
        let step = running.call.waited(&input);
        self.follow(tab, step, false, false);
    }

    pub(super) fn time_out(&mut self, tab: usize) {
        let sent = self.tabs[tab].running.as_ref().and_then(|running| running.sent.clone());
        if let Some((key, attempt)) = sent {
            self.attempt_ended(
                tab,
                &key,
                attempt,
                &AttemptResult::TimedOut,
                &SeenResponse::default(),
            );
        }
    }

    /// Handles the end of an attempt.
    pub(super) fn attempt_ended(
        &mut self,
        tab: usize,
        key: &IdempotencyKey,
        attempt: u32,
        result: &AttemptResult<'_>,
        seen: &SeenResponse,
    ) {
        let input = self.input(tab);
        let sent = Some((key.clone(), attempt));
        let is_awaited =
            self.tabs[tab].running.as_ref().is_some_and(|running| running.sent == sent);
        let outcome = match &input.stored {
            Stored::Entry(entry) if entry.key == *key => {
                let outcome =
                    classify(result, &entry.context(self.sends_proof, "application/json"));
                self.history.note_result(key.as_str(), attempt, outcome);
                self.reach(milestone(&outcome));
                Some(outcome)
            }
            _ => None,
        };
        if !is_awaited {
            // No browser delivers a response twice, but a second delivery must not cause an error.
            let noted = outcome
                .and_then(|outcome| note_outcome(&input.stored, key, attempt, &outcome, input.now));
            if let Some(entry) = noted {
                self.write(&entry);
            }
            return;
        }
        let expires = seen.expires_at.filter(|_| self.sends_proof).map(http_date);
        let date = http_date(self.real);
        let head = oncekey::client::intent::Hints {
            state: seen.state.filter(|_| self.sends_proof),
            expires: expires.as_deref(),
            date: Some(&date),
            retry_after: None,
        };
        let Some(running) = self.tabs[tab].running.as_mut() else { return };
        running.sent = None;
        let step = running.call.attempt_ended(result, &head, &input);
        if outcome == Some(Outcome::KeyExpired) && matches!(step.command, Command::Send { .. }) {
            self.reach("a key without time");
        }
        self.follow(tab, step, false, false);
    }

    fn follow(&mut self, tab: usize, step: CallStep, crash: bool, lost: bool) {
        let mut step = step;
        loop {
            if let Some(entry) = &step.write {
                self.write(entry);
            }
            let (report, key) = match step.command {
                Command::Send { key, attempt, request, .. } => {
                    return self.send(tab, &key, attempt, request, crash);
                }
                Command::Wait { why, .. } => {
                    if let Some(running) = &mut self.tabs[tab].running {
                        running.waits = true;
                    }
                    return self.reach(match why {
                        WaitReason::Retry => "waits to retry",
                        WaitReason::InProgress => "waits for a response",
                    });
                }
                Command::End(end) => {
                    if let oncekey::client::intent::End::Unknown {
                        why: EndReason::Overtaken, ..
                    } = end
                    {
                        self.reach("an attempt is not sent");
                    }
                    self.reach(names::end_name(&end));
                    self.tabs[tab].running = None;
                    return;
                }
                _ if lost => (Report::NoResponse, None),
                Command::AskState { key } => (self.server.state(&key, self.real), Some(key)),
                Command::Void { key } => (self.server.void(&key, self.real), Some(key)),
                Command::LookUp => (Report::NoResponse, None),
            };
            let input = self.input(tab);
            if let Some(key) = key {
                self.note_report(&input.stored, &key, report);
            }
            let Some(running) = &mut self.tabs[tab].running else { return };
            step = running.call.report(report, &input);
            self.settle_unproven(&input.stored, &step);
        }
    }

    fn send(
        &mut self,
        tab: usize,
        key: &IdempotencyKey,
        attempt: u32,
        which: SentRequest,
        crash: bool,
    ) {
        let Some(running) = &mut self.tabs[tab].running else { return };
        running.sent = Some((key.clone(), attempt));
        let payload = match (which, &self.tabs[tab].body) {
            (SentRequest::Own, _) => {
                self.tabs[tab].running.as_ref().map_or(0, |running| running.payload)
            }
            (SentRequest::Earlier, Some((earlier, payload))) => {
                assert_eq!(earlier, key, "the old payload is sent with the old key");
                *payload
            }
            (SentRequest::Earlier, None) => panic!("the old payload is not in memory"),
        };
        if which == SentRequest::Earlier {
            self.reach("the old payload again");
        }
        self.history.note_sent(key.as_str(), payload, attempt);
        if crash {
            return self.reload(tab);
        }
        let Stored::Entry(entry) = self.stored() else { panic!("nothing is stored") };
        assert_eq!(
            (&entry.key, entry.attempts),
            (key, attempt),
            "the key is stored before the request is sent"
        );
        self.tabs[tab].body = Some((key.clone(), payload));
        let to = (tab, self.tabs[tab].life, attempt);
        self.requests.push(Request { key: key.clone(), payload, to, sent_at: self.real });
    }

    /// Records what a key call proves.
    fn note_report(&mut self, stored: &Stored, key: &IdempotencyKey, report: Report) {
        let Stored::Entry(entry) = stored else { return };
        let is_open = matches!(
            entry.state,
            IntentState::Prepared | IntentState::Sending | IntentState::Unknown
        );
        if entry.key != *key || !is_open {
            return;
        }
        let state = match report {
            Report::Completed { http_status: http_status @ 200..400 } => {
                IntentState::Succeeded { http_status }
            }
            Report::Completed { http_status: http_status @ 400..500 } => {
                IntentState::Refused { http_status }
            }
            Report::Voided if entry.time_left(self.now()) > Millis::new(0) => IntentState::Voided,
            _ => return,
        };
        self.history.note_proven(key.as_str(), state);
        self.reach("resolved");
    }

    /// Records a key that counts as given up although no server confirmed it: the limit that `intent.rs` states.
    fn settle_unproven(&mut self, before: &Stored, step: &CallStep) {
        let (Stored::Entry(before), Some(after)) = (before, &step.write) else { return };
        let is_given_up = after.key != before.key || after.state == IntentState::Voided;
        if before.state == IntentState::Prepared && before.attempts > 0 && is_given_up {
            self.limit |= self.is_alive(&before.key);
            self.history.note_proven(before.key.as_str(), IntentState::Voided);
        }
    }

    fn input(&mut self, tab: usize) -> CallInput {
        self.random = self.random.wrapping_add(1);
        CallInput {
            stored: self.stored(),
            now: self.now(),
            ticks: Millis::new(self.real.as_u64()),
            random: [self.random; 16],
            in_memory: self.tabs[tab].body.as_ref().map(|(key, _)| key.clone()),
        }
    }

    fn write(&mut self, entry: &Entry) {
        self.store = Some(entry.encode());
        assert_eq!(self.stored(), Stored::Entry(entry.clone()), "a stored entry can be read again");
    }
}

/// Formats an IMF-fixdate (RFC 9110 §5.6.7), by counting days.
fn http_date(point: oncekey::UnixMillis) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [(&str, u64); 12] = [
        ("Jan", 31),
        ("Feb", 28),
        ("Mar", 31),
        ("Apr", 30),
        ("May", 31),
        ("Jun", 30),
        ("Jul", 31),
        ("Aug", 31),
        ("Sep", 30),
        ("Oct", 31),
        ("Nov", 30),
        ("Dec", 31),
    ];
    let seconds = point.as_u64() / 1000;
    let (day, clock) = (seconds / 86_400, seconds % 86_400);
    let (mut year, mut left) = (1970, day);
    let is_leap = |year: u64| year.is_multiple_of(4);
    while left >= 365 + u64::from(is_leap(year)) {
        left -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 0;
    let length = |month: usize| MONTHS[month].1 + u64::from(month == 1 && is_leap(year));
    while left >= length(month) {
        left -= length(month);
        month += 1;
    }
    format!(
        "{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
        DAYS[(day % 7) as usize],
        left + 1,
        MONTHS[month].0,
        year,
        clock / 3600,
        clock / 60 % 60,
        clock % 60
    )
}
