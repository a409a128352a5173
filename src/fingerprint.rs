//! Fingerprints: keyed hashes that tell whether two requests with one key are the same request.
//!
//! A fingerprint is the SHA-256 of a request's method, path, query, media type and canonical body. If a
//! secret is configured, the fingerprint is the HMAC-SHA256 of that hash. Otherwise, somebody who reads
//! a stored fingerprint could find a short body, such as a card number, by trying all possible bodies.
//!
//! The format of version 1 is below. `sized(x)` is the length of `x` in bytes, as 64 bits in big-endian
//! order, followed by `x`.
//!
//! ```text
//! plain = SHA-256(sized("oncekey-fingerprint-1") ‖ sized(method) ‖ sized(path) ‖ sized(query)
//!                 ‖ sized(essence) ‖ tag ‖ form)
//! keyed = HMAC-SHA256(secret, plain)
//! ```
//!
//! `tag` is one byte that says what `form` is: 0 for the raw body, 1 for the output of
//! [`json::canonicalize`], 2 for the output of [`multipart::canonicalize`], and 3 for a gzip stream
//! without its header. [`canonical`](crate::canonical) says which body has which form.
//!
//! Some fields of HTML forms are [ignored](crate::canonical::fields) and are not part of `form`.
//! Earlier releases ignored no fields. So a request is also compared by its whole form, and still
//! matches a record that such a release made of exactly the same form.
//!
//! [`json::canonicalize`]: crate::canonical::json::canonicalize
//! [`multipart::canonicalize`]: crate::canonical::multipart::canonicalize

use std::fmt;

use ctutils::CtEq;
use hmac::{Hmac, KeyInit, Mac};
use minicbor::{Decode, Encode};
use sha2::Sha256;

use crate::canonical::{BufferedSink, CanonicalBody, JsonPointer, MediaType, Sink};
use crate::codec::hex::hex;
use crate::message_fields;

const VERSION: u8 = 1;
const DOMAIN: &[u8] = b"oncekey-fingerprint-1";

/// The parts of a request that the fingerprint is computed from. No header field other than
/// `Content-Type` and `Content-Encoding` is used.
#[derive(Clone, Copy)]
pub struct RequestParts<'a> {
    /// The method, unchanged. Methods are case-sensitive (RFC 9110 §9.1).
    pub method: &'a str,
    /// The path, unchanged. It is not decoded or normalized.
    pub path: &'a str,
    /// The query without its `?`, unchanged. A missing and an empty query are the same, because not all
    /// URL parsers distinguish them (`URL.search` in browsers does not).
    pub query: Option<&'a str>,
    /// The value of `Content-Type`. Only `type/subtype` in lower case is hashed. The boundary is used to
    /// parse a multipart body. A missing and an empty value are the same.
    pub content_type: Option<&'a str>,
    /// The value of `Content-Encoding`. It is not hashed. If it is `gzip`, the header of the gzip stream
    /// is not hashed either, because it contains the time of the compression.
    pub content_encoding: Option<&'a str>,
    /// The body as it was received. A compressed body is not decompressed.
    pub body: &'a [u8],
    /// The parts of the body to ignore: members of JSON, and in HTML forms the [fields] that a pointer
    /// of one step names. In any other body, nothing is ignored.
    ///
    /// [fields]: crate::canonical::fields
    pub ignore: &'a [JsonPointer],
}

impl fmt::Debug for RequestParts<'_> {
    /// Leaves out the query and the body, which may contain personal data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestParts")
            .field("method", &self.method)
            .field("path", &self.path)
            .field("content_type", &self.content_type)
            .field("body_len", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// All fingerprints of one request: one for each configured secret, and one without a secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprints {
    plain: Fingerprint,
    keyed: Vec<Fingerprint>,
    /// The fingerprints of the whole body, plain and keyed, if fields of a form or the header of a gzip
    /// stream were ignored.
    whole: Option<Vec<Fingerprint>>,
}

message_fields!(Fingerprints { plain, keyed, whole });

impl Fingerprints {
    /// Computes all fingerprints of a request. A body that breaks the rules of its media type is hashed
    /// as raw bytes, so this never fails.
    pub fn compute(request: &RequestParts<'_>, secrets: &FingerprintSecrets) -> Self {
        Self::of_digests(digests(request), secrets)
    }

