//! Which entries are stored, when, and for which client.

use crate::page::{Page, get, local_storage, refused, run, send, state, text};
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen_test]
fn a_key_is_stored_before_it_is_sent() {
    let page = Page::new();
    let client = page.client();
    assert_eq!(state(&client, "order:1"), "idle");
    let sent = send(&client, "order:1", "{}");
    // The request was not sent yet.
    let stored = page.stored("order:1").expect("an entry");
    assert!(stored.starts_with(&format!("2 {} ", sent.key)), "{stored}");
    assert_eq!(state(&client, "order:1"), "sending");
    assert_eq!(client.take_loss(), None);
    assert!(client.is_shared());
}

#[wasm_bindgen_test]
fn a_reload_sends_the_same_key() {
    let page = Page::new();
    let before = send(&page.client(), "order:1", r#"{"a":1}"#);
    let client = page.client();
    assert_eq!(state(&client, "order:1"), "sending");
    // The same request in another spelling.
    let after = send(&client, "order:1", r#"{ "a": 1.0 }"#);
    assert_eq!((after.key, after.attempt), (before.key, 2));
}

#[wasm_bindgen_test]
fn every_attempt_is_stored_before_it_is_sent() {
    let page = Page::new();
    let client = page.client();
    let mut sent = send(&client, "order:1", "{}");
    for attempt in 2..=4 {
        assert_eq!(text(&sent.failed(), "do"), "wait");
        assert_eq!(state(&page.client(), "order:1"), "unknown");
        let again = sent.call.waited().expect("a command");
        assert_eq!(text(&again, "key"), sent.key);
        let known = page.client().status("order:1");
        assert_eq!(get(&known, "attempts"), JsValue::from(attempt));
        assert_eq!(text(&known, "state"), "sending");
    }
}

#[wasm_bindgen_test]
fn a_response_is_stored_for_all_tabs() {
    let page = Page::new();
    let mut sent = send(&page.client(), "order:1", "{}");
    let end = sent.gets(201);
    assert_eq!(text(&end, "end"), "response");
    let other = page.client();
    let known = other.status("order:1");
    assert_eq!(
        (text(&known, "state"), text(&known, "key")),
        ("succeeded".into(), sent.key.clone())
    );
    assert_eq!(get(&known, "httpStatus"), JsValue::from(201));
    // The first response is returned again, and another payload is refused.
    assert_eq!(send(&other, "order:1", "{}").key, sent.key);
    assert_eq!(refused(&other, "order:1", r#"{"a":2}"#).0, "payload_changed");
}

#[wasm_bindgen_test]
fn no_part_of_a_body_is_stored() {
    let page = Page::new();
    let client = page.client();
    let body = r#"{"card":"4242424242424242","holder":"Ada Lovelace"}"#;
    let mut sent = send(&client, "order:1", body);
    let before = page.all();
    sent.failed();
    sent.call.waited().expect("a command");
    let between = page.all();
    sent.gets(402);
    for all in [before, between, page.all()] {
        for part in ["4242", "Ada", "card", "shop.example", "/v1/orders"] {
            assert!(!all.contains(part), "{all}");
        }
    }
}

#[wasm_bindgen_test]
fn a_forgotten_entry_is_removed() {
    let page = Page::new();
    let client = page.client();
    let first = send(&client, "order:1", "{}");
    let other = send(&client, "order:2", "{}");
    client.forget("order:1");
    assert_eq!(page.stored("order:1"), None);
    assert_eq!(state(&client, "order:1"), "idle");
    assert_ne!(send(&client, "order:1", "{}").key, first.key);
    assert_eq!(send(&client, "order:2", "{}").key, other.key);
    // An absent entry can be forgotten, too.
    client.forget("order:3");
    assert_eq!(client.take_loss(), None);
}

#[wasm_bindgen_test]
fn an_intent_that_another_tab_has_forgotten_is_not_sent_again() {
    let page = Page::new();
    let mut sent = send(&page.client(), "order:1", "{}");
    assert_eq!(text(&sent.failed(), "do"), "wait");
    page.client().forget("order:1");
    let end = sent.call.waited().expect("a command");
    assert_eq!((text(&end, "end"), text(&end, "why")), ("unknown".into(), "overtaken".into()));
    // A late response is returned to the page, and stores nothing.
    let mut sent = send(&page.client(), "order:2", "{}");
    local_storage().clear().expect("storage");
    assert_eq!(text(&sent.gets(201), "end"), "response");
    assert_eq!(page.all(), "");
}

#[wasm_bindgen_test]
fn pending_intents_are_listed() {
    let page = Page::new();
    let client = page.client();
    let lost = send(&client, "order:lost", "{}");
    let mut unknown = send(&client, "order:unknown", "{}");
    unknown.failed();
    send(&client, "order:done", "{}").gets(201);
    send(&client, "order:refused", "{}").gets(402);
    page.store("order:damaged", "?");
    // The list contains no entries of other clients or of the page itself.
    let neighbour = Page::new();
    send(&neighbour.client(), "order:other", "{}");
    for name in ["order:mine", &page.namespace, &format!("{}:c:order:claim", page.namespace)] {
        local_storage().set_item(name, "?").expect("storage");
    }
    let list = page.client().pending();
    let mut open: Vec<_> = list
        .iter()
        .map(|known| [text(&known, "intent"), text(&known, "state"), text(&known, "key")])
        .collect();
    open.sort();
    let entry = |intent: &str, state: &str, key: &str| [intent, state, key].map(str::to_owned);
    assert_eq!(
        open,
        [
            entry("order:damaged", "unknown", ""),
            entry("order:lost", "sending", &lost.key),
            entry("order:unknown", "unknown", &unknown.key),
        ]
    );
}

#[wasm_bindgen_test]
fn an_intent_may_have_any_name() {
    let page = Page::new();
    let names =
        ["__proto__", "length", "a b\n\t\u{0}", "заказ № 1 🛒", "order:i:1", &"x".repeat(5000)];
    let keys: Vec<_> = names.iter().map(|name| send(&page.client(), name, "{}").key).collect();
    let client = page.client();
    for (name, key) in names.iter().zip(&keys) {
        assert_eq!(text(&client.status(name), "key"), *key, "{name:?}");
    }
    assert_eq!(client.pending().length() as usize, names.len());
}

#[wasm_bindgen_test]
fn namespaces_are_separate() {
    let (one, other) = (Page::new(), Page::new());
    let key = send(&one.client(), "order:1", "{}").key;
    assert_eq!(state(&other.client(), "order:1"), "idle");
    assert_ne!(send(&other.client(), "order:1", "{}").key, key);
}

#[wasm_bindgen_test]
fn a_namespace_with_colons_is_separate_from_an_intent_with_colons() {
    let (outer, mut inner) = (Page::new(), Page::new());
    inner.namespace = outer.namespace.clone() + ":i:b";
    let key = send(&inner.client(), "c", "{}").key;
    assert_eq!(state(&outer.client(), "b:i:c"), "idle");
    assert_ne!(send(&outer.client(), "b:i:c", "{}").key, key);
    assert_eq!((inner.client().pending().length(), outer.client().pending().length()), (1, 1));
}

#[wasm_bindgen_test]
fn without_storage_everything_is_in_memory() {
    let page = Page::with(JsValue::NULL);
    let client = page.client();
    let mut sent = send(&client, "order:1", "{}");
    assert_eq!(send(&client, "order:1", "{}").key, sent.key);
    assert_eq!(client.pending().length(), 1);
    sent.gets(201);
    assert_eq!(state(&client, "order:1"), "succeeded");
    assert!(!client.is_shared());
    // The page chose this, so there is no event.
    assert_eq!(client.take_loss(), None);
    assert_eq!(page.all(), "");
    assert_eq!(state(&page.client(), "order:1"), "idle");
    client.forget("order:1");
    assert_eq!(state(&client, "order:1"), "idle");
}

#[wasm_bindgen_test]
fn a_session_storage_can_be_used() {
    let page = Page::with(run(&[], "return sessionStorage"));
    let key = send(&page.client(), "order:1", "{}").key;
    assert_eq!(text(&page.client().status("order:1"), "key"), key);
    assert_eq!(page.all(), "");
    run(&[], "sessionStorage.clear()");
    assert_eq!(state(&page.client(), "order:1"), "idle");
}
