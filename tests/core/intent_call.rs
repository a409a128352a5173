//! Calls from their first command to their end, written as scripts of events and commands.
//! `intent_properties.rs` checks that no intent is paid twice.

use crate::support::client::names::{end_name, state_name};
use crate::support::client::requests::{NOW, RETENTION, payload};
use oncekey::client::intent::{
    Call, CallInput, CallSettings, CallStep, Command, End, EndReason, Entry, EntryError, Goal,
    Hints, IntentState, Report, SentRequest, Stored, WaitReason,
};
use oncekey::client::retry::{
    AttemptResult, Outcome, ResponseSummary, RetryPolicy, RetrySettings, Stop, UnknownReason,
};
use oncekey::{IdempotencyKey, Millis, UnixMillis};

/// A page with its storage. It carries out commands as a shell does, and records them.
struct Page {
    text: Option<String>,
    now: UnixMillis,
    ticks: u64,
    random: u8,
    in_memory: Option<IdempotencyKey>,
    settings: CallSettings,
}

impl Page {
    fn new() -> Self {
        let settings = CallSettings {
            retry: RetryPolicy::default(),
            retention: RETENTION,
            key_calls: false,
            sends_proof: false,
            final_statuses: vec![],
            expects: "application/json".into(),
        };
        Self { text: None, now: NOW, ticks: 0, random: 0, in_memory: None, settings }
    }

    fn with_key_calls() -> Self {
        let mut page = Self::new();
        (page.settings.key_calls, page.settings.sends_proof) = (true, true);
        page
    }

    fn with_retries(limit: u32) -> Self {
        let mut page = Self::new();
        let settings = RetrySettings { limit, ..RetrySettings::default() };
        page.settings.retry = RetryPolicy::new(settings).expect("settings that are right");
        page
    }

    fn submit(&mut self, body: &str) -> (Call, Command) {
        self.begin(Goal::Submit { payload: payload(body), own_key: None, waited_since: None })
    }

    fn begin(&mut self, goal: Goal) -> (Call, Command) {
        let mut call = Call::new(goal, self.settings.clone());
        let step = call.begin(&self.input());
        (call, self.take(step))
    }

    fn attempt_ended(&mut self, call: &mut Call, response: &ResponseSummary<'_>) -> Command {
        let hints = Hints { state: response.state, ..Hints::default() };
        let step = call.attempt_ended(&AttemptResult::Response(response), &hints, &self.input());
        self.take(step)
    }

    fn lose(&mut self, call: &mut Call) -> Command {
        let step =
            call.attempt_ended(&AttemptResult::NetworkError, &Hints::default(), &self.input());
        self.take(step)
    }

    fn wait(&mut self, call: &mut Call) -> Command {
        let step = call.waited(&self.input());
        self.take(step)
    }

    fn report(&mut self, call: &mut Call, report: Report) -> Command {
        let step = call.report(report, &self.input());
        self.take(step)
    }

    fn take(&mut self, step: CallStep) -> Command {
        if let Some(entry) = step.write {
            self.text = Some(entry.encode());
        }
        step.command
    }

    fn input(&mut self) -> CallInput {
        self.random += 1;
        CallInput {
            stored: self.stored(),
            now: self.now,
            ticks: Millis::new(self.ticks),
            random: [self.random; 16],
            in_memory: self.in_memory.clone(),
        }
    }

    fn stored(&self) -> Stored {
        Stored::read(self.text.as_deref())
    }

    fn entry(&self) -> Entry {
        match self.stored() {
            Stored::Entry(entry) => entry,
            other => panic!("{other:?}"),
        }
    }

    /// Leaves an unknown outcome, like an earlier page that sent this request and got no response.
    fn leave_unknown(&mut self, body: &str) -> IdempotencyKey {
        let (mut call, command) = self.submit(body);
        self.lose(&mut call);
        sent(&command).0
    }
}

fn json(status: u16) -> ResponseSummary<'static> {
    ResponseSummary { status, content_type: Some("application/json"), ..ResponseSummary::default() }
}

fn error(status: u16, code: &'static str) -> ResponseSummary<'static> {
    ResponseSummary { error_code: Some(code), ..json(status) }
}

fn proven(status: u16) -> ResponseSummary<'static> {
    ResponseSummary { state: Some("completed"), ..json(status) }
}

