//! The credential under which a key was sent: what the page stores of it, and which key calls it allows.

use crate::support::client::requests::{NOW, RETENTION, key, payload};
use oncekey::Millis;
use oncekey::client::intent::{
    Call, CallInput, CallSettings, CallStep, Command, Cookies, Credential, Entry, Goal, Hints,
    IntentState, KeyCallCredential, Report, SentBy, Stored,
};
use oncekey::client::retry::{AttemptResult, ResponseSummary, RetryPolicy};
use proptest::prelude::*;

fn of(headers: &[(&str, &str)]) -> Credential {
    Credential::new(Cookies::None, headers.iter().copied())
}

fn key_call(sent: &Credential, source: &Credential) -> KeyCallCredential {
    let key = key("order-1042");
    SentBy::One(sent.mark(&key)).key_call(&key, source)
}

fn same(names: &[&str], cookies: bool) -> KeyCallCredential {
    KeyCallCredential::Same {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        cookies,
    }
}

fn differs(names: &[&str]) -> KeyCallCredential {
    KeyCallCredential::HeadersDiffer(names.iter().map(|name| (*name).to_owned()).collect())
}

#[test]
fn a_key_call_has_the_headers_of_the_request_and_no_others() {
    let sent = of(&[("X-Api-Key", "one"), ("X-Shop", "north"), ("Accept", "text/html")]);
    let api_key = ("x-api-key", "one");
    let both = same(&["x-api-key", "x-shop"], false);
    assert_eq!(key_call(&sent, &of(&[api_key, ("X-SHOP", "north")])), both);
    assert_eq!(key_call(&sent, &of(&[("x-shop", "north"), api_key, ("x-more", "1")])), both);
    assert_eq!(key_call(&sent, &of(&[api_key])), differs(&["x-shop"]));
    assert_eq!(key_call(&sent, &of(&[api_key, ("x-shop", "south")])), differs(&["x-shop"]));
    assert_eq!(key_call(&sent, &of(&[])), differs(&["x-api-key", "x-shop"]));
    assert_eq!(key_call(&of(&[]), &of(&[api_key])), same(&[], false), "headers are not added");
}

#[test]
fn a_key_call_sends_cookies_as_the_request_did() {
    let with = |cookies, headers: &[(&'static str, &'static str)]| {
        Credential::new(cookies, headers.iter().copied())
    };
    let none = of(&[]);
    let one = [("x-api-key", "one")];
    assert_eq!(key_call(&with(Cookies::Same, &[]), &none), same(&[], true));
    assert_eq!(key_call(&with(Cookies::None, &[]), &none), same(&[], false));
    assert_eq!(key_call(&with(Cookies::Elsewhere, &[]), &none), KeyCallCredential::CookieDiffers);
    // A header identifies the caller. Cookies of another origin do not identify the caller for the key calls.
    assert_eq!(key_call(&with(Cookies::Elsewhere, &one), &of(&one)), same(&["x-api-key"], false));
}

#[test]
fn headers_that_do_not_identify_the_caller_do_not_count() {
    let more = [
        ("Accept-Language", "en"),
        ("Content-Type", "application/json"),
        ("Idempotency-Key", "order-1042"),
        ("If-Match", "1"),
        ("Sandbox-Fault", "delay=1"),
        ("X-CSRF-Token", "a"),
        ("traceparent", "b"),
    ];
    assert_eq!(of(&more), of(&[]));
    for header in ["authorization", "x-api-key", "x-session", "x-tenant", "x-anything"] {
        assert_ne!(of(&[(header, "1")]), of(&[]), "{header}");
    }
}

