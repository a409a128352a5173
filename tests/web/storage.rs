//! What a page keeps, in a real browser: in its `localStorage`, and in storages that fail.
#![cfg(all(target_arch = "wasm32", feature = "web"))]

#[path = "web_storage/claims.rs"]
mod claims;
#[path = "web_storage/entries.rs"]
mod entries;
#[path = "web_storage/faults.rs"]
mod faults;
#[path = "web_storage/full.rs"]
mod full;
#[path = "web_storage/over.rs"]
mod over;
#[path = "web_storage/page.rs"]
mod page;
#[path = "web_storage/versions.rs"]
mod versions;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
