//! Keys for requests that the package does not send.

use crate::host;
use oncekey::key::IdempotencyKey;
use wasm_bindgen::prelude::*;

/// Returns a new key: a UUIDv7 from the host's time and its cryptographic random numbers.
#[wasm_bindgen(js_name = mintKey)]
pub fn mint_key() -> Result<String, JsValue> {
    let [random @ .., _, _, _, _, _, _] = host::random()?;
    Ok(IdempotencyKey::mint(host::now(), random).as_str().to_owned())
}