/// Returns the key, the attempt, the kind of request, and whether the key replaced another key.
fn sent(command: &Command) -> (IdempotencyKey, u32, SentRequest, bool) {
    match command {
        Command::Send { key, attempt, request, rotated, .. } => {
            (key.clone(), *attempt, *request, *rotated)
        }
        other => panic!("not a request: {other:?}"),
    }
}

fn ended(command: &Command) -> &End {
    match command {
        Command::End(end) => end,
        other => panic!("not an end: {other:?}"),
    }
}

fn waits(command: &Command) -> (u64, WaitReason) {
    match command {
        Command::Wait { after, why } => (after.as_u64(), *why),
        other => panic!("not a wait: {other:?}"),
    }
}

fn asks_state_of(command: &Command) -> &IdempotencyKey {
    match command {
        Command::AskState { key } => key,
        other => panic!("not a request for the state: {other:?}"),
    }
}

fn response_end(http_status: u16) -> End {
    End::Response(Outcome::Succeeded { http_status })
}

#[test]
fn a_request_is_stored_sent_and_gets_its_response() {
    let mut page = Page::new();
    let (mut call, command) = page.submit("a");
    let (key, attempt, request, rotated) = sent(&command);
    assert_eq!((attempt, request, rotated), (1, SentRequest::Own, false));
    let stored = page.entry();
    assert_eq!((stored.key, stored.state, stored.attempts), (key, IntentState::Sending, 1));
    assert_eq!(*ended(&page.attempt_ended(&mut call, &json(201))), response_end(201));
    assert_eq!(page.entry().state, IntentState::Succeeded { http_status: 201 });
}

#[test]
fn after_a_lost_response_the_request_is_sent_again_with_the_same_key() {
    let mut page = Page::new();
    let (mut call, command) = page.submit("a");
    assert_eq!(waits(&page.lose(&mut call)).1, WaitReason::Retry);
    assert_eq!(state_name(&page.stored()), "unknown");
    let again = page.wait(&mut call);
    assert_eq!(sent(&again), (sent(&command).0, 2, SentRequest::Own, false));
    assert_eq!(*ended(&page.attempt_ended(&mut call, &json(201))), response_end(201));
}

#[test]
fn retries_are_used_up_and_the_key_stays() {
    let mut page = Page::with_retries(2);
    let (mut call, _) = page.submit("a");
    for _ in 0..2 {
        waits(&page.attempt_ended(&mut call, &json(500)));
        sent(&page.wait(&mut call));
    }
    let why = EndReason::Stopped(Stop::RetriesUsedUp);
    let end = End::Unknown { reason: Some(UnknownReason::Status(500)), why };
    assert_eq!(*ended(&page.attempt_ended(&mut call, &json(500))), end);
    assert_eq!((page.entry().state, page.entry().attempts), (IntentState::Unknown, 3));
}

#[test]
fn in_progress_uses_up_no_retries() {
    let mut page = Page::with_retries(0);
    let (mut call, _) = page.submit("a");
    for _ in 0..20 {
        let command = page.attempt_ended(&mut call, &error(409, "idempotency_in_progress"));
        let (after, why) = waits(&command);
        assert!((1000..=2000).contains(&after) && why == WaitReason::InProgress);
        sent(&page.wait(&mut call));
    }
    assert_eq!(*ended(&page.attempt_ended(&mut call, &json(201))), response_end(201));
}

#[test]
fn the_total_time_ends_a_call_before_its_retries_are_used_up() {
    let mut page = Page::new();
    page.ticks = 5000;
    let (mut call, _) = page.submit("a");
    page.ticks += 180_000;
    let why = EndReason::Stopped(Stop::TimeUsedUp);
    let end = End::Unknown { reason: Some(UnknownReason::Network), why };
    assert_eq!(*ended(&page.lose(&mut call)), end);

    let (mut call, _) = page.submit("a");
    page.lose(&mut call);
    // The timer fired late, as in a page that was put to sleep.
    page.ticks += 180_000;
    assert_eq!(*ended(&page.wait(&mut call)), end, "no attempt begins without time left");
}

#[test]
fn the_wait_depends_on_the_random_bytes() {
    for (bytes, wait) in [(0, 0), (0xc0, 753), (0xff, 1000)] {
        let mut page = Page::new();
        let (mut call, _) = page.submit("a");
        let input = CallInput { random: [bytes; 16], ..page.input() };
        let step = call.attempt_ended(&AttemptResult::NetworkError, &Hints::default(), &input);
        assert_eq!(waits(&page.take(step)), (wait, WaitReason::Retry));
    }
}

