//! Why a request has no scope.

use super::jwt::TokenError;
use super::sources::{ScopeSource, ScopeSources};
use core::fmt;

/// Why a request has no scope. The message says what is wrong, and then what to send.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScopeError {
    /// The request contains none of the sources.
    Missing(ScopeSources),
    /// The API itself names its callers, and has no name for this one.
    Unnamed,
    /// The request contains only a part of several joined sources.
    Incomplete(ScopeSources),
    /// The request contains more than one of the alternatives, and the origin may use another one than
    /// the scope does.
    Several(ScopeSources),
    /// The credential is a token that changes with each refresh, or a signature that changes with each
    /// request. A retry would get another scope and be executed a second time.
    ShortLivedToken,
    /// The credential contains bytes that are not UTF-8. The platform replaces all such bytes by the
    /// same character, so two tenants could get the same scope.
    Unreadable,
    /// The request contains the source twice, under another spelling of its name, or with a value that
    /// can be read in two ways. The origin may use another value than the scope does.
    Ambiguous(ScopeSource),
    /// The JWT is not valid.
    Token(TokenError),
    /// The sources need a check that was not made: of a signature, or by the origin.
    Unchecked,
    /// The JWT is valid, but lacks this claim.
    NoClaim(String),
}

impl fmt::Display for ScopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(sources) => write!(
                f,
                "A request with an idempotency key needs a credential, so that tenants do not share responses. Send {sources}."
            ),
            Self::Unnamed => f.write_str(
                "A request with an idempotency key needs a caller, so that tenants do not share responses. Send your credential.",
            ),
            Self::Incomplete(sources) => write!(
                f,
                "Part of the credential that identifies the owner of the idempotency key is missing. Send {sources}."
            ),
            Self::Several(sources) => write!(
                f,
                "The request has more than one of the credentials that SCOPE lists, and the API may use a different one than SCOPE does. Send one of them: {sources}. If the API needs several, have the operator join them with a plus sign, as in SCOPE=header:X-Api-Key+header:Authorization. If it uses only one, have the operator list only that one."
            ),
            Self::ShortLivedToken => f.write_str(
                "This credential changes when it is refreshed or with each request, so it cannot identify the owner of an idempotency key. If it is a JWT, have the operator set SCOPE=jwt:sub, so that a claim identifies its user. Send a stable API key, or have the operator map the caller with SCOPE or SCOPE_ALIASES.",
            ),
            Self::Unreadable => f.write_str(
                "The credential contains bytes that are not UTF-8, so it could be confused with another credential. Send a credential in UTF-8.",
            ),
            Self::Ambiguous(source) => write!(
                f,
                "The credential that identifies the owner of the idempotency key can be read in more than one way. Send {source} once, under exactly this name, as one scheme and one value without commas and quotes. Send Basic credentials as base64 with padding."
            ),
            Self::Token(error) => error.fmt(f),
            Self::Unchecked => f.write_str(
                "The credential that identifies the owner of the idempotency key was not checked. Have the operator use a program that supports this SCOPE, or list only headers and cookies.",
            ),
            Self::NoClaim(claim) => write!(
                f,
                "The JWT does not identify the owner of the idempotency key, because it has no claim {claim} that is a text or a whole number. Send a token with this claim."
            ),
        }
    }
}

impl core::error::Error for ScopeError {}
