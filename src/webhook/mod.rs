//! Signed webhooks, as [Standard Webhooks](https://www.standardwebhooks.com) has them.
//!
//! A message has an id, the time at which it was sent, and a body; what is signed is the three with
//! dots between. Its headers are `webhook-id`, `webhook-timestamp` in seconds, and
//! `webhook-signature`, which may hold several signatures with spaces between: one for each secret,
//! so that a secret can be changed without a gap. Some senders spell them `svix-id` and so on.
//!
//! # Messages that come in
//!
//! ```text
//! secrets of the source → headers → body → signature → event's id, which is its key
//! ```
//!
//! A [`Source`](Sources) is who signs, and its events are keys in a [scope](crate::Scope::of_source)
//! of its own, under [`Policy::of_events`](crate::Policy::of_events): kept for good, and done only
//! when the origin has said 2xx. The body has no part in the [fingerprint](fingerprints): senders
//! write it anew for each try, and the id alone says which event it is.

pub mod target;

use crate::codec::base64;
use crate::codec::list::entries;
use crate::fingerprint::{FingerprintSecrets, Fingerprints, RequestParts};
use crate::key::IdempotencyKey;
use crate::request::path;
use crate::time::{Millis, UnixMillis};
use core::fmt;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// What a secret begins with.
const SECRET_PREFIX: &str = "whsec_";

/// What a symmetric signature begins with.
const SIGNATURE_PREFIX: &str = "v1,";

/// Where messages come in: the source's name follows.
pub const PATH: &str = "/webhooks/";

/// The name of that folder.
const FOLDER: &str = "webhooks";

/// How far a message's time may be from ours, either way: five minutes, as the reference
/// implementations have it. Later, a message that somebody has listened in on is worth nothing.
pub const TOLERANCE: Millis = Millis::from_seconds(300);

/// A shared secret: 24 to 64 bytes. Never shown, unless it is asked for by [`WebhookSecret::expose`].
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct WebhookSecret(Vec<u8>);

/// A text that is no secret. It says nothing of the text, which may be one that was mistyped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WebhookSecretError;

impl WebhookSecret {
    /// Makes a secret of random bytes, which the caller draws from a cryptographic source.
    pub fn from_random(random: [u8; 32]) -> Self {
        Self(random.to_vec())
    }

    /// Reads `whsec_` and the base64 form of 24 to 64 bytes.
    pub fn parse(text: &str) -> Result<Self, WebhookSecretError> {
        let bytes = text.strip_prefix(SECRET_PREFIX).and_then(base64::decode);
        let bytes = bytes.filter(|bytes| (24..=64).contains(&bytes.len()));
        bytes.map(Self).ok_or(WebhookSecretError)
    }

    /// The secret as text, as [`WebhookSecret::parse`] reads it.
    pub fn expose(&self) -> String {
        SECRET_PREFIX.to_owned() + &base64::encode(&self.0)
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret")
    }
}

impl fmt::Display for WebhookSecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be whsec_ followed by 24 to 64 bytes in base64")
    }
}

impl core::error::Error for WebhookSecretError {}

/// One signature of a message, as it stands in `webhook-signature`.
pub fn sign(secret: &WebhookSecret, id: &str, timestamp_seconds: u64, body: &[u8]) -> String {
    let code = mac(secret, id, &timestamp_seconds.to_string(), body).finalize().into_bytes();
    SIGNATURE_PREFIX.to_owned() + &base64::encode(&code)
}

/// The code over a message, with the timestamp as its header spells it.
fn mac(secret: &WebhookSecret, id: &str, timestamp: &str, body: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::new_from_slice(&secret.0).expect("HMAC takes a key of any length");
    for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
        mac.update(part);
    }
    mac
}

/// The closed list of who may send, with the secrets of each.
#[derive(Clone, Debug, Default)]
pub struct Sources(Vec<(String, Vec<WebhookSecret>)>);

/// What is wrong with a list of sources. It shows nothing of the text, which may be a secret in the
/// wrong place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SourcesError {
    /// There is no colon.
    NotAPair,
    /// What stands before the colon is no name.
    BadName,
    /// What stands behind it is no secret.
    BadSecret,
}

