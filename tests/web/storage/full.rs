//! A storage that is full: entries that are no longer needed are removed, otherwise memory is used.

use crate::page::{Page, local_storage, run, send, state, text};
use wasm_bindgen_test::wasm_bindgen_test;

/// Fills what is left of the browser's storage, to the last character.
fn fill() {
    run(
        &[],
        "let text = 'x'.repeat(2 ** 23);
         for (let number = 0; text.length > 0; number++) {
             try { localStorage.setItem(`filler-${number}`, text); }
             catch { text = text.slice(0, text.length / 2); }
         }",
    );
}

fn empty() {
    run(
        &[],
        "for (const name of Object.keys(localStorage)) if (name.startsWith('filler-')) localStorage.removeItem(name)",
    );
}

#[wasm_bindgen_test]
fn fault_74_memory_replaces_storage_and_the_page_is_warned_once() {
    let page = Page::new();
    let client = page.client();
    fill();
    let mut sent = send(&client, "order:1", "{}");
    assert_eq!(page.stored("order:1"), None);
    assert_eq!(client.take_loss().as_deref(), Some("quota"));
    // This page continues as before.
    assert_eq!(state(&client, "order:1"), "sending");
    assert_eq!(text(&sent.failed(), "do"), "wait");
    assert_eq!(send(&client, "order:1", "{}").key, sent.key);
    assert_eq!(client.pending().length(), 1);
    send(&client, "order:2", "{}");
    assert_eq!(client.take_loss(), None);
    // A reload finds nothing, as the page was warned.
    assert_eq!(state(&page.client(), "order:1"), "idle");
}

#[wasm_bindgen_test]
fn an_entry_is_stored_once_the_storage_has_space() {
    let page = Page::new();
    let client = page.client();
    fill();
    let mut sent = send(&client, "order:1", "{}");
    empty();
    sent.failed();
    assert_eq!(text(&page.client().status("order:1"), "key"), sent.key);
    // After that, the stored entry counts, whichever page stores it.
    send(&page.client(), "order:1", "{}").gets(201);
    assert_eq!(state(&client, "order:1"), "succeeded");
}

#[wasm_bindgen_test]
fn entries_of_refused_requests_are_removed() {
    let page = Page::new();
    let client = page.client();
    let mut kept = Vec::new();
    for number in 0..4 {
        send(&client, &format!("refused:{number}"), "{}").gets(402);
        send(&client, &format!("done:{number}"), "{}").gets(201);
        kept.push(format!("done:{number}"));
        send(&client, &format!("open:{number}"), "{}").failed();
        kept.push(format!("open:{number}"));
    }
    // An unreadable entry may belong to a payment.
    page.store("damaged", "?");
    kept.push("damaged".to_owned());
    // Entries of other namespaces and of the page are not removed.
    let neighbour = Page::new();
    send(&neighbour.client(), "refused", "{}").gets(402);
    local_storage().set_item("cart", "2 apples").expect("storage");
    fill();
    let sent = send(&client, "order:new", "{}");
    assert_eq!(text(&page.client().status("order:new"), "key"), sent.key);
    assert_eq!(client.take_loss(), None);
    assert!(!page.all().contains("refused"), "{}", page.all());
    for intent in kept {
        assert!(page.stored(&intent).is_some(), "{intent}");
    }
    assert!(neighbour.stored("refused").is_some());
    assert_eq!(local_storage().get_item("cart").expect("storage").as_deref(), Some("2 apples"));
}
