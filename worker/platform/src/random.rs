//! Random bytes from the platform's cryptographic source.

use oncekey::Token;
use worker::wasm_bindgen::{self, JsValue, prelude::wasm_bindgen};

/// A token for a new attempt.
pub(crate) fn token() -> Token {
    Token::new(bytes())
}

/// An id for a request, as callers quote it to support.
pub(crate) fn request_id() -> String {
    id::<12>("req_")
}

/// `prefix` and `N` random bytes in hexadecimal.
pub(crate) fn id<const N: usize>(prefix: &str) -> String {
    prefix.to_owned() + &hex(&bytes::<N>())
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// Random bytes.
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // Without randomness nothing here would be safe; the platform's source never fails, and should
    // it throw, this request ends here.
    fill(&mut bytes).expect("the platform gives random bytes");
    bytes
}

#[wasm_bindgen]
extern "C" {
    /// The Web Crypto API.
    #[wasm_bindgen(catch, js_namespace = crypto, js_name = getRandomValues)]
    fn fill(bytes: &mut [u8]) -> Result<JsValue, JsValue>;
}
