//! The other end of a key: what a client keeps, sends, asks again and finds out.

mod call;
mod credential;
mod entry;
mod entry_text;
pub mod form_guard;
pub mod intent;
mod offer;
mod payload;
mod resolve;
pub mod retry;
mod tab_lease;
