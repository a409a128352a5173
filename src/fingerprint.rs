//! Fingerprints: keyed hashes that tell whether two requests with one key are the same request.
//!
//! A fingerprint is the SHA-256 of a request's method, path, query, media type and canonical body. If a
//! secret is configured, the fingerprint is the HMAC-SHA256 of that hash. Otherwise, somebody who reads
//! a stored fingerprint could find a short body, such as a card number, by trying all possible bodies.
//!
//! `sized(x)` is the length of `x` in bytes, as 64 bits in big-endian order, followed by `x`. The digest of
//! version 1 is:
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
//! # Version 2
//!
//! An url-encoded form has a digest of version 2 beside that of version 1, if its [`pairs`] can be
//! compared by value. The digest begins with `sized("oncekey-fingerprint-2")`, `tag` is 4, and `form` is
//! the canonical form of the pairs.
//!
//! A record stores both digests. The requests are the same if the digests of either version are equal.
//! So a build that knows only version 1 can compare each record, although it takes a form with other bytes
//! for another request, and a record that such a build wrote can still be compared.
//!
//! [`pairs`]: crate::canonical::pairs
//! [`json::canonicalize`]: crate::canonical::json::canonicalize
//! [`multipart::canonicalize`]: crate::canonical::multipart::canonicalize

use std::fmt;

use ctutils::CtEq;
use hmac::{Hmac, KeyInit, Mac};
use minicbor::{Decode, Encode};
use sha2::Sha256;

use crate::canonical::{BufferedSink, CanonicalBody, JsonPointer, MediaType, Sink};
use crate::codec::cbor::record_fields;
use crate::codec::hex::hex;
use crate::message_fields;

/// The version of the digest that every fingerprint has.
const VERSION: u8 = 1;
/// The version of the digest of a form's pairs.
const PAIRS_VERSION: u8 = 2;
const DOMAIN: &[u8] = b"oncekey-fingerprint-1";
const PAIRS_DOMAIN: &[u8] = b"oncekey-fingerprint-2";
/// The room for the parts of a preimage other than the path and the body. A canonical form is seldom longer than
/// the body.
const SMALL_PARTS: usize = 1024;
/// What `form` is in a digest of version 2. Other tags are in [`CanonicalBody::write`].
const PAIRS_TAG: u8 = 4;

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
    plain: SignedDigest,
    keyed: Vec<SignedDigest>,
    /// Other digests that a record may contain, plain and keyed: of the whole body, if fields of a form or
    /// the header of a gzip stream were ignored; and those of version 2. A shard that does not know version
    /// 2 skips them.
    others: Option<Vec<SignedDigest>>,
}

message_fields!(Fingerprints { plain, keyed, others });

/// A digest of one version, and the secret that it was made with.
#[derive(Clone, PartialEq, Eq, Hash)]
struct SignedDigest {
    version: u8,
    secret_id: Option<String>,
    digest: [u8; 32],
}

message_fields!(SignedDigest { version, secret_id, digest });

impl Fingerprints {
    /// Computes all fingerprints of a request. A body that breaks the rules of its media type is hashed
    /// as raw bytes, so this never fails.
    ///
    /// ```
    /// # use oncekey::fingerprint::{Comparison, FingerprintSecrets, Fingerprints, RequestParts};
    /// let secrets = FingerprintSecrets::parse("2026:a-long-random-secret").unwrap();
    /// let fingerprints = |body: &str| {
    ///     let request = RequestParts {
    ///         method: "POST",
    ///         path: "/v1/orders",
    ///         query: None,
    ///         content_type: Some("application/json"),
    ///         content_encoding: None,
    ///         body: body.as_bytes(),
    ///         ignore: &[],
    ///     };
    ///     Fingerprints::compute(&request, &secrets)
    /// };
    /// let recorded = fingerprints(r#"{"amount": 10, "to": "a"}"#).signing();
    /// assert_eq!(fingerprints(r#"{"to":"a","amount":10.0}"#).compare(&recorded), Comparison::Same);
    /// assert_eq!(fingerprints(r#"{"to":"a","amount":11}"#).compare(&recorded), Comparison::Different);
    /// ```
    pub fn compute(request: &RequestParts<'_>, secrets: &FingerprintSecrets) -> Self {
        Self::of_digests(write(request, BufferedSink::hash).map(BufferedSink::into_hash), secrets)
    }

