//! Whether two requests with one key are the same request.
//!
//! A fingerprint is the SHA-256 of a request's method, path, query, media type and canonical body.
//! With secrets, it is the HMAC-SHA256 of that: a stored fingerprint of a small body (a card
//! number, say) could otherwise be found by trying all of them.
//!
//! Version 1, where `sized(x)` is the length of x in bytes as 64 bits, big-endian, and then x:
//!
//! ```text
//! plain = SHA-256(sized("oncekey-fingerprint-1") ‖ sized(method) ‖ sized(path) ‖ sized(query)
//!                 ‖ sized(essence) ‖ tag ‖ form)
//! keyed = HMAC-SHA256(secret, plain)
//! ```
//!
//! `tag` is one byte: 0 when `form` is the raw body, 1 for the text that [`json::canonicalize`]
//! gives, 2 for what [`multipart::canonicalize`] gives, 3 for a gzip stream without its header. See
//! [`canonical`](crate::canonical) for which body has which form.
//!
//! Of a form, the fields that [do not count](crate::canonical::fields) are left out of `form`. Earlier
//! releases left none out. A record that one of them made is compared with the whole form as well,
//! so it stays comparable while the same form is sent.
//!
//! [`json::canonicalize`]: crate::canonical::json::canonicalize
//! [`multipart::canonicalize`]: crate::canonical::multipart::canonicalize

use std::fmt;

use ctutils::CtEq;
use hmac::{Hmac, KeyInit, Mac};
use minicbor::{Decode, Encode};
use sha2::Sha256;

use crate::canonical::{Body, Hashing, JsonPointer, MediaType, Sink};
use crate::codec::hex::hex;

const VERSION: u8 = 1;
const DOMAIN: &[u8] = b"oncekey-fingerprint-1";

/// What a fingerprint is made of. Header fields other than `Content-Type` have no part in it.
#[derive(Clone, Copy)]
pub struct RequestParts<'a> {
    /// The method, as it stands: methods are case-sensitive (RFC 9110 §9.1).
    pub method: &'a str,
    /// The path, as it stands: not decoded, not normalised.
    pub path: &'a str,
    /// The query without its `?`, as it stands. An absent and an empty one are the same, since not
    /// everyone who hands over a URL can tell them apart (`URL.search` in browsers cannot).
    pub query: Option<&'a str>,
    /// The value of `Content-Type`. Only its essence counts, lower-cased, and the boundary of a
    /// multipart body to take it apart; an absent one is the same as an empty one.
    pub content_type: Option<&'a str>,
    /// The value of `Content-Encoding`. It has no part in the fingerprint; where it is `gzip`, the
    /// header of the gzip stream has none either, for that holds the time of the compression.
    pub content_encoding: Option<&'a str>,
    /// The body as it came: one that the caller coded is compared in its coding.
    pub body: &'a [u8],
    /// What of a body is left out: members of JSON, and in forms the [fields] that a pointer of one
    /// step names. What has neither form is compared whole.
    ///
    /// [fields]: crate::canonical::fields
    pub ignore: &'a [JsonPointer],
}

impl fmt::Debug for RequestParts<'_> {
    /// Query and body may hold what should be in no log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestParts")
            .field("method", &self.method)
            .field("path", &self.path)
            .field("content_type", &self.content_type)
            .field("body_len", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// All the fingerprints of one request: one under each secret that is listed, and the plain one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Fingerprints {
    #[n(0)]
    plain: Fingerprint,
    #[n(1)]
    keyed: Vec<Fingerprint>,
    /// Of a form that fields were left out of: the fingerprints of the whole form, plain and keyed. So too of a gzip stream with its header.
    #[n(2)]
    whole: Option<Vec<Fingerprint>>,
}

impl Fingerprints {
    /// Never fails: a body that breaks the rules of its media type is compared by its raw bytes.
    pub fn compute(request: &RequestParts<'_>, secrets: &FingerprintSecrets) -> Self {
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
        let (digest, whole) = digests(request);
        let plain = Fingerprint::of_digest(digest);
        let whole = whole.map(|digest| {
            let plain = Fingerprint::of_digest(digest);
            let mut whole = keyed(&plain);
            whole.push(plain);
            whole
        });
        Self { keyed: keyed(&plain), plain, whole }
    }

    /// What a new record gets: the fingerprint under the first secret, or the plain one where none
    /// is listed.
    pub fn signing(&self) -> &Fingerprint {
        self.keyed.first().unwrap_or(&self.plain)
    }

