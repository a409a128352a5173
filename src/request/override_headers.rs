//! Headers that make a request a different request at the origin.
//!
//! The gateway compares requests by method, path, body and caller. A header such as
//! `X-HTTP-Method-Override` would make the origin use another method than the one that was compared.
//! So the gateway refuses such a header on a request with a key. On a request without a key, it applies
//! the rules for the header's method as well as those for the request's own method.
//!
//! Only the letters and digits of a header name are compared, because CGI-style servers read
//! `X_HTTP_Method_Override` as `X-HTTP-Method-Override`.

use crate::codec::list::entries;
use crate::codec::percent;
use crate::scope::ScopeSources;
use core::fmt;

/// Returns whether a header asks the origin to use another method than the request's.
pub(crate) fn is_method_override(name: &str) -> bool {
    let letters = letters(name);
    ["methodoverride", "overridemethod", "httpmethod"].iter().any(|part| letters.contains(part))
        || matches!(&letters[..], "xmethod" | "xoriginalmethod")
}

/// Returns whether a header asks the origin to use another path than the request's. Some frameworks
/// trust such a header, because they expect a proxy to write it. The gateway is that proxy and removes
/// the header, so the origin uses the path that the gateway has checked.
pub fn is_path_override(name: &str) -> bool {
    matches!(&letters(name)[..], "xoriginalurl" | "xrewriteurl")
}

/// Returns the ASCII letters and digits of a name, in lower case.
fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns the methods, in upper case, that an origin could use instead of the request's own. They are
/// in override headers and in `_method` fields of the query and of a url-encoded form. Many frameworks
/// read `_method`, because an HTML form can send only GET and POST.
pub fn overridden_methods<'a>(
    headers: impl Iterator<Item = (&'a str, &'a str)>,
    query: Option<&str>,
    form: Option<&[u8]>,
) -> Vec<String> {
    let in_headers = headers.filter(|(name, _)| is_method_override(name));
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

/// A header for which the gateway refuses a request with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OverrideHeader {
    /// `X-HTTP-Method-Override` or a similar header. The origin would use another method than the one
    /// in the fingerprint.
    Method,
    /// `Connection` lists a header that identifies the caller or says how to read the body. A header
    /// listed there is not forwarded (RFC 9110 §7.6.1), so the origin would see another caller or
    /// another body than the gateway does.
    Connection,
}

impl OverrideHeader {
    /// Returns the first header for which a request with a key is refused. `headers` are the request's
    /// headers, with names in lower case. `scope` lists the sources that identify the caller.
    pub fn find<'a>(
        headers: impl Iterator<Item = (&'a str, &'a str)> + Clone,
        scope: &ScopeSources,
    ) -> Option<Self> {
        if headers.clone().any(|(name, _)| is_method_override(name)) {
            return Some(Self::Method);
        }
        let must_reach_origin = |name: &str| {
            matches!(name, "cookie" | "content-type" | "content-encoding") || scope.has_header(name)
        };
        let connections = headers.filter(|(name, _)| *name == "connection");
        let mut named = connections.flat_map(|(_, value)| entries(value));
        named.any(|name| must_reach_origin(&name.to_ascii_lowercase())).then_some(Self::Connection)
    }
}

impl fmt::Display for OverrideHeader {
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

    fn of(name: &str, value: &str) -> Option<OverrideHeader> {
        let scope = ScopeSources::parse("header:X-Api-Key,cookie:sid").expect("sources");
        OverrideHeader::find([(name, value)].into_iter(), &scope)
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
    fn path_override_headers_are_recognized_in_every_spelling() {
        for name in ["x-original-url", "x-rewrite-url", "x_original_url", "x.rewrite_url"] {
            assert!(is_path_override(name), "{name}");
        }
        assert!(!is_path_override("x-original-host"));
    }

    #[test]
    fn headers_that_override_the_method_or_remove_headers_are_recognized() {
        for name in METHOD_HEADERS {
            assert_eq!(of(name, "DELETE"), Some(OverrideHeader::Method), "{name}");
        }
        for name in ["access-control-request-method", "x-payment-method", "method", "x-methods"] {
            assert_eq!(of(name, "DELETE"), None, "{name}");
        }
        for named in ["X-Api-Key", "close, cookie", "keep-alive ,CONTENT-TYPE", "content-encoding"]
        {
            assert_eq!(of("connection", named), Some(OverrideHeader::Connection), "{named}");
        }
        for named in ["", "close", "keep-alive, x-other", "authorization", "x-api-key2"] {
            assert_eq!(of("connection", named), None, "{named}");
        }
        assert_eq!(of("x-api-key", "connection"), None);
    }

    #[test]
    fn all_methods_that_an_origin_may_use_instead_are_listed() {
        let methods = |name: &str, value: &str, query: Option<&str>, form: Option<&str>| {
            overridden_methods([(name, value)].into_iter(), query, form.map(str::as_bytes))
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
