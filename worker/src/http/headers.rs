//! Headers for the platform, made from headers that came from it.
//!
//! When a Worker sets a header value as text that is not ASCII, the platform writes a warning with the
//! value into the Worker's log. The value may be a cookie or a credential. A value that came from the
//! platform is therefore returned in the platform's own copy: it never becomes text, and its bytes do
//! not change.

use oncekey::HeaderList;
use oncekey::response::is_odd;
use worker::Headers;
use worker::web_sys;

/// Returns the headers of the list whose bytes are not UTF-8, or `None` if there are none.
pub(crate) fn odd(list: &HeaderList, came: &web_sys::Headers) -> Option<web_sys::Headers> {
    let is_odd = |name: &str| list.iter().any(|(known, value)| known == name && is_odd(value));
    list.iter().any(|(name, _)| is_odd(name)).then(|| only(came, is_odd))?
}

/// Returns the platform's headers for a list. `came` is the object that the list was read from.
pub(crate) fn of(list: &HeaderList, came: Option<&web_sys::Headers>) -> Headers {
    // Nearly always all values are ASCII, and then `came` is not needed.
    let came = came.filter(|_| list.iter().any(|(_, value)| !value.is_ascii()));
    let is_own = |name: &str| {
        let unchanged = |value: &str| {
            came.and_then(|came| came.get(name).ok()?).is_some_and(|own| own.contains(value))
        };
        list.iter().any(|(known, value)| known == name && !value.is_ascii() && unchanged(value))
    };
    let made = came.and_then(|came| only(came, is_own)).map_or_else(Headers::new, Headers);
    for (name, value) in list.iter().filter(|(name, _)| !is_own(name)) {
        // The platform accepts what came from it. A value that it refuses is left out.
        let _ = made.append(name, value);
    }
    made
}

/// Copies the headers whose names `keep` accepts.
fn only(came: &web_sys::Headers, keep: impl Fn(&str) -> bool) -> Option<web_sys::Headers> {
    let copy = Headers(web_sys::Headers::new_with_headers(came).ok()?);
    let names: Vec<String> = copy.keys().collect();
    for name in names.iter().filter(|name| !keep(name)) {
        let _ = copy.delete(name);
    }
    Some(copy.0)
}

/// Returns whether the platform removes this coding from a body. It decodes only `gzip` and `br`, in
/// lower case.
pub(crate) fn is_taken_off(coding: &str) -> bool {
    matches!(coding.trim(), "" | "gzip" | "br" | "identity")
}
