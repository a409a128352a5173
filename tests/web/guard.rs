//! The guard of a form, in a real browser. Names that begin with `fault_` are those of faults that
//! were reported of buttons and forms elsewhere.
#![cfg(all(target_arch = "wasm32", feature = "web"))]

#[path = "web_guard/cancel.rs"]
mod cancel;
#[path = "web_guard/life.rs"]
mod life;
#[path = "web_guard/look.rs"]
mod look;
#[path = "web_guard/navigate.rs"]
mod navigate;
#[path = "web_guard/page.rs"]
mod page;
#[path = "web_guard/submits.rs"]
mod submits;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
