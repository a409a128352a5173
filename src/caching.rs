//! Caching headers for the response of a write with a key: only its caller may cache it.
//!
//! A replay carries the headers of the first response. An origin that marks the response `public`
//! does not know that a replay depends on who calls, so no shared cache may store it.

use crate::codec::list::entries;
use crate::header_list::HeaderList;

/// Makes a first response or a replay private to its caller. The names in `headers` are in lower case;
/// `sources` are the request headers that the scope and the key come from.
pub fn keep_private<'a>(headers: &mut HeaderList, sources: impl Iterator<Item = &'a str>) {
    // Targeted cache control overrules `Cache-Control` (RFC 9213).
    headers.retain(|name, _| !is_for_shared_caches(name));
    let given = headers.joined("cache-control").unwrap_or_default();
    let directives = entries(&given);
    let is_private = |directive: &str| {
        ["no-store", "private"].iter().any(|private| directive.eq_ignore_ascii_case(private))
    };
    if !directives.clone().any(is_private) {
        let kept = directives.filter(|directive| {
            let name = directive.split('=').next().unwrap_or_default().trim();
            !["public", "s-maxage", "private"].iter().any(|known| name.eq_ignore_ascii_case(known))
        });
        let private: Vec<&str> = core::iter::once("private").chain(kept).collect();
        headers.set("cache-control", private.join(", "));
    }
    for source in sources {
        headers.vary_by(source);
    }
}

fn is_for_shared_caches(name: &str) -> bool {
    name.ends_with("cdn-cache-control") || matches!(name, "surrogate-control" | "x-accel-expires")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(headers: &[(&str, &str)]) -> HeaderList {
        let mut headers: HeaderList = headers.iter().copied().collect();
        keep_private(&mut headers, ["Authorization", "Idempotency-Key"].into_iter());
        headers
    }

    fn cache_control(value: &str) -> String {
        kept(&[("cache-control", value)]).joined("cache-control").unwrap_or_default()
    }

    #[test]
    fn a_response_is_never_stored_by_shared_caches() {
        for (given, becomes) in [
            ("", "private"),
            ("max-age=60", "private, max-age=60"),
            ("public, max-age=60, S-Maxage=900, immutable", "private, max-age=60, immutable"),
            ("no-store", "no-store"),
            ("Private, max-age=1", "Private, max-age=1"),
            ("private=\"set-cookie\", max-age=1", "private, max-age=1"),
        ] {
            assert_eq!(cache_control(given), becomes, "{given}");
        }
        let left = kept(&[("cdn-cache-control", "max-age=9"), ("surrogate-control", "max-age=9")]);
        assert!(left.iter().all(|(name, _)| matches!(name, "cache-control" | "vary")));
    }

    #[test]
    fn the_response_varies_by_the_headers_that_identify_callers() {
        let vary = |given: &str| kept(&[("vary", given)]).joined("vary").unwrap_or_default();
        assert_eq!(vary("Accept"), "Accept, Authorization, Idempotency-Key");
        assert_eq!(vary("authorization"), "authorization, Idempotency-Key");
        assert_eq!(vary("*"), "*");
    }
}
