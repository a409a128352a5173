//! The boundary between the core and the JavaScript of the npm package: bytes in and JSON out.
//!
//! JavaScript asks for [`room`], writes a request there, [`call`]s, and reads what was [`replied`]. Only numbers
//! are passed, so no code converts texts on the way.
//!
//! This crate has no rules, and it touches nothing of the page: JavaScript passes the time, random
//! numbers and what is stored, and stores what comes back. The first field of a request
//! (`Fields`) names what is asked for:
//!
//! | request | fields | reply |
//! |---|---|---|
//! | `preimage` | see `calls.rs` | not JSON, but the bytes that the platform hashes for `submit` |
//! | `submit`, `resolve`, `abandon` | see `calls.rs` | the number of the new call |
//! | `step`, `stop`, `credential`, `free` | the number of a call, and more: see `calls.rs` | the next command |
//! | `status`, `facts` | see `entries.rs` | what a stored text says about an intent |
//! | `acquire`, `renew`, `holds`, `owns` | see `leases.rs` | what to do with the lease of a tab |
//! | `mint` | time, 16 random bytes | a new key |
//! | `isSuccess`, `isJson` | a status; a `Content-Type` | a flag |
//!
//! If a value of the page is wrong, the reply is `{"error": …}`.

mod calls;
mod command;
mod entries;
mod fields;
mod leases;
mod members;

use fields::Fields;
use members::Members;
use oncekey::client::retry;
use oncekey::key::IdempotencyKey;
use std::cell::Cell;
use wasm_bindgen::prelude::*;

thread_local! {
    /// The request that JavaScript writes.
    static REQUEST: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// The last reply. JavaScript reads it before it asks again.
    static REPLY: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Returns the address where JavaScript writes a request of at most this length.
#[wasm_bindgen]
#[expect(clippy::slow_vector_initialization, reason = "`vec![0; length]` adds code to the wasm")]
pub fn room(length: usize) -> usize {
    let mut request = Vec::new();
    request.resize(length, 0);
    let address = request.as_ptr() as usize;
    REQUEST.set(request);
    address
}

/// Replies to the request of this length that was written. See the crate's page for the requests. Returns the
/// length of the reply.
#[wasm_bindgen]
pub fn call(length: usize) -> usize {
    let request = REQUEST.take();
    let reply = reply(request.get(..length).unwrap_or_default());
    let length = reply.len();
    REPLY.set(reply);
    length
}

/// Returns the address of the last reply.
#[wasm_bindgen]
pub fn replied() -> usize {
    let reply = REPLY.take();
    let address = reply.as_ptr() as usize;
    REPLY.set(reply);
    address
}

fn reply(request: &[u8]) -> Vec<u8> {
    let mut fields = Fields::new(request);
    let fields = &mut fields;
    let reply = match fields.text() {
        "preimage" => return calls::preimage(fields),
        "submit" => calls::submit(fields),
        "resolve" => calls::resolve(fields),
        "abandon" => calls::abandon(fields),
        "step" => calls::step(fields),
        "stop" => calls::stop(fields),
        "credential" => calls::key_call_credential(fields),
        "free" => calls::free(fields),
        "status" => entries::status(fields),
        "facts" => entries::facts(fields),
        "acquire" => leases::acquire(fields),
        "renew" => leases::renew(fields),
        "holds" => leases::holds(fields),
        "owns" => leases::owns(fields),
        "mint" => mint(fields),
        "isSuccess" => flag(retry::is_success(fields.number() as u16)),
        "isJson" => flag(retry::is_json(fields.text())),
        _ => Members::error("there is no such request"),
    };
    reply.done().into_bytes()
}

/// Returns a new key: a UUIDv7.
fn mint(fields: &mut Fields<'_>) -> Members {
    let now = fields.time();
    let [random @ .., _, _, _, _, _, _] = fields.random();
    Members::new().with_text("key", IdempotencyKey::mint(now, random).as_str())
}

fn flag(is: bool) -> Members {
    Members::new().with_flag("is", is)
}
