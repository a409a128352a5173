//! Storages that throw, forget, or return other values than they were given.

use crate::page::{Page, refused, run, send, state, text};
use oncekey_web::Client;
use wasm_bindgen_test::wasm_bindgen_test;

/// Returns a storage in a `Map`, with some other methods.
fn storage(methods: &str) -> Page {
    Page::with_storage(&format!(
        "const map = new Map();
         const denied = () => {{ throw new DOMException('no', 'SecurityError') }};
         const full = () => {{ throw new DOMException('no', 'QuotaExceededError') }};
         const good = {{
             get length() {{ return map.size }},
             key: index => [...map.keys()][index] ?? null,
             getItem: name => map.get(name) ?? null,
             setItem: (name, text) => void map.set(name, text),
             removeItem: name => void map.delete(name),
         }};
         return Object.defineProperties({{ map, good }}, {{
             ...Object.getOwnPropertyDescriptors(good),
             ...Object.getOwnPropertyDescriptors({{ {methods} }}),
         }});"
    ))
}

/// Checks that one page can send, refuses another payload, can forget, and reports the loss once.
fn works_in_memory(client: &Client, loss: &str) {
    let mut sent = send(client, "order:1", "{}");
    assert_eq!(client.take_loss().as_deref(), Some(loss));
    assert_eq!(state(client, "order:1"), "sending");
    assert_eq!(text(&sent.failed(), "do"), "wait");
    assert_eq!(text(&sent.call.waited().expect("a command"), "key"), sent.key);
    assert_eq!(client.pending().length(), 1);
    sent.gets(201);
    assert_eq!(state(client, "order:1"), "succeeded");
    assert_eq!(send(client, "order:1", "{}").key, sent.key);
    assert_eq!(refused(client, "order:1", "[]").0, "payload_changed");
    client.forget("order:1");
    assert_eq!(state(client, "order:1"), "idle");
    assert_ne!(send(client, "order:1", "{}").key, sent.key);
    assert_eq!(client.take_loss(), None);
}

#[wasm_bindgen_test]
fn working_storage_is_used() {
    let page = storage("");
    let key = send(&page.client(), "order:1", "{}").key;
    assert_eq!(text(&page.client().status("order:1"), "key"), key);
    assert_eq!(page.client().take_loss(), None);
}

#[wasm_bindgen_test]
fn fault_74_a_storage_that_may_not_be_used() {
    let page = storage(
        "get length() { denied() }, key: denied, getItem: denied, setItem: denied, removeItem: denied",
    );
    works_in_memory(&page.client(), "denied");
}

#[wasm_bindgen_test]
fn fault_74_a_frame_whose_storage_may_not_be_read() {
    let page = Page::new();
    let before = run(
        &[],
        "const before = Object.getOwnPropertyDescriptor(window, 'localStorage');
         Object.defineProperty(window, 'localStorage', {
             configurable: true,
             get() { throw new DOMException('no', 'SecurityError') },
         });
         return before;",
    );
    let client = page.client();
    run(&[("before", &before)], "Object.defineProperty(window, 'localStorage', before)");
    assert_eq!(client.take_loss().as_deref(), Some("denied"));
    assert!(!client.is_shared());
    assert_eq!(send(&client, "order:1", "{}").attempt, 1);
    assert_eq!(state(&client, "order:1"), "sending");
    assert_eq!(page.all(), "");
}

#[wasm_bindgen_test]
fn fault_74_a_host_without_a_storage() {
    let before = run(
        &[],
        "const before = Object.getOwnPropertyDescriptor(window, 'localStorage');
         Object.defineProperty(window, 'localStorage', { configurable: true, value: undefined });
         return before;",
    );
    let page = Page::new();
    let client = page.client();
    run(&[("before", &before)], "Object.defineProperty(window, 'localStorage', before)");
    works_in_memory(&client, "unavailable");
}

#[wasm_bindgen_test]
fn fault_74_a_storage_that_accepts_nothing() {
    works_in_memory(&storage("setItem: full").client(), "quota");
    // Firefox has its own error, and other storages have no error for this.
    for error in
        ["{ name: 'NS_ERROR_DOM_QUOTA_REACHED' }", "new Error('disk')", "null", "undefined"]
    {
        let loss = if error.contains("QUOTA") { "quota" } else { "unavailable" };
        works_in_memory(&storage(&format!("setItem() {{ throw {error} }}")).client(), loss);
    }
}

#[wasm_bindgen_test]
fn fault_74_a_storage_that_keeps_nothing() {
    works_in_memory(&storage("setItem() {}").client(), "unavailable");
}

#[wasm_bindgen_test]
fn a_storage_that_changes_its_values() {
    works_in_memory(
        &storage("setItem: (name, text) => void map.set(name, text.slice(1))").client(),
        "unavailable",
    );
}

#[wasm_bindgen_test]
fn a_storage_that_can_only_be_read() {
    let page = storage("setItem: denied, removeItem: denied");
    works_in_memory(&page.client(), "denied");
}

#[wasm_bindgen_test]
fn a_storage_that_cannot_be_listed() {
    let page = storage("get length() { denied() }, key: denied");
    let client = page.client();
    send(&client, "order:1", "{}");
    // The entry is stored, and nothing is lost.
    assert_eq!(state(&page.client(), "order:1"), "sending");
    assert_eq!(client.pending().length(), 0);
    assert_eq!(client.take_loss(), None);
}

