//! Keys and fingerprints, for any JavaScript host.

use super::{convert, host};
use crate::fingerprint::{FingerprintSecrets, Fingerprints, RequestParts};
use crate::key::IdempotencyKey;
use wasm_bindgen::prelude::*;

/// Makes a new key: a UUIDv7 from the host's time and its cryptographic random numbers.
#[wasm_bindgen(js_name = mintKey)]
pub fn mint_key() -> Result<String, JsValue> {
    let [random @ .., _, _, _, _, _, _] = host::random()?;
    Ok(IdempotencyKey::mint(host::now(), random).as_str().to_owned())
}

/// The plain fingerprint of a request, in lower-case hex: what the gateway compares where it has no
/// secret. It tells a small body to whoever tries all of them, so it is not for logs.
#[wasm_bindgen]
pub fn fingerprint(
    method: &str,
    path: &str,
    query: Option<String>,
    content_type: Option<String>,
    body: &[u8],
    ignore: Option<js_sys::Array>,
) -> Result<String, JsValue> {
    let request = RequestParts {
        method,
        path,
        query: query.as_deref(),
        content_type: content_type.as_deref(),
        body,
        ignore: &convert::pointers(ignore)?,
    };
    Ok(Fingerprints::compute(&request, &FingerprintSecrets::none()).signing().digest_hex())
}