#[test]
fn retry_after_replaces_the_own_delay() {
    let mut page = Page::new();
    let (mut call, _) = page.submit("a");
    let hints = Hints { retry_after: Some("7"), ..Hints::default() };
    let step = call.attempt_ended(&AttemptResult::Response(&json(429)), &hints, &page.input());
    assert_eq!(waits(&page.take(step)), (7000, WaitReason::Retry));
}

#[test]
fn the_expiry_that_the_server_sends_is_kept() {
    let mut page = Page::new();
    let (mut call, _) = page.submit("a");
    let hints = Hints {
        state: Some("completed"),
        expires: Some("Mon, 24 Nov 2025 18:00:00 GMT"),
        date: Some("Mon, 24 Nov 2025 16:00:00 GMT"),
        retry_after: None,
    };
    let step = call.attempt_ended(&AttemptResult::Response(&proven(201)), &hints, &page.input());
    assert_eq!(*ended(&page.take(step)), response_end(201));
    // Two hours, less the hour of tolerance for clocks.
    assert_eq!(page.entry().safe_until, NOW.plus(Millis::from_seconds(3600)));
}

#[test]
fn an_abort_leaves_the_outcome_unknown() {
    let mut page = Page::new();
    let (mut call, _) = page.submit("a");
    let step = call.attempt_ended(&AttemptResult::Aborted, &Hints::default(), &page.input());
    let why = EndReason::Stopped(Stop::Outcome);
    assert_eq!(
        *ended(&page.take(step)),
        End::Unknown { reason: Some(UnknownReason::Aborted), why }
    );
    assert_eq!(state_name(&page.stored()), "unknown");
}

#[test]
fn a_response_that_proves_nothing_was_executed_is_final() {
    let mut page = Page::new();
    let (mut call, command) = page.submit("a");
    let outcome = Outcome::NotExecuted { http_status: 401, again: false };
    assert_eq!(*ended(&page.attempt_ended(&mut call, &json(401))), End::Response(outcome));
    let (_, next) = page.submit("a");
    assert_eq!(sent(&next).0, sent(&command).0, "the key can be used again");
}

#[test]
fn after_an_unknown_attempt_a_429_is_not_final() {
    let mut page = Page::with_retries(1);
    let (mut call, _) = page.submit("a");
    page.lose(&mut call);
    page.wait(&mut call);
    let why = EndReason::Stopped(Stop::RetriesUsedUp);
    let end = End::Unknown { reason: Some(UnknownReason::Status(429)), why };
    assert_eq!(*ended(&page.attempt_ended(&mut call, &json(429))), end);
}

#[test]
fn a_refusal_is_final_and_the_next_try_takes_a_new_key() {
    let mut page = Page::new();
    let (mut call, command) = page.submit("a");
    let refused = Outcome::Refused { http_status: 402 };
    assert_eq!(*ended(&page.attempt_ended(&mut call, &json(402))), End::Response(refused));
    let (_, next) = page.submit("a");
    assert!(sent(&next).0 != sent(&command).0 && sent(&next).3);
}

#[test]
fn a_tab_that_waited_for_another_tab_gets_its_refusal() {
    let mut page = Page::new();
    let (mut call, command) = page.submit("a");
    page.now = NOW.plus(Millis::new(800));
    page.attempt_ended(&mut call, &json(402));
    let goal = |waited_since| Goal::Submit { payload: payload("a"), own_key: None, waited_since };
    let (mut second, resent) = page.begin(goal(Some(NOW.plus(Millis::new(100)))));
    assert_eq!(sent(&resent).0, sent(&command).0, "the same key gives the same response");
    let refused = Outcome::Refused { http_status: 402 };
    assert_eq!(*ended(&page.attempt_ended(&mut second, &json(402))), End::Response(refused));
    let (_, later) = page.begin(goal(Some(NOW.plus(Millis::new(900)))));
    assert!(sent(&later).3, "a later submit has a new key");
}

#[test]
fn a_key_that_belongs_to_another_request_is_given_up() {
    let mut page = Page::new();
    let (mut call, _) = page.submit("a");
    assert_eq!(
        *ended(&page.attempt_ended(&mut call, &error(400, "idempotency_error"))),
        End::KeyReused
    );
    assert!(sent(&page.submit("a").1).3);
}

