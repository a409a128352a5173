//! The setting `SCOPE`: the what identifies the caller.
//!
//! The setting lists alternatives, and a request must contain exactly one of them. If a request could
//! contain two, the origin might use another one than the scope does: a caller who adds a header to a
//! retry would get another scope, but would still be the same caller at the origin. Sources that belong
//! together are joined by `+`, and a request must contain all of them.

use crate::canonical::{JsonPointer, is_token};
use crate::codec::list::entries;
use crate::lookup::is_plain;
use crate::request::path::has_dot_segments;
use core::fmt;

/// What identifies the caller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScopeSource {
    /// The value of the header with this name, in lower case.
    Header(String),
    /// The value of the cookie with this name.
    Cookie(String),
    /// The claim with this name in the JWT that `Authorization` carries.
    Claim(String),
    /// What the origin responds at this path and query, at this place of its JSON.
    Origin(String, JsonPointer),
}

/// The sources of `SCOPE`: a list of alternatives. Each alternative is one source, or several joined
/// sources.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScopeSources(pub(super) Vec<Vec<ScopeSource>>);

/// The headers that usually carry credentials.
pub(super) const USUAL_CREDENTIALS: [&str; 3] = ["authorization", "cookie", "x-api-key"];

/// Why a text is not a list of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SourceError {
    /// An entry is not `header:NAME`, `cookie:NAME`, `jwt:CLAIM` or `origin:/PATH#/POINTER`.
    NotASource,
    /// A source is listed twice, so a request could have two scopes.
    ListedTwice,
    /// Two alternatives read `Authorization`, or one reads it as a token and as a JWT.
    AuthorizationTwice,
    /// The origin is to be asked, and there is another alternative, another path or a JWT.
    OriginBesideOthers,
}

impl ScopeSources {
    /// Parses `header:NAME,cookie:NAME,header:NAME+header:NAME,jwt:CLAIM+jwt:CLAIM`.
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
        let is_claim = |source: &ScopeSource| matches!(source, ScopeSource::Claim(_));
        let with_claims = alternatives.iter().filter(|joined| joined.iter().any(is_claim)).count();
        let as_header = known.iter().any(|source| source.has_schemes());
        if with_claims > 1 || (with_claims == 1 && as_header) {
            return Err(SourceError::AuthorizationTwice);
        }
        let paths: Vec<_> = known.iter().filter_map(ScopeSource::origin_path).collect();
        let is_one_path = paths.windows(2).all(|pair| pair[0] == pair[1]);
        if !paths.is_empty() && (alternatives.len() > 1 || with_claims > 0 || !is_one_path) {
            return Err(SourceError::OriginBesideOthers);
        }
        if alternatives.is_empty() { Err(SourceError::NotASource) } else { Ok(Self(alternatives)) }
    }

    /// Returns the request headers that the sources read, their names in lower case.
    pub fn headers(&self) -> impl Iterator<Item = &str> {
        let all = self.0.iter().flatten();
        let is_answer = |source: &ScopeSource| source.origin_path().is_some();
        // If nothing else is named, the origin gets the usual credentials.
        let is_usual = all.clone().all(is_answer);
        let usual = USUAL_CREDENTIALS.into_iter().filter(move |_| is_usual);
        all.filter(move |source| !is_answer(source)).map(ScopeSource::header).chain(usual)
    }

    /// Returns whether a header is one of the sources. `name` is in lower case.
    pub fn has_header(&self, name: &str) -> bool {
        name != "cookie" && self.headers().any(|own| own == name)
    }

    /// Returns whether any source is a claim of a JWT.
    pub fn has_claims(&self) -> bool {
        self.0.iter().flatten().any(|source| matches!(source, ScopeSource::Claim(_)))
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
            // The name of a claim may be a URL (RFC 7519 §4.2).
            Some(("jwt", name))
                if !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic()) =>
            {
                Some(Self::Claim(name.to_owned()))
            }
            Some(("origin", answer)) => {
                let (path, fragment) = answer.split_once('#')?;
                let pointer = JsonPointer::parse_fragment(fragment).ok()?;
                Some(Self::Origin(parse_origin_path(path)?, pointer))
            }
            _ => None,
        }
    }

    /// Returns the kind and the name of the source, as the scope hashes them.
    pub(super) fn parts(&self) -> [&str; 2] {
        match self {
            Self::Header(name) => ["header", name],
            Self::Cookie(name) => ["cookie", name],
            Self::Claim(name) => ["jwt", name],
            Self::Origin(path, _) => ["origin", path],
        }
    }

    /// Returns the header that the source reads.
    pub(super) fn header(&self) -> &str {
        match self {
            Self::Header(name) => name,
            Self::Cookie(_) => "cookie",
            Self::Claim(_) | Self::Origin(..) => "authorization",
        }
    }

    fn origin_path(&self) -> Option<&str> {
        match self {
            Self::Origin(path, _) => Some(path),
            _ => None,
        }
    }

    /// Returns whether the values of this source start with an authentication scheme (RFC 9110 §11.4).
    pub(super) fn has_schemes(&self) -> bool {
        matches!(self, Self::Header(name) if name == "authorization")
    }
}

