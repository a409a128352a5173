//! Reads the values of the sources of `SCOPE` from a request.

use super::error::ScopeError;
use super::schemes::is_bare_scheme;
use super::sources::{ScopeSource, ScopeSources};
use crate::codec::percent;

impl ScopeSources {
    /// Returns all sources of the one alternative that a request contains, with their values. `headers`
    /// are the request's headers, with names in lower case. Returns an error if the request contains no
    /// alternative, parts of several, or only a part of one.
    pub(super) fn read<'a>(
        &self,
        headers: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    ) -> Result<Vec<(&ScopeSource, String)>, ScopeError> {
        let mut found: Option<(&Vec<ScopeSource>, Vec<_>)> = None;
        for alternative in &self.0 {
            let mut values = Vec::new();
            for source in alternative {
                values.extend(source.value(headers.clone())?.map(|value| (source, value)));
            }
            if values.is_empty() {
                continue;
            }
            if found.is_some() {
                return Err(ScopeError::Several(self.clone()));
            }
            found = Some((alternative, values));
        }
        match found {
            None => Err(ScopeError::Missing(self.clone())),
            Some((alternative, values)) if values.len() < alternative.len() => {
                Err(ScopeError::Incomplete(self.clone()))
            }
            Some((_, values)) => Ok(values),
        }
    }
}

impl ScopeSource {
    /// Returns the value of the source in a request, or `None` if it is missing or empty.
    pub(super) fn value<'a>(
        &self,
        headers: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<Option<String>, ScopeError> {
        let value = match self {
            Self::Header(name) => self.of_header(name, headers)?,
            Self::Cookie(name) => self.of_cookies(name, headers)?,
            // The whole token. Its claims count only once its signature was checked.
            Self::Claim(_) => self.of_header("authorization", headers)?,
            // Only the origin knows it.
            Self::Origin(..) => None,
        };
        // A client whose token is empty sends only `Bearer`.
        let has_scheme = self.has_schemes() || matches!(self, Self::Claim(_));
        let is_blank = |value: &str| value.is_empty() || (has_scheme && is_bare_scheme(value));
        Ok(value.filter(|value| !is_blank(value)))
    }

    fn of_header<'a>(
        &self,
        name: &str,
        headers: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<Option<String>, ScopeError> {
        let mut found = None;
        for (known, value) in headers.filter(|(known, _)| are_one_name(known, name)) {
            // CGI-style servers read `X_Api_Key` and `X-Api-Key` as the same header.
            if known != name || found.is_some() {
                return Err(ScopeError::Ambiguous(self.clone()));
            }
            found = Some(value.trim_matches([' ', '\t']).to_owned());
        }
        Ok(found)
    }

    fn of_cookies<'a>(
        &self,
        name: &str,
        headers: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<Option<String>, ScopeError> {
        let mut found = None;
        for (_, cookies) in headers.filter(|(known, _)| *known == "cookie") {
            // Two header lines arrive joined by a comma.
            if cookies.contains(&format!(", {name}=")) {
                return Err(ScopeError::Ambiguous(self.clone()));
            }
            let pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
            for (_, value) in pairs.filter(|(known, _)| known.trim_end() == name) {
                // The origin might use the other of two cookies with this name.
                if found.is_some() {
                    return Err(ScopeError::Ambiguous(self.clone()));
                }
                found = Some(plain_cookie(value)?);
            }
        }
        Ok(found)
    }
}

/// Returns whether two header names, in lower case, are the same for a CGI-style origin, which replaces
/// all characters other than letters and digits by underscores (RFC 3875 §4.1.18).
fn are_one_name(one: &str, other: &str) -> bool {
    let folded = |byte: u8| if byte.is_ascii_alphanumeric() { byte } else { b'_' };
    one.bytes().map(folded).eq(other.bytes().map(folded))
}

/// Returns the value of a cookie as origins read it: without quotes around it, and with escapes
/// decoded.
fn plain_cookie(value: &str) -> Result<String, ScopeError> {
    let value = value.trim();
    let bare = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
    String::from_utf8(percent::decoded(bare.as_bytes()).collect())
        .map_err(|_| ScopeError::Unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(scope: &str, headers: &[(&str, &str)]) -> Result<Vec<String>, ScopeError> {
        let sources = ScopeSources::parse(scope).expect("sources");
        let found = sources.read(headers.iter().copied())?;
        Ok(found.into_iter().map(|(source, value)| format!("{source}: {value}")).collect())
    }

    #[test]
    fn a_request_has_exactly_one_alternative_and_all_its_sources() {
        let scope = "header:a,header:b+cookie:c";
        let sources = ScopeSources::parse(scope).expect("sources");
        assert_eq!(carried(scope, &[("a", "1")]), Ok(vec!["the header A: 1".to_owned()]));
        let both = Ok(vec!["the header B: 2".to_owned(), "the cookie c: 3".to_owned()]);
        assert_eq!(carried(scope, &[("cookie", "x=1; c=3"), ("b", "2"), ("a", "")]), both);
        for incomplete in [&[("b", "2")][..], &[("cookie", "c=3"), ("b", "")]] {
            assert_eq!(
                carried(scope, incomplete),
                Err(ScopeError::Incomplete(sources.clone())),
                "{incomplete:?}"
            );
        }
        for several in [&[("a", "1"), ("b", "2")][..], &[("a", "1"), ("b", "2"), ("cookie", "c=3")]]
        {
            assert_eq!(
                carried(scope, several),
                Err(ScopeError::Several(sources.clone())),
                "{several:?}"
            );
        }
        for missing in [&[][..], &[("a", " \t"), ("cookie", "c=; d=1")], &[("d", "1")]] {
            assert_eq!(
                carried(scope, missing),
                Err(ScopeError::Missing(sources.clone())),
                "{missing:?}"
            );
        }
    }

    #[test]
    fn a_source_that_origins_may_read_differently_is_refused() {
        let header = Err(ScopeError::Ambiguous(ScopeSource::Header("x-api-key".into())));
        let cookie = Err(ScopeError::Ambiguous(ScopeSource::Cookie("sid".into())));
        for headers in [
            &[("x-api-key", "a"), ("x_api_key", "b")][..],
            &[("x_api-key", "a")],
            &[("x.api.key", "a")],
            &[("x-api-key", "a"), ("x-api-key", "a")],
        ] {
            assert_eq!(carried("header:X-Api-Key,cookie:sid", headers), header, "{headers:?}");
        }
        for cookies in ["sid=a; sid=b", "sid=a;sid=a", "sid=a, sid=b", "x=1, sid=a; sid=a"] {
            let headers = [("cookie", cookies)];
            assert_eq!(carried("header:X-Api-Key,cookie:sid", &headers), cookie, "{cookies}");
        }
    }

    #[test]
    fn all_spellings_of_a_cookie_have_one_value() {
        for cookie in ["sid=s:a.b", "x=2;sid=s%3Aa.b ; y", "sid=\"s%3aa.b\"", "sid =s:%61.b"] {
            let found = carried("cookie:sid", &[("cookie", cookie)]);
            assert_eq!(found, Ok(vec!["the cookie sid: s:a.b".to_owned()]), "{cookie}");
        }
        assert_eq!(carried("cookie:sid", &[("cookie", "sid=%ff")]), Err(ScopeError::Unreadable));
    }
}
