//! How a gateway passes a request on to the origin, and what it changes in the response.

/// Whether a header (in lower case) of a request goes on to the origin. `Host` is the origin's own, and
/// the length is that of the body that is sent. `Expect` is between the caller and the gateway, which
/// has met it: the body is here. `Idempotency-Attempt` is the gateway's to say, and so is how the
/// request came: an origin believes that of a proxy, and a caller could say anything. Frameworks read
/// `X_Forwarded_Host` as `X-Forwarded-Host`. `X-Forwarded-For` stays, for the platform has written it.
pub fn is_forwarded(name: &str) -> bool {
    if matches!(name, "host" | "content-length" | "expect" | "idempotency-attempt" | "forwarded") {
        return false;
    }
    let is_own =
        |start: &str| name.get(..start.len()).is_some_and(|own| own.replace('_', "-") == start);
    name == "x-forwarded-for" || !is_own("x-forwarded-")
}

/// Returns what tells the origin how the request came to the gateway: by which scheme, for which host
/// (RFC 7239, and the two older headers).
pub fn how_it_came(scheme: &str, host: &str) -> [(&'static str, String); 3] {
    [
        ("x-forwarded-proto", scheme.to_owned()),
        ("x-forwarded-host", host.to_owned()),
        ("forwarded", format!("host=\"{host}\";proto={scheme}")),
    ]
}

/// Whether a header (in lower case) of a response with this status leads to a resource: its value may
/// name the origin, past the gateway.
pub fn is_link(name: &str, status: u16) -> bool {
    match name {
        "location" => matches!(status, 201 | 202 | 300..400),
        "content-location" => true,
        _ => false,
    }
}

/// Returns the path below `upstream` that an URL on the origin leads to, with its query and fragment.
/// `None` where it leads elsewhere. `upstream` has no slash at its end, and both are spelt as the
/// platform's parser spells URLs.
pub fn below_upstream<'a>(url: &'a str, upstream: &str) -> Option<&'a str> {
    let below = url.strip_prefix(upstream)?;
    (below.is_empty() || below.starts_with(['/', '?', '#'])).then_some(below)
}

/// Whether a method only reads, so that a cache may hold the response to it.
pub fn is_read(method: &str) -> bool {
    matches!(method, "GET" | "HEAD")
}

/// Whether something between the gateway and the origin may send a request of this method a second
/// time when a connection breaks, as RFC 9110 §9.2.2 allows for idempotent methods. workerd's fetch
/// does so for a PUT or a DELETE without a body.
///
/// POST and PATCH are not idempotent, so nobody on the way may repeat them. Every other write needs
/// a body that cannot be sent twice.
pub fn may_be_repeated(method: &str) -> bool {
    !matches!(method, "POST" | "PATCH")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_the_caller_and_the_gateway_ends_there() {
        for name in ["host", "content-length", "expect", "idempotency-attempt"] {
            assert!(!is_forwarded(name), "{name}");
        }
        assert!(is_forwarded("idempotency-key") && is_forwarded("accept"));
    }

    #[test]
    fn what_a_caller_says_of_proxies_is_not_believed() {
        for name in ["forwarded", "x-forwarded-host", "x_forwarded_host", "x-forwarded_proto"] {
            assert!(!is_forwarded(name), "{name}");
        }
        for name in ["x-forwarded-prefix", "x-forwarded-port", "x_forwarded_for"] {
            assert!(!is_forwarded(name), "{name}");
        }
        assert!(is_forwarded("x-forwarded-for") && is_forwarded("x-forward") && is_forwarded("é"));
        let told =
            how_it_came("https", "[::1]:8787").map(|(name, value)| format!("{name}: {value}"));
        assert_eq!(
            told,
            [
                "x-forwarded-proto: https",
                "x-forwarded-host: [::1]:8787",
                "forwarded: host=\"[::1]:8787\";proto=https",
            ]
        );
    }

    #[test]
    fn links_are_those_that_a_caller_follows() {
        for status in [201, 202, 301, 303, 307, 308] {
            assert!(is_link("location", status), "{status}");
        }
        assert!(!is_link("location", 200) && !is_link("location", 400) && !is_link("link", 201));
        assert!(is_link("content-location", 200));
    }

    #[test]
    fn an_url_is_below_the_upstream_or_leads_elsewhere() {
        for (url, below) in [
            ("http://api/base/v1/x?y#z", Some("/v1/x?y#z")),
            ("http://api/base", Some("")),
            ("http://api/base?y", Some("?y")),
            ("http://api/base2/x", None),
            ("http://api/", None),
            ("http://api:81/base/x", None),
            ("https://api/base/x", None),
        ] {
            assert_eq!(below_upstream(url, "http://api/base"), below, "{url}");
        }
        assert_eq!(below_upstream("http://api/x", "http://api"), Some("/x"));
        for other in ["http://api.evil/x", "http://api:81/x", "http://api@evil/x"] {
            assert_eq!(below_upstream(other, "http://api"), None, "{other}");
        }
    }

    #[test]
    fn get_and_head_read() {
        assert!(is_read("GET") && is_read("HEAD"));
        assert!(!is_read("OPTIONS") && !is_read("POST"));
    }

    #[test]
    fn only_methods_that_are_not_idempotent_are_never_repeated() {
        for method in ["PUT", "DELETE", "MKCOL", "COPY", "PURGE", "post"] {
            assert!(may_be_repeated(method), "{method}");
        }
        assert!(!may_be_repeated("POST") && !may_be_repeated("PATCH"));
    }
}