/// Reads a path and query of the origin, without a fragment. Returns `None` if it is none, or leads
/// elsewhere.
fn parse_origin_path(text: &str) -> Option<String> {
    let is_target = text.starts_with('/') && !text.starts_with("//") && is_plain(text);
    let has_dots = text.split('?').next().is_some_and(has_dot_segments);
    (is_target && !has_dots).then(|| text.to_owned())
}

/// Reads the setting `REPLAY_AUTHORIZATION`: `origin:/PATH`, the path and query at which the origin says
/// whether a credential still holds.
pub fn parse_replay_authorization(text: &str) -> Result<String, &'static str> {
    text.strip_prefix("origin:").and_then(parse_origin_path).ok_or(
        "must be origin:/PATH, a path of your API that returns 2xx, 401 or 403, such as origin:/v1/me",
    )
}

impl fmt::Display for ScopeSource {
    /// Writes the source as in `the header X-Api-Key`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cookie(name) => write!(f, "the cookie {name}"),
            Self::Claim(_) => f.write_str("the header Authorization with a JWT"),
            Self::Origin(..) => {
                f.write_str("the header Authorization, the header X-Api-Key or a cookie")
            }
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
            let is_only_asked = alternative.iter().all(|source| source.origin_path().is_some());
            let named = alternative.iter();
            let named = named.filter(|source| is_only_asked || source.origin_path().is_none());
            let mut shown: Vec<_> = named.map(ToString::to_string).collect();
            // All claims are in one token, and all answers in one response.
            shown.dedup();
            f.write_str(&shown.join(" together with "))?;
        }
        Ok(())
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotASource => {
                "each source must be header:NAME, cookie:NAME, jwt:CLAIM or origin:/PATH#/JSON/POINTER; join sources that belong together with a plus sign, as in header:X-Api-Key+header:Authorization or jwt:tenant+jwt:sub"
            }
            Self::ListedTwice => "each source may be listed only once, alone or joined with others",
            Self::AuthorizationTwice => {
                "a JWT is in the header Authorization, so list only one entry with jwt:CLAIM, and no header:Authorization beside it; join claims with a plus sign, as in jwt:tenant+jwt:sub"
            }
            Self::OriginBesideOthers => {
                "origin:/PATH#/JSON/POINTER must be the only entry; join with it only the headers and cookies that carry the credential, and other members of the same response"
            }
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
            "jwt:",
            "jwt:a b",
            "jwt:é",
            "JWT:sub",
            "origin:",
            "origin:/me",
            "origin:/me#",
            "origin:/me#id",
            "origin:me#/id",
            "origin://me#/id",
            "origin:https://x/me#/id",
            "origin:/a/../me#/id",
            "origin:/m e#/id",
            "origin:/me#/~2",
        ] {
            assert_eq!(ScopeSources::parse(text), Err(SourceError::NotASource), "{text}");
        }
        for text in ["header:a,header:A", "cookie:a+cookie:a", "header:a+header:b,header:b"] {
            assert_eq!(ScopeSources::parse(text), Err(SourceError::ListedTwice), "{text}");
        }
        for text in
            ["jwt:sub,jwt:id", "jwt:sub,header:authorization", "header:Authorization+jwt:sub"]
        {
            assert_eq!(ScopeSources::parse(text), Err(SourceError::AuthorizationTwice), "{text}");
        }
        for text in [
            "origin:/me#/id,header:a",
            "origin:/me#/id+jwt:sub",
            "origin:/me#/id+origin:/you#/id",
            "origin:/me#/id,origin:/me#/b",
        ] {
            assert_eq!(ScopeSources::parse(text), Err(SourceError::OriginBesideOthers), "{text}");
        }
        for text in ["origin:/me?a=b#/data/0/id", "header:X-Token+origin:/me#/a+origin:/me#/b"] {
            assert!(ScopeSources::parse(text).is_ok(), "{text}");
        }
        for text in ["jwt:iss+jwt:sub", "jwt:https://shop.example/tenant,header:X-Api-Key"] {
            assert!(ScopeSources::parse(text).is_ok_and(|sources| sources.has_claims()), "{text}");
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
        let sources = ScopeSources::parse("jwt:tenant+jwt:sub+header:X-App").expect("sources");
        assert_eq!(
            sources.to_string(),
            "the header X-App together with the header Authorization with a JWT"
        );
        assert!(sources.has_header("authorization") && !sources.has_header("cookie"));
        for (scope, shown) in [
            (
                "origin:/me#/a+origin:/me#/b",
                "the header Authorization, the header X-Api-Key or a cookie",
            ),
            ("origin:/me#/a+header:X-Token", "the header X-Token"),
        ] {
            assert_eq!(ScopeSources::parse(scope).expect("sources").to_string(), shown);
        }
    }

    #[test]
    fn headers_of_a_question_are_those_that_carry_the_credential() {
        let headers = |scope: &str| {
            let sources = ScopeSources::parse(scope).expect("sources");
            sources.headers().map(str::to_owned).collect::<Vec<_>>().join(",")
        };
        assert_eq!(headers("origin:/me#/a"), "authorization,cookie,x-api-key");
        assert_eq!(headers("origin:/me#/a+cookie:sid"), "cookie");
        for text in ["/me", "origin:", "origin:/me#/id", "origin:x", "header:a"] {
            assert!(parse_replay_authorization(text).is_err(), "{text}");
        }
        assert_eq!(parse_replay_authorization("origin:/v1/me?a=b"), Ok("/v1/me?a=b".to_owned()));
    }
}
