//! The form guard in a real browser. Tests whose names begin with `fault_` are about faults that
//! were reported in other systems (docs/reported-faults.md).
#![cfg(target_arch = "wasm32")]

#[path = "guard/cancel.rs"]
mod cancel;
#[path = "guard/life.rs"]
mod life;
#[path = "guard/look.rs"]
mod look;
#[path = "guard/navigate.rs"]
mod navigate;
#[path = "guard/page.rs"]
mod page;
#[path = "guard/submits.rs"]
mod submits;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
