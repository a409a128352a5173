//! Headers as text, on their way from the platform and to it.
//!
//! When a Worker sets a header value as text that is not ASCII, the platform writes a warning with the
//! value into the Worker's log. The value may be a cookie or a credential. A value that came from the
//! platform is therefore returned in the platform's own copy (`headersOf` in `worker/bridge.mjs`), so its bytes do
//! not change.

use crate::http::bridge::Bridge;
use oncekey::HeaderList;
use oncekey::response::is_odd;
use web_sys::Headers;

/// Reads headers from lines: a name, its value, and so on.
pub(crate) fn read<'a>(mut lines: impl Iterator<Item = &'a str>) -> HeaderList {
    std::iter::from_fn(|| Some((lines.next()?, lines.next()?))).collect()
}

/// Adds a line for each name and each value to a text. A header with a line break is left out, because the platform
/// would refuse it.
pub(crate) fn write(list: &HeaderList, text: &mut String) {
    let is_one_line = |part: &str| !part.contains('\n');
    for (name, value) in list.iter().filter(|(name, value)| is_one_line(name) && is_one_line(value))
    {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(name);
        text.push('\n');
        text.push_str(value);
    }
}

/// Returns whether a value is not ASCII, so that the platform's own copy of it is needed.
pub(crate) fn needs_copy(list: &HeaderList) -> bool {
    list.iter().any(|(_, value)| !value.is_ascii())
}

/// Returns the headers of the list whose bytes are not UTF-8, or `None` if there are none.
pub(crate) fn odd(bridge: &Bridge, list: &HeaderList, came: Option<&Headers>) -> Option<Headers> {
    let names: Vec<&str> =
        list.iter().filter(|(_, value)| is_odd(value)).map(|(name, _)| name).collect();
    if names.is_empty() { None } else { bridge.only(came?, &names.join("\n")) }
}

/// Returns whether the platform removes this coding from a body. It decodes only `gzip` and `br`, in
/// lower case.
pub(crate) fn is_taken_off(coding: &str) -> bool {
    matches!(coding.trim(), "" | "gzip" | "br" | "identity")
}