#[test]
fn a_key_from_a_wrong_clock_is_replaced_by_a_key_without_time() {
    let mut page = Page::new();
    let (mut call, command) = page.submit("a");
    let waiting = page.attempt_ended(&mut call, &error(400, "idempotency_key_expired"));
    let (key, attempt, _, rotated) = sent(&waiting);
    assert!(key != sent(&command).0 && key.minted_at().is_none() && rotated && attempt == 1);
    assert_eq!(page.entry().key, key);
    let again = page.attempt_ended(&mut call, &error(400, "idempotency_key_expired"));
    let why = EndReason::Stopped(Stop::Outcome);
    assert_eq!(*ended(&again), End::Unknown { reason: Some(UnknownReason::Expired), why });

    let mut page = Page::new();
    let (mut call, _) = page.submit("a");
    page.ticks += 180_000;
    let late = page.attempt_ended(&mut call, &error(400, "idempotency_key_expired"));
    let why = EndReason::Stopped(Stop::TimeUsedUp);
    assert_eq!(*ended(&late), End::Unknown { reason: Some(UnknownReason::Expired), why });
}

#[test]
fn a_success_that_comes_again_needs_no_proof() {
    let mut page = Page::with_key_calls();
    let (mut call, command) = page.submit("a");
    page.lose(&mut call);
    page.wait(&mut call);
    page.attempt_ended(&mut call, &proven(201));
    let (mut call, again) = page.submit("a");
    assert_eq!((sent(&again).0, sent(&again).3), (sent(&command).0, false));
    // CORS may hide the headers that contain the proof.
    assert_eq!(*ended(&page.attempt_ended(&mut call, &json(201))), response_end(201));
}

#[test]
fn a_success_stays_a_success_after_its_response_has_expired() {
    for response in [json(404), error(409, "idempotency_not_replayable"), json(401)] {
        let mut page = Page::new();
        let (mut call, _) = page.submit("a");
        page.attempt_ended(&mut call, &json(201));
        let (mut call, _) = page.submit("a");
        let end = page.attempt_ended(&mut call, &response);
        assert_eq!(*ended(&end), End::ResponseGone { http_status: 201 }, "{response:?}");
        assert_eq!(state_name(&page.stored()), "succeeded");
    }
}

#[test]
fn another_payload_after_a_success_is_not_sent() {
    let mut page = Page::new();
    let (mut call, _) = page.submit("a");
    page.attempt_ended(&mut call, &json(201));
    assert_eq!(*ended(&page.submit("b").1), End::PayloadChanged { http_status: 201 });
}

#[test]
fn a_changed_payload_asks_for_the_state_and_then_voids() {
    let mut page = Page::with_key_calls();
    let old = page.leave_unknown("a");
    let (mut call, command) = page.submit("b");
    assert_eq!(*asks_state_of(&command), old);
    assert_eq!(page.report(&mut call, Report::Absent), Command::Void { key: old.clone() });
    let (key, attempt, request, rotated) = sent(&page.report(&mut call, Report::Voided));
    assert_eq!((attempt, request, rotated), (1, SentRequest::Own, true));
    assert!(key != old && page.entry().key == key);
}

#[test]
fn a_changed_payload_finds_that_the_old_one_succeeded() {
    let mut page = Page::with_key_calls();
    page.leave_unknown("a");
    let (mut call, _) = page.submit("b");
    let end = page.report(&mut call, Report::Completed { http_status: 201 });
    assert_eq!(*ended(&end), End::PayloadChanged { http_status: 201 });
    assert_eq!(state_name(&page.stored()), "succeeded", "the resolved outcome is kept");
}

#[test]
fn a_changed_payload_waits_for_the_request_in_progress() {
    let mut page = Page::with_key_calls();
    let old = page.leave_unknown("a");
    let (mut call, _) = page.submit("b");
    let command = page.report(&mut call, Report::InProgress);
    assert_eq!(waits(&command).1, WaitReason::InProgress);
    assert_eq!(*asks_state_of(&page.wait(&mut call)), old);
    assert!(sent(&page.report(&mut call, Report::Completed { http_status: 402 })).3);
}

