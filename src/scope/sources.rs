//! `SCOPE`: where a request says whose it is.
//!
//! Several sources may be listed, and a request may carry one of them alone. If it could carry two,
//! the origin might look at another one than the scope does, and a caller who adds a header to a
//! retry would be somebody else here and the same one there. Sources that belong together are
//! joined by `+`; a request has to carry all of them.

use super::ScopeError;
use super::schemes::is_bare_scheme;
use crate::percent;
use core::fmt;

/// Where a request says who is calling.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScopeSource {
    /// The value of this header, its name in lower case.
    Header(String),
    /// The value of this cookie.
    Cookie(String),
}

/// The sources of `SCOPE`: alternatives, each of one source or of several joined ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScopeSources(Vec<Vec<ScopeSource>>);

/// Why a text is no list of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SourceError {
    /// An entry is not `header:NAME` or `cookie:NAME`.
    NotASource,
    /// A source is listed twice, so a request could have two scopes.
    ListedTwice,
}

impl ScopeSources {
    /// Reads `header:NAME,cookie:NAME,header:NAME+header:NAME`.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        let mut known = Vec::new();
        let mut alternatives = Vec::new();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let joined = entry.split('+').map(ScopeSource::parse);
            let mut joined = joined.collect::<Option<Vec<_>>>().ok_or(SourceError::NotASource)?;
            // In one order, so that the setting's order is no part of the scope.
            joined.sort();
            known.extend(joined.clone());
            alternatives.push(joined);
        }
        known.sort();
        if known.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(SourceError::ListedTwice);
        }
        if alternatives.is_empty() { Err(SourceError::NotASource) } else { Ok(Self(alternatives)) }
    }

    /// Returns the request headers that the sources read, their names in lower case.
    pub fn headers(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flatten().map(|source| match source {
            ScopeSource::Header(name) => name.as_str(),
            ScopeSource::Cookie(_) => "cookie",
        })
    }

    /// Whether a header, its name in lower case, is one of the sources.
    pub fn has_header(&self, name: &str) -> bool {
        let mut all = self.0.iter().flatten();
        all.any(|source| matches!(source, ScopeSource::Header(own) if own == name))
    }

    /// The sources that a request carries, with their values: those of one alternative, and all of
    /// them. `headers` are the request's, names in lower case.
    pub(super) fn carried<'a>(
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

impl Default for ScopeSources {
    /// `header:X-Api-Key,header:Authorization`
    fn default() -> Self {
        let header = |name: &str| vec![ScopeSource::Header(name.to_owned())];
        Self(vec![header("x-api-key"), header("authorization")])
    }
}

