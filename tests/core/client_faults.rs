//! The reported faults of clients, as far as the core's rules prevent them.

use crate::support::client::requests::{NOW, RETENTION, SAFE, key, parts, payload, submit};
use oncekey::canonical::JsonPointer;
use oncekey::client::intent::{
    Acquisition, Entry, IntentState, Payload, Start, Stored, Submit, TabLease, TabToken,
    note_outcome, note_sending, start,
};
use oncekey::client::retry::{
    AttemptResult, BodyState, Context, Outcome, Progress, ResponseSummary, RetryDecision,
    RetryPolicy, UnknownReason, attempt_timeout, classify, next, retry_after,
};
use oncekey::fingerprint::RequestParts;
use oncekey::{IdempotencyKey, Millis};

/// A page and the content of its storage.
#[derive(Default)]
struct Page {
    text: Option<String>,
}

impl Page {
    fn stored(&self) -> Stored {
        Stored::read(self.text.as_deref())
    }

    fn start(&self, body: &str) -> Start {
        start(&self.stored(), &submit(&payload(body)), NOW)
    }

    /// Submits and sends. Returns the key that is sent.
    fn send(&mut self, body: &str) -> IdempotencyKey {
        let Start::Send { entry, .. } = self.start(body) else { panic!("nothing was sent") };
        self.text = Some(entry.encode());
        let entry = note_sending(&self.stored(), &entry.key, RETENTION, NOW).expect("it is sent");
        self.text = Some(entry.encode());
        entry.key
    }

    fn entry(&self) -> Entry {
        Entry::decode(self.text.as_ref().expect("something is stored")).expect("an entry")
    }

    fn attempt_ended(&mut self, result: &AttemptResult<'_>) -> Outcome {
        let entry = self.entry();
        let outcome = classify(result, &entry.context(false, "application/json"));
        let after = note_outcome(&self.stored(), &entry.key, entry.attempts, &outcome, NOW);
        self.text = Some(after.unwrap_or(entry).encode());
        outcome
    }

    fn response_with(&mut self, status: u16) -> Outcome {
        self.attempt_ended(&AttemptResult::Response(&json(status)))
    }
}

fn json(status: u16) -> ResponseSummary<'static> {
    ResponseSummary { status, content_type: Some("application/json"), ..ResponseSummary::default() }
}

fn again(outcome: &Outcome, retries: u32, retry_after: Option<Millis>) -> RetryDecision {
    let left = Millis::from_days(1);
    let progress = Progress { retries, elapsed: Millis::new(0), left };
    next(&RetryPolicy::default(), outcome, progress, retry_after, 1 << 31)
}

#[test]
fn fault_52_two_submits_use_one_key() {
    let mut page = Page::default();
    let first = page.send("a");
    assert_eq!(page.send("a"), first);
}

#[test]
fn fault_53_a_retry_after_a_slow_success_uses_the_same_key() {
    let mut page = Page::default();
    let first = page.send("a");
    page.attempt_ended(&AttemptResult::TimedOut);
    assert_eq!(page.send("a"), first);
    page.response_with(201);
    assert_eq!(page.send("a"), first, "a submit after the success has the same key, too");
}

#[test]
fn fault_54_a_reload_finds_the_key() {
    let mut page = Page::default();
    let first = page.send("a");
    let mut reloaded = Page { text: page.text };
    assert_eq!(reloaded.send("a"), first);
    assert!(
        reloaded.entry().maybe_executed,
        "the request before the reload may have been executed"
    );
}

#[test]
fn fault_55_an_edited_amount_takes_a_new_key_once_the_old_one_is_resolved() {
    let mut page = Page::default();
    let first = page.send("a");
    page.attempt_ended(&AttemptResult::NetworkError);
    assert_eq!(page.start("b"), Start::ResolveFirst);
    page.text = Some(Entry { state: IntentState::Voided, ..page.entry() }.encode());
    let Start::Send { entry, fresh: true } = page.start("b") else { panic!() };
    assert_ne!(entry.tag, payload("a").tag(&first));
    assert_eq!(entry.tag, payload("b").tag(&entry.key));
}