#[test]
fn a_changed_payload_is_not_sent_while_the_outcome_is_unknown() {
    let mut page = Page::with_key_calls();
    page.leave_unknown("a");
    let (mut call, _) = page.submit("b");
    assert_eq!(*ended(&page.report(&mut call, Report::NoResponse)), End::NotResolved);
    let (mut call, _) = page.submit("b");
    page.report(&mut call, Report::Unknown);
    assert_eq!(*ended(&page.report(&mut call, Report::Unknown)), End::NotResolved);
    let mut page = Page::new();
    page.leave_unknown("a");
    assert_eq!(*ended(&page.submit("b").1), End::NotResolved, "no key calls, nothing in memory");
}

#[test]
fn the_old_payload_is_sent_again_while_it_is_in_memory() {
    for (status, succeeds) in [(201, true), (402, false)] {
        let mut page = Page::new();
        let old = page.leave_unknown("a");
        page.in_memory = Some(old.clone());
        let (mut call, command) = page.submit("b");
        assert_eq!(sent(&command), (old.clone(), 2, SentRequest::Earlier, false));
        page.lose(&mut call);
        assert_eq!(sent(&page.wait(&mut call)), (old.clone(), 3, SentRequest::Earlier, false));
        // A refusal alone does not settle an unknown outcome.
        let response = if succeeds { json(status) } else { proven(status) };
        let next = page.attempt_ended(&mut call, &response);
        if succeeds {
            assert_eq!(*ended(&next), End::PayloadChanged { http_status: 201 });
        } else {
            let (key, attempt, request, rotated) = sent(&next);
            assert!(key != old && (attempt, request, rotated) == (1, SentRequest::Own, true));
        }
    }
    let mut page = Page::with_retries(0);
    let old = page.leave_unknown("a");
    page.in_memory = Some(old);
    let (mut call, _) = page.submit("b");
    assert_eq!(*ended(&page.lose(&mut call)), End::NotResolved);

    // Another tab voids the old key meanwhile. Then the new payload may be sent.
    let mut page = Page::new();
    let old = page.leave_unknown("a");
    page.in_memory = Some(old.clone());
    let (mut call, _) = page.submit("b");
    page.lose(&mut call);
    page.text = Some(Entry { state: IntentState::Voided, ..page.entry() }.encode());
    let (key, attempt, request, rotated) = sent(&page.wait(&mut call));
    assert!(key != old && (attempt, request, rotated) == (1, SentRequest::Own, true));
}

#[test]
fn an_entry_that_is_too_old_or_unreadable_is_not_sent() {
    let mut page = Page::new();
    page.leave_unknown("a");
    page.now = NOW.plus(RETENTION);
    let end = |why| End::Unknown { reason: None, why };
    assert_eq!(*ended(&page.submit("a").1), end(EndReason::TooOld));
    page.text = Some("garbage".into());
    assert_eq!(*ended(&page.submit("a").1), end(EndReason::Unreadable));
    assert_eq!(
        page.text.as_deref(),
        Some("garbage"),
        "the entry stays for a version that can read it"
    );
}

#[test]
fn changes_by_other_tabs_during_a_wait_count() {
    let wait_after = |change: fn(&mut Page)| {
        let mut page = Page::new();
        let (mut call, _) = page.submit("a");
        page.lose(&mut call);
        change(&mut page);
        page.wait(&mut call)
    };
    let forgotten = wait_after(|page| page.text = None);
    let why = EndReason::Overtaken;
    assert_eq!(*ended(&forgotten), End::Unknown { reason: Some(UnknownReason::Network), why });
    let voided = wait_after(|page| {
        page.text = Some(Entry { state: IntentState::Voided, ..page.entry() }.encode());
    });
    assert_eq!(*ended(&voided), End::KeyVoided);
    for state in
        [IntentState::Refused { http_status: 402 }, IntentState::Succeeded { http_status: 201 }]
    {
        let mut page = Page::new();
        let (mut call, command) = page.submit("a");
        page.lose(&mut call);
        page.text = Some(Entry { state, ..page.entry() }.encode());
        let again = page.wait(&mut call);
        assert_eq!(sent(&again).0, sent(&command).0, "the same key gets the response");
    }
}

#[test]
fn resolve_changes_nothing_on_the_server() {
    let mut page = Page::with_key_calls();
    assert_eq!(*ended(&page.begin(Goal::Resolve { look_up: false }).1), End::Status(None));
    let old = page.leave_unknown("a");
    let (mut call, command) = page.begin(Goal::Resolve { look_up: false });
    assert_eq!(*asks_state_of(&command), old);
    let found = page.report(&mut call, Report::Released);
    assert_eq!(*ended(&found), End::Status(Some(IntentState::Unknown)));
    let (mut call, _) = page.begin(Goal::Resolve { look_up: false });
    let found = page.report(&mut call, Report::Completed { http_status: 201 });
    let succeeded = IntentState::Succeeded { http_status: 201 };
    assert_eq!(*ended(&found), End::Status(Some(succeeded)));
    assert_eq!(page.entry().state, succeeded);
}

