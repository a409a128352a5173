//! The boundary to JavaScript: what the npm package is made of.
//!
//! No rules here. These types read the clock, the random numbers and the store, ask the core, store
//! what it says and hand over what is to be done. What sends, waits and asks is TypeScript
//! (`www/src`).
//!
//! | feature | what it brings |
//! |---|---|
//! | `wasm` | keys, for any JavaScript host |
//! | `web` | the client of a page: what it keeps in storage, its calls, and the guard of its forms |

mod host;
mod keys;

#[cfg(feature = "web")]
mod call;
#[cfg(feature = "web")]
mod claims;
#[cfg(feature = "web")]
mod client;
#[cfg(feature = "web")]
mod convert;
#[cfg(feature = "web")]
pub mod guard;
#[cfg(feature = "web")]
mod storage;

pub use keys::mint_key;

#[cfg(feature = "web")]
pub use call::{CallHandle, JsAnswer};
#[cfg(feature = "web")]
pub use client::{Client, JsSettings, JsSubmit};
