//! The core's rules about responses, for the TypeScript code.

use oncekey::client::retry;
use wasm_bindgen::prelude::*;

/// Returns whether this status is that of a success or a redirect.
#[wasm_bindgen(js_name = isSuccess)]
pub fn is_success(status: u16) -> bool {
    retry::is_success(status)
}

/// Returns whether this `Content-Type` is that of JSON.
#[wasm_bindgen(js_name = isJson)]
pub fn is_json(content_type: &str) -> bool {
    retry::is_json(content_type)
}