impl Sources {
    /// Reads `source:whsec_…,source:whsec_…`. A source that comes several times has several
    /// secrets: while its secret is changed, the old one and the new one.
    pub fn parse(list: &str) -> Result<Self, SourcesError> {
        let mut sources = Self::default();
        for entry in entries(list) {
            let (name, secret) = entry.split_once(':').ok_or(SourcesError::NotAPair)?;
            if !is_name(name) {
                return Err(SourcesError::BadName);
            }
            let secret = WebhookSecret::parse(secret).map_err(|_| SourcesError::BadSecret)?;
            match sources.0.iter_mut().find(|(known, _)| known == name) {
                Some((_, secrets)) => secrets.push(secret),
                None => sources.0.push((name.to_owned(), vec![secret])),
            }
        }
        Ok(sources)
    }

    /// The secrets of a source; `None` for one that is not listed.
    pub fn secrets_of(&self, source: &str) -> Option<&[WebhookSecret]> {
        let found = self.0.iter().find(|(name, _)| name == source);
        found.map(|(_, secrets)| secrets.as_slice())
    }
}

/// What stands in a path as it is.
fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain)
}

/// The headers of a message that came in, before its body was read and its signature checked.
pub struct WebhookMessage<'a> {
    id: IdempotencyKey,
    timestamp: &'a str,
    signatures: &'a str,
}

/// Why a message is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WebhookError {
    /// It lacks this header, or it is empty.
    Missing(&'static str),
    /// Its id cannot be a key.
    BadId,
    /// Its time is none, or too far from ours.
    BadTime,
    /// No signature is that of a secret of the source.
    BadSignature,
}

impl<'a> WebhookMessage<'a> {
    /// Reads a message's headers; `header` looks one up by its name in lower case. Whoever spells
    /// one of them `svix-…` spells all of them so.
    ///
    /// An id is an [`IdempotencyKey`], so 1 to 255 visible ASCII characters, and has no full stop:
    /// since nothing but a full stop divides what is signed, `a.1` at the time `2` and `a` at the
    /// time `1` could share a signature.
    pub fn read(
        header: impl Fn(&str) -> Option<&'a str>,
        now: UnixMillis,
    ) -> Result<Self, WebhookError> {
        const NAMES: [&str; 3] = ["webhook-id", "webhook-timestamp", "webhook-signature"];
        const OTHERS: [&str; 3] = ["svix-id", "svix-timestamp", "svix-signature"];
        let given = |name: &str| header(name).map(str::trim).filter(|value| !value.is_empty());
        let is_other = NAMES.iter().all(|name| given(name).is_none())
            && OTHERS.iter().any(|name| given(name).is_some());
        let names = if is_other { OTHERS } else { NAMES };
        let take = |at: usize| given(names[at]).ok_or(WebhookError::Missing(names[at]));
        let (id, timestamp, signatures) = (take(0)?, take(1)?, take(2)?);
        let id = IdempotencyKey::parse_bare(id).map_err(|_| WebhookError::BadId)?;
        if id.as_str().contains('.') {
            return Err(WebhookError::BadId);
        }
        if !is_recent(timestamp, now) {
            return Err(WebhookError::BadTime);
        }
        Ok(Self { id, timestamp, signatures })
    }

    /// Checks the signature over the body as it came, and gives the event's id, which is its key.
    ///
    /// Of the signatures those of the kind `v1` count. Each is compared with what each secret makes
    /// of the message, in constant time and to the end, so that the time tells nothing of either.
    pub fn verify(
        self,
        secrets: &[WebhookSecret],
        body: &[u8],
    ) -> Result<IdempotencyKey, WebhookError> {
        let signatures = self.signatures.split(' ').filter_map(|signature| {
            signature.strip_prefix(SIGNATURE_PREFIX).and_then(base64::decode)
        });
        let signatures: Vec<_> = signatures.collect();
        let mut is_signed = false;
        for secret in secrets {
            let mac = mac(secret, self.id.as_str(), self.timestamp, body);
            for signature in &signatures {
                is_signed |= mac.clone().verify_slice(signature).is_ok();
            }
        }
        if is_signed { Ok(self.id) } else { Err(WebhookError::BadSignature) }
    }
}

