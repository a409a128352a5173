//! **oncekey**: an idempotency key names one intent, and an intent gets one answer.
//!
//! This crate is the core that knows all the rules. It has no clock, no randomness and does no I/O:
//! `now`, random bytes and stored records are arguments, and what it returns is a decision and the
//! record to store. A shell (a Worker, a web page, a test with a model of the world) carries it out.
//!
//! # The flow
//!
//! ```text
//! request → Scope → IdempotencyKey → Fingerprints → begin → (origin) → complete → answer
//! ```
//!
//! 1. [`Scope`] says whose key it is, [`IdempotencyKey`] which; together they make the
//!    [`ScopedKey`], the name that the record is stored under.
//! 2. [`Fingerprints`] say which request it is, whatever the spelling of its JSON.
//! 3. [`lifecycle::begin`] takes the stored [`Record`] and decides: execute, replay, or refuse.
//! 4. [`lifecycle::renew`] keeps a slow attempt alive; [`lifecycle::complete`] and
//!    [`lifecycle::fail`] end it.
//! 5. A [`Rejection`] turns every other decision into a status and a body.
//! 6. [`journal`] says which of these calls are worth a row that outlives the record.
//!
//! The other end is [`client`]: [`client::intent`] is the life of a key in a client, which keeps it,
//! sends it again and finds out; [`client::retry`] says what an attempt's end means and when to ask
//! again.
//!
//! The file to read first is `lifecycle.rs`: it opens with the rules and the transition table.

pub mod admin_token;
pub mod budget;
pub mod business_key;
pub mod caching;
pub mod canonical;
pub mod client;
pub mod codec;
pub mod decision;
pub mod error;
pub mod fingerprint;
pub mod journal;
#[allow(missing_docs)]
pub mod key;
pub mod lifecycle;
pub mod lookup;
pub mod policy;
pub mod record;
pub mod replica;
pub mod request;
pub mod response;
pub mod scope;
pub mod should_retry;
pub mod time;
pub mod webhook;
pub mod write_flow;

// The names that those who use this crate know.
pub use request::{form_key as form, forward, override_headers as disguise, path, route};
pub use webhook::target as webhook_target;

pub use scope::{Scope, ScopeAliases, ScopeError, ScopeSource, ScopeSources, ScopedKey};

pub use request::override_headers::Disguise;

pub use key::{IdempotencyKey, KeyError};

pub use request::form_key::{FieldName, FormKeyError};

pub use fingerprint::{Fingerprint, FingerprintSecrets, Fingerprints};

pub use decision::{
    Change, ChangeKind, Completion, Decision, Execution, FailCause, LifecycleCall, Next, Renewal,
    Settlement, Settling, Step,
};
pub use lifecycle::Attempt;

pub use record::{KeyState, KeyStatus, Record, RecordError, State, Token};

pub use request::route::Route;

pub use policy::{AnswerClass, ExpiredKey, Policy, UnknownOutcome};

pub use business_key::{BusinessKey, BusinessKeys};
pub use lookup::LookUps;

pub use response::{Kept, StoredResponse};

pub use error::{Dialect, Problem, Recourse, Rejection};
pub use should_retry::Asked;

pub use time::{Millis, UnixMillis};
