//! Why a request has no scope.

use super::sources::{ScopeSource, ScopeSources};
use core::fmt;

/// Why a request has no scope. Its text says what is wrong, and then what to send.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScopeError {
    /// It carries none of the sources.
    Missing(ScopeSources),
    /// It carries some of several joined sources.
    Incomplete(ScopeSources),
    /// It carries more than one of the sources. The origin may look at another one than the scope.
    Several(ScopeSources),
    /// It carries a token that changes at each refresh, or a signature that changes with each
    /// request, which would give the caller new keys each time and charge a retry twice.
    ShortLivedToken,
    /// The credential holds bytes that are not UTF-8. The platform puts one sign in place of all of
    /// them, so two tenants could look alike.
    Unreadable,
    /// The source comes twice, in a second spelling of its name, or with a value that can be read in
    /// two ways. The origin may take another one than the scope does.
    Ambiguous(ScopeSource),
}

impl fmt::Display for ScopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(sources) => write!(
                f,
                "A request with an idempotency key needs a credential, so that no other tenant can meet its response; send {sources}."
            ),
            Self::Incomplete(sources) => write!(
                f,
                "A part of the credential that says whose idempotency key this is is missing; send {sources}."
            ),
            Self::Several(sources) => write!(
                f,
                "The request carries more than one of the credentials that SCOPE lists, and the API may look at another one of them than SCOPE does. Send one: {sources}. If the API needs several, have the operator join them with a plus sign, as in SCOPE=header:X-Api-Key+header:Authorization; if it looks at one only, have SCOPE list that one."
            ),
            Self::ShortLivedToken => f.write_str(
                "This credential changes when it is refreshed or with each request, so it cannot say whose idempotency key this is; send a stable API key, or have the operator map the caller with SCOPE or SCOPE_ALIASES.",
            ),
            Self::Unreadable => f.write_str(
                "The credential holds bytes that are not UTF-8, so it cannot be told from others; send another one.",
            ),
            Self::Ambiguous(source) => write!(
                f,
                "The credential that says whose idempotency key this is can be read in more than one way; send {source} once, under this name, as one scheme and one value without comma and quotes, and Basic in base64 with its padding."
            ),
        }
    }
}

impl core::error::Error for ScopeError {}