#[test]
fn a_look_up_comes_last_and_proves_only_an_execution() {
    for (report, state) in [
        (Report::Completed { http_status: 200 }, IntentState::Succeeded { http_status: 200 }),
        (Report::Completed { http_status: 400 }, IntentState::Refused { http_status: 400 }),
        (Report::Voided, IntentState::Unknown),
        (Report::NoResponse, IntentState::Unknown),
    ] {
        let mut page = Page::with_key_calls();
        page.leave_unknown("a");
        let (mut call, _) = page.begin(Goal::Resolve { look_up: true });
        assert_eq!(page.report(&mut call, Report::Absent), Command::LookUp);
        let end = page.report(&mut call, report);
        assert_eq!(*ended(&end), End::Status(Some(state)), "{report:?}");
        assert_eq!(page.entry().state, state);
    }
}

#[test]
fn a_look_up_does_not_count_for_a_key_that_was_sent_after_it_began() {
    let refused = Report::Completed { http_status: 402 };
    let succeeded = Report::Completed { http_status: 201 };
    let looking = |page: &mut Page| {
        let (call, command) = page.begin(Goal::Resolve { look_up: true });
        assert_eq!(command, Command::LookUp);
        call
    };
    // The same key was sent again.
    for (report, found) in
        [(refused, IntentState::Sending), (succeeded, IntentState::Succeeded { http_status: 201 })]
    {
        let mut page = Page::new();
        let key = page.leave_unknown("a");
        let mut call = looking(&mut page);
        assert_eq!(sent(&page.submit("a").1).0, key);
        assert_eq!(*ended(&page.report(&mut call, report)), End::Status(Some(found)));
        assert_eq!(page.entry().state, found);
    }
    // The key was refused, and another key is in progress.
    for report in [refused, succeeded] {
        let mut page = Page::new();
        page.leave_unknown("a");
        let mut call = looking(&mut page);
        let (mut again, _) = page.submit("a");
        page.attempt_ended(&mut again, &proven(402));
        let other = sent(&page.submit("b").1).0;
        assert_eq!(
            *ended(&page.report(&mut call, report)),
            End::Status(Some(IntentState::Sending))
        );
        assert_eq!((page.entry().key, page.entry().state), (other, IntentState::Sending));
    }
}

#[test]
fn a_refusal_without_proof_does_not_settle_an_unknown_outcome() {
    for code in ["card_error", "invalid_request_error", "idempotency_key_missing"] {
        let mut page = Page::new();
        let key = page.leave_unknown("a");
        let (mut call, _) = page.submit("a");
        let why = EndReason::Stopped(Stop::Outcome);
        let end = End::Unknown { reason: Some(UnknownReason::NoProof), why };
        assert_eq!(*ended(&page.attempt_ended(&mut call, &error(400, code))), end);
        assert_eq!(page.entry().state, IntentState::Unknown);
        assert_eq!(sent(&page.submit("a").1).0, key, "the next submit sends it again");
    }
    let mut page = Page::new();
    page.settings.final_statuses = vec![402];
    page.leave_unknown("a");
    let (mut call, _) = page.submit("a");
    let refused = End::Response(Outcome::Refused { http_status: 402 });
    assert_eq!(*ended(&page.attempt_ended(&mut call, &error(402, "card_error"))), refused);
}

#[test]
fn the_entry_records_that_the_server_sends_proof() {
    let mut page = Page::new();
    let (mut call, command) = page.submit("a");
    let absent = ResponseSummary { state: Some("absent"), ..error(429, "rate_limit_error") };
    waits(&page.attempt_ended(&mut call, &absent));
    assert!(page.entry().sends_proof);
    // Another page with other settings, where a service worker responds in the server's place.
    let (mut call, again) = page.submit("a");
    assert_eq!(sent(&again).0, sent(&command).0);
    let why = EndReason::Stopped(Stop::Outcome);
    let end = End::Unknown { reason: Some(UnknownReason::NoProof), why };
    assert_eq!(*ended(&page.attempt_ended(&mut call, &json(202))), end);
    assert_eq!(page.entry().state, IntentState::Unknown);
    let (mut call, _) = page.submit("a");
    assert_eq!(*ended(&page.attempt_ended(&mut call, &proven(201))), response_end(201));
}

