//! Signed webhooks, by the specification [Standard Webhooks](https://www.standardwebhooks.com).
//!
//! A message has an id, the time at which it was sent, and a body. The signature covers the three,
//! joined with full stops. The headers are `webhook-id`, `webhook-timestamp` in seconds since 1970,
//! and `webhook-signature`. The last may contain several signatures, separated by spaces: one for
//! each secret, so that a secret can be replaced without an interruption. Some senders name the
//! headers `svix-id`, `svix-timestamp` and `svix-signature`.
//!
//! # Messages to the origin
//!
//! ```text
//! secrets of the source → headers → body → signature → event's id, which is its key
//! ```
//!
//! A [source](Sources) signs messages. The ids of its events are keys in a
//! [scope](crate::Scope::of_source) of its own, under
//! [`Policy::of_events`](crate::Policy::of_events): an event is remembered for good, and only a 2xx of
//! the origin completes it. The body is not part of the [fingerprint](fingerprints), because senders
//! write it again for each attempt; the id alone identifies the event.

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

/// The prefix of a secret.
const SECRET_PREFIX: &str = "whsec_";

/// The prefix of a signature with a shared secret (HMAC-SHA256).
const SIGNATURE_PREFIX: &str = "v1,";

/// The path to which sources send messages. The source's name follows.
pub const PATH: &str = "/webhooks/";

/// The first segment of [`PATH`].
const FOLDER: &str = "webhooks";

/// How far a message's time may be from the gateway's time, in either direction: five minutes, as in
/// the reference implementations. After that, a captured message cannot be sent again.
pub const TOLERANCE: Millis = Millis::from_seconds(300);

/// A shared secret of 24 to 64 bytes. Only [`WebhookSecret::expose`] returns it; `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct WebhookSecret(Vec<u8>);

/// A text is not a secret. The error does not quote the text, which may be a mistyped secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WebhookSecretError;

impl WebhookSecret {
    /// Makes a secret from random bytes, which must come from a cryptographic source.
    pub fn from_random(random: [u8; 32]) -> Self {
        Self(random.to_vec())
    }

    /// Reads `whsec_`, followed by 24 to 64 bytes in base64.
    ///
    /// # Errors
    ///
    /// Returns an error for any other text.
    pub fn parse(text: &str) -> Result<Self, WebhookSecretError> {
        let bytes = text.strip_prefix(SECRET_PREFIX).and_then(base64::decode);
        let bytes = bytes.filter(|bytes| (24..=64).contains(&bytes.len()));
        bytes.map(Self).ok_or(WebhookSecretError)
    }

    /// Returns the secret as text, as [`WebhookSecret::parse`] reads it.
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

/// Returns the signature of a message, as the header `webhook-signature` carries it.
pub fn sign(secret: &WebhookSecret, id: &str, timestamp_seconds: u64, body: &[u8]) -> String {
    let code = mac(secret, id, &timestamp_seconds.to_string(), body).finalize().into_bytes();
    SIGNATURE_PREFIX.to_owned() + &base64::encode(&code)
}

/// Computes the MAC of a message. The timestamp is spelled as in its header.
fn mac(secret: &WebhookSecret, id: &str, timestamp: &str, body: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::new_from_slice(&secret.0).expect("HMAC takes a key of any length");
    for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
        mac.update(part);
    }
    mac
}

/// The sources that may send messages, each with its secrets.
#[derive(Clone, Debug, Default)]
pub struct Sources(Vec<(String, Vec<WebhookSecret>)>);

/// Why a list of sources cannot be read. The error does not quote the text, which may be a secret in
/// the wrong place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SourcesError {
    /// An entry has no colon.
    NotAPair,
    /// The text before the colon is not a name.
    BadName,
    /// The text after the colon is not a secret.
    BadSecret,
}

impl Sources {
    /// Reads a list `source:whsec_…,source:whsec_…`. A source may be listed several times, once for each
    /// of its secrets: while a secret is replaced, both the old and the new secret count.
    ///
    /// # Errors
    ///
    /// Returns an error if an entry has another form.
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