    /// Computes all fingerprints of the request whose [`Preimages`] have these digests.
    #[doc(hidden)]
    pub fn of_digests(digests: Digests, secrets: &FingerprintSecrets) -> Self {
        let keyed = |plain: &Fingerprint| -> Vec<Fingerprint> {
            let keyed = secrets.secrets.iter().map(|secret| Fingerprint {
                version: VERSION,
                secret_id: Some(secret.id.clone()),
                digest: secret
                    .mac
                    .clone()
                    .chain_update(plain.digest)
                    .finalize()
                    .into_bytes()
                    .into(),
            });
            keyed.collect()
        };
        let plain = Fingerprint::of_digest(digests.form);
        let whole = digests.whole.map(|digest| {
            let plain = Fingerprint::of_digest(digest);
            let mut whole = keyed(&plain);
            whole.push(plain);
            whole
        });
        Self { keyed: keyed(&plain), plain, whole }
    }

    /// Returns the fingerprint that a new record stores: the one for the first secret, or the plain one
    /// if no secret is configured.
    pub fn signing(&self) -> &Fingerprint {
        self.keyed.first().unwrap_or(&self.plain)
    }

    /// Compares this request with the one that `recorded` was computed from, under the secret that
    /// `recorded` names. A fingerprint without a secret can still be compared after secrets are
    /// configured. A fingerprint whose secret was removed cannot.
    pub fn compare(&self, recorded: &Fingerprint) -> Comparison {
        let is_comparable = |ours: &&Fingerprint| {
            ours.version == recorded.version && ours.secret_id == recorded.secret_id
        };
        let ours = self.keyed.iter().chain([&self.plain]).find(is_comparable);
        let Some(ours) = ours else { return Comparison::SecretRemoved };
        let mut all = self.whole.iter().flatten().filter(is_comparable).chain([ours]);
        if all.any(|ours| ours.has_digest(&recorded.digest)) {
            Comparison::Same
        } else {
            Comparison::Different
        }
    }
}

/// The bytes that the fingerprints of a request are the SHA-256 of. A platform may hash them itself: its own
/// hash function is many times faster than one in wasm, which matters for a large body.
#[doc(hidden)]
pub struct Preimages {
    /// With the canonical form of the body.
    pub form: Vec<u8>,
    /// With the whole body, if a part of it was ignored.
    pub whole: Option<Vec<u8>>,
}

/// The SHA-256 of [`Preimages`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digests {
    /// Of `form`.
    pub form: [u8; 32],
    /// Of `whole`.
    pub whole: Option<[u8; 32]>,
}

impl Preimages {
    /// Returns the preimages of a request.
    pub fn of(request: &RequestParts<'_>) -> Self {
        // A canonical form is seldom longer than the body. The rest is for the other parts.
        let capacity = request.body.len() + request.path.len() + 1024;
        let (form, whole) = write(request, || BufferedSink::memory(capacity));
        Self { form: form.into_bytes(), whole: whole.map(BufferedSink::into_bytes) }
    }
}

/// The result of comparing a request with the fingerprint in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// The request is the same.
    Same,
    /// The request is a different one.
    Different,
    /// The requests cannot be compared, because the secret of the recorded fingerprint is not
    /// configured, or its version is unknown.
    SecretRemoved,
}

/// The fingerprint of a request, as a record stores it.
#[derive(Clone, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Fingerprint {
    #[n(0)]
    version: u8,
    #[n(1)]
    secret_id: Option<String>,
    #[cbor(n(2), with = "minicbor::bytes")]
    digest: [u8; 32],
}

message_fields!(Fingerprint { version, secret_id, digest });

impl Fingerprint {
    /// Computes the fingerprint of a request without a secret.
    pub fn plain(request: &RequestParts<'_>) -> Self {
        Self::of_digest(digests(request).form)
    }

    fn of_digest(digest: [u8; 32]) -> Self {
        Self { version: VERSION, secret_id: None, digest }
    }

    /// Returns the version of the format. This crate makes version 1.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// Returns the id of the secret that the fingerprint was made with, if any.
    pub fn secret_id(&self) -> Option<&str> {
        self.secret_id.as_deref()
    }

    /// Returns the digest as 64 lower-case hexadecimal digits. Do not log it: the digest of a plain
    /// fingerprint reveals a short body to anybody who tries all possible bodies.
    pub fn digest_hex(&self) -> String {
        hex(&self.digest)
    }

    /// Compares in constant time, so that the time does not reveal how much of a digest matches.
    fn has_digest(&self, digest: &[u8; 32]) -> bool {
        self.digest.ct_eq(digest).to_bool()
    }
}

