//! Under which credential a key was sent, as far as that may be kept.
//!
//! A server keeps keys by credential: under another one the same key is another key, and its
//! `voided` or 404 says nothing of the one that was sent. So key calls are made under exactly the
//! credential of the request. After a reload the request is gone, so its entry keeps the *mark* of
//! that credential: whether cookies went along, and for each header that may say who is calling its
//! name and 32 bits of a hash over key, name and value. Never a value.
//!
//! A header counts unless it is known to name nobody ([`names_nobody`]): languages, conditions,
//! traces, CSRF tokens and the like. Of a JWT its claims count, without those that each renewal
//! changes: a token that was renewed is still the same caller.

use crate::canonical::JsonPointer;
use crate::codec::base64;
use crate::codec::hex::hex32;
use crate::fingerprint::{Fingerprint, RequestParts};
use crate::key::IdempotencyKey;
use core::fmt;
use sha2::{Digest, Sha256};

/// A request's credential. Kept in memory only, and hashed there too.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Credential {
    cookies: Cookies,
    /// By name.
    headers: Vec<(String, [u8; 32])>,
}

/// Whether a request carries cookies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cookies {
    /// It carries none.
    None,
    /// It carries those that the address of the key calls gets too.
    Same,
    /// It carries those of another origin than that of the key calls.
    Elsewhere,
}

/// What is kept of a credential, for one key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CredentialMark {
    /// Whether cookies went along.
    pub cookies: Cookies,
    /// Name and hash of each header, by name.
    headers: Vec<(String, u32)>,
}

/// Under which credential the attempts of a key were sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum SentBy {
    /// Not known: nothing was sent, or an earlier version of this project sent it.
    #[default]
    NotKnown,
    /// All under this one.
    One(CredentialMark),
    /// Under more than one, of which each may have led to an execution.
    Several,
}

/// How a key call is to be made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyCallAs {
    /// As whoever calls now, with these headers of the source: nothing is known of the request.
    Caller(Vec<String>),
    /// With these headers of the source, and no others, and with cookies or without.
    Same {
        /// The names of the headers.
        names: Vec<String>,
        /// Whether cookies go along.
        cookies: bool,
    },
    /// Not at all: the source lacks these headers, or has other values of them.
    HeadersDiffer(Vec<String>),
    /// Not at all: what says who is calling is a cookie that these calls do not carry.
    CookieDiffers,
    /// Not at all: the key was sent under several credentials.
    Several,
}

impl Credential {
    /// The credential of a request with these headers.
    pub fn new<'a>(
        cookies: Cookies,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let mut all: Vec<(String, [u8; 32])> = Vec::new();
        for (name, value) in headers {
            let name = name.to_ascii_lowercase();
            // Few: what the library's sort would bring along is more than this.
            let place = all.iter().position(|(other, _)| *other >= name).unwrap_or(all.len());
            let is_new = all.get(place).is_none_or(|(other, _)| *other != name);
            if is_new && is_name(&name) && !names_nobody(&name) {
                all.insert(place, (name, hash_of_value(value)));
            }
        }
        Self { cookies, headers: all }
    }

    /// The names of its headers.
    pub fn names(&self) -> Vec<String> {
        self.headers.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Its mark for a key, which salts it.
    pub fn mark(&self, key: &IdempotencyKey) -> CredentialMark {
        let headers = self.headers.iter().map(|(name, value)| {
            let [a, b, c, d, ..] = hash(&[key.as_str().as_bytes(), name.as_bytes(), value]);
            (name.clone(), u32::from_be_bytes([a, b, c, d]))
        });
        CredentialMark { cookies: self.cookies, headers: headers.collect() }
    }
}

impl CredentialMark {
    /// The names of the headers, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.headers.iter().map(|(name, _)| name.as_str())
    }
}

impl SentBy {
    /// How a key call of this key is to be made, where `source` has the headers that there are.
    pub fn key_call(&self, key: &IdempotencyKey, source: &Credential) -> KeyCallAs {
        let mark = match self {
            Self::NotKnown => return KeyCallAs::Caller(source.names()),
            Self::Several => return KeyCallAs::Several,
            Self::One(mark) => mark,
        };
        let given = source.mark(key);
        let missing = mark.headers.iter().filter(|header| !given.headers.contains(header));
        let missing: Vec<_> = missing.map(|(name, _)| name.clone()).collect();
        if !missing.is_empty() {
            KeyCallAs::HeadersDiffer(missing)
        } else if mark.cookies == Cookies::Elsewhere && mark.headers.is_empty() {
            KeyCallAs::CookieDiffers
        } else {
            let names = mark.headers.iter().map(|(name, _)| name.clone()).collect();
            KeyCallAs::Same { names, cookies: mark.cookies == Cookies::Same }
        }
    }

    /// Notes that an attempt goes out under this credential. `is_open`: an earlier one may have been
    /// executed.
    pub(super) fn note(&mut self, mark: CredentialMark, is_open: bool) {
        match self {
            _ if !is_open => *self = Self::One(mark),
            Self::One(before) if *before != mark => *self = Self::Several,
            _ => {}
        }
    }

    /// The field of an entry's text: see the table in `entry_text.rs`.
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

    /// Reads what [`SentBy::encode`] wrote.
    pub(super) fn decode(text: &str) -> Option<Self> {
        let mut parts = text.split(',');
        let cookies = match parts.next()? {
            "." if text == "." => return Some(Self::NotKnown),
            "*" if text == "*" => return Some(Self::Several),
            "n" => Cookies::None,
            "c" => Cookies::Same,
            "x" => Cookies::Elsewhere,
            _ => return None,
        };
        let headers = parts.map(|part| {
            let (name, hash) = part.split_once(':')?;
            let is_right = is_name(name) && name == name.to_ascii_lowercase();
            is_right.then_some((name.to_owned(), u32::from_str_radix(hash, 16).ok()?))
        });
        let headers: Vec<_> = headers.collect::<Option<_>>()?;
        let is_sorted = headers.windows(2).all(|pair| pair[0].0 < pair[1].0);
        is_sorted.then_some(Self::One(CredentialMark { cookies, headers }))
    }
}

/// Whether a header, in lower case, is known to say nothing of who is calling. Of any other one it
/// is not known, so it counts.
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

/// Whether it is a field name (RFC 9110 §5.1): no comma, colon or space.
fn is_name(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_token)
}

fn hash_of_value(value: &str) -> [u8; 32] {
    let jwt = value.split(' ').find_map(|word| Some((word, claims_of(word)?)));
    let Some((word, claims)) = jwt else { return hash(&[value.as_bytes()]) };
    // Each renewal changes these.
    let volatile = ["/exp", "/iat", "/nbf", "/jti", "/auth_time"];
    let ignore: Vec<_> = volatile.iter().filter_map(|path| JsonPointer::parse(path).ok()).collect();
    let claims = Fingerprint::plain(&RequestParts {
        method: "",
        path: "",
        query: None,
        content_encoding: None,
        content_type: Some("application/json"),
        body: &claims,
        ignore: &ignore,
    });
    hash(&[value.replace(word, "").as_bytes(), claims.digest_hex().as_bytes()])
}

/// The claims of a signed JWT (RFC 7519), if it is one.
fn claims_of(word: &str) -> Option<Vec<u8>> {
    let mut parts = word.split('.');
    let (head, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
    let is_jwt = head.starts_with("eyJ") && parts.next().is_none();
    is_jwt.then(|| base64::decode(&claims.replace('-', "+").replace('_', "/"))).flatten()
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