    /// Whether this request is the one that `recorded` was made of. The comparison is made under
    /// the secret that the record names. A record without one stays comparable after secrets were
    /// listed; one whose secret is listed no more does not.
    pub fn compare(&self, recorded: &Fingerprint) -> Comparison {
        let is_comparable = |ours: &&Fingerprint| {
            ours.version == recorded.version && ours.secret_id == recorded.secret_id
        };
        let ours = self.keyed.iter().chain([&self.plain]).find(is_comparable);
        let Some(ours) = ours else { return Comparison::Unlisted };
        let mut all = self.whole.iter().flatten().filter(is_comparable).chain([ours]);
        if all.any(|ours| ours.has_digest(&recorded.digest)) {
            Comparison::Same
        } else {
            Comparison::Different
        }
    }
}

/// What a record's fingerprint says of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// It is the same request.
    Same,
    /// It is another request.
    Different,
    /// It cannot be told: the record's secret is not listed, or its fingerprint is of an unknown
    /// version.
    Unlisted,
}

/// The fingerprint of a request, as a record keeps it.
#[derive(Clone, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Fingerprint {
    #[n(0)]
    version: u8,
    #[n(1)]
    secret_id: Option<String>,
    #[cbor(n(2), with = "minicbor::bytes")]
    digest: [u8; 32],
}

impl Fingerprint {
    /// The fingerprint of a request without any secret.
    pub fn plain(request: &RequestParts<'_>) -> Self {
        Self::of_digest(digests(request).0)
    }

    fn of_digest(digest: [u8; 32]) -> Self {
        Self { version: VERSION, secret_id: None, digest }
    }

    /// Which rules the fingerprint was made by; this crate makes version 1.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// The id of the secret that the fingerprint was made with, if any.
    pub fn secret_id(&self) -> Option<&str> {
        self.secret_id.as_deref()
    }

    /// The digest in lower-case hex. A plain one tells the body to whoever can try all bodies: not
    /// for logs.
    pub fn digest_hex(&self) -> String {
        hex(&self.digest)
    }

    /// In constant time, as for any code that authenticates.
    fn has_digest(&self, digest: &[u8; 32]) -> bool {
        self.digest.ct_eq(digest).to_bool()
    }
}

impl fmt::Debug for Fingerprint {
    /// 32 bits of the digest: enough to tell two apart, too little to search for a body.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fingerprint")
            .field("version", &self.version)
            .field("secret_id", &self.secret_id)
            .field("digest", &format_args!("{}…", &self.digest_hex()[..8]))
            .finish()
    }
}

/// The secrets that fingerprints are made with. The first one signs; the others are there to
/// compare records with that were made before. A secret can be taken off the list once no record is
/// left that names it.
#[derive(Clone, Default)]
pub struct FingerprintSecrets {
    secrets: Vec<Secret>,
}

#[derive(Clone)]
struct Secret {
    id: String,
    /// Keyed, so the secret itself is not kept.
    mac: Hmac<Sha256>,
}

impl FingerprintSecrets {
    /// No secret: fingerprints are plain.
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads `id:secret,id:secret`. An id is 1 to 32 of `A-Z a-z 0-9 . _ -`; a secret is any text
    /// without a comma, best 32 random bytes in hex or base64. Spaces and line ends around a pair
    /// are left out.
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

    /// The ids in their order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.secrets.iter().map(|secret| secret.id.as_str())
    }
}

impl fmt::Debug for FingerprintSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ids()).finish()
    }
}

/// What is wrong with a list of secrets: with which pair, counted from 1. It never shows any of the
/// text, which may be a secret in the wrong place.
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

/// The digest of a request, and that of its whole form where something was left out.
fn digests(request: &RequestParts<'_>) -> ([u8; 32], Option<[u8; 32]>) {
    let media_type = MediaType::parse(request.content_type);
    let head = || {
        let mut hashing = Hashing::new();
        for part in [
            DOMAIN,
            request.method.as_bytes(),
            request.path.as_bytes(),
            request.query.unwrap_or("").as_bytes(),
            media_type.essence().as_bytes(),
        ] {
            hashing.put_sized(part);
        }
        hashing
    };
    let body = Body::read(&media_type, request.content_encoding, request.body);
    let mut hashing = head();
    let is_part = body.write(request.ignore, &mut hashing);
    let whole = is_part.then(|| {
        let mut hashing = head();
        body.write_whole(&mut hashing);
        hashing.finish()
    });
    (hashing.finish(), whole)
}
