//! Errors for callers: why a request gets no response from the origin.
//!
//! `message.rs` has the texts, `response.rs` the bodies in two dialects.

mod message;
mod response;

pub use response::{Dialect, ERRORS_PAGE, ErrorResponse, help_link};

use crate::business_key::BusinessKey;
use crate::decision::Decision;
use crate::key::KeyError;
use crate::request::form_key::FormKeyError;
use crate::scope::ScopeError;
use crate::webhook::WebhookError;

/// Why a request gets no response from the origin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rejection {
    /// The route requires an idempotency key, and the request has none. Holds the name of the key's header.
    KeyMissing(String),
    /// The header of the key cannot be read.
    KeyMalformed(KeyError),
    /// The idempotency key in a form cannot be read.
    FormKey(FormKeyError),
    /// The body did not arrive completely.
    BodyUnreadable,
    /// The body is larger than this many bytes.
    BodyTooLarge(u64),
    /// The scope of the key cannot be read from the request.
    NoScope(ScopeError),
    /// Who the caller is could not be checked; the origin was not called.
    IdentityUnavailable(IdentitySource),
    /// The webhook was not accepted.
    Webhook(WebhookError),
    /// The key was used with another request.
    Mismatch,
    /// An attempt is in progress.
    InProgress,
    /// An earlier attempt may have been executed, and the policy puts the key on hold.
    OutcomeUnknown,
    /// The response cannot be replayed.
    NotReplayable {
        /// The status of the response. `None` if the requests could not be compared.
        http_status: Option<u16>,
        /// The id of the resource that was created, where it is known.
        resource: Option<String>,
    },
    /// The rejection is about the business key, not the idempotency key.
    OfBusinessKey {
        /// The rejection of an idempotency key in the same state.
        why: Box<Rejection>,
        /// The business key.
        business_key: BusinessKey,
    },
    /// The key was voided.
    KeyVoided,
    /// The key's response has expired.
    KeyExpired,
    /// The origin could not be reached, or the connection broke.
    OriginUnreachable(Recourse),
    /// The origin did not respond in time.
    OriginTimedOut(Recourse),
    /// The store of records did not reply; the origin was not called.
    StoreUnavailable,
    /// Too many bytes of bodies are in memory; the origin was not called.
    Overloaded,
    /// More than half of the lease was over before the origin could be called, so it was not called.
    TooLateToDispatch,
    /// The stored record cannot be read; the origin was not called.
    RecordUnreadable,
    /// The admin call has no valid admin token.
    NotAdmin,
    /// No route has this path.
    NotFound,
    /// The key of an admin call has no record.
    NoRecord,
    /// The path does not accept this method. Holds the value of `Allow` (RFC 9110 §10.2.1).
    MethodNotAllowed(&'static str),
    /// The request is invalid. Holds the message.
    Invalid(String),
    /// A setting is wrong. Holds the name of the setting and the values that it accepts.
    Misconfigured(String),
    /// The outcome is not unknown, so it cannot be settled.
    NothingToSettle,
    /// The gateway has a bug.
    Internal,
}

/// What could not be reached to check who a caller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdentitySource {
    /// The keys that check the signatures of JWTs (`JWKS_URL`).
    Keys,
    /// The origin, which says who the caller is (`SCOPE=origin:…`).
    Origin,
    /// The origin, which says whether the caller may read a stored response (`REPLAY_AUTHORIZATION`).
    ReplayAuthorization,
}

/// What a caller can do when the origin did not respond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recourse {
    /// Send the request again: it is a read, which changes nothing.
    Retry,
    /// Look up the result: the request is a write without a key, and sending it again could execute
    /// it twice.
    LookUp,
    /// Retry with the same key: the gateway executes the request again.
    RetryWithKey,
    /// Wait: the key is on hold until its outcome is settled.
    OnHold,
    /// Retry with the same key: nothing was executed.
    NotExecuted,
}

impl Decision {
    /// Returns the rejection that the caller gets; `None` for `Execute` and `Replay`.
    ///
    /// ```
    /// # use oncekey::{Decision, Rejection};
    /// assert_eq!(Decision::InProgress.rejection(), Some(Rejection::InProgress));
    /// ```
    pub fn rejection(&self) -> Option<Rejection> {
        Some(match self {
            Self::Execute(_) | Self::Replay(_) => return None,
            Self::NotReplayable { http_status, resource } => {
                Rejection::NotReplayable { http_status: *http_status, resource: resource.clone() }
            }
            Self::InProgress => Rejection::InProgress,
            Self::OutcomeUnknown => Rejection::OutcomeUnknown,
            Self::Mismatch => Rejection::Mismatch,
            Self::KeyVoided => Rejection::KeyVoided,
            Self::KeyExpired => Rejection::KeyExpired,
        })
    }
}

impl Rejection {
    /// Returns the status, the code and the seconds of `Retry-After`.
    fn kind(&self, ietf: bool) -> (u16, &'static str, Option<u32>) {
        match self {
            Self::KeyMissing(_) => (400, "idempotency_key_missing", None),
            Self::KeyMalformed(_) | Self::FormKey(_) | Self::Invalid(_) => {
                (400, "invalid_request_error", None)
            }
            Self::BodyUnreadable => (408, "api_connection_error", None),
            Self::NoScope(
                ScopeError::Missing(_)
                | ScopeError::Unnamed
                | ScopeError::Incomplete(_)
                | ScopeError::Token(_),
            )
            | Self::NotAdmin
            | Self::Webhook(WebhookError::BadTime | WebhookError::BadSignature) => {
                (401, "authentication_error", None)
            }
            Self::NoScope(_) | Self::Webhook(_) => (400, "invalid_request_error", None),
            Self::NotFound => (404, "invalid_request_error", None),
            Self::NoRecord => (404, "idempotency_key_not_found", None),
            Self::MethodNotAllowed(_) => (405, "invalid_request_error", None),
            Self::BodyTooLarge(_) => (413, "invalid_request_error", None),
            Self::Mismatch => (if ietf { 422 } else { 400 }, "idempotency_error", None),
            Self::KeyExpired => (400, "idempotency_key_expired", None),
            Self::InProgress => (409, "idempotency_in_progress", Some(1)),
            Self::OutcomeUnknown => (409, "idempotency_outcome_unknown", None),
            Self::NotReplayable { .. } => (409, "idempotency_not_replayable", None),
            Self::KeyVoided => (409, "idempotency_key_voided", None),
            Self::NothingToSettle => (409, "idempotency_not_unknown", None),
            Self::OfBusinessKey { why, .. } => why.kind(ietf),
            Self::OriginUnreachable(_) => (502, "api_connection_error", None),
            Self::OriginTimedOut(_) => (504, "api_connection_error", None),
            Self::StoreUnavailable
            | Self::Overloaded
            | Self::TooLateToDispatch
            | Self::IdentityUnavailable(_) => (503, "api_connection_error", Some(1)),
            Self::RecordUnreadable | Self::Misconfigured(_) | Self::Internal => {
                (500, "api_error", None)
            }
        }
    }
}
