//! What only the platform has: the clock and randomness.

use std::fmt::Write as _;
use worker::js_sys;
use worker::wasm_bindgen::{self, JsValue, prelude::wasm_bindgen};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = crypto, js_name = getRandomValues)]
    fn fill_with_random(bytes: &mut [u8]) -> Result<JsValue, JsValue>;
}

/// `prefix` and 128 random bits in hex.
pub(super) fn random_id(prefix: &str) -> worker::Result<String> {
    let mut bytes = [0; 16];
    fill_with_random(&mut bytes)?;
    Ok(prefix.to_owned() + &hex(&bytes))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Milliseconds since 1970, UTC.
pub(super) type Millis = i64;

pub(super) fn now() -> Millis {
    js_sys::Date::now() as Millis
}

/// RFC 3339 in UTC, with milliseconds.
pub(super) fn rfc3339(time: Millis) -> String {
    js_sys::Date::new(&JsValue::from_f64(time as f64)).to_iso_string().into()
}
