//! The canonical form of a credential. A caller cannot get a second scope by writing the same
//! credential in another way.
//!
//! HTTP compares authentication schemes without case, and ignores the number of spaces between the
//! scheme and the credentials (RFC 9110 §11). A token in `Authorization` is the same caller under any
//! scheme, because many origins ignore the scheme. Tokens are compared byte by byte. A value that an
//! origin could read in more than one way is refused: with a comma (as between two header lines), a
//! quote, more than one word, or base64 that an encoder would not write.

use super::aliases::ScopeAliases;
use super::changing_credentials::{changes, is_signing};
use super::error::ScopeError;
use super::schemes::{KNOWN_SCHEMES, known_scheme, split_scheme, usual_scheme};
use super::sources::ScopeSource;
use crate::codec::base64;

/// How one source identifies the caller.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ScopePart {
    /// The tenant that `SCOPE_ALIASES` names for the credential.
    Tenant(String),
    /// The credential in its canonical form.
    Credential(String),
}

impl ScopePart {
    /// Reads the value of a source. Returns an error if the credential changes by itself or can be read
    /// in more than one way.
    pub(super) fn read(
        source: &ScopeSource,
        value: &str,
        aliases: &ScopeAliases,
    ) -> Result<Self, ScopeError> {
        if value.contains(char::REPLACEMENT_CHARACTER) {
            return Err(ScopeError::Unreadable);
        }
        let parts = split_scheme(value).filter(|(scheme, _)| {
            source.has_schemes() || known_scheme(scheme).is_some() || is_signing(scheme)
        });
        // The operator lists an alias explicitly, so it also allows credentials that are refused
        // below. It applies to all spellings, so that a caller cannot avoid it.
        if !aliases.is_empty() {
            let spellings = spellings(source, value, parts);
            if let Some(tenant) = spellings.iter().find_map(|spelling| aliases.tenant_of(spelling))
            {
                return Ok(Self::Tenant(tenant.to_owned()));
            }
        }
        if changes(value, parts, source.has_schemes()) {
            return Err(ScopeError::ShortLivedToken);
        }
        let ambiguous = || ScopeError::Ambiguous(source.clone());
        // Two header lines arrive joined by a comma, and an origin may use either of them.
        if value.contains(',') {
            return Err(ambiguous());
        }
        let Some((scheme, rest)) = parts else {
            let is_quoted = matches!(source, ScopeSource::Header(_)) && value.contains('"');
            return if is_quoted || (source.has_schemes() && begins_with_scheme(value)) {
                Err(ambiguous())
            } else if source.has_schemes() {
                Ok(Self::Credential(format!("{ANY_SCHEME} {value}")))
            } else {
                Ok(Self::Credential(value.to_owned()))
            };
        };
        let scheme = usual_scheme(scheme);
        // Names of parameters ignore case, but a key that looks like a parameter does not. So only
        // lower-case names are accepted.
        let is_plain = parameter(rest)
            .is_none_or(|(name, _)| !name.bytes().any(|byte| byte.is_ascii_uppercase()));
        let rest = if scheme == "Basic" { rest.to_owned() } else { plain(rest) };
        let is_one_word = is_plain && !rest.contains([' ', '\t', '"', ';']);
        let is_canonical = scheme != "Basic"
            || base64::decode(&rest).is_some_and(|bytes| base64::encode(&bytes) == rest);
        if !is_one_word || !is_canonical {
            return Err(ambiguous());
        }
        let scheme = if source.has_schemes() && scheme != "Basic" { ANY_SCHEME } else { &scheme };
        Ok(Self::Credential(format!("{scheme} {rest}")))
    }
}

/// Replaces the scheme of every `Authorization` value that is one token, and is added if there is no
/// scheme. Some origins accept a token with `Token` as well as with `Bearer`, or read only the last
/// word. So another scheme must not give the caller another scope.
const ANY_SCHEME: &str = "Bearer";

/// Returns all spellings of a value that an alias may have. An alias is a hash, so each spelling has to
/// be hashed and compared.
fn spellings(source: &ScopeSource, value: &str, parts: Option<(&str, &str)>) -> Vec<String> {
    let mut spellings = vec![value.to_owned()];
    let mut add = |scheme: &str, rest: &str| {
        let cases = [scheme.to_owned(), scheme.to_ascii_lowercase(), scheme.to_ascii_uppercase()];
        spellings.extend(cases.map(|scheme| format!("{scheme} {rest}")));
    };
    let is_basic = parts.is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("Basic"));
    if let Some((scheme, rest)) = parts {
        let scheme = usual_scheme(scheme);
        add(&scheme, rest);
        if !is_basic {
            add(&scheme, &plain(rest));
        }
    }
    if source.has_schemes() && !is_basic {
        let token = parts.map_or_else(|| value.to_owned(), |(_, rest)| plain(rest));
        for scheme in KNOWN_SCHEMES.into_iter().filter(|scheme| *scheme != "Basic") {
            add(scheme, &token);
        }
        for parameter in [format!("token={token}"), format!("token=\"{token}\"")] {
            add("Token", &parameter);
        }
        spellings.push(token);
    }
    spellings
}

