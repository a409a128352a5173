//! The credential that a key was sent with, as far as it may be stored.
//!
//! A server keeps keys by credential: under another credential the same key is another key, and a
//! `voided` or 404 for it says nothing about the key that was sent. So key calls use exactly the
//! credential of the request. After a reload the request is gone, so its entry keeps a *mark* of
//! the credential: whether cookies were sent, and for each header that may identify the caller its
//! name and 32 bits of a hash over key, name and value. The mark contains no value.
//!
//! A header counts unless it is known to identify nobody ([`names_nobody`]): languages, conditions,
//! traces, CSRF tokens and the like. In a JWT the claims count, except for those that each renewal
//! changes, so a renewed token is the same caller.

use crate::canonical::JsonPointer;
use crate::codec::base64;
use crate::codec::hex::{hex, hex32};
use crate::codec::text::{hexadecimal, split, split_once};
use crate::fingerprint::{RequestParts, digest_of_version_1};
use crate::key::IdempotencyKey;
use core::fmt;
use sha2::{Digest, Sha256};

/// The credential of a request. It is kept in memory only, and hashed there too.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Credential {
    cookies: Cookies,
    /// Sorted by name.
    headers: Vec<(String, [u8; 32])>,
}

/// Whether a request carries cookies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cookies {
    /// The request carries no cookies.
    None,
    /// The request carries the cookies that the key calls carry too.
    Same,
    /// The request carries cookies of another origin than that of the key calls.
    Elsewhere,
}

/// The stored mark of a credential, for one key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CredentialMark {
    /// Which cookies were sent.
    pub cookies: Cookies,
    /// Name and hash of each header, sorted by name.
    headers: Vec<(String, u32)>,
}

/// The credential that the attempts of a key were sent with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum SentBy {
    /// Unknown: nothing was sent, or an earlier version of this project sent the attempts.
    #[default]
    NotKnown,
    /// All attempts had this credential.
    One(CredentialMark),
    /// The attempts had several credentials, and each may have led to an execution.
    Several,
}

/// The credential for a key call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyCallCredential {
    /// Send these headers of the source. The credential of the request is not known.
    Caller(Vec<String>),
    /// Send these headers of the source and no others, with cookies or without.
    Same {
        /// The names of the headers.
        names: Vec<String>,
        /// Whether to send cookies.
        cookies: bool,
    },
    /// Make no key call: the source lacks these headers, or has other values.
    HeadersDiffer(Vec<String>),
    /// Make no key call: the caller is identified by a cookie that key calls do not carry.
    CookieDiffers,
    /// Make no key call: the key was sent under several credentials.
    Several,
}

impl Credential {
    /// Returns the credential of a request with these headers.
    pub fn new<'a>(
        cookies: Cookies,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let mut all: Vec<(String, [u8; 32])> = Vec::new();
        for (name, value) in headers {
            let name = name.to_ascii_lowercase();
            // There are few headers, and the library's sort would add more code than this.
            let place = all.iter().position(|(other, _)| *other >= name).unwrap_or(all.len());
            let is_new = all.get(place).is_none_or(|(other, _)| *other != name);
            if is_new && is_name(&name) && !names_nobody(&name) {
                all.insert(place, (name, hash_of_value(value)));
            }
        }
        Self { cookies, headers: all }
    }

    /// Returns the names of the headers.
    pub fn names(&self) -> Vec<String> {
        self.headers.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Returns the mark for a key. The key is the salt.
    pub fn mark(&self, key: &IdempotencyKey) -> CredentialMark {
        let headers = self.headers.iter().map(|(name, value)| {
            let [a, b, c, d, ..] = hash(&[key.as_str().as_bytes(), name.as_bytes(), value]);
            (name.clone(), u32::from_be_bytes([a, b, c, d]))
        });
        CredentialMark { cookies: self.cookies, headers: headers.collect() }
    }
}

impl CredentialMark {
    /// Returns the names of the headers, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.headers.iter().map(|(name, _)| name.as_str())
    }
}

impl SentBy {
    /// Returns the credential for a key call. `source` has the headers that are available.
    pub fn key_call(&self, key: &IdempotencyKey, source: &Credential) -> KeyCallCredential {
        let mark = match self {
            Self::NotKnown => return KeyCallCredential::Caller(source.names()),
            Self::Several => return KeyCallCredential::Several,
            Self::One(mark) => mark,
        };
        let given = source.mark(key);
        let missing = mark.headers.iter().filter(|header| !given.headers.contains(header));
        let missing: Vec<_> = missing.map(|(name, _)| name.clone()).collect();
        if !missing.is_empty() {
            KeyCallCredential::HeadersDiffer(missing)
        } else if mark.cookies == Cookies::Elsewhere && mark.headers.is_empty() {
            KeyCallCredential::CookieDiffers
        } else {
            let names = mark.headers.iter().map(|(name, _)| name.clone()).collect();
            KeyCallCredential::Same { names, cookies: mark.cookies == Cookies::Same }
        }
    }

