//! Random bytes from the platform's cryptographic source.

use oncekey::Token;
use oncekey::codec::hex::hex;
use worker::wasm_bindgen::{self, JsValue, prelude::wasm_bindgen};

/// Returns a token for a new attempt.
pub fn token() -> Token {
    Token::new(bytes())
}

/// Returns an id for a request, which callers quote to support.
pub fn request_id() -> String {
    id::<12>("req_")
}

/// Returns `prefix` and `N` random bytes in hexadecimal.
pub fn id<const N: usize>(prefix: &str) -> String {
    prefix.to_owned() + &hex(&bytes::<N>())
}

/// Returns `N` random bytes.
///
/// # Panics
///
/// If the platform gives none. Nothing here would be safe without them, so this request ends.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    fill(&mut bytes).expect("the platform gives random bytes");
    bytes
}

#[wasm_bindgen]
extern "C" {
    /// The Web Crypto API.
    #[wasm_bindgen(catch, js_namespace = crypto, js_name = getRandomValues)]
    fn fill(bytes: &mut [u8]) -> Result<JsValue, JsValue>;
}