    /// Returns whether no source may send.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the secrets of a source; `None` if the source is not listed.
    pub fn secrets_of(&self, source: &str) -> Option<&[WebhookSecret]> {
        let found = self.0.iter().find(|(name, _)| name == source);
        found.map(|(_, secrets)| secrets.as_slice())
    }
}

/// Returns whether a text is a name: 1 to 64 characters that need no escape in a path.
fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain)
}

/// The headers of a message to the origin, before the body was read and the signature was checked.
pub struct WebhookMessage<'a> {
    id: IdempotencyKey,
    timestamp: &'a str,
    signatures: &'a str,
}

/// Why a message was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WebhookError {
    /// This header is missing or empty.
    Missing(&'static str),
    /// The id is not an idempotency key, or contains a full stop.
    BadId,
    /// The timestamp is not a number of seconds, or too far from the gateway's time.
    BadTime,
    /// No signature was made with a secret of the source.
    BadSignature,
}

impl<'a> WebhookMessage<'a> {
    /// Reads a message's headers. `header` returns the value of a header by its name in lower case.
    /// The `svix-…` names count only if the message has no `webhook-…` header.
    ///
    /// The id must be an [`IdempotencyKey`], so 1 to 255 visible ASCII characters, without a full
    /// stop. Only full stops separate the signed parts, so the id `a.1` at time `2` and the id `a` at
    /// time `1` could otherwise share a signature.
    ///
    /// # Errors
    ///
    /// Returns an error if a header is missing or invalid, or the time is too far from `now`.
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

    /// Checks the signature over the bytes of the body as they arrived. Returns the event's id, which is
    /// its key.
    ///
    /// Only signatures of the version `v1` count. Each of them is compared with the MAC of each secret,
    /// in constant time and without an early end, so that the time reveals nothing about either.
    ///
    /// # Errors
    ///
    /// Returns an error if no signature was made with one of the secrets.
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

/// Returns whether a timestamp is within [`TOLERANCE`] of `now`, in whole seconds like the header.
fn is_recent(timestamp: &str, now: UnixMillis) -> bool {
    // `parse` alone would accept a plus sign.
    let is_plain = timestamp.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = timestamp.parse::<u64>().ok().filter(|_| is_plain);
    seconds
        .is_some_and(|seconds| seconds.abs_diff(now.as_u64() / 1000) <= TOLERANCE.as_u64() / 1000)
}

/// Returns the fingerprints of every event: they are all the same, because the id alone identifies an
/// event. They use no secret, so a record that is kept for good can still be compared after the
/// secrets were replaced.
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

/// Returns whether an origin could take a path for a path to which sources send messages. The origin
/// trusts requests to these paths, because the gateway has checked their signatures. Requests with
/// another spelling of the path must not get there unchecked.
pub fn is_inbound(path: &str) -> bool {
    path.starts_with(PATH) || path::is_in_folder(path, FOLDER)
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
            Self::Missing(name) => write!(f, "The webhook has no {name} header. Send it."),
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
    fn the_published_example_has_its_published_signature() {
        let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let body = br#"{"test": 2432232314}"#;
        assert_eq!(
            sign(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn a_secret_is_read_as_it_was_written() {
        for length in 24..=64 {
            let text = SECRET_PREFIX.to_owned() + &base64::encode(&vec![0xa5; length]);
            assert_eq!(WebhookSecret::parse(&text).unwrap().expose(), text);
        }
        let minted = WebhookSecret::from_random([7; 32]);
        assert_eq!(WebhookSecret::parse(&minted.expose()), Ok(minted));
    }

    #[test]
    fn invalid_secrets_are_refused() {
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
    fn debug_output_and_errors_contain_no_secret() {
        let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        assert_eq!(format!("{secret:?}"), "WebhookSecret");
        assert!(
            !format!("{:?} {WebhookSecretError}", WebhookSecret::parse("whsec_mistyped"))
                .contains("mistyped")
        );
    }
}
