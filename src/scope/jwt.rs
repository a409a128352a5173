//! A JSON Web Token that identifies the caller (RFC 7519), by the rules of RFC 8725.
//!
//! A token is read in three steps. [`Token::parse`] reads its form. [`Jwks`] finds the published key that
//! it names, and returns a [`SignatureCheck`], which the shell carries out with the platform's
//! cryptography. Only then do the claims count: `TokenRules::check` compares them with the settings and
//! the time.
//!
//! - The algorithm is one of four that sign with a private key. `none` and the HMAC algorithms are
//!   refused, and a key is used only with the algorithm that it is for.
//! - Keys come from the URL in the settings. What a token says about keys (`jwk`, `jku`, `x5c`) does not
//!   count.
//! - A text that two programs could read differently is refused: repeated members, base64url that an
//!   encoder would not write, claims whose names are lookalikes of one that counts.

mod error;
mod jwks;
mod keys;

pub use error::TokenError;
pub use jwks::{Jwks, SignatureCheck};
pub use keys::{KeyCache, KeyStep};

use super::name::Name;
use super::schemes::split_scheme;
use crate::canonical::json::{Document, JsonValue};
use crate::codec::base64::decode_url;
use crate::time::{Millis, UnixMillis};
use core::fmt;

/// How far the clocks of the issuer and of the gateway may differ.
const TOLERANCE: Millis = Millis::from_seconds(60);

/// How many entries of a list in a token are read.
const MAX_ENTRIES: usize = 64;

/// How a token is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

/// A token whose signature was not checked.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Token {
    algorithm: Algorithm,
    /// The id of the key that signed it.
    kid: Option<String>,
    /// What the signature covers: header and claims as they came.
    signed: String,
    claims: Vec<u8>,
    signature: Vec<u8>,
}

/// The issuer and the audiences whose tokens count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenRules {
    /// The claim `iss` of every token.
    pub issuer: String,
    /// The claim `aud` of a token names one of these.
    pub audiences: Vec<String>,
}

impl Algorithm {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Self::Rs256,
            "PS256" => Self::Ps256,
            "ES256" => Self::Es256,
            // RFC 9864 names the curve in the algorithm.
            "EdDSA" | "Ed25519" => Self::EdDsa,
            _ => return None,
        })
    }

    /// Returns the name by which the shell knows the algorithm.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }
}

impl Token {
    /// Reads the value of `Authorization`: `Bearer` and one signed token in the compact form
    /// (RFC 7515 §7.1).
    pub fn parse(authorization: &str) -> Result<Self, TokenError> {
        let (scheme, token) = split_scheme(authorization).ok_or(TokenError::Unreadable)?;
        if !scheme.eq_ignore_ascii_case("Bearer") {
            return Err(TokenError::Unreadable);
        }
        let mut parts = token.split('.');
        let (Some(header), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(TokenError::Unreadable);
        };
        let decoded = |part| decode_url(part).ok_or(TokenError::Unreadable);
        let header_bytes = decoded(header)?;
        let (algorithm, kid) = read_header(&header_bytes)?;
        Ok(Self {
            algorithm,
            kid,
            signed: format!("{header}.{claims}"),
            claims: decoded(claims)?,
            signature: decoded(signature)?,
        })
    }
}

/// Reads the algorithm and the key's id from a token's header.
fn read_header(header: &[u8]) -> Result<(Algorithm, Option<String>), TokenError> {
    let header = Document::parse(header).ok_or(TokenError::Unreadable)?;
    let member = |name: &str| header.root().step(name);
    let algorithm = member("alg").and_then(JsonValue::text).ok_or(TokenError::Unreadable)?;
    let algorithm = Algorithm::parse(&algorithm).ok_or(TokenError::Algorithm)?;
    // `crit` lists extensions that change the meaning of the token (RFC 7515 §4.1.11). None is known here.
    if member("crit").is_some() {
        return Err(TokenError::Unreadable);
    }
    let kid = match member("kid") {
        Some(kid) => Some(kid.text().ok_or(TokenError::Unreadable)?),
        None => None,
    };
    if let Some(kind) = member("typ") {
        // Issuers sign other tokens with the same keys, such as log-out tokens (RFC 8725 §3.11).
        let kind = kind.text().ok_or(TokenError::Unreadable)?.to_ascii_lowercase();
        if !matches!(kind.strip_prefix("application/").unwrap_or(&kind), "jwt" | "at+jwt") {
            return Err(TokenError::Kind);
        }
    }
    Ok((algorithm, kid))
}

impl TokenRules {
    /// Checks the claims of a token against the settings and the time, and returns the values of the
    /// claims `names` that identify the caller. `is_signed` is whether the signature was found to be
    /// valid.
    pub(super) fn check(
        &self,
        token: &Token,
        is_signed: bool,
        names: &[String],
        now: UnixMillis,
    ) -> Result<Vec<Name>, TokenRefused> {
        if !is_signed {
            return Err(TokenError::Signature.into());
        }
        let claims = Document::parse(&token.claims).ok_or(TokenError::Unreadable)?;
        let claim = |name: &str| {
            claims.find_plainly(&[name]).map_err(|_| TokenRefused::Token(TokenError::Unreadable))
        };
        if claim("iss")?.and_then(JsonValue::text).as_ref() != Some(&self.issuer) {
            return Err(TokenError::Issuer.into());
        }
        let is_own =
            |value: JsonValue<'_>| value.text().is_some_and(|name| self.audiences.contains(&name));
        let audience = claim("aud")?.ok_or(TokenError::Audience)?;
        let mut entries = (0..MAX_ENTRIES).map_while(|at| audience.step(&at.to_string()));
        if !(is_own(audience) || audience.is_list() && entries.any(is_own)) {
            return Err(TokenError::Audience.into());
        }
        let expires_at = claim("exp")?.and_then(time).ok_or(TokenError::Unreadable)?;
        if now >= expires_at.plus(TOLERANCE) {
            return Err(TokenError::Expired.into());
        }
        if let Some(begins_at) = claim("nbf")? {
            let begins_at = time(begins_at).ok_or(TokenError::Unreadable)?;
            if now.plus(TOLERANCE) < begins_at {
                return Err(TokenError::TooEarly.into());
            }
        }
        let name_of = |name: &String| {
            let value = claim(name)?.and_then(Name::read);
            value.ok_or_else(|| TokenRefused::NoClaim(name.clone()))
        };
        names.iter().map(name_of).collect()
    }
}

/// Why a token does not identify the caller.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TokenRefused {
    Token(TokenError),
    NoClaim(String),
}

impl From<TokenError> for TokenRefused {
    fn from(error: TokenError) -> Self {
        Self::Token(error)
    }
}

/// Reads a time in seconds (RFC 7519 §2). Fractions of a second are dropped.
fn time(value: JsonValue<'_>) -> Option<UnixMillis> {
    let text = if value.is_number() { value.scalar()? } else { return None };
    let seconds: u64 = text.split('.').next()?.parse().ok()?;
    // A canonical number with an exponent is larger than any time, or smaller than a second.
    if text.contains('e') { None } else { Some(UnixMillis::new(seconds.saturating_mul(1000))) }
}

impl fmt::Debug for Token {
    /// Omits the token, which must not appear in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.algorithm.name())
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod properties;
#[cfg(test)]
mod tests;