/// A failed read must not lead to a second key while the outcome of the first is unknown.
#[wasm_bindgen_test]
fn a_storage_that_fails_for_one_read_or_one_name() {
    for error in ["new Error('disk')", "new DOMException('no', 'SecurityError')"] {
        let page = storage(&format!(
            "getItem(name) {{ if (this.fails?.(name)) throw {error}; return map.get(name) ?? null }}"
        ));
        let mut sent = send(&page.client(), "order:1", "{}");
        sent.failed();
        let fail =
            |when: &str| run(&[("storage", &page.storage)], &format!("storage.fails = {when}"));
        fail("() => { storage.fails = null; return true }");
        let client = page.client();
        assert_eq!(send(&client, "order:1", "{}").key, sent.key, "{error}");
        assert_eq!(client.take_loss(), None);
        fail("name => name.endsWith('order:1')");
        let client = page.client();
        assert_eq!(state(&client, "order:1"), "unknown");
        assert_eq!(refused(&client, "order:1", "{}"), ("unknown".into(), "unreadable".into()));
        assert_eq!(send(&client, "order:2", "{}").attempt, 1);
        fail("null");
        assert_eq!(send(&client, "order:1", "{}").key, sent.key);
    }
}

#[wasm_bindgen_test]
fn a_storage_that_removes_nothing() {
    let page = storage("removeItem: denied");
    let client = page.client();
    let mut sent = send(&client, "order:1", "{}");
    sent.gets(201);
    client.forget("order:1");
    // This page has forgotten the entry, and reports that other pages have not.
    assert_eq!(state(&client, "order:1"), "idle");
    assert_eq!(client.pending().length(), 0);
    assert_eq!(client.take_loss().as_deref(), Some("denied"));
    assert_eq!(state(&page.client(), "order:1"), "succeeded");
    // The next key replaces the entry.
    let next = send(&client, "order:1", "{}");
    assert_eq!(text(&page.client().status("order:1"), "key"), next.key);
}

#[wasm_bindgen_test]
fn a_newer_entry_in_memory_counts() {
    // The storage accepts the first entry of an intent, and no later one.
    let page = storage("setItem(name, text) { map.has(name) ? full() : map.set(name, text) }");
    let client = page.client();
    let mut sent = send(&client, "order:1", "{}");
    assert_eq!(client.take_loss(), None);
    sent.gets(201);
    assert_eq!(client.take_loss().as_deref(), Some("quota"));
    assert_eq!(state(&client, "order:1"), "succeeded");
    assert_eq!(refused(&client, "order:1", "[]").0, "payload_changed");
    assert_eq!(client.pending().length(), 0);
    // Another page sees only the attempt, so it sends the same key again.
    let other = page.client();
    assert_eq!(state(&other, "order:1"), "sending");
    assert_eq!(send(&other, "order:1", "{}").key, sent.key);
}

#[wasm_bindgen_test]
fn a_storage_that_returns_garbage() {
    for garbage in ["'garbage'", "''", "'1 '", "String(Math.random())"] {
        let page = storage(&format!("getItem: () => {garbage}"));
        let client = page.client();
        let known = client.status("order:1");
        assert_eq!(text(&known, "state"), "unknown", "{garbage}");
        assert!(text(&known, "problem").contains("damaged"), "{garbage}");
        // The entry may belong to a payment, so it is not replaced by a new key.
        assert_eq!(refused(&client, "order:1", "{}"), ("unknown".into(), "unreadable".into()));
    }
}

#[wasm_bindgen_test]
fn a_value_that_is_not_a_storage() {
    // Such as an asynchronous storage: nothing is stored, and nothing fails.
    for other in ["{}", "[]", "{ getItem: async () => null, setItem: async () => {} }", "new Map()"]
    {
        let page = Page::with_storage(&format!("return {other}"));
        let client = page.client();
        send(&client, "order:1", "{}");
        assert_eq!(client.take_loss().as_deref(), Some("unavailable"), "{other}");
        assert_eq!(state(&client, "order:1"), "sending", "{other}");
    }
}

#[wasm_bindgen_test]
fn a_storage_that_does_not_return_texts() {
    for value in ["undefined", "42", "true", "({})", "[]", "new Date(0)", "Symbol()"] {
        works_in_memory(&storage(&format!("getItem: () => {value}")).client(), "unavailable");
    }
}

#[wasm_bindgen_test]
fn fault_74_a_storage_that_breaks_later() {
    let page = storage(
        "setItem(name, text) { this.broken ? denied() : map.set(name, text) },
         getItem(name) { return this.broken ? denied() : map.get(name) ?? null },",
    );
    let client = page.client();
    let mut sent = send(&client, "order:1", "{}");
    sent.failed();
    run(&[("storage", &page.storage)], "storage.broken = true");
    // The page remembers what it has stored, so it makes no second key.
    assert_eq!(text(&client.status("order:1"), "key"), sent.key);
    assert_eq!(send(&client, "order:1", "{}").key, sent.key);
    assert_eq!(client.take_loss().as_deref(), Some("denied"));
    let mut last = send(&client, "order:1", "{}");
    assert_eq!(text(&last.gets(201), "end"), "response");
    assert_eq!(state(&client, "order:1"), "succeeded");
}