#[test]
fn fault_56_volatile_fields_do_not_change_the_payload() {
    let ignore = [JsonPointer::parse("/nonce").unwrap()];
    let of = |body| Payload::of("", &RequestParts { ignore: &ignore, ..parts(body) });
    assert_eq!(of(r#"{"a":1,"nonce":"x"}"#), of(r#"{"a":1,"nonce":"y"}"#));
    assert_ne!(of(r#"{"a":1,"nonce":"x"}"#), of(r#"{"a":2,"nonce":"x"}"#));
}

#[test]
fn fault_57_the_submit_after_a_refusal_has_a_new_key() {
    let mut page = Page::default();
    page.send("card 1");
    assert_eq!(page.response_with(402), Outcome::Refused { http_status: 402 });
    for body in ["card 1", "card 2"] {
        assert!(matches!(page.start(body), Start::Send { fresh: true, .. }), "{body}");
    }
}

#[test]
fn fault_58_a_key_is_minted_only_from_the_client_s_random_bytes() {
    let wanted = payload("a");
    let of = |random| match start(&Stored::Nothing, &Submit { random, ..submit(&wanted) }, NOW) {
        Start::Send { entry, .. } => entry.key,
        other => panic!("{other:?}"),
    };
    assert_eq!(of([1; 16]), of([1; 16]));
    assert_ne!(of([1; 16]), of([2; 16]));
}

#[test]
fn fault_59_a_key_belongs_to_one_operation() {
    let mut page = Page::default();
    page.send("a");
    page.attempt_ended(&AttemptResult::TimedOut);
    let elsewhere = Payload::of("https://other.example", &parts("a"));
    assert_eq!(start(&page.stored(), &submit(&elsewhere), NOW), Start::ResolveFirst);
}

#[test]
fn fault_60_the_key_stays_after_a_500() {
    let mut page = Page::default();
    let first = page.send("a");
    assert_eq!(page.response_with(500), Outcome::Ambiguous(UnknownReason::Status(500)));
    assert_eq!(page.send("a"), first);
}

#[test]
fn fault_61_a_409_after_a_lost_response_waits_and_retries() {
    let mut page = Page::default();
    page.send("a");
    page.attempt_ended(&AttemptResult::NetworkError);
    page.send("a");
    let response = ResponseSummary { error_type: Some("idempotency_in_progress"), ..json(409) };
    let outcome = page.attempt_ended(&AttemptResult::Response(&response));
    assert_eq!(outcome, Outcome::InProgress);
    let after = Millis::new(1500);
    assert_eq!(again(&outcome, 4, None), RetryDecision::Again { after, counts: false });
    page.send("a");
    assert_eq!(page.response_with(201), Outcome::Succeeded { http_status: 201 });
}

#[test]
fn fault_62_another_body_is_not_sent_with_the_same_key() {
    let mut page = Page::default();
    page.send("a");
    page.attempt_ended(&AttemptResult::NetworkError);
    assert_eq!(page.start(""), Start::ResolveFirst, "a body that was lost");
}

#[test]
fn fault_63_no_attempt_is_sent_without_a_stored_key() {
    let error = note_sending(&Stored::Nothing, &key("k"), RETENTION, NOW);
    assert!(error.is_err());
}

#[test]
fn fault_64_each_retry_has_its_own_time_limit_within_the_total() {
    let mut page = Page::default();
    page.send("a");
    let outcome = page.attempt_ended(&AttemptResult::TimedOut);
    assert!(matches!(again(&outcome, 0, None), RetryDecision::Again { counts: true, .. }));
    let of = |elapsed| {
        let progress = Progress { retries: 1, elapsed: Millis::from_seconds(elapsed), left: SAFE };
        attempt_timeout(&RetryPolicy::default(), progress)
    };
    assert_eq!((of(31), of(175)), (Millis::from_seconds(30), Millis::from_seconds(5)));
}

/// The message of an error is no input. Only the shell's own signals count.
#[test]
fn fault_65_a_network_error_and_a_time_out_are_distinguished_by_the_client_s_own_signals() {
    let mut page = Page::default();
    page.send("a");
    assert_eq!(
        page.attempt_ended(&AttemptResult::NetworkError),
        Outcome::Ambiguous(UnknownReason::Network)
    );
    assert_eq!(
        page.attempt_ended(&AttemptResult::TimedOut),
        Outcome::Ambiguous(UnknownReason::TimedOut)
    );
    assert_eq!(
        page.attempt_ended(&AttemptResult::Aborted),
        Outcome::Unsettled(UnknownReason::Aborted)
    );
    assert_eq!(
        again(&Outcome::Unsettled(UnknownReason::Aborted), 0, None),
        RetryDecision::Stop(oncekey::client::retry::Stop::Outcome)
    );
}

#[test]
fn fault_66_an_http_date_is_not_read_as_0_ms() {
    let max = Millis::from_seconds(60);
    let wait = retry_after("Mon, 24 Nov 2025 16:00:05 GMT", None, NOW, max);
    assert_eq!(wait, Some(Millis::new(5000)));
}

#[test]
fn fault_67_seconds_are_not_milliseconds() {
    let wait = retry_after("3", None, NOW, Millis::from_seconds(60));
    let outcome = Outcome::NotExecuted { http_status: 429, again: true };
    let after = Millis::new(3000);
    assert_eq!(again(&outcome, 0, wait), RetryDecision::Again { after, counts: true });
}

#[test]
fn fault_68_a_server_error_keeps_the_intent_and_its_key() {
    let mut page = Page::default();
    let first = page.send("a");
    for _ in 0..5 {
        page.response_with(503);
        assert_eq!(page.send("a"), first);
    }
    page.response_with(503);
    assert!(page.stored().is_pending(), "the entry stays after the client gives up");
}

#[test]
fn fault_69_the_page_of_a_captive_portal_is_not_a_success() {
    let mut page = Page::default();
    page.send("a");
    let portal = ResponseSummary { content_type: Some("text/html; charset=utf-8"), ..json(200) };
    assert_eq!(
        page.attempt_ended(&AttemptResult::Response(&portal)),
        Outcome::Ambiguous(UnknownReason::NotTheApi)
    );
    // A JSON response without proof, from a server that sends proof.
    let context =
        Context { maybe_executed: true, ..page.entry().context(true, "application/json") };
    assert_eq!(
        classify(&AttemptResult::Response(&json(200)), &context),
        Outcome::Unsettled(UnknownReason::NoProof)
    );
    let cut = ResponseSummary { body: BodyState::Cut, ..json(200) };
    assert_eq!(
        page.attempt_ended(&AttemptResult::Response(&cut)),
        Outcome::Ambiguous(UnknownReason::Cut)
    );
    assert!(page.stored().is_pending());
}

#[test]
fn fault_70_one_tab_sends_and_the_others_wait() {
    let (one, two) = (TabToken::new(1), TabToken::new(2));
    let Acquisition::Write(lease) = TabLease::acquire(None, one, NOW) else { panic!() };
    assert_eq!(
        TabLease::acquire(Some(&lease), two, NOW),
        Acquisition::Wait(TabLease::LOOK_AGAIN_AFTER)
    );
    let death = NOW.plus(TabLease::LEASE);
    assert!(matches!(TabLease::acquire(Some(&lease), two, death), Acquisition::Write(_)));
}

#[test]
fn fault_71_an_action_that_fires_twice_uses_one_key() {
    let mut page = Page::default();
    let first = page.send("a");
    let second = page.send("a");
    assert_eq!(first, second);
    page.response_with(201);
    // The first attempt's response arrives after the second one's.
    let late =
        note_outcome(&page.stored(), &first, 1, &Outcome::Ambiguous(UnknownReason::Network), NOW);
    assert_eq!(late, None);
}

#[test]
fn fault_73_keys_are_made_from_plain_random_bytes() {
    let wanted = payload("a");
    let Start::Send { entry, .. } = start(&Stored::Nothing, &submit(&wanted), NOW) else {
        panic!()
    };
    assert_eq!(entry.key.minted_at(), Some(NOW));
}
