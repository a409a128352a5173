//! Entries that this version cannot or must not read: they never count as absent.

use crate::page::{Page, refused, send, state, text};
use sha2::{Digest, Sha256};
use wasm_bindgen_test::wasm_bindgen_test;

const KEY: &str = "0195f2f1-7a3c-7000-8000-0123456789ab";

/// Returns fields with the checksum that every version adds at the end.
fn sealed(fields: &str) -> String {
    let sum = Sha256::digest(fields.as_bytes());
    let digits: String = sum[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{fields} {digits}")
}

/// Checks that nothing is sent and the stored text stays, until the entry is forgotten.
fn is_left_alone(text_stored: &str) -> Page {
    let page = Page::new();
    page.store("order:1", text_stored);
    let client = page.client();
    assert_eq!(state(&client, "order:1"), "unknown", "{text_stored}");
    assert_eq!(refused(&client, "order:1", "{}"), ("unknown".into(), "unreadable".into()));
    assert_eq!(client.pending().length(), 1);
    let mut find_out = client.resolve("order:1", false);
    assert_eq!(text(&find_out.begin().expect("a command"), "end"), "status");
    let mut give_up = client.abandon("order:1");
    assert_eq!(text(&give_up.begin().expect("a command"), "end"), "status");
    assert_eq!(page.stored("order:1").as_deref(), Some(text_stored));
    assert_eq!(client.take_loss(), None);
    page
}

fn can_be_forgotten(page: &Page) {
    let client = page.client();
    client.forget("order:1");
    assert_eq!(page.stored("order:1"), None);
    assert_ne!(send(&client, "order:1", "{}").key, KEY);
}

#[wasm_bindgen_test]
fn garbage_is_left_alone() {
    for garbage in ["", " ", "1", "null", "{\"key\":\"k\"}", "1 k", "\u{0}", "🛒 1"] {
        can_be_forgotten(&is_left_alone(garbage));
    }
    can_be_forgotten(&is_left_alone(&"1 ".repeat(100_000)));
}

#[wasm_bindgen_test]
fn an_entry_of_a_newer_version_is_left_alone() {
    for fields in
        [format!("3 {KEY} a form of its own"), format!("17 {KEY} x"), format!("4294967295 {KEY} .")]
    {
        let page = is_left_alone(&sealed(&fields));
        let known = page.client().status("order:1");
        // The state of its key can be requested.
        assert_eq!(text(&known, "key"), KEY, "{fields}");
        assert!(text(&known, "problem").contains("newer version"));
        can_be_forgotten(&page);
    }
}

#[wasm_bindgen_test]
fn an_entry_of_an_older_version_is_left_alone() {
    for fields in [format!("0 {KEY} x"), format!("-1 {KEY} x"), format!("v1 {KEY} x")] {
        can_be_forgotten(&is_left_alone(&sealed(&fields)));
    }
}

#[wasm_bindgen_test]
fn a_damaged_entry_is_left_alone() {
    let page = Page::new();
    send(&page.client(), "order:1", "{}");
    let whole = page.stored("order:1").expect("an entry");
    drop(page);
    for cut in [1, whole.len() / 2, whole.len() - 1] {
        is_left_alone(&whole[..cut]);
    }
    is_left_alone(&format!("{whole} "));
    is_left_alone(&whole.replacen('s', "v", 1));
    is_left_alone(&whole.to_uppercase());
    // An entry with a correct checksum is also refused if the lifecycle cannot produce it.
    let (fields, _) = whole.rsplit_once(' ').expect("a sum");
    assert_eq!(sealed(fields), whole);
    for other in [
        fields.replacen(" s ", " x ", 1),
        fields.replacen(" s ", " +500 ", 1),
        format!("{fields} 1"),
    ] {
        assert_ne!(other, fields);
        is_left_alone(&sealed(&other));
    }
}
