//! The client side of a key: what a client stores, sends, retries and resolves.
//!
//! | word | meaning |
//! |---|---|
//! | submit | one call to send an intent, with all its attempts |
//! | entry | what a client stores for an intent: the key, its state and a tag of the payload |
//! | tag | 32 bits of a hash, which show whether a payload is still the same |
//! | proof | a header by which a response belongs to its key: `Idempotency-State: completed` or `Idempotent-Replayed: true` |
//! | key calls | the gateway's calls that return the state of a key, and that void it |
//! | look-up | the page's own way to find out an outcome, such as its order list |
//! | credential | the headers and cookies that tell the server whose key it is |
//! | offered key | a key that the server put into its form |

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