#[test]
fn with_the_key_calls_the_first_success_needs_proof() {
    let mut page = Page::with_key_calls();
    let (mut call, _) = page.submit("a");
    let why = EndReason::Stopped(Stop::Outcome);
    let end = End::Unknown { reason: Some(UnknownReason::NoProof), why };
    assert_eq!(*ended(&page.attempt_ended(&mut call, &json(202))), end);
    assert_eq!(state_name(&page.stored()), "unknown");
}

#[test]
fn a_success_after_a_redirect_needs_proof() {
    let mut page = Page::new();
    let (mut call, _) = page.submit("a");
    let login = ResponseSummary { redirected: true, ..json(200) };
    let why = EndReason::Stopped(Stop::Outcome);
    let end = End::Unknown { reason: Some(UnknownReason::Redirected), why };
    assert_eq!(*ended(&page.attempt_ended(&mut call, &login)), end);
    let (mut call, _) = page.submit("a");
    let proven = ResponseSummary { redirected: true, ..proven(200) };
    assert_eq!(*ended(&page.attempt_ended(&mut call, &proven)), response_end(200));
}

#[test]
fn a_page_after_a_redirect_is_a_success_if_the_state_of_the_key_is_completed() {
    let redirected = ResponseSummary { redirected: true, ..json(200) };
    let why = EndReason::Stopped(Stop::Outcome);
    let unknown = End::Unknown { reason: Some(UnknownReason::Redirected), why };
    for (report, expected, state) in [
        (Report::Completed { http_status: 303 }, response_end(303), "succeeded"),
        // The stored response was not a redirect, so this page is another one, such as a login page.
        (Report::Completed { http_status: 201 }, unknown.clone(), "unknown"),
        (Report::Completed { http_status: 402 }, unknown.clone(), "unknown"),
        (Report::Completed { http_status: 500 }, unknown.clone(), "unknown"),
        (Report::Absent, unknown.clone(), "unknown"),
        (Report::InProgress, unknown.clone(), "unknown"),
        (Report::Voided, unknown.clone(), "unknown"),
        (Report::NoResponse, unknown.clone(), "unknown"),
    ] {
        let mut page = Page::with_key_calls();
        let (mut call, command) = page.submit("a");
        let key = sent(&command).0;
        let next = page.attempt_ended(&mut call, &redirected);
        assert_eq!(next, Command::AskState { key: key.clone() });
        assert_eq!(*ended(&page.report(&mut call, report)), expected, "{report:?}");
        assert_eq!(
            (state_name(&page.stored()), &page.entry().key),
            (state.to_owned(), &key),
            "{report:?}"
        );
    }
}

#[test]
fn a_look_up_reports_one_of_two_results_with_a_matching_status() {
    let completed = |http_status| Some(Report::Completed { http_status });
    for (state, http_status, report) in [
        ("succeeded", None, completed(200)),
        ("succeeded", Some(201), completed(201)),
        ("refused", None, completed(400)),
        ("refused", Some(402), completed(402)),
        ("succeeded", Some(404), None),
        ("refused", Some(200), None),
        ("refused", Some(500), None),
        ("succeeded", Some(0), None),
        ("pending", None, None),
        ("unknown", None, None),
        ("completed", Some(200), None),
        ("", None, None),
    ] {
        assert_eq!(Report::looked_up(state, http_status), report, "{state} {http_status:?}");
    }
}

#[test]
fn an_unreadable_entry_can_be_looked_up_and_stays() {
    let mut page = Page::new();
    page.text = Some("garbage".into());
    assert!(matches!(page.stored(), Stored::Unreadable(EntryError::Damaged)));
    let (mut call, command) = page.begin(Goal::Resolve { look_up: true });
    assert_eq!(command, Command::LookUp);
    let found = page.report(&mut call, Report::Completed { http_status: 201 });
    assert_eq!(*ended(&found), End::Status(Some(IntentState::Succeeded { http_status: 201 })));
    assert_eq!(page.text.as_deref(), Some("garbage"));
}

