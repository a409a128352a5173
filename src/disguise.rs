//! Requests that would be another thing at the origin than they are here.
//!
//! A key protects what was compared: method, path, body, and whose request it is. A header that
//! changes one of these on its way makes the comparison worth nothing, so a request with a key may
//! not carry it.

use crate::scope::ScopeSource;
use core::fmt;

/// By which a request wants to be taken for one with another method.
const METHOD_HEADERS: [&str; 3] = ["x-http-method-override", "x-http-method", "x-method-override"];

/// Whether a header (in lower case) wants a request to be taken for one with another path. Some
/// frameworks believe it, for a proxy in front of them is to write it: here that is the gateway,
/// which passes on the path that it has judged and nothing else.
pub fn names_another_path(name: &str) -> bool {
    matches!(name, "x-original-url" | "x-rewrite-url")
}

/// What would make a request another one at the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Disguise {
    /// `X-HTTP-Method-Override` or one of its kind: the fingerprint says POST, the origin would do
    /// something else.
    Method,
    /// `Connection` names a header that says whose the request is or how its body is to be read.
    /// Such a header ends here (RFC 9110 §7.6.1), so the caller would be somebody here and somebody
    /// else there.
    Connection,
}

impl Disguise {
    /// What a request with a key is refused for. `header` gives a header's value by its name in lower
    /// case; `scope` is where the request says whose it is.
    pub fn of<'a>(header: impl Fn(&str) -> Option<&'a str>, scope: &[ScopeSource]) -> Option<Self> {
        if METHOD_HEADERS.iter().any(|name| header(name).is_some()) {
            return Some(Self::Method);
        }
        let counts = |name: &str| {
            matches!(name, "cookie" | "content-type" | "content-encoding")
                || scope
                    .iter()
                    .any(|source| matches!(source, ScopeSource::Header(own) if own == name))
        };
        let mut named = header("connection").unwrap_or_default().split(',');
        named.any(|name| counts(&name.trim().to_ascii_lowercase())).then_some(Self::Connection)
    }
}

impl fmt::Display for Disguise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Method => "A request with an idempotency key cannot carry X-HTTP-Method-Override or another header of its kind; send it with the method itself.",
            Self::Connection => "Connection may not name the credential, a cookie or the body's type of a request with an idempotency key.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &'static str, value: &'static str) -> Option<Disguise> {
        let scope = [ScopeSource::Header("x-api-key".into()), ScopeSource::Cookie("sid".into())];
        Disguise::of(|asked| (asked == name).then_some(value), &scope)
    }

    #[test]
    fn another_path_is_named_by_two_headers() {
        assert!(names_another_path("x-original-url") && names_another_path("x-rewrite-url"));
        assert!(!names_another_path("x-original-host"));
    }

    #[test]
    fn what_changes_the_request_on_its_way_is_refused() {
        for name in METHOD_HEADERS {
            assert_eq!(of(name, "DELETE"), Some(Disguise::Method), "{name}");
        }
        for named in ["X-Api-Key", "close, cookie", "keep-alive ,CONTENT-TYPE", "content-encoding"]
        {
            assert_eq!(of("connection", named), Some(Disguise::Connection), "{named}");
        }
        for named in ["", "close", "keep-alive, x-other", "authorization", "x-api-key2"] {
            assert_eq!(of("connection", named), None, "{named}");
        }
        assert_eq!(of("x-api-key", "connection"), None);
    }
}