/// Compared in whole seconds, as the header has them.
fn is_recent(timestamp: &str, now: UnixMillis) -> bool {
    // `parse` alone would take a plus sign.
    let is_plain = timestamp.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = timestamp.parse::<u64>().ok().filter(|_| is_plain);
    seconds
        .is_some_and(|seconds| seconds.abs_diff(now.as_u64() / 1000) <= TOLERANCE.as_u64() / 1000)
}

/// The fingerprints of every event: an id names one event, whatever comes with it. They are plain,
/// so that a record that is kept for good stays comparable when secrets change.
pub fn fingerprints() -> Fingerprints {
    let parts = RequestParts {
        method: "POST",
        path: PATH,
        query: None,
        content_encoding: None,
        content_type: None,
        body: &[],
        ignore: &[],
    };
    Fingerprints::compute(&parts, &FingerprintSecrets::none())
}

/// Whether an origin could take a path for one where messages come in. It trusts what comes there,
/// since it comes by way of the signature's check; so nothing may come there by another spelling.
pub fn is_inbound(path: &str) -> bool {
    path.starts_with(PATH) || path::lies_in(path, FOLDER)
}

impl fmt::Debug for WebhookMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookMessage").field("id", &self.id).finish_non_exhaustive()
    }
}

impl fmt::Display for SourcesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAPair => "each entry must be SOURCE:SECRET, entries separated by commas",
            Self::BadName => "a source must be 1 to 64 letters, digits, hyphens or underscores",
            Self::BadSecret => "a secret must be whsec_ followed by 24 to 64 bytes in base64",
        })
    }
}

impl core::error::Error for SourcesError {}

impl fmt::Display for WebhookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "The webhook has no {name} header."),
            Self::BadId => f.write_str(
                "The webhook's id is invalid. Send it once, as 1 to 255 visible ASCII characters without spaces and full stops, with no quote at its start and no comma at its end.",
            ),
            Self::BadTime => f.write_str(
                "The webhook's timestamp is invalid, or more than five minutes from the current time. Send whole seconds since 1970, and sign the webhook again for each try.",
            ),
            Self::BadSignature => f.write_str(
                "This webhook has no valid signature. Send a v1 signature over its id, timestamp and unchanged body, made with a secret of this source.",
            ),
        }
    }
}

impl core::error::Error for WebhookError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_the_published_example() {
        let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let body = br#"{"test": 2432232314}"#;
        assert_eq!(
            sign(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn a_secret_goes_there_and_back() {
        for length in 24..=64 {
            let text = SECRET_PREFIX.to_owned() + &base64::encode(&vec![0xa5; length]);
            assert_eq!(WebhookSecret::parse(&text).unwrap().expose(), text);
        }
        let minted = WebhookSecret::from_random([7; 32]);
        assert_eq!(WebhookSecret::parse(&minted.expose()), Ok(minted));
    }

    #[test]
    fn what_is_no_secret_is_refused() {
        for bytes in [0, 1, 23, 65] {
            let text = SECRET_PREFIX.to_owned() + &base64::encode(&vec![0xa5; bytes]);
            assert_eq!(WebhookSecret::parse(&text), Err(WebhookSecretError), "{bytes}");
        }
        let good = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        for text in ["", good, &format!("whsk_{good}"), &format!("whsec_{good} "), "whsec_!"] {
            assert_eq!(WebhookSecret::parse(text), Err(WebhookSecretError), "{text}");
        }
    }

    #[test]
    fn nothing_shows_a_secret() {
        let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        assert_eq!(format!("{secret:?}"), "WebhookSecret");
        assert!(
            !format!("{:?} {WebhookSecretError}", WebhookSecret::parse("whsec_mistyped"))
                .contains("mistyped")
        );
    }
}
