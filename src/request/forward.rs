//! The headers that a gateway changes when it sends a request to the origin and returns the response.

/// Returns whether the gateway sends a request header to the origin. `name` is in lower case.
///
/// These headers are removed:
///
/// - `Host` and `Content-Length`: the platform sets them for the request to the origin.
/// - `Expect`: the gateway has met it already by reading the body (RFC 9110 §10.1.1).
/// - `Idempotency-Attempt`, `Forwarded` and `X-Forwarded-*`: the gateway writes its own. An origin
///   trusts what a proxy says in them, so a caller must not be able to set them. An underscore counts
///   as a hyphen, because some frameworks read `X_Forwarded_Host` as `X-Forwarded-Host`.
///
/// `X-Forwarded-For` is kept, because the platform writes it.
pub fn is_forwarded(name: &str) -> bool {
    if matches!(name, "host" | "content-length" | "expect" | "idempotency-attempt" | "forwarded") {
        return false;
    }
    let is_own =
        |start: &str| name.get(..start.len()).is_some_and(|own| own.replace('_', "-") == start);
    name == "x-forwarded-for" || !is_own("x-forwarded-")
}

/// Returns the headers that tell the origin with which scheme and for which host the request reached
/// the gateway: `Forwarded` (RFC 7239) and the two older headers.
pub fn forwarded_headers(scheme: &str, host: &str) -> [(&'static str, String); 3] {
    [
        ("x-forwarded-proto", scheme.to_owned()),
        ("x-forwarded-host", host.to_owned()),
        ("forwarded", format!("host=\"{host}\";proto={scheme}")),
    ]
}

/// Returns whether a response header contains the URL of a resource, given the status of the response.
/// `name` is in lower case. Such a URL may name the origin, so the gateway rewrites it (RFC 9110
/// §10.2.2 and §8.7).
pub fn is_link(name: &str, status: u16) -> bool {
    match name {
        "location" => matches!(status, 201 | 202 | 300..400),
        "content-location" => true,
        _ => false,
    }
}

/// Returns the part of a URL after the base URL of the origin: path, query and fragment. Returns `None`
/// if the URL is not below the base URL. `origin` must not end with a slash, and both URLs must be
/// normalized by the platform's URL parser.
pub fn path_below_origin<'a>(url: &'a str, origin: &str) -> Option<&'a str> {
    let below = url.strip_prefix(origin)?;
    (below.is_empty() || below.starts_with(['/', '?', '#'])).then_some(below)
}

/// Returns whether a method is `GET` or `HEAD`, so that a cache may store the response (RFC 9110
/// §9.2.3).
pub fn is_read(method: &str) -> bool {
    matches!(method, "GET" | "HEAD")
}

/// Returns whether a client or proxy between the gateway and the origin may repeat a request of this
/// method when a connection breaks. RFC 9110 §9.2.2 allows that for idempotent methods, and the `fetch`
/// of workerd repeats a PUT or DELETE without a body.
///
/// POST and PATCH are not idempotent and must not be repeated. For every other write, the gateway
/// sends a body stream, which cannot be sent twice.
pub fn may_be_repeated(method: &str) -> bool {
    !matches!(method, "POST" | "PATCH")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_for_the_gateway_are_not_forwarded() {
        for name in ["host", "content-length", "expect", "idempotency-attempt"] {
            assert!(!is_forwarded(name), "{name}");
        }
        assert!(is_forwarded("idempotency-key") && is_forwarded("accept"));
    }

    #[test]
    fn a_caller_s_headers_about_proxies_are_replaced() {
        for name in ["forwarded", "x-forwarded-host", "x_forwarded_host", "x-forwarded_proto"] {
            assert!(!is_forwarded(name), "{name}");
        }
        for name in ["x-forwarded-prefix", "x-forwarded-port", "x_forwarded_for"] {
            assert!(!is_forwarded(name), "{name}");
        }
        assert!(is_forwarded("x-forwarded-for") && is_forwarded("x-forward") && is_forwarded("é"));
        let headers = forwarded_headers("https", "[::1]:8787")
            .map(|(name, value)| format!("{name}: {value}"));
        assert_eq!(
            headers,
            [
                "x-forwarded-proto: https",
                "x-forwarded-host: [::1]:8787",
                "forwarded: host=\"[::1]:8787\";proto=https",
            ]
        );
    }

    #[test]
    fn location_is_a_link_after_a_redirect_or_a_creation() {
        for status in [201, 202, 301, 303, 307, 308] {
            assert!(is_link("location", status), "{status}");
        }
        assert!(!is_link("location", 200) && !is_link("location", 400) && !is_link("link", 201));
        assert!(is_link("content-location", 200));
    }

    #[test]
    fn a_url_is_rewritten_only_if_it_is_below_the_upstream() {
        for (url, below) in [
            ("http://api/base/v1/x?y#z", Some("/v1/x?y#z")),
            ("http://api/base", Some("")),
            ("http://api/base?y", Some("?y")),
            ("http://api/base2/x", None),
            ("http://api/", None),
            ("http://api:81/base/x", None),
            ("https://api/base/x", None),
        ] {
            assert_eq!(path_below_origin(url, "http://api/base"), below, "{url}");
        }
        assert_eq!(path_below_origin("http://api/x", "http://api"), Some("/x"));
        for other in ["http://api.evil/x", "http://api:81/x", "http://api@evil/x"] {
            assert_eq!(path_below_origin(other, "http://api"), None, "{other}");
        }
    }

    #[test]
    fn only_get_and_head_are_reads() {
        assert!(is_read("GET") && is_read("HEAD"));
        assert!(!is_read("OPTIONS") && !is_read("POST"));
    }

    #[test]
    fn every_method_except_post_and_patch_may_be_repeated() {
        for method in ["PUT", "DELETE", "MKCOL", "COPY", "PURGE", "post"] {
            assert!(may_be_repeated(method), "{method}");
        }
        assert!(!may_be_repeated("POST") && !may_be_repeated("PATCH"));
    }
}
