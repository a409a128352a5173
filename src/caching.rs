//! What a keyed write's response says to caches: that it is its caller's alone.
//!
//! A replay carries the headers of the first response, and an origin that calls that `public` knew
//! nothing of other callers. No cache that is shared may keep it, whatever it goes by.

use crate::codec::list::entries;
use crate::header_list::HeaderList;

/// Makes the response private, for a first response and its replays alike. Names are in lower case;
/// `sources` are the headers that say whose key it is.
pub fn keep_private<'a>(headers: &mut HeaderList, sources: impl Iterator<Item = &'a str>) {
    // They would overrule `Cache-Control` (RFC 9213).
    headers.retain(|name, _| !is_for_shared_caches(name));
    let said = headers.joined("cache-control").unwrap_or_default();
    let directives = entries(&said);
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
    fn no_shared_cache_may_keep_it() {
        for (said, becomes) in [
            ("", "private"),
            ("max-age=60", "private, max-age=60"),
            ("public, max-age=60, S-Maxage=900, immutable", "private, max-age=60, immutable"),
            ("no-store", "no-store"),
            ("Private, max-age=1", "Private, max-age=1"),
            ("private=\"set-cookie\", max-age=1", "private, max-age=1"),
        ] {
            assert_eq!(cache_control(said), becomes, "{said}");
        }
        let left = kept(&[("cdn-cache-control", "max-age=9"), ("surrogate-control", "max-age=9")]);
        assert!(left.iter().all(|(name, _)| matches!(name, "cache-control" | "vary")));
    }

    #[test]
    fn it_varies_by_what_tells_callers_apart() {
        let vary = |said: &str| kept(&[("vary", said)]).joined("vary").unwrap_or_default();
        assert_eq!(vary("Accept"), "Accept, Authorization, Idempotency-Key");
        assert_eq!(vary("authorization"), "authorization, Idempotency-Key");
        assert_eq!(vary("*"), "*");
    }
}
