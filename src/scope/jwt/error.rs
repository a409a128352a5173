//! Why a JWT is refused.

use core::fmt;

/// Why a JWT is refused. The message says what is wrong, and then what to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TokenError {
    /// The credential is not one signed JWT after `Bearer`, or can be read in more than one way.
    Unreadable,
    /// The token is not signed, or with another algorithm.
    Algorithm,
    /// The header says that the token is for another purpose.
    Kind,
    /// No published key has the id and the algorithm of the token.
    UnknownKey,
    /// The signature is wrong.
    Signature,
    /// The claim `iss` is missing or another one.
    Issuer,
    /// The claim `aud` is missing or names others.
    Audience,
    /// The claim `exp` is over.
    Expired,
    /// The claim `nbf` is not reached.
    TooEarly,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreadable => {
                "The credential in Authorization is not a JWT that can be read in exactly one way. Send Authorization: Bearer TOKEN, with one signed JWT that has a time of expiry."
            }
            Self::Algorithm => {
                "The JWT is not signed with an algorithm that is accepted. Send a token that is signed with RS256, PS256, ES256 or EdDSA."
            }
            Self::Kind => {
                "The JWT is not a token for access. Send a token whose type is JWT or at+jwt."
            }
            Self::UnknownKey => {
                "The issuer publishes no key that fits the JWT. Get a new token, and send the same request with it."
            }
            Self::Signature => {
                "The signature of the JWT is wrong. Get a new token, and send the same request with it."
            }
            Self::Issuer => {
                "The JWT is from an issuer that is not accepted. Send a token from the issuer of this API."
            }
            Self::Audience => {
                "The JWT is for another audience. Send a token that is meant for this API."
            }
            Self::Expired => {
                "The JWT has expired. Get a new token, and send the same request with it."
            }
            Self::TooEarly => {
                "The JWT is not valid yet. Send the same request later, or correct the clock of the issuer."
            }
        })
    }
}
