//! Authentication schemes (RFC 9110 §11.1): how they are usually written, and where they end.

/// Schemes of credentials that stay the same, as they are usually written. The scope's hash is made
/// of this spelling.
pub(super) const KNOWN_SCHEMES: [&str; 17] = [
    "Bearer",
    "Basic",
    "Token",
    "ApiKey",
    "Api-Key",
    "Api-Token",
    "X-Api-Key",
    "Key",
    "OAuth",
    "Bot",
    "PAT",
    "SSWS",
    "GenieKey",
    "sso-key",
    "KakaoAK",
    "DeepL-Auth-Key",
    "Klaviyo-API-Key",
];

/// Whether a value is a scheme that comes without anything, which says nothing of the caller.
pub(super) fn is_bare_scheme(value: &str) -> bool {
    known_scheme(value).is_some()
}

/// A scheme and what belongs to it, without the blanks between and around them.
pub(crate) fn split_scheme(value: &str) -> Option<(&str, &str)> {
    const BLANKS: [char; 2] = [' ', '\t'];
    let (scheme, rest) = value.trim_matches(BLANKS).split_once(BLANKS)?;
    Some((scheme, rest.trim_start_matches(BLANKS)))
}

/// A scheme of credentials that stay the same, as it is usually written.
pub(super) fn known_scheme(scheme: &str) -> Option<&'static str> {
    KNOWN_SCHEMES.into_iter().find(|known| known.eq_ignore_ascii_case(scheme))
}

/// A scheme as it is usually written; in small letters, where nobody knows.
pub(super) fn usual_scheme(scheme: &str) -> String {
    known_scheme(scheme).map_or_else(|| scheme.to_ascii_lowercase(), str::to_owned)
}
