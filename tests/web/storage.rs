//! What a page stores, in a real browser: in its `localStorage`, and in storages that fail.
#![cfg(target_arch = "wasm32")]

#[path = "storage/entries.rs"]
mod entries;
#[path = "storage/faults.rs"]
mod faults;
#[path = "storage/full.rs"]
mod full;
#[path = "storage/over.rs"]
mod over;
#[path = "storage/page.rs"]
mod page;
#[path = "storage/tab_lease.rs"]
mod tab_lease;
#[path = "storage/versions.rs"]
mod versions;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
