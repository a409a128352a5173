//! What the core knows about responses, for the code that reads them.

use oncekey::client::retry;
use wasm_bindgen::prelude::*;

/// Whether this status is that of a success.
#[wasm_bindgen(js_name = isSuccess)]
pub fn is_success(status: u16) -> bool {
    retry::is_success(status)
}

/// Whether this `Content-Type` is that of JSON.
#[wasm_bindgen(js_name = isJson)]
pub fn is_json(content_type: &str) -> bool {
    retry::is_json(content_type)
}
