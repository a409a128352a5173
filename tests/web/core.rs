//! The core gives the same results as wasm as it does natively. `make test-wasm` runs this file
//! under Node and in a browser.
#![cfg(target_arch = "wasm32")]

#[expect(dead_code, reason = "the native tests use the rest")]
#[path = "../core/support/reference.rs"]
mod reference;
#[path = "../core/canonical/vectors.rs"]
mod vectors;

mod support {
    pub(crate) use crate::reference;
}

use oncekey::{IdempotencyKey, UnixMillis};
use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen_test]
fn canonical_json() {
    vectors::canonical_json();
}

#[wasm_bindgen_test]
fn fingerprints() {
    vectors::fingerprints();
    vectors::groups_of_equal_requests_differ_from_one_another();
}

#[wasm_bindgen_test]
fn a_key_is_the_same_with_and_without_quotes() {
    let bare = IdempotencyKey::parse_header("order-1042").expect("a plain key");
    let quoted = IdempotencyKey::parse_header("\"order-1042\"").expect("a quoted key");
    assert_eq!(bare, quoted);
}

#[wasm_bindgen_test]
fn a_minted_key_contains_its_time() {
    let now = UnixMillis::new(1_795_000_000_000);
    assert_eq!(IdempotencyKey::mint(now, [7; 10]).minted_at(), Some(now));
}