    /// Notes the credential of an attempt. `is_open` is whether an earlier attempt may have been
    /// executed.
    pub(super) fn note(&mut self, mark: CredentialMark, is_open: bool) {
        match self {
            _ if !is_open => *self = Self::One(mark),
            Self::One(before) if *before != mark => *self = Self::Several,
            _ => {}
        }
    }

    /// Returns the field of an entry's text: see the table in `entry_text.rs`.
    pub fn encode(&self) -> String {
        let mark = match self {
            Self::NotKnown => return ".".into(),
            Self::Several => return "*".into(),
            Self::One(mark) => mark,
        };
        let cookies = match mark.cookies {
            Cookies::None => "n",
            Cookies::Same => "c",
            Cookies::Elsewhere => "x",
        };
        let mut text = String::from(cookies);
        for (name, hash) in &mark.headers {
            for part in [",", name, ":", &hex32(*hash)] {
                text.push_str(part);
            }
        }
        text
    }

    /// Reads what [`SentBy::encode`] wrote. The caller refuses a text that would be written differently.
    pub(super) fn decode(text: &str) -> Option<Self> {
        let mut parts = split(text, b',');
        let cookies = match parts.next()? {
            "." => return Some(Self::NotKnown),
            "*" => return Some(Self::Several),
            "n" => Cookies::None,
            "c" => Cookies::Same,
            "x" => Cookies::Elsewhere,
            _ => return None,
        };
        let headers = parts.map(|part| {
            let (name, hash) = split_once(part, b':')?;
            let is_right = is_name(name) && name == name.to_ascii_lowercase();
            is_right.then_some((name.to_owned(), hexadecimal(hash)?.try_into().ok()?))
        });
        let headers: Vec<_> = headers.collect::<Option<_>>()?;
        let is_sorted = headers.windows(2).all(|pair| pair[0].0 < pair[1].0);
        is_sorted.then_some(Self::One(CredentialMark { cookies, headers }))
    }
}

/// Returns whether a header (in lower case) is known not to identify the caller. Any other header
/// counts.
fn names_nobody(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "baggage",
        "cache-control",
        "cookie",
        "csrf-token",
        "date",
        "dnt",
        "expect",
        "origin",
        "pragma",
        "prefer",
        "priority",
        "range",
        "referer",
        "request-id",
        "sentry-trace",
        "traceparent",
        "tracestate",
        "user-agent",
        "x-correlation-id",
        "x-csrf-token",
        "x-csrftoken",
        "x-request-id",
        "x-requested-with",
        "x-xsrf-token",
    ];
    const STARTS: &[&str] = &["accept", "content-", "idempotency-", "if-", "sandbox-", "sec-"];
    NAMES.contains(&name) || STARTS.iter().any(|start| name.starts_with(start))
}

/// Returns whether this is a field name (RFC 9110 §5.1): no comma, colon or space.
fn is_name(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_token)
}

fn hash_of_value(value: &str) -> [u8; 32] {
    let jwt = split(value, b' ').find_map(|word| Some((word, claims_of(word)?)));
    let Some((word, claims)) = jwt else { return hash(&[value.as_bytes()]) };
    // Each renewal changes these.
    let volatile = ["/exp", "/iat", "/nbf", "/jti", "/auth_time"];
    let ignore: Vec<_> = volatile.iter().filter_map(|path| JsonPointer::parse(path).ok()).collect();
    let claims = digest_of_version_1(&RequestParts {
        method: "",
        path: "",
        query: None,
        content_encoding: None,
        content_type: Some("application/json"),
        body: &claims,
        ignore: &ignore,
    });
    hash(&[&without(value, word), hex(&claims).as_bytes()])
}

/// Returns a text without any occurrence of a word, which is not empty.
fn without(text: &str, word: &str) -> Vec<u8> {
    let (mut left, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        rest = rest.strip_prefix(word.as_bytes()).unwrap_or_else(|| {
            left.push(*first);
            after
        });
    }
    left
}

/// Returns the claims of a signed JWT (RFC 7519); `None` for any other word.
fn claims_of(word: &str) -> Option<Vec<u8>> {
    let mut parts = split(word, b'.');
    let (head, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
    let is_jwt = head.starts_with("eyJ") && parts.next().is_none();
    is_jwt.then(|| base64::decode_either(claims)).flatten()
}

fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new_with_prefix(b"oncekey credential 1");
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.headers.iter().map(|(name, _)| name);
        f.debug_list().entry(&self.cookies).entries(names).finish()
    }
}