#[test]
fn a_token_is_identified_by_its_claims() {
    // {"alg":"none"}, and {"sub":"ann","exp":1}, {"sub":"ann","exp":2,"jti":"x"}, {"sub":"bob","exp":2}.
    let token = |claims: &str| format!("Bearer eyJhbGciOiJub25lIn0.{claims}.c2ln");
    let ann = token("eyJzdWIiOiJhbm4iLCJleHAiOjF9");
    let renewed = token("eyJzdWIiOiJhbm4iLCJleHAiOjIsImp0aSI6IngifQ");
    let bob = token("eyJzdWIiOiJib2IiLCJleHAiOjJ9");
    let of = |value: &str| of(&[("Authorization", value)]);
    assert_eq!(of(&ann), of(&renewed));
    assert_ne!(of(&ann), of(&bob));
    assert_ne!(of(&ann), of(&ann.replace("Bearer", "DPoP")));
    // A value that is not a JWT counts unchanged.
    assert_ne!(of("Bearer eyJ.1"), of("Bearer eyJ.2"));
    assert_ne!(of("Bearer eyJ.*.a"), of("Bearer eyJ.*.b"));
    // These are not JWTs either, although they contain the same claims.
    for (from, to) in [("c2ln", "c2ln.c2ln"), ("eyJhbGciOiJub25lIn0", "v2")] {
        assert_ne!(of(&ann.replace(from, to)), of(&renewed.replace(from, to)), "{to}");
    }
}

#[test]
fn debug_output_contains_no_credential() {
    let secret = of(&[("x-api-key", "kuko_test_secret")]);
    let mark = SentBy::One(secret.mark(&key("k-1")));
    for shown in [format!("{secret:?}"), format!("{mark:?}"), mark.encode()] {
        assert!(shown.contains("x-api-key") && !shown.contains("secret"), "{shown}");
    }
}

/// Returns the text of an entry with this credential.
fn entry_text(sent: &str) -> String {
    use sha2::{Digest, Sha256};
    let text = format!("2 k-1 8b9ae2a7 u mp 2 1 2 3 {sent}");
    let sum = Sha256::digest(text.as_bytes());
    format!("{text} {:02x}{:02x}{:02x}{:02x}", sum[0], sum[1], sum[2], sum[3])
}

#[test]
fn a_credential_that_is_never_written_is_not_read() {
    for sent in [".", "*", "n", "c", "x", "n,a:00000001", "c,a-b:00000001,c:00000001"] {
        assert!(Entry::decode(&entry_text(sent)).is_ok(), "{sent}");
    }
    for sent in [
        "",
        "y",
        ".,a:00000001",
        "*,a:00000001",
        "n,",
        "n,:00000001",
        "n,a",
        "n,A:00000001",
        "n,a(:00000001",
        "n,b:00000001,a:00000001",
        "n,a:00000001,a:00000001",
    ] {
        assert!(Entry::decode(&entry_text(sent)).is_err(), "{sent}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_stored_text_causes_a_panic(sent in "[ -~]{0,40}") {
        let text = entry_text(&sent);
        if let Ok(entry) = Entry::decode(&text) {
            prop_assert_eq!(entry.encode(), text);
        }
    }
}

/// A page that is reloaded between any two calls.
struct Page {
    text: Option<String>,
    random: u8,
}

impl Page {
    fn input(&mut self) -> CallInput {
        self.random += 1;
        CallInput {
            stored: Stored::read(self.text.as_deref()),
            now: NOW,
            ticks: Millis::new(0),
            random: [self.random; 16],
            in_memory: None,
        }
    }

    fn take(&mut self, step: CallStep) -> Command {
        if let Some(entry) = step.write {
            self.text = Some(entry.encode());
        }
        step.command
    }

    fn begin(&mut self, goal: Goal, credential: &Credential) -> (Call, Command) {
        let settings = CallSettings {
            retry: RetryPolicy::default(),
            retention: RETENTION,
            key_calls: true,
            sends_proof: true,
            final_statuses: vec![],
            expects: "application/json".into(),
        };
        let mut call = Call::new(goal, settings).under(credential.clone());
        let step = call.begin(&self.input());
        (call, self.take(step))
    }

    fn submit(&mut self, body: &str, credential: &Credential) -> (Call, Command) {
        let goal = Goal::Submit { payload: payload(body), own_key: None, waited_since: None };
        self.begin(goal, credential)
    }

    fn attempt_ended(&mut self, call: &mut Call, result: &AttemptResult<'_>) {
        let step = call.attempt_ended(result, &Hints::default(), &self.input());
        self.take(step);
    }

    fn lose(&mut self, body: &str, credential: &Credential) {
        let (mut call, _) = self.submit(body, credential);
        self.attempt_ended(&mut call, &AttemptResult::NetworkError);
    }

    /// Returns how the first key call of giving up is made.
    fn gives_up_as(&mut self, source: &Credential) -> KeyCallCredential {
        let (call, command) = self.begin(Goal::Abandon, &of(&[]));
        assert!(matches!(command, Command::AskState { .. }), "{command:?}");
        call.key_call(source, &Stored::read(self.text.as_deref()))
    }
}

fn refused(status: u16) -> ResponseSummary<'static> {
    ResponseSummary { status, content_type: Some("application/json"), ..ResponseSummary::default() }
}

