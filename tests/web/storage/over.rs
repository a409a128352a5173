//! Settled intents older than the retention are found and removed. Pending intents stay.

use crate::page::{Page, get, local_storage, run, send, state, text};
use oncekey::Millis;
use oncekey::client::intent::{Entry, IntentState, Stored};
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

/// Makes a stored entry this many days old.
fn age(page: &Page, intent: &str, days: u64, state: Option<IntentState>) {
    let stored = page.stored(intent).expect("an entry");
    let Stored::Entry(mut entry) = Stored::read(Some(&stored)) else {
        panic!("{stored}");
    };
    let days = Millis::from_days(days);
    entry.created_at = entry.created_at.minus(days);
    entry.updated_at = entry.updated_at.minus(days);
    entry.safe_until = entry.safe_until.minus(days);
    entry.state = state.unwrap_or(entry.state);
    page.store(intent, &Entry::encode(&entry));
}

#[wasm_bindgen_test]
fn a_settled_intent_is_removed_after_the_retention_and_a_pending_one_stays() {
    let page = Page::new();
    let client = page.client();
    for (intent, status) in [("done", 201), ("refused", 402), ("young", 201)] {
        send(&client, intent, "{}").gets(status);
    }
    send(&client, "voided", "{}");
    send(&client, "lost", "{}");
    send(&client, "unknown", "{}").failed();
    for intent in ["done", "refused", "lost", "unknown"] {
        age(&page, intent, 400, None);
    }
    age(&page, "voided", 400, Some(IntentState::Voided));
    page.store("damaged", "?");
    let mut over = page.client().over(true);
    over.sort();
    assert_eq!(over, ["done", "refused", "voided"]);
    for intent in ["young", "lost", "unknown", "damaged", "nothing"] {
        assert!(!client.remove_over(intent), "{intent}");
    }
    for intent in over {
        assert!(client.remove_over(&intent));
        assert_eq!((page.stored(&intent), state(&client, &intent)), (None, "idle".into()));
    }
    assert!(client.over(true).is_empty());
    assert_eq!(client.pending().length(), 3);
}

#[wasm_bindgen_test]
fn an_entry_that_was_sent_again_meanwhile_is_not_removed() {
    let page = Page::new();
    let client = page.client();
    send(&client, "order:1", "{}").gets(402);
    age(&page, "order:1", 2, None);
    assert_eq!(client.over(true), ["order:1"]);
    let again = send(&page.client(), "order:1", "{}");
    assert!(!client.remove_over("order:1"));
    assert_eq!(text(&client.status("order:1"), "key"), again.key);
}

#[wasm_bindgen_test]
fn each_call_checks_a_few_entries_and_several_calls_check_all() {
    let page = Page::new();
    let client = page.client();
    send(&client, "order:0", "{}").gets(201);
    age(&page, "order:0", 2, None);
    let old = page.stored("order:0").expect("an entry");
    for number in 1..200 {
        page.store(&format!("order:{number}"), &old);
    }
    for number in 0..100 {
        local_storage().set_item(&format!("mine:{number}"), "x").expect("storage");
    }
    let mut rounds = 0;
    while !client.over(true).is_empty() {
        let over = client.over(false);
        assert!(over.len() <= 8);
        for intent in over {
            client.remove_over(&intent);
        }
        rounds += 1;
        assert!(rounds < 200, "{} are left", client.over(true).len());
    }
    assert_eq!(local_storage().length().expect("storage"), 100);
}

#[wasm_bindgen_test]
fn a_settled_entry_that_becomes_pending_again_is_listed() {
    let page = Page::new();
    let client = page.client();
    send(&client, "order:1", "{}").gets(402);
    for _ in 0..3 {
        assert_eq!(client.pending().length(), 0);
    }
    // Another tab sends again, and gets no response.
    let again = send(&page.client(), "order:1", "{}");
    let list = client.pending();
    assert_eq!(list.length(), 1);
    assert_eq!(text(&list.get(0), "key"), again.key);
    page.store("order:1", "?");
    assert_eq!(text(&client.pending().get(0), "state"), "unknown");
}

#[wasm_bindgen_test]
fn a_storage_that_breaks_does_not_hide_pending_entries() {
    let page = Page::with_storage(
        "const map = new Map();
        return {
            broken: null,
            get length() { return map.size },
            key: (index) => [...map.keys()][index] ?? null,
            getItem(name) { if (this.broken && name.endsWith(this.broken)) throw new Error(); return map.get(name) ?? null },
            setItem: (name, text) => void map.set(name, String(text)),
            removeItem: (name) => void map.delete(name),
        }",
    );
    let client = page.client();
    send(&client, "order:1", "{}").gets(201);
    send(&client, "order:2", "{}");
    assert_eq!(client.pending().length(), 1);
    run(&[("storage", &page.storage)], "storage.broken = ':i:order:2'");
    let other = page.client();
    let intents: Vec<_> = other.pending().iter().map(|known| text(&known, "intent")).collect();
    assert_eq!(intents, ["order:2"], "an entry that cannot be read counts as unknown");
    assert_eq!(get(&client.pending().get(0), "intent"), JsValue::from("order:2"));
}
