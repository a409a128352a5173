//! **oncekey**: idempotency keys for the edge and the browser. A client sends the same key with each
//! retry of a request, and the request gets one response.
//!
//! This crate is the core and holds all the rules. It has no clock and no randomness and does no I/O:
//! the current time, random bytes and stored records are arguments, and a call returns a decision and
//! the record to store. A *shell* carries the decision out: a Worker, a web page, or a test with a
//! model of the world.
//!
//! Read `lifecycle.rs` first: it opens with the rules and the transition table.
//!
//! The crate's [README](https://crates.io/crates/oncekey) has a complete example, and says what the code
//! around the core must do. [`store::Store`] connects the lifecycle with a database.
//!
//! # The flow
//!
//! ```text
//! request → Scope → IdempotencyKey → Fingerprints → begin → (origin) → complete → response
//! ```
//!
//! 1. [`Scope`] says whose key it is, and [`IdempotencyKey`] which key. Together they make the
//!    [`ScopedKey`], the name that the record is stored under.
//! 2. [`Fingerprints`] identify the request, whatever the spelling of its JSON.
//! 3. [`lifecycle::begin`] takes the stored [`Record`] and decides: execute, replay, or refuse.
//! 4. [`lifecycle::renew`] keeps a slow attempt alive; [`lifecycle::complete`] and
//!    [`lifecycle::fail`] end it.
//! 5. A [`Rejection`] turns every other decision into a status and a body.
//! 6. [`Transition::change`] says which calls leave a row in the [`journal`], which outlives the record.
//!
//! [`write_flow`] is this flow as a state machine, for a gateway whose stores may be slow or silent.
//! [`client`] is the other end: [`client::intent`] keeps a key in a client, sends it again and
//! resolves its outcome; [`client::retry`] says what a response means and when to retry.
//!
//! # Glossary
//!
//! | word | meaning |
//! |---|---|
//! | idempotency key | the name that a client gives to one intent |
//! | scope | whose keys they are: the same key in two scopes is two keys |
//! | fingerprint | a keyed hash that tells whether two requests are the same |
//! | record | everything that is stored for a key |
//! | attempt | one try to execute a request, named by a random token |
//! | lease | the time for which an attempt owns a key; the attempt renews it |
//! | overtaken | an attempt that lost its key to another attempt after its lease had expired |
//! | outcome | whether the request was executed, and with which response |
//! | unknown | an outcome that the record does not know: the request may have been executed |
//! | hold, retry | the two policies for an unknown outcome: refuse, or execute again |
//! | settle | to decide an unknown outcome, by an operator or a look-up at the origin |
//! | void | to make a key unusable, so that its request is never executed |
//! | replay | to respond with the stored response |
//! | retention | how long a response is kept |
//! | business key | a member of the body, such as an order number, that identifies an object permanently |
//! | origin | the API behind the gateway, which executes the requests |
//! | shard | the store that holds a record: in the Worker, one of 256 Durable Objects |
//! | replica | copies of stored responses, read while a shard is slow or unavailable |
//! | memory | a replica in the gateway's own process, read before the shard |
//! | sweep | the periodic work of a store: it removes the records that have expired |
//! | tombstone | what is left of an expired record whose key is refused |
//! | intent | in a client: one operation with its payload, such as the payment of an order |
//! | mint | to make a new key; a UUIDv7 contains the time when it was minted |

pub mod business_key;
pub mod client;
pub mod fingerprint;
pub mod journal;
pub mod lifecycle;
pub mod lookup;
pub mod replica;
pub mod store;
pub mod webhook;
pub mod write_flow;
#[doc(hidden)]
pub mod write_result;

// The items that a user of the crate needs from these modules are re-exported below.
#[doc(hidden)]
pub mod canonical;
#[doc(hidden)]
pub mod decision;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod header_list;
#[doc(hidden)]
pub mod key;
#[doc(hidden)]
pub mod policy;
#[doc(hidden)]
pub mod record;
#[doc(hidden)]
pub mod request;
#[doc(hidden)]
pub mod response;
#[doc(hidden)]
pub mod scope;
#[doc(hidden)]
pub mod time;

// Only the Worker and the npm package use these modules.
#[doc(hidden)]
pub mod admin_token;
#[doc(hidden)]
pub mod budget;
#[doc(hidden)]
pub mod caching;
#[doc(hidden)]
pub mod codec;
#[doc(hidden)]
pub mod should_retry;

// A key and its scope.
pub use key::{IdempotencyKey, KeyError};
pub use scope::{Scope, ScopeAliases, ScopeError, ScopeSources, ScopedKey};

// The identity of a request.
pub use business_key::{BusinessKey, BusinessKeys};
pub use canonical::JsonPointer;
pub use fingerprint::{Fingerprint, FingerprintSecrets, Fingerprints};
pub use lookup::LookUps;

// Calls, decisions and policies.
pub use decision::{
    ChangeKind, Completion, Decision, Execution, FailCause, KeyChange, LifecycleCall, RecordUpdate,
    Renewal, Settlement, Settling, Transition,
};
pub use lifecycle::Attempt;
pub use policy::{ExpiredKey, Policy, ResponseClass, UnknownOutcome};

// Stored data.
pub use header_list::HeaderList;
pub use record::{AttemptToken, KeyState, KeyStatus, Record, RecordError, RecordState};
pub use response::StoredResponse;

// Errors for callers.
pub use error::{Dialect, ErrorResponse, IdentitySource, Recourse, Rejection};
pub use should_retry::RequestKind;

pub use time::{Millis, UnixMillis};

// Only the Worker and the npm package use these items.
#[doc(hidden)]
pub use request::form_key::{FieldName, FormKeyError};
#[doc(hidden)]
pub use request::route::Route;
#[doc(hidden)]
pub use response::Kept;
#[doc(hidden)]
pub use scope::{ScopeSource, ScopeStep};

/// Runs the example of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("README.md")]
struct Readme;
