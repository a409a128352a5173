//! Headers for the platform, made of ones that came from it.
//!
//! A value that is handed over as text and is not ASCII makes the platform write a warning, value and
//! all, into the Worker's log. The value may be a cookie or a credential. One that came from the
//! platform therefore goes back as the platform's own copy: it is never text on its way, and its bytes
//! stay what they were.

use oncekey::response::is_odd;
use worker::Headers;
use worker::web_sys;

/// Those headers whose bytes are no UTF-8, of the names that the list has; `None` where all are.
pub(crate) fn odd(list: &[(String, String)], came: &web_sys::Headers) -> Option<web_sys::Headers> {
    if !list.iter().any(|(_, value)| is_odd(value)) {
        return None;
    }
    let odd = Headers(web_sys::Headers::new_with_headers(came).ok()?);
    let names: Vec<String> = odd.keys().collect();
    let is_listed =
        |name: &String| list.iter().any(|(known, value)| known == name && is_odd(value));
    for name in names.iter().filter(|name| !is_listed(name)) {
        let _ = odd.delete(name);
    }
    Some(odd.0)
}

/// The headers of this list, names in lower case. `came` is what they came with.
pub(crate) fn of(list: &[(String, String)], came: Option<&web_sys::Headers>) -> Headers {
    // Nearly always all is ASCII, and then nothing of what came is needed.
    let came = came.filter(|_| list.iter().any(|(_, value)| !value.is_ascii()));
    let own = came.and_then(|came| web_sys::Headers::new_with_headers(came).ok());
    let is_own = |name: &str| {
        let unchanged =
            |value: &str| own.as_ref()?.get(name).ok()?.filter(|own| own.contains(value));
        list.iter()
            .any(|(known, value)| known == name && !value.is_ascii() && unchanged(value).is_some())
    };
    let made = own.clone().map_or_else(Headers::new, Headers);
    let names: Vec<String> = made.keys().collect();
    for name in names.iter().filter(|name| !is_own(name)) {
        let _ = made.delete(name);
    }
    for (name, value) in list.iter().filter(|(name, _)| !is_own(name)) {
        // What came from the platform goes back to it; anything else is left out, not fatal.
        let _ = made.append(name, value);
    }
    made
}

/// Whether the platform takes this coding off a body: it knows two, spelt like this.
pub(crate) fn is_taken_off(coding: &str) -> bool {
    matches!(coding.trim(), "" | "gzip" | "br" | "identity")
}