#[test]
fn a_call_stores_the_credential_that_it_sends() {
    let (one, two) = (of(&[("x-api-key", "one")]), of(&[("x-api-key", "two")]));
    let mut page = Page { text: None, random: 0 };
    page.lose("a", &one);
    page.lose("a", &one);
    assert_eq!(page.gives_up_as(&one), same(&["x-api-key"], false));
    assert_eq!(page.gives_up_as(&two), differs(&["x-api-key"]));
    // The key was sent with both credentials, so no key call can cover both.
    page.lose("a", &two);
    for source in [&one, &two] {
        assert_eq!(page.gives_up_as(source), KeyCallCredential::Several);
    }
    page.lose("a", &one);
    assert_eq!(page.gives_up_as(&one), KeyCallCredential::Several);
}

#[test]
fn a_key_call_about_a_key_that_another_tab_has_replaced_has_the_credential_of_the_caller() {
    let (one, two) = (of(&[("x-api-key", "one")]), of(&[("x-api-key", "two")]));
    let mut page = Page { text: None, random: 0 };
    page.lose("a", &one);
    let (call, _) = page.begin(Goal::Abandon, &of(&[]));
    let Stored::Entry(entry) = Stored::read(page.text.as_deref()) else { panic!() };
    let replaced = Stored::Entry(Entry { key: key("another"), ..entry });
    let caller = KeyCallCredential::Caller(vec!["x-api-key".into()]);
    assert_eq!(call.key_call(&two, &replaced), caller);
}

#[test]
fn after_a_401_another_credential_can_be_used() {
    let (none, one) = (of(&[]), of(&[("x-api-key", "one")]));
    for (status, is_known) in [(401, false), (403, false), (429, true)] {
        let mut page = Page { text: None, random: 0 };
        let (mut call, _) = page.submit("a", &none);
        page.attempt_ended(&mut call, &AttemptResult::Response(&refused(status)));
        let Stored::Entry(entry) = Stored::read(page.text.as_deref()) else { panic!() };
        assert_eq!(entry.state, IntentState::Prepared);
        assert_eq!(entry.sent_by != SentBy::NotKnown, is_known, "{status}");
        page.lose("a", &one);
        assert_eq!(page.gives_up_as(&one), same(&["x-api-key"], false));
    }
}

#[test]
fn an_entry_of_an_earlier_version_allows_key_calls_with_any_credential() {
    let one = of(&[("x-api-key", "one")]);
    let mut page = Page { text: None, random: 0 };
    page.lose("a", &one);
    let Stored::Entry(entry) = Stored::read(page.text.as_deref()) else { panic!() };
    let old = Entry { sends_proof: false, sent_by: SentBy::NotKnown, ..entry };
    assert!(old.encode().starts_with("1 "));
    page.text = Some(old.encode());
    assert_eq!(page.gives_up_as(&one), KeyCallCredential::Caller(vec!["x-api-key".into()]));
    // Later requests do not show which credential the earlier requests had.
    page.lose("a", &one);
    assert!(matches!(page.gives_up_as(&one), KeyCallCredential::Caller(_)));
}

#[test]
fn a_key_call_that_is_not_made_settles_nothing() {
    let one = of(&[("x-api-key", "one")]);
    let mut page = Page { text: None, random: 0 };
    page.lose("a", &one);
    let before = page.text.clone();
    let (mut call, _) = page.begin(Goal::Abandon, &of(&[]));
    let step = call.report(Report::NoResponse, &page.input());
    assert!(matches!(page.take(step), Command::End(_)));
    assert_eq!(page.text, before);
    let (_, command) = page.submit("b", &one);
    assert!(matches!(command, Command::AskState { .. }), "{command:?}");
}
