//! The setting `KEY_HEADERS`: the request headers that may contain the key.
//!
//! SDKs and APIs have several names for the header: `Idempotency-Key`, `PayPal-Request-Id`,
//! `I-Twilio-Idempotency-Token`. The origin gets the key under the names that the caller used, because
//! these are the names that it reads.

use crate::canonical::is_token;
use crate::codec::list::entries;
use crate::header_list::HeaderList;
use crate::key::{IdempotencyKey, KeyError};
use crate::request::override_headers::{is_method_override, is_path_override};
use crate::scope::ScopeSources;
use core::fmt;

/// The request headers that may contain the key, with their names as the operator wrote them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyHeaders(Vec<String>);

/// Why a text is not a list of headers for the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyHeadersError {
    /// An entry is not the name of a header.
    NotAName,
    /// A header has another meaning.
    Taken,
    /// A header identifies the caller.
    OfScope,
    /// A header is listed twice, perhaps with an underscore for a hyphen.
    ListedTwice,
}

impl KeyHeaders {
    /// Parses a list of names. `scope` lists the sources that identify the caller.
    pub fn parse(text: &str, scope: &ScopeSources) -> Result<Self, KeyHeadersError> {
        let names: Vec<String> = entries(text).map(str::to_owned).collect();
        let mut known: Vec<String> = Vec::new();
        for name in &names {
            if !is_token(name) {
                return Err(KeyHeadersError::NotAName);
            }
            // Some servers read an underscore as a hyphen.
            let name = name.to_ascii_lowercase().replace('_', "-");
            if is_taken(&name) {
                return Err(KeyHeadersError::Taken);
            }
            if scope.headers().any(|source| source.replace('_', "-") == name) {
                return Err(KeyHeadersError::OfScope);
            }
            if known.contains(&name) {
                return Err(KeyHeadersError::ListedTwice);
            }
            known.push(name);
        }
        if names.is_empty() { Err(KeyHeadersError::NotAName) } else { Ok(Self(names)) }
    }

    /// Returns the names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Returns the name that errors suggest, and under which the origin gets a key from a form.
    pub fn first(&self) -> &str {
        &self.0[0]
    }

    /// Returns whether a request has one of the headers, even an empty one.
    pub fn are_in(&self, headers: &HeaderList) -> bool {
        headers.iter().any(|(name, _)| self.has(name))
    }

    /// Returns the key of a request; `None` if the request has none of the headers.
    ///
    /// # Errors
    ///
    /// Returns an error if a header does not contain a valid key, or if two contain different keys.
    pub fn key_in(&self, headers: &HeaderList) -> Result<Option<IdempotencyKey>, KeyError> {
        let mut found = None;
        for (_, value) in headers.iter().filter(|(name, _)| self.has(name)) {
            let key = IdempotencyKey::parse_header(value)?;
            if found.get_or_insert_with(|| key.clone()) != &key {
                return Err(KeyError::Differ);
            }
        }
        Ok(found)
    }

    /// Sets the key in the headers for the origin, under each name that the `caller` used. A key that
    /// was not in a header gets the first name.
    pub fn set(&self, caller: &HeaderList, headers: &mut HeaderList, key: &IdempotencyKey) {
        let used = caller.iter().map(|(name, _)| name).filter(|name| self.has(name));
        for name in used {
            headers.set(name, key.as_str());
        }
        if !self.are_in(headers) {
            headers.set(&self.first().to_ascii_lowercase(), key.as_str());
        }
    }

    /// Removes the headers that contain an empty key.
    pub fn remove_blank(&self, headers: &mut HeaderList) {
        let is_blank = |value: &str| IdempotencyKey::parse_header(value) == Err(KeyError::Empty);
        headers.retain(|name, value| !(self.has(name) && is_blank(value)));
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|own| own.eq_ignore_ascii_case(name))
    }
}

impl Default for KeyHeaders {
    /// Returns `Idempotency-Key`.
    fn default() -> Self {
        Self(vec!["Idempotency-Key".to_owned()])
    }
}

/// Returns whether a header (in lower case) means something else to clients, to the platform or to the
/// gateway.
fn is_taken(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "accept",
        "authorization",
        "baggage",
        "cache-control",
        "cdn-loop",
        "connection",
        "cookie",
        "date",
        "dpop",
        "expect",
        "forwarded",
        "from",
        "host",
        "keep-alive",
        "last-event-id",
        "max-forwards",
        "origin",
        "pragma",
        "prefer",
        "priority",
        "range",
        "referer",
        "signature",
        "signature-input",
        "te",
        "traceparent",
        "tracestate",
        "trailer",
        "transfer-encoding",
        "true-client-ip",
        "upgrade",
        "user-agent",
        "via",
        "x-real-ip",
        "x-request-id",
    ];
    const STARTS: &[&str] = &[
        "accept-",
        "access-control-",
        "cf-",
        "content-",
        "idempotency-",
        "idempotent-",
        "if-",
        "proxy-",
        "sec-",
        "x-forwarded-",
        "x-oncekey-",
    ];
    name != "idempotency-key"
        && (NAMES.contains(&name)
            || STARTS.iter().any(|start| name.starts_with(start))
            || is_method_override(name)
            || is_path_override(name))
}