impl fmt::Debug for Fingerprint {
    /// Shows 32 bits of the digest. They distinguish two fingerprints, but are too few to identify a
    /// body.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fingerprint")
            .field("version", &self.version)
            .field("secret_id", &self.secret_id)
            .field("digest", &format_args!("{}…", &self.digest_hex()[..8]))
            .finish()
    }
}

/// The secrets of fingerprints. The first one is used for new records, the others only to compare with
/// existing records. A secret can be removed from the list when no record names it anymore.
#[derive(Clone, Default)]
pub struct FingerprintSecrets {
    secrets: Vec<Secret>,
}

#[derive(Clone)]
struct Secret {
    id: String,
    /// The HMAC state after the key. The secret itself is not kept.
    mac: Hmac<Sha256>,
}

impl FingerprintSecrets {
    /// Makes a list without secrets. All fingerprints are plain.
    pub fn none() -> Self {
        Self::default()
    }

    /// Parses `id:secret,id:secret`. An id is 1 to 32 characters of `A-Z a-z 0-9 . _ -`. A secret is any
    /// non-empty text without a comma; 32 random bytes in hex or base64 are best. White space around a
    /// pair is ignored.
    pub fn parse(list: &str) -> Result<Self, SecretsError> {
        let mut secrets = Vec::<Secret>::new();
        for (number, pair) in (1..).zip(list.split(',')) {
            let pair = pair.trim_ascii();
            if pair.is_empty() {
                return Err(SecretsError::EmptyPair { number });
            }
            let (id, secret) = pair.split_once(':').ok_or(SecretsError::NoColon { number })?;
            if !(1..=32).contains(&id.len())
                || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
            {
                return Err(SecretsError::BadId { number });
            }
            if secret.is_empty() {
                return Err(SecretsError::EmptySecret { number });
            }
            if secrets.iter().any(|earlier| earlier.id == id) {
                return Err(SecretsError::RepeatedId { number });
            }
            let mac =
                Hmac::new_from_slice(secret.as_bytes()).expect("HMAC takes a key of any length");
            secrets.push(Secret { id: id.to_owned(), mac });
        }
        Ok(Self { secrets })
    }

    /// Returns the ids in the order of the list.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.secrets.iter().map(|secret| secret.id.as_str())
    }
}

impl fmt::Debug for FingerprintSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ids()).finish()
    }
}

/// Why a list of secrets cannot be parsed, with the number of the pair, counted from 1. An error never
/// contains text of the list, which may be a secret in the wrong position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each variant says it in its message")]
pub enum SecretsError {
    EmptyPair { number: usize },
    NoColon { number: usize },
    BadId { number: usize },
    EmptySecret { number: usize },
    RepeatedId { number: usize },
}

impl fmt::Display for SecretsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyPair { number } => write!(
                f,
                "pair {number} is empty; write `id:secret,id:secret`, without a comma at either end"
            ),
            Self::NoColon { number } => write!(f, "pair {number} has no colon; write `id:secret`"),
            Self::BadId { number } => write!(
                f,
                "the id of pair {number} must be 1 to 32 letters, digits, dots, underscores or hyphens"
            ),
            Self::EmptySecret { number } => {
                write!(f, "pair {number} has nothing after its colon; write `id:secret`")
            }
            Self::RepeatedId { number } => write!(
                f,
                "pair {number} repeats the id of an earlier pair; give each secret its own id"
            ),
        }
    }
}

impl std::error::Error for SecretsError {}

fn digests(request: &RequestParts<'_>) -> Digests {
    let (form, whole) = write(request, BufferedSink::hash);
    Digests { form: form.into_hash(), whole: whole.map(BufferedSink::into_hash) }
}

/// Writes the parts of a request to a new sink, and if a part of the body was ignored, the same with the
/// whole body to another.
fn write(
    request: &RequestParts<'_>,
    new: impl Fn() -> BufferedSink,
) -> (BufferedSink, Option<BufferedSink>) {
    let media_type = MediaType::parse(request.content_type);
    let head = || {
        let mut sink = new();
        for part in [
            DOMAIN,
            request.method.as_bytes(),
            request.path.as_bytes(),
            request.query.unwrap_or("").as_bytes(),
            media_type.essence().as_bytes(),
        ] {
            sink.put_sized(part);
        }
        sink
    };
    let body = CanonicalBody::read(&media_type, request.content_encoding, request.body);
    let mut sink = head();
    let has_ignored = body.write(request.ignore, &mut sink);
    let whole = has_ignored.then(|| {
        let mut sink = head();
        body.write_whole(&mut sink);
        sink
    });
    (sink, whole)
}
