//! The keys that an issuer publishes (RFC 7517), and which of them checks a token.

use super::{Algorithm, MAX_ENTRIES, Token};
use crate::canonical::json::{Document, JsonValue};
use crate::codec::base64::decode_url;

/// The published keys that can check a signature.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Jwks(Vec<Jwk>);

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Jwk {
    kid: Option<String>,
    family: Family,
    /// The only algorithm that the key is for. Without it, the key is for all of its family.
    algorithm: Option<Algorithm>,
    /// The key itself, without other members.
    text: String,
}

/// Algorithms whose keys have the same form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Family {
    Rsa,
    P256,
    Ed25519,
}

/// The check of a signature, for the platform's cryptography.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SignatureCheck<'a> {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The public key, as a JWK.
    pub key: &'a str,
    /// The bytes that are signed.
    pub signed: &'a str,
    /// The signature over them.
    pub signature: &'a [u8],
}

impl Jwks {
    /// Reads a key set. Keys of other types and for other purposes are left out. Returns `None` if the
    /// text is not a key set.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let document = Document::parse(text)?;
        let keys = document.root().step("keys").filter(|keys| keys.is_list())?;
        let keys = (0..MAX_ENTRIES).map_while(|at| keys.step(&at.to_string()));
        Some(Self(keys.filter_map(Jwk::read).collect()))
    }

    /// Returns whether there is no usable key.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the check of a token's signature by the one key that the token can mean; `None` if there
    /// is none, or several and the token does not say which.
    pub fn check<'a>(&'a self, token: &'a Token) -> Option<SignatureCheck<'a>> {
        let mut fit = self.0.iter().filter(|key| {
            key.is_for(token.algorithm) && (token.kid.is_none() || token.kid == key.kid)
        });
        let key = fit.next().filter(|_| token.kid.is_some() || fit.next().is_none())?;
        Some(SignatureCheck {
            algorithm: token.algorithm,
            key: &key.text,
            signed: &token.signed,
            signature: &token.signature,
        })
    }
}

impl Jwk {
    fn read(key: JsonValue<'_>) -> Option<Self> {
        // A member with another type than text makes the key unusable.
        let optional = |name: &str| match key.step(name) {
            None => Some(None),
            Some(value) => value.text().map(Some),
        };
        let text = |name: &str| key.step(name)?.text();
        if optional("use")?.is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        if let Some(purposes) = key.step("key_ops") {
            let mut purposes = (0..MAX_ENTRIES).map_while(|at| purposes.step(&at.to_string()));
            if !purposes.any(|purpose| purpose.text().as_deref() == Some("verify")) {
                return None;
            }
        }
        // What is decoded strictly is safe inside a JSON text.
        let bytes = |name: &str| {
            let text = text(name)?;
            Some((decode_url(&text)?, text))
        };
        let coordinate = |name: &str| bytes(name).filter(|(bytes, _)| bytes.len() == 32);
        let (family, text) = match (text("kty")?.as_str(), text("crv").as_deref()) {
            ("RSA", _) => {
                let ((modulus, n), (exponent, e)) = (bytes("n")?, bytes("e")?);
                // 2048 to 8192 bits (RFC 7518 §3.3), without leading zeros.
                let is_sound = (256..=1024).contains(&modulus.len()) && modulus[0] != 0;
                let is_sound = is_sound && (1..=8).contains(&exponent.len());
                is_sound
                    .then(|| (Family::Rsa, format!(r#"{{"kty":"RSA","n":"{n}","e":"{e}"}}"#)))?
            }
            ("EC", Some("P-256")) => {
                let ((_, x), (_, y)) = (coordinate("x")?, coordinate("y")?);
                let text = format!(r#"{{"kty":"EC","crv":"P-256","x":"{x}","y":"{y}"}}"#);
                (Family::P256, text)
            }
            ("OKP", Some("Ed25519")) => {
                let (_, x) = coordinate("x")?;
                (Family::Ed25519, format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}"#))
            }
            _ => return None,
        };
        let algorithm = match optional("alg")? {
            None => None,
            Some(name) => Some(Algorithm::parse(&name).filter(|own| family.of(*own))?),
        };
        Some(Self { kid: optional("kid")?, family, algorithm, text })
    }

    fn is_for(&self, algorithm: Algorithm) -> bool {
        self.family.of(algorithm) && self.algorithm.is_none_or(|own| own == algorithm)
    }
}

impl Family {
    fn of(self, algorithm: Algorithm) -> bool {
        self == match algorithm {
            Algorithm::Rs256 | Algorithm::Ps256 => Self::Rsa,
            Algorithm::Es256 => Self::P256,
            Algorithm::EdDsa => Self::Ed25519,
        }
    }
}
