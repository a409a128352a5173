//! Headers for the platform, made of ones that came from it.
//!
//! A value that is handed over as text and is not ASCII makes the platform write a warning, value and
//! all, into the Worker's log. The value may be a cookie or a credential. One that came from the
//! platform therefore goes back as the platform's own copy: it is never text on its way, and its bytes
//! stay what they were.

use oncekey::HeaderList;
use oncekey::response::is_odd;
use worker::Headers;
use worker::web_sys;

/// Those headers whose bytes are no UTF-8, of the names that the list has; `None` where all are.
pub(crate) fn odd(list: &HeaderList, came: &web_sys::Headers) -> Option<web_sys::Headers> {
    let is_odd = |name: &str| list.iter().any(|(known, value)| known == name && is_odd(value));
    list.iter().any(|(name, _)| is_odd(name)).then(|| only(came, is_odd))?
}

/// The headers of this list. `came` is what they came with.
pub(crate) fn of(list: &HeaderList, came: Option<&web_sys::Headers>) -> Headers {
    // Nearly always all is ASCII, and then nothing of what came is needed.
    let came = came.filter(|_| list.iter().any(|(_, value)| !value.is_ascii()));
    let is_own = |name: &str| {
        let unchanged = |value: &str| {
            came.and_then(|came| came.get(name).ok()?).is_some_and(|own| own.contains(value))
        };
        list.iter().any(|(known, value)| known == name && !value.is_ascii() && unchanged(value))
    };
    let made = came.and_then(|came| only(came, is_own)).map_or_else(Headers::new, Headers);
    for (name, value) in list.iter().filter(|(name, _)| !is_own(name)) {
        // What came from the platform goes back to it; anything else is left out, not fatal.
        let _ = made.append(name, value);
    }
    made
}

/// A copy with the headers that `keep` approves of.
fn only(came: &web_sys::Headers, keep: impl Fn(&str) -> bool) -> Option<web_sys::Headers> {
    let copy = Headers(web_sys::Headers::new_with_headers(came).ok()?);
    let names: Vec<String> = copy.keys().collect();
    for name in names.iter().filter(|name| !keep(name)) {
        let _ = copy.delete(name);
    }
    Some(copy.0)
}

/// Whether the platform takes this coding off a body: it knows two, spelt like this.
pub(crate) fn is_taken_off(coding: &str) -> bool {
    matches!(coding.trim(), "" | "gzip" | "br" | "identity")
}
