//! The query of an operator's call.

use crate::http::request::HttpRequest;
use oncekey::{KeyState, Rejection, ScopedKey};

/// The parameters of a query, each known and none repeated.
pub(crate) struct QueryParams(Vec<(String, String)>);

impl QueryParams {
    /// Reads a query. An unknown parameter, such as a misspelt filter, is refused, because ignoring it
    /// would return too much. Values contain no spaces and no control characters.
    pub(crate) fn parse(request: &HttpRequest, known: &[&str]) -> Result<Self, Rejection> {
        let mut members: Vec<(String, String)> = Vec::new();
        let query = request.query.as_deref().unwrap_or_default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if !known.contains(&name) || members.iter().any(|(other, _)| other == name) {
                let known = known.join(", ");
                return Err(Rejection::Invalid(format!(
                    "The query has an unknown or repeated parameter. Send only {known}, each at most once."
                )));
            }
            let value = js_sys::decode_uri_component(value).ok().map(String::from);
            let value = value.filter(|text| text.bytes().all(|byte| byte.is_ascii_graphic()));
            let value = value.ok_or_else(|| wrong(name, "visible ASCII"))?;
            members.push((name.to_owned(), value));
        }
        Ok(Self(members))
    }

    /// Returns the value, or an empty text if the parameter was left out.
    pub(crate) fn text(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// Reads a parameter, if there is one. `must_be` completes the error "NAME must be …".
    pub(crate) fn parsed<T>(
        &self,
        name: &str,
        must_be: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Rejection> {
        match self.text(name) {
            "" => Ok(None),
            text => parse(text).map(Some).ok_or_else(|| wrong(name, must_be)),
        }
    }

    pub(crate) fn limit(&self, default: usize, most: usize) -> Result<usize, Rejection> {
        let must_be = format!("a whole number from 1 to {most}");
        let parse = |text: &str| text.parse().ok().filter(|number| (1..=most).contains(number));
        Ok(self.parsed("limit", &must_be, parse)?.unwrap_or(default))
    }

    /// Reads a time in milliseconds or in RFC 3339.
    pub(crate) fn time(&self, name: &str, default: u64) -> Result<u64, Rejection> {
        const MUST_BE: &str =
            "a time in RFC 3339, such as 2026-11-29T00:00:00Z, or milliseconds since 1970";
        Ok(self.parsed(name, MUST_BE, parse_time)?.unwrap_or(default))
    }

    pub(crate) fn name(&self, name: &str) -> Result<Option<ScopedKey>, Rejection> {
        const MUST_BE: &str = "the hash of a key in 64 hexadecimal digits, never the key itself";
        self.parsed(name, MUST_BE, ScopedKey::from_hex)
    }

    pub(crate) fn state(&self) -> Result<Option<KeyState>, Rejection> {
        const STATES: &str = "in_progress, completed, unknown, released, voided or expired";
        self.parsed("state", STATES, KeyState::parse)
    }
}

/// Reads a time in RFC 3339 strictly. The platform's own parser also accepts other forms, and turns
/// the 30th of February into the 2nd of March.
fn parse_time(text: &str) -> Option<u64> {
    const FORM: &str = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$";
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().filter(|millis| *millis <= LATEST);
    }
    if !js_sys::RegExp::new(FORM, "i").test(text) {
        return None;
    }
    let clock = text[..19].to_ascii_uppercase();
    let there = js_sys::Date::new(&[&clock, "Z"].concat().into());
    let is_real =
        !there.get_time().is_nan() && String::from(there.to_iso_string()).starts_with(&clock);
    let millis = js_sys::Date::parse(&text.to_ascii_uppercase());
    (is_real && millis >= 0.0).then_some(millis as u64)
}

/// The latest time that clocks and databases hold exactly.
pub(crate) const LATEST: u64 = 1 << 53;

fn wrong(name: &str, must_be: &str) -> Rejection {
    Rejection::Invalid(format!("{name} must be {must_be}."))
}

/// Returns the `Link` to the next page of the same query.
pub(crate) fn next_page(request: &HttpRequest, cursor: &str) -> String {
    let query = request.query.as_deref().unwrap_or_default();
    let mut link = ["<", &request.path, "?"].concat();
    for pair in query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("cursor=")) {
        link.extend([pair, "&"]);
    }
    link.extend(["cursor=", cursor, ">; rel=\"next\""]);
    link
}
