//! The boundary between the core and the JavaScript of the npm package: one function, with bytes in
//! and JSON out.
//!
//! This crate has no rules, and it touches nothing of the page: JavaScript passes the time, random
//! numbers and what is stored, and stores what comes back. The first field of a request
//! (`Fields`) names what is asked for:
//!
//! | request | fields | reply |
//! |---|---|---|
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
use wasm_bindgen::prelude::*;

/// Replies to one request. See the crate's page for the requests.
#[wasm_bindgen]
pub fn call(request: &[u8]) -> String {
    let mut fields = Fields::new(request);
    let fields = &mut fields;
    let reply = match fields.text() {
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
    reply.done()
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