/// Returns the canonical form of the text after a scheme. A parameter is written without white space and
/// quotes. The parameter `token` is replaced by its value, because Rails reads `Token token=a` as
/// `Token a`.
fn plain(rest: &str) -> String {
    let rest = match parameter(rest) {
        Some((name, value)) => format!("{name}={value}"),
        None => rest.to_owned(),
    };
    rest.strip_prefix("token=").map(str::to_owned).unwrap_or(rest)
}

/// Returns whether a value without white space starts with a known scheme, as in `Bearer:abc`.
fn begins_with_scheme(value: &str) -> bool {
    let end = value.find([':', '=', ';', '/']).unwrap_or(0);
    known_scheme(&value[..end]).is_some()
}

/// Splits one parameter such as `token="abc"` (RFC 9110 §11.2) into its name and its value, without the
/// white space around the equals sign and the quotes around the value.
fn parameter(text: &str) -> Option<(&str, &str)> {
    const BLANKS: [char; 2] = [' ', '\t'];
    let (name, value) = text.split_once('=')?;
    let (name, value) = (name.trim_end_matches(BLANKS), value.trim_start_matches(BLANKS));
    let is_name = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    let bare = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let bare = bare.filter(|bare| !bare.is_empty() && !bare.contains(['"', '\\', ' ', '\t']));
    let bare = bare.or(Some(value).filter(|value| !value.contains('"')))?;
    // If there is nothing else after the name, the equals signs are the padding of base64.
    (is_name && !bare.trim_matches('=').is_empty()).then_some((name, bare))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authorization() -> ScopeSource {
        ScopeSource::Header("authorization".into())
    }

    fn read(value: &str) -> Result<ScopePart, ScopeError> {
        ScopePart::read(&authorization(), value, &ScopeAliases::default())
    }

    fn spelt(value: &str) -> String {
        match read(value) {
            Ok(ScopePart::Credential(credential)) => credential,
            other => panic!("{value}: {other:?}"),
        }
    }

    #[test]
    fn only_the_scheme_is_compared_without_case() {
        for value in ["Bearer Ab", "bearer Ab", "BEARER  Ab", "bEaReR\t Ab", "Bearer \tAb"] {
            assert_eq!(spelt(value), "Bearer Ab", "{value}");
        }
        assert_ne!(spelt("Bearer ab"), spelt("Bearer Ab"));
        assert_eq!(spelt("bearer abc=="), "Bearer abc==");
        // Origins that ignore the scheme see the same token.
        for value in ["Token token=aB", "token token=\"aB\"", "TOKEN token = \"aB\"", "Token aB"] {
            assert_eq!(spelt(value), "Bearer aB", "{value}");
        }
        for value in ["MyCo  aB", "ApiKey aB", "aB"] {
            assert_eq!(spelt(value), "Bearer aB", "{value}");
        }
        assert_eq!(spelt("basic dXNlcjpwYQ=="), "Basic dXNlcjpwYQ==");
    }

    #[test]
    fn a_credential_that_origins_may_read_differently_is_refused() {
        for value in [
            "Bearer a, Bearer b",
            "Bearer a,",
            "a,b",
            "Bearer a b",
            "Bearer \"a\"",
            "\"a\"",
            "Bearer a;b",
            "Bearer:a",
            "bearer=a",
            "Discogs key=a, secret=b",
            "Token TOKEN=a",
            "Token token=\"a\\b\"",
            "Token a.b = c",
            "Token = a",
            "Basic dXNlcjpwYQ",
            "Basic dXNlcjpwYR==",
            "Basic dXNlcjpwYQ=",
            "Basic dXNlcjpwYQ===",
            "Basic dXNl cjpwYQ==",
            "Basic token=dXNlcjpwYQ==",
            "Basic user:pa",
            "Basic dX-_",
        ] {
            assert_eq!(read(value), Err(ScopeError::Ambiguous(authorization())), "{value}");
        }
        assert_eq!(read("k\u{fffd}"), Err(ScopeError::Unreadable));
    }

    #[test]
    fn only_known_schemes_are_recognized_outside_of_authorization() {
        let source = ScopeSource::Header("x-auth".into());
        for (value, expected) in [("bearer  a", "Bearer a"), ("my  Key", "my  Key"), ("a", "a")] {
            assert_eq!(
                ScopePart::read(&source, value, &ScopeAliases::default()),
                Ok(ScopePart::Credential(expected.to_owned())),
                "{value}"
            );
        }
    }
}