    /// Computes all fingerprints of the request whose [`Preimages`] have these digests.
    #[doc(hidden)]
    pub fn of_digests(digests: Digests, secrets: &FingerprintSecrets) -> Self {
        let keyed = |version, digest: [u8; 32]| {
            let keyed = secrets.secrets.iter().map(move |secret| SignedDigest {
                version,
                secret_id: Some(secret.id.clone()),
                digest: secret.mac.clone().chain_update(digest).finalize().into_bytes().into(),
            });
            keyed.collect::<Vec<_>>()
        };
        let plain = |version, digest| SignedDigest { version, secret_id: None, digest };
        let mut others = Vec::new();
        for (version, digest) in [(VERSION, digests.whole), (PAIRS_VERSION, digests.pairs)] {
            if let Some(digest) = digest {
                others.append(&mut keyed(version, digest));
                others.push(plain(version, digest));
            }
        }
        Self {
            plain: plain(VERSION, digests.form),
            keyed: keyed(VERSION, digests.form),
            others: (!others.is_empty()).then_some(others),
        }
    }

    /// Returns the fingerprint that a new record stores: the one for the first secret, or the plain one
    /// if no secret is configured.
    pub fn signing(&self) -> Fingerprint {
        let SignedDigest { version, secret_id, digest } =
            self.keyed.first().unwrap_or(&self.plain).clone();
        let mut others = self.others.iter().flatten();
        let pairs = others.find(|other| other.is_of(PAIRS_VERSION, &secret_id));
        Fingerprint { version, secret_id, digest, pairs: pairs.map(|pairs| pairs.digest) }
    }

    /// Compares this request with the one that `recorded` was computed from, under the secret that
    /// `recorded` names. A fingerprint without a secret can still be compared after secrets are
    /// configured. A fingerprint whose secret was removed cannot.
    pub fn compare(&self, recorded: &Fingerprint) -> Comparison {
        let Fingerprint { version, secret_id, digest, pairs } = recorded;
        let is_comparable = |ours: &&SignedDigest| ours.is_of(*version, secret_id);
        let ours = self.keyed.iter().chain([&self.plain]).find(is_comparable);
        let Some(ours) = ours else { return Comparison::SecretRemoved };
        let mut all = self.others.iter().flatten().chain([ours]);
        let is_same = |ours: &SignedDigest| {
            let is =
                |version, digest: &[u8; 32]| ours.is_of(version, secret_id) && ours.has(digest);
            is(*version, digest) || pairs.is_some_and(|pairs| is(PAIRS_VERSION, &pairs))
        };
        if all.any(is_same) { Comparison::Same } else { Comparison::Different }
    }
}

impl SignedDigest {
    fn is_of(&self, version: u8, secret_id: &Option<String>) -> bool {
        self.version == version && self.secret_id == *secret_id
    }

    /// Compares in constant time, so that the time does not reveal how much of a digest matches.
    fn has(&self, digest: &[u8; 32]) -> bool {
        self.digest.ct_eq(digest).to_bool()
    }
}

/// What is hashed of one request, or the hashes of it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digested<T> {
    /// With the canonical form of the body of version 1.
    pub form: T,
    /// With the whole body, if a part of it was ignored.
    pub whole: Option<T>,
    /// With the pairs of a form, if they can be compared by value.
    pub pairs: Option<T>,
}

/// The bytes that the fingerprints of a request are the SHA-256 of. A platform may hash them itself: its own
/// hash function is many times faster than one in wasm, which matters for a large body.
#[doc(hidden)]
pub type Preimages = Digested<Vec<u8>>;

/// The SHA-256 of [`Preimages`].
#[doc(hidden)]
pub type Digests = Digested<[u8; 32]>;

impl Preimages {
    /// Returns the preimages of a request.
    pub fn of(request: &RequestParts<'_>) -> Self {
        let capacity = request.body.len() + request.path.len() + SMALL_PARTS;
        write(request, || BufferedSink::memory(capacity)).map(BufferedSink::into_bytes)
    }
}

