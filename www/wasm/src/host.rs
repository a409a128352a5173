//! The host of the core: its time and its random numbers.

use oncekey::time::{Millis, UnixMillis};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;

    /// Works in insecure contexts too, unlike `crypto.randomUUID`.
    #[wasm_bindgen(catch, js_namespace = crypto, js_name = getRandomValues)]
    fn random_values(bytes: &js_sys::Uint8Array) -> Result<js_sys::Uint8Array, JsValue>;
}

pub(crate) fn now() -> UnixMillis {
    UnixMillis::new(js_sys::Date::now() as u64)
}

/// Returns the time of a monotonic clock.
pub(crate) fn ticks() -> Millis {
    Millis::new(performance_now() as u64)
}

pub(crate) fn random() -> Result<[u8; 16], JsValue> {
    let bytes = js_sys::Uint8Array::new_with_length(16);
    random_values(&bytes)?;
    let mut random = [0; 16];
    bytes.copy_to(&mut random);
    Ok(random)
}