#[test]
fn an_intent_is_given_up_only_when_nothing_was_executed() {
    for (report, state) in [
        (Report::Voided, IntentState::Voided),
        (Report::InProgress, IntentState::Unknown),
        (Report::Completed { http_status: 201 }, IntentState::Succeeded { http_status: 201 }),
    ] {
        let mut page = Page::with_key_calls();
        let old = page.leave_unknown("a");
        page.in_memory = Some(old.clone());
        let (mut call, _) = page.begin(Goal::Abandon);
        assert_eq!(page.report(&mut call, Report::Absent), Command::Void { key: old });
        let command = page.report(&mut call, report);
        if report == Report::InProgress {
            assert_eq!(waits(&command).1, WaitReason::InProgress);
        } else {
            assert_eq!(*ended(&command), End::Status(Some(state)));
        }
        assert_eq!(page.entry().state, state);
    }
    let mut page = Page::new();
    let old = page.leave_unknown("a");
    page.in_memory = Some(old);
    let end = page.begin(Goal::Abandon).1;
    assert_eq!(*ended(&end), End::Status(Some(IntentState::Unknown)), "no payload is sent");
}

#[test]
fn an_unexpected_event_ends_the_call_and_stores_nothing() {
    let mut page = Page::new();
    let (mut call, _) = page.submit("a");
    let before = page.text.clone();
    assert_eq!(end_name(ended(&page.wait(&mut call))), "ends: unknown");
    assert_eq!(end_name(ended(&page.lose(&mut call))), "ends: unknown");
    assert_eq!(end_name(ended(&page.report(&mut call, Report::Voided))), "ends: unknown");
    assert_eq!(page.text, before);
}

/// Submits while the server has put this key into its form.
fn offered(page: &mut Page, body: &str, key: &str) -> (Call, Command) {
    let goal = Goal::Submit { payload: payload(body), own_key: None, waited_since: None };
    let key = IdempotencyKey::parse_bare(key).expect("a key");
    let mut call = Call::new(goal, page.settings.clone()).offering(key);
    let step = call.begin(&page.input());
    (call, page.take(step))
}

fn sent_key(command: &Command) -> &str {
    match command {
        Command::Send { key, .. } => key.as_str(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_key_that_the_server_offers_is_used_instead_of_a_minted_key() {
    let mut page = Page::with_retries(0);
    let (mut call, first) = offered(&mut page, "a", "one");
    assert_eq!(sent_key(&first), "one");
    page.lose(&mut call);
    // The reloaded page has another key. The request may have been executed under the first key.
    let (mut call, again) = offered(&mut page, "a", "two");
    assert_eq!(sent_key(&again), "one");
    page.attempt_ended(&mut call, &ResponseSummary { state: Some("completed"), ..json(402) });
    // A key that was used up is not used again.
    let (_, minted) = offered(&mut page, "a", "one");
    assert_ne!(sent_key(&minted), "one");
}

#[test]
fn an_offered_key_replaces_only_a_key_that_was_never_sent() {
    let mut page = Page::with_retries(0);
    let (mut call, _) = offered(&mut page, "a", "one");
    let step = call.not_sent(&page.input());
    page.take(step);
    let (mut call, next) = offered(&mut page, "a", "two");
    assert_eq!(sent_key(&next), "two");
    page.attempt_ended(&mut call, &json(401));
    let (_, again) = offered(&mut page, "a", "three");
    assert_eq!(sent_key(&again), "two", "the caller signs in, and sends the same key");
}

#[test]
fn a_request_that_was_not_sent_leaves_no_unknown_outcome() {
    let mut page = Page::with_retries(0);
    let (mut call, first) = page.submit("a");
    let key = sent_key(&first).to_owned();
    let step = call.not_sent(&page.input());
    assert_eq!(page.take(step), Command::End(End::Status(Some(IntentState::Prepared))));
    let (mut call, again) = page.submit("a");
    assert_eq!(sent_key(&again), key);
    let step = call.not_sent(&page.input());
    page.take(step);
    let (mut call, changed) = page.submit("b");
    assert_ne!(sent_key(&changed), key);
    // An outcome that was unknown before stays unknown.
    page.lose(&mut call);
    let (mut call, _) = page.submit("b");
    let step = call.not_sent(&page.input());
    assert_eq!(page.take(step), Command::End(End::Status(Some(IntentState::Unknown))));
    let (_, other) = page.submit("c");
    assert_eq!(other, Command::End(End::NotResolved));
}
