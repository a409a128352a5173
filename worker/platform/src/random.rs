//! Random bytes from the platform's cryptographic source.

use oncekey::AttemptToken;
use oncekey::codec::hex::hex;
use std::cell::RefCell;
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};

/// Returns a token for a new attempt.
pub fn token() -> AttemptToken {
    AttemptToken::new(bytes())
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
/// Panics if the platform returns no random bytes. Nothing here is safe without them, so the request ends.
pub fn bytes<const N: usize>() -> [u8; N] {
    POOL.with_borrow_mut(|pool| {
        let mut bytes = [0; N];
        for byte in &mut bytes {
            *byte = pool.next();
        }
        bytes
    })
}

/// Random bytes that are not used yet. One call to the platform returns enough for many requests.
struct Pool {
    bytes: [u8; 512],
    used: usize,
}

thread_local! {
    static POOL: RefCell<Pool> = const { RefCell::new(Pool { bytes: [0; 512], used: 512 }) };
}

impl Pool {
    fn next(&mut self) -> u8 {
        if self.used == self.bytes.len() {
            fill(&mut self.bytes).expect("the platform gives random bytes");
            self.used = 0;
        }
        // A byte is used once, and does not stay in memory.
        let byte = std::mem::take(&mut self.bytes[self.used]);
        self.used += 1;
        byte
    }
}

#[wasm_bindgen]
extern "C" {
    /// The Web Crypto API.
    #[wasm_bindgen(catch, js_namespace = crypto, js_name = getRandomValues)]
    fn fill(bytes: &mut [u8]) -> Result<JsValue, JsValue>;
}
