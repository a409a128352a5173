//! The boundary to JavaScript: what the npm package is made of.
//!
//! No rules here. These types read the clock, the random numbers and the store, ask the core, store
//! what it says and hand over what is to be done. What sends, waits and asks is TypeScript
//! (`www/src`).

mod call;
mod claims;
mod client;
mod convert;
pub mod guard;
mod host;
mod keys;
mod storage;

pub use call::{CallHandle, JsAnswer};
pub use client::{Client, JsSettings, JsSubmit};
pub use keys::mint_key;
