//! Requests that would be another thing at the origin than they are here.
//!
//! A key protects what was compared: method, path, body, and whose request it is. A header that
//! changes one of these on its way makes the comparison worth nothing, so a request with a key may
//! not carry it. Without a key, the method that it names is judged beside the request's own.
//!
//! Names are compared as careless origins compare them: of `X-HTTP-Method-Override` the letters
//! alone count, for CGI and its heirs read `X_HTTP_Method_Override` as the same header.

use crate::codec::list::entries;
use crate::codec::percent;
use crate::scope::ScopeSources;
use core::fmt;

/// Whether a header wants a request to be taken for one with another method.
fn names_another_method(name: &str) -> bool {
    let letters = letters(name);
    ["methodoverride", "overridemethod", "httpmethod"].iter().any(|part| letters.contains(part))
        || matches!(&letters[..], "xmethod" | "xoriginalmethod")
}

/// Whether a header wants a request to be taken for one with another path. Some frameworks believe
/// it, for a proxy in front of them is to write it: here that is the gateway, which passes on the
/// path that it has judged and nothing else.
pub fn names_another_path(name: &str) -> bool {
    matches!(&letters(name)[..], "xoriginalurl" | "xrewriteurl")
}

/// The letters and digits of a name, in lower case.
fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// The methods, in capitals, that an origin could take a request for: those that its headers name,
/// and the pair `_method` of its query and its form, which frameworks read for the sake of plain
/// HTML forms.
pub fn other_methods<'a>(
    headers: impl Iterator<Item = (&'a str, &'a str)>,
    query: Option<&str>,
    form: Option<&[u8]>,
) -> Vec<String> {
    let in_headers = headers.filter(|(name, _)| names_another_method(name));
    let in_headers = in_headers.flat_map(|(_, value)| value.split(',').map(str::to_owned));
    let pairs = [query.map(str::as_bytes), form];
    let pairs = pairs.into_iter().flatten().flat_map(|pairs| {
        pairs.split(|byte| matches!(byte, b'&' | b';')).filter_map(|pair| {
            let mut halves = pair.splitn(2, |&byte| byte == b'=');
            let (name, value) = (halves.next()?, halves.next()?);
            let is_method = percent::decoded(name).eq(b"_method".iter().copied());
            let value: Vec<u8> = percent::decoded(value).collect();
            is_method.then(|| String::from_utf8_lossy(&value).into_owned())
        })
    });
    let named = in_headers.chain(pairs);
    named.map(|method| method.trim().trim_matches('+').to_ascii_uppercase()).collect()
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
    /// What a request with a key is refused for. `headers` are the request's, names in lower case;
    /// `scope` is where the request says whose it is.
    pub fn of<'a>(
        headers: impl Iterator<Item = (&'a str, &'a str)> + Clone,
        scope: &ScopeSources,
    ) -> Option<Self> {
        if headers.clone().any(|(name, _)| names_another_method(name)) {
            return Some(Self::Method);
        }
        let counts = |name: &str| {
            matches!(name, "cookie" | "content-type" | "content-encoding") || scope.has_header(name)
        };
        let connections = headers.filter(|(name, _)| *name == "connection");
        let mut named = connections.flat_map(|(_, value)| entries(value));
        named.any(|name| counts(&name.to_ascii_lowercase())).then_some(Self::Connection)
    }
}

impl fmt::Display for Disguise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Method => "A request with an idempotency key cannot have X-HTTP-Method-Override or a similar header. Send the request with its actual method.",
            Self::Connection => "The Connection header of a request with an idempotency key must not name the credential, a cookie, or the type or encoding of the body. Send it without these names.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, value: &str) -> Option<Disguise> {
        let scope = ScopeSources::parse("header:X-Api-Key,cookie:sid").expect("sources");
        Disguise::of([(name, value)].into_iter(), &scope)
    }

    const METHOD_HEADERS: [&str; 9] = [
        "x-http-method-override",
        "x-http-method",
        "x-method-override",
        "x_http_method_override",
        "x.http.method",
        "http-method-override",
        "method-override",
        "x-override-method",
        "x-method",
    ];

    #[test]
    fn another_path_is_named_by_two_headers_in_any_spelling() {
        for name in ["x-original-url", "x-rewrite-url", "x_original_url", "x.rewrite_url"] {
            assert!(names_another_path(name), "{name}");
        }
        assert!(!names_another_path("x-original-host"));
    }

    #[test]
    fn what_changes_the_request_on_its_way_is_refused() {
        for name in METHOD_HEADERS {
            assert_eq!(of(name, "DELETE"), Some(Disguise::Method), "{name}");
        }
        for name in ["access-control-request-method", "x-payment-method", "method", "x-methods"] {
            assert_eq!(of(name, "DELETE"), None, "{name}");
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

    #[test]
    fn the_methods_that_an_origin_could_take_it_for_are_listed() {
        let methods = |name: &str, value: &str, query: Option<&str>, form: Option<&str>| {
            other_methods([(name, value)].into_iter(), query, form.map(str::as_bytes))
        };
        for name in METHOD_HEADERS {
            assert_eq!(methods(name, "delete", None, None), ["DELETE"], "{name}");
        }
        assert_eq!(methods("x-http-method", " put , Patch", None, None), ["PUT", "PATCH"]);
        assert_eq!(methods("x-other", "PUT", Some("a=1&_method=put"), None), ["PUT"]);
        assert_eq!(
            methods("a", "", Some("%5fmethod=p%75t"), Some("_method=delete")),
            ["PUT", "DELETE"]
        );
        for query in ["", "method=put", "a=_method", "_method"] {
            assert!(methods("a", "", Some(query), None).is_empty(), "{query}");
        }
    }
}
