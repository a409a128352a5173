//! Authentication schemes (RFC 9110 §11.1).

/// Schemes whose credentials do not change by themselves, in their usual spelling. The scope is a hash
/// over this spelling.
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

/// Returns whether a value is only a known scheme, without credentials.
pub(super) fn is_bare_scheme(value: &str) -> bool {
    known_scheme(value).is_some()
}

/// Splits a value into its scheme and its credentials, without the white space around them. Returns
/// `None` if the value is one word.
pub(crate) fn split_scheme(value: &str) -> Option<(&str, &str)> {
    const BLANKS: [char; 2] = [' ', '\t'];
    let (scheme, rest) = value.trim_matches(BLANKS).split_once(BLANKS)?;
    Some((scheme, rest.trim_start_matches(BLANKS)))
}

/// Returns the usual spelling of a scheme, if its credentials are known not to change by themselves.
pub(super) fn known_scheme(scheme: &str) -> Option<&'static str> {
    KNOWN_SCHEMES.into_iter().find(|known| known.eq_ignore_ascii_case(scheme))
}

/// Returns the usual spelling of a known scheme, or an unknown scheme in lower case.
pub(super) fn usual_scheme(scheme: &str) -> String {
    known_scheme(scheme).map_or_else(|| scheme.to_ascii_lowercase(), str::to_owned)
}