impl fmt::Display for KeyHeadersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAName => {
                "must be a list of header names, such as Idempotency-Key,X-Idempotency-Key"
            }
            Self::Taken => {
                "must not list a header that has another meaning, such as Authorization, Host, Content-Type or X-Request-Id"
            }
            Self::OfScope => "must not list a header that SCOPE lists",
            Self::ListedTwice => {
                "each header may be listed only once, and an underscore counts as a hyphen"
            }
        })
    }
}

impl core::error::Error for KeyHeadersError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(list: &str) -> Result<KeyHeaders, KeyHeadersError> {
        KeyHeaders::parse(list, &ScopeSources::default())
    }

    fn headers(list: &[(&str, &str)]) -> HeaderList {
        list.iter().copied().collect()
    }

    #[test]
    fn a_header_with_another_meaning_is_refused() {
        for (list, error) in [
            ("", KeyHeadersError::NotAName),
            ("a b", KeyHeadersError::NotAName),
            ("Idempotency-Key,clé", KeyHeadersError::NotAName),
            ("Host", KeyHeadersError::Taken),
            ("Idempotency-Key,AUTHORIZATION", KeyHeadersError::Taken),
            ("Content-Type", KeyHeadersError::Taken),
            ("Idempotency-Attempt", KeyHeadersError::Taken),
            ("X-Forwarded-Host", KeyHeadersError::Taken),
            ("X_Forwarded_Host", KeyHeadersError::Taken),
            ("X-HTTP-Method-Override", KeyHeadersError::Taken),
            ("X-Rewrite-Url", KeyHeadersError::Taken),
            ("X-Request-Id", KeyHeadersError::Taken),
            ("x-api-key", KeyHeadersError::OfScope),
            ("X_Api_Key", KeyHeadersError::OfScope),
            ("A,a", KeyHeadersError::ListedTwice),
            ("X-Key,X_Key", KeyHeadersError::ListedTwice),
        ] {
            assert_eq!(of(list), Err(error), "{list}");
        }
        let all = of(" Idempotency-Key, PayPal-Request-Id ,I-Twilio-Idempotency-Token,Request-Id");
        assert_eq!(all.map(|all| all.names().count()), Ok(4));
        assert_eq!(of("Idempotency-Key"), Ok(KeyHeaders::default()));
    }

    #[test]
    fn keys_in_several_headers_must_agree() {
        let names = of("Idempotency-Key,Request-Id").unwrap();
        let key = |list: &[(&str, &str)]| {
            names.key_in(&headers(list)).map(|key| key.map(|key| key.as_str().to_owned()))
        };
        assert_eq!(key(&[("x-other", "a")]), Ok(None));
        assert_eq!(key(&[("request-id", "\"a\"")]), Ok(Some("a".to_owned())));
        assert_eq!(
            key(&[("request-id", "a"), ("idempotency-key", "\"a\"")]),
            key(&[("request-id", "a")])
        );
        assert_eq!(key(&[("request-id", "a"), ("idempotency-key", "b")]), Err(KeyError::Differ));
        assert_eq!(key(&[("request-id", "a"), ("idempotency-key", "")]), Err(KeyError::Empty));
        assert_eq!(key(&[("request-id", "a, a")]), Err(KeyError::NotVisibleAscii));
    }

    #[test]
    fn the_origin_gets_the_key_under_the_names_that_the_caller_used() {
        let names = of("Idempotency-Key,Request-Id,X-Key").unwrap();
        let key = IdempotencyKey::parse_bare("a").unwrap();
        let sent = |caller: &[(&str, &str)]| {
            let caller = headers(caller);
            let mut sent = caller.clone();
            names.set(&caller, &mut sent, &key);
            sent
        };
        assert_eq!(sent(&[("request-id", "\"a\"")]), headers(&[("request-id", "a")]));
        assert_eq!(
            sent(&[("x-key", "a"), ("request-id", "\"a\"")]),
            headers(&[("x-key", "a"), ("request-id", "a")])
        );
        assert_eq!(sent(&[]), headers(&[("idempotency-key", "a")]));
        // A header that `Connection` names does not reach the origin, but the key does.
        let mut sent = HeaderList::default();
        names.set(&headers(&[("x-key", "a")]), &mut sent, &key);
        assert_eq!(sent, headers(&[("x-key", "a")]));
    }

    #[test]
    fn an_empty_header_can_be_removed() {
        let mut list = headers(&[("idempotency-key", " "), ("x-other", ""), ("etag", "e")]);
        KeyHeaders::default().remove_blank(&mut list);
        assert_eq!(list, headers(&[("x-other", ""), ("etag", "e")]));
        let mut list = headers(&[("idempotency-key", "\"\"")]);
        KeyHeaders::default().remove_blank(&mut list);
        assert!(list.is_empty());
    }
}