impl ScopeSource {
    fn parse(text: &str) -> Option<Self> {
        let is_token = |name: &str| {
            !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*-.^_`|~".contains(&b))
        };
        match text.trim().split_once(':') {
            Some(("header", name)) if is_token(name) => {
                Some(Self::Header(name.to_ascii_lowercase()))
            }
            Some(("cookie", name)) if is_token(name) => Some(Self::Cookie(name.to_owned())),
            _ => None,
        }
    }

    /// The kind and the name, as they are hashed.
    pub(super) fn parts(&self) -> [&str; 2] {
        match self {
            Self::Header(name) => ["header", name],
            Self::Cookie(name) => ["cookie", name],
        }
    }

    /// Whether values of this source are credentials as HTTP defines them: a scheme, and what
    /// belongs to it.
    pub(super) fn has_schemes(&self) -> bool {
        matches!(self, Self::Header(name) if name == "authorization")
    }

    /// What a request carries of it; `None` where there is nothing, or nothing in it.
    fn value<'a>(
        &self,
        headers: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<Option<String>, ScopeError> {
        let value = match self {
            Self::Header(name) => self.of_header(name, headers)?,
            Self::Cookie(name) => self.of_cookies(name, headers)?,
        };
        // A client whose token is empty sends `Bearer` alone.
        let says_nothing =
            |value: &str| value.is_empty() || (self.has_schemes() && is_bare_scheme(value));
        Ok(value.filter(|value| !says_nothing(value)))
    }

    fn of_header<'a>(
        &self,
        name: &str,
        headers: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<Option<String>, ScopeError> {
        let mut found = None;
        for (known, value) in headers.filter(|(known, _)| are_one_name(known, name)) {
            // CGI and its heirs give `X_Api_Key` and `X-Api-Key` to the origin under one name.
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
                // Of two, the origin may take the other one.
                if found.is_some() {
                    return Err(ScopeError::Ambiguous(self.clone()));
                }
                found = Some(plain_cookie(value)?);
            }
        }
        Ok(found)
    }
}

/// Whether two names, in lower case, are one to an origin that reads headers as CGI has them: with
/// an underscore for all that is no letter or digit.
fn are_one_name(one: &str, other: &str) -> bool {
    let folded = |byte: u8| if byte.is_ascii_alphanumeric() { byte } else { b'_' };
    one.bytes().map(folded).eq(other.bytes().map(folded))
}

/// The value of a cookie as origins read it: without quotes around it, escapes undone.
fn plain_cookie(value: &str) -> Result<String, ScopeError> {
    let value = value.trim();
    let bare = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
    String::from_utf8(percent::decoded(bare.as_bytes()).collect())
        .map_err(|_| ScopeError::Unreadable)
}

impl fmt::Display for ScopeSource {
    /// `the header X-Api-Key`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cookie(name) => write!(f, "the cookie {name}"),
            Self::Header(name) => {
                f.write_str("the header ")?;
                let mut is_first = true;
                for letter in name.chars() {
                    let shown = if is_first { letter.to_ascii_uppercase() } else { letter };
                    write!(f, "{shown}")?;
                    is_first = letter == '-';
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for ScopeSources {
    /// `the header X-Api-Key, or the header Authorization together with the cookie sid`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, alternative) in self.0.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { ", or " })?;
            for (at, source) in alternative.iter().enumerate() {
                write!(f, "{}{source}", if at == 0 { "" } else { " together with " })?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotASource => {
                "each source must be header:NAME or cookie:NAME; sources that belong together are joined by a plus sign, as in header:X-Api-Key+header:Authorization"
            }
            Self::ListedTwice => "a source may be listed once only, alone or joined to others",
        })
    }
}

impl core::error::Error for SourceError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(scope: &str, headers: &[(&str, &str)]) -> Result<Vec<String>, ScopeError> {
        let sources = ScopeSources::parse(scope).expect("sources");
        let found = sources.carried(headers.iter().copied())?;
        Ok(found.into_iter().map(|(source, value)| format!("{source}: {value}")).collect())
    }

    #[test]
    fn what_is_no_source_says_why() {
        for text in [
            "",
            ",",
            "X-Api-Key",
            "header:",
            "query:key",
            "header:a b",
            "cookie:a=b",
            "header:a+b",
            "header:a+",
            "+header:a",
            "header:a++header:b",
            "HEADER:a",
        ] {
            assert_eq!(ScopeSources::parse(text), Err(SourceError::NotASource), "{text}");
        }
        for text in ["header:a,header:A", "cookie:a+cookie:a", "header:a+header:b,header:b"] {
            assert_eq!(ScopeSources::parse(text), Err(SourceError::ListedTwice), "{text}");
        }
        for text in ["cookie:a,cookie:A", "header:a,cookie:a", " header:a + cookie:b , header:c "] {
            assert!(ScopeSources::parse(text).is_ok(), "{text}");
        }
        assert_eq!(
            ScopeSources::parse("header:X-Api-Key,header:Authorization"),
            Ok(ScopeSources::default())
        );
    }

    #[test]
    fn sources_are_shown_as_people_write_them() {
        let sources = ScopeSources::parse("cookie:Sid,header:x-api-key+header:AUTHORIZATION");
        assert_eq!(
            sources.expect("sources").to_string(),
            "the cookie Sid, or the header Authorization together with the header X-Api-Key"
        );
    }

    #[test]
    fn one_alternative_is_carried_and_all_of_it() {
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
    fn a_source_that_could_be_another_one_at_the_origin_is_refused() {
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
    fn a_cookie_has_one_spelling() {
        for cookie in ["sid=s:a.b", "x=2;sid=s%3Aa.b ; y", "sid=\"s%3aa.b\"", "sid =s:%61.b"] {
            let found = carried("cookie:sid", &[("cookie", cookie)]);
            assert_eq!(found, Ok(vec!["the cookie sid: s:a.b".to_owned()]), "{cookie}");
        }
        assert_eq!(carried("cookie:sid", &[("cookie", "sid=%ff")]), Err(ScopeError::Unreadable));
    }
}
