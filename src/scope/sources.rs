//! The setting `SCOPE`: the headers and cookies that identify the caller.
//!
//! The setting lists alternatives, and a request must contain exactly one of them. If a request could
//! contain two, the origin might use another one than the scope does: a caller who adds a header to a
//! retry would get another scope, but would still be the same caller at the origin. Sources that belong
//! together are joined by `+`, and a request must contain all of them.

use crate::canonical::is_token;
use crate::codec::list::entries;
use core::fmt;

/// A header or a cookie that identifies the caller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScopeSource {
    /// The value of the header with this name, in lower case.
    Header(String),
    /// The value of the cookie with this name.
    Cookie(String),
}

/// The sources of `SCOPE`: a list of alternatives. Each alternative is one source, or several joined
/// sources.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScopeSources(pub(super) Vec<Vec<ScopeSource>>);

/// Why a text is not a list of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SourceError {
    /// An entry is not `header:NAME` or `cookie:NAME`.
    NotASource,
    /// A source is listed twice, so a request could have two scopes.
    ListedTwice,
}

impl ScopeSources {
    /// Parses `header:NAME,cookie:NAME,header:NAME+header:NAME`.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        let mut known = Vec::new();
        let mut alternatives = Vec::new();
        for entry in entries(text) {
            let joined = entry.split('+').map(ScopeSource::parse);
            let mut joined = joined.collect::<Option<Vec<_>>>().ok_or(SourceError::NotASource)?;
            // Sorted, so that the order in the setting does not change the scope.
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

    /// Returns whether a header is one of the sources. `name` is in lower case.
    pub fn has_header(&self, name: &str) -> bool {
        let mut all = self.0.iter().flatten();
        all.any(|source| matches!(source, ScopeSource::Header(own) if own == name))
    }
}

impl Default for ScopeSources {
    /// Returns `header:X-Api-Key,header:Authorization`.
    fn default() -> Self {
        let header = |name: &str| vec![ScopeSource::Header(name.to_owned())];
        Self(vec![header("x-api-key"), header("authorization")])
    }
}

impl ScopeSource {
    fn parse(text: &str) -> Option<Self> {
        // A plus sign joins sources, so it cannot be part of a name.
        let is_name = |name: &str| is_token(name) && !name.contains('+');
        match text.trim().split_once(':') {
            Some(("header", name)) if is_name(name) => {
                Some(Self::Header(name.to_ascii_lowercase()))
            }
            Some(("cookie", name)) if is_name(name) => Some(Self::Cookie(name.to_owned())),
            _ => None,
        }
    }

    /// Returns the kind and the name of the source, as the scope hashes them.
    pub(super) fn parts(&self) -> [&str; 2] {
        match self {
            Self::Header(name) => ["header", name],
            Self::Cookie(name) => ["cookie", name],
        }
    }

    /// Returns whether the values of this source start with an authentication scheme (RFC 9110 §11.4).
    pub(super) fn has_schemes(&self) -> bool {
        matches!(self, Self::Header(name) if name == "authorization")
    }
}

impl fmt::Display for ScopeSource {
    /// Writes the source as in `the header X-Api-Key`.
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
    /// Writes the sources as in `the header X-Api-Key, or the header Authorization together with the
    /// cookie sid`.
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
                "each source must be header:NAME or cookie:NAME; join sources that belong together with a plus sign, as in header:X-Api-Key+header:Authorization"
            }
            Self::ListedTwice => "each source may be listed only once, alone or joined with others",
        })
    }
}

impl core::error::Error for SourceError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_invalid_sources_says_what_is_wrong() {
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
    fn the_headers_that_sources_read_are_listed() {
        let sources = ScopeSources::parse("cookie:Sid,header:X-Api-Key+header:b").expect("sources");
        assert_eq!(sources.headers().collect::<Vec<_>>(), ["cookie", "b", "x-api-key"]);
    }

    #[test]
    fn sources_are_displayed_as_a_phrase() {
        let sources = ScopeSources::parse("cookie:Sid,header:x-api-key+header:AUTHORIZATION");
        assert_eq!(
            sources.expect("sources").to_string(),
            "the cookie Sid, or the header Authorization together with the header X-Api-Key"
        );
    }
}
