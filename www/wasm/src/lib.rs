//! The boundary between the core and the JavaScript of the npm package.
//!
//! This crate has no rules. It reads the clock, random numbers and storage, asks the core, stores
//! what the core returns and passes the next command on. TypeScript (`www/src`) sends and waits.

mod call;
mod client;
mod convert;
mod host;
mod keys;
mod responses;
mod storage;
mod tab_lease;

pub use call::{CallHandle, JsResponse};
pub use client::{Client, JsSettings, JsSubmit};
pub use keys::mint_key;
pub use responses::{is_json, is_success};