impl<T> Digested<T> {
    /// Changes each part.
    pub fn map<U>(self, change: impl Fn(T) -> U) -> Digested<U> {
        Digested {
            form: change(self.form),
            whole: self.whole.map(&change),
            pairs: self.pairs.map(&change),
        }
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
    /// The digest of version 2, of a form whose pairs can be compared by value.
    #[cbor(n(3), with = "minicbor::bytes")]
    pairs: Option<[u8; 32]>,
}

record_fields!(Fingerprint { version, secret_id, digest, pairs });

impl Fingerprint {
    /// Computes the fingerprint of a request without a secret.
    pub fn plain(request: &RequestParts<'_>) -> Self {
        Fingerprints::compute(request, &FingerprintSecrets::none()).signing()
    }

    /// Returns the version of the digest that every fingerprint has. This crate makes version 1.
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

    /// Returns the digest of version 2 as 64 lower-case hexadecimal digits. Only the fingerprint of an
    /// url-encoded form has one, and only if its pairs can be compared by value. Do not log it either.
    pub fn pairs_hex(&self) -> Option<String> {
        self.pairs.as_ref().map(|digest| hex(digest))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug("Fingerprint", self.version, &self.secret_id, &self.digest, f)
    }
}

impl fmt::Debug for SignedDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug("SignedDigest", self.version, &self.secret_id, &self.digest, f)
    }
}

/// Shows 32 bits of a digest. They distinguish two fingerprints, but are too few to identify a body.
fn debug(
    name: &str,
    version: u8,
    secret_id: &Option<String>,
    digest: &[u8],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    f.debug_struct(name)
        .field("version", &version)
        .field("secret_id", secret_id)
        .field("digest", &format_args!("{}…", &hex(digest)[..8]))
        .finish()
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
    ///
    /// ```
    /// # use oncekey::FingerprintSecrets;
    /// let secrets = FingerprintSecrets::parse("2026b:new-secret,2026a:old-secret").unwrap();
    /// assert_eq!(secrets.ids().collect::<Vec<_>>(), ["2026b", "2026a"]);
    /// assert!(FingerprintSecrets::parse("no-colon").is_err());
    /// ```
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

/// Computes the digest of version 1 without a secret.
pub(crate) fn digest_of_version_1(request: &RequestParts<'_>) -> [u8; 32] {
    write_version_1(request, BufferedSink::hash()).into_hash()
}

/// Returns the bytes that the digest of version 1 is the SHA-256 of.
pub(crate) fn preimage_of_version_1(request: &RequestParts<'_>) -> Vec<u8> {
    let capacity = request.body.len() + request.path.len() + SMALL_PARTS;
    write_version_1(request, BufferedSink::memory(capacity)).into_bytes()
}

fn write_version_1(request: &RequestParts<'_>, sink: BufferedSink) -> BufferedSink {
    let media_type = MediaType::parse(request.content_type);
    let body = CanonicalBody::read(&media_type, request.content_encoding, request.body);
    let mut form = head(request, &media_type, DOMAIN, sink);
    body.write(request.ignore, &mut form);
    form
}

/// Writes the parts of a request to new sinks: with the canonical form of the body, with the whole body if a
/// part of it was ignored, and with the pairs of a form.
fn write(request: &RequestParts<'_>, new: impl Fn() -> BufferedSink) -> Digested<BufferedSink> {
    let media_type = MediaType::parse(request.content_type);
    let body = CanonicalBody::read(&media_type, request.content_encoding, request.body);
    let mut form = head(request, &media_type, DOMAIN, new());
    let has_ignored = body.write(request.ignore, &mut form);
    let whole = has_ignored.then(|| {
        let mut sink = head(request, &media_type, DOMAIN, new());
        body.write_whole(&mut sink);
        sink
    });
    let pairs = body.pairs(request.ignore).map(|pairs| {
        let mut sink = head(request, &media_type, PAIRS_DOMAIN, new());
        sink.put_byte(PAIRS_TAG);
        pairs.write(&mut sink);
        sink
    });
    Digested { form, whole, pairs }
}

/// Writes everything before the body.
fn head(
    request: &RequestParts<'_>,
    media_type: &MediaType<'_>,
    domain: &[u8],
    mut sink: BufferedSink,
) -> BufferedSink {
    for part in [
        domain,
        request.method.as_bytes(),
        request.path.as_bytes(),
        request.query.unwrap_or("").as_bytes(),
        media_type.essence().as_bytes(),
    ] {
        sink.put_sized(part);
    }
    sink
}
