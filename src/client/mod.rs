//! The client side of a key: what a client stores, sends, retries and resolves.

mod call;
mod credential;
mod entry;
mod entry_text;
#[doc(hidden)]
pub mod form_guard;
pub mod intent;
mod offer;
mod payload;
mod resolve;
pub mod retry;
mod tab_lease;
