//! Reads a business key from a body, and refuses a body in which two programs could read two keys.
//!
//! Origins accept more than RFC 8259 and the `Content-Type` allow. Handlers in Go decode JSON of any
//! type, Express decodes every `charset=utf-…`, and Go and ASP.NET take `OUT_TRADE_NO` for
//! `out_trade_no`. A business key that only the origin sees protects nothing, so a route with a
//! business key refuses such a body. [`fields`] reads forms.

use super::fields::{self, UnclearField};
use crate::canonical::json::Document;
use crate::canonical::{JsonPointer, MediaType};
use core::fmt;

/// Why a request's business key cannot be read, so that the request is refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BusinessKeyUnreadable {
    /// The type is JSON, but the body is invalid, compressed, or repeats a member name.
    Broken,
    /// The body looks like JSON, but its type is another or missing.
    OtherType,
    /// The type names a charset other than UTF-8, or its parameters can be read in several ways.
    Charset,
    /// The body has another member whose name some programs take for this one.
    Lookalike(String),
    /// The body is a form, or may be taken for a form, and programs may read this field differently.
    Field(String),
    /// The route requires this member, but it is missing or its value is not a business key.
    Missing(String),
}

/// Returns the text at a pointer in a body of any type; `None` if there is no text that may be a
/// business key.
///
/// # Errors
///
/// Returns an error if two programs could read different texts.
pub(crate) fn text_in(
    pointer: &JsonPointer,
    content_type: Option<&str>,
    body: &[u8],
) -> Result<Option<String>, BusinessKeyUnreadable> {
    let media_type = MediaType::parse(content_type);
    if !media_type.is_utf8() {
        return Err(BusinessKeyUnreadable::Charset);
    }
    let text = if media_type.is_json() {
        let document = Document::parse(body).ok_or(BusinessKeyUnreadable::Broken)?;
        let found = document.find_plainly(pointer.steps());
        let found = found.map_err(|_| BusinessKeyUnreadable::Lookalike(name_of(pointer)))?;
        found.and_then(|value| value.scalar())
    } else if begins_like_json(body) {
        return Err(BusinessKeyUnreadable::OtherType);
    } else {
        fields::read(pointer.steps(), &media_type, body)
            .map_err(|UnclearField(field)| BusinessKeyUnreadable::Field(field))?
    };
    Ok(text.filter(|text| is_fit(text)))
}

/// Returns whether a text may be a business key: 1 to 255 characters, none of them a control character.
pub(super) fn is_fit(text: &str) -> bool {
    (1..=255).contains(&text.chars().count()) && !text.contains(char::is_control)
}

/// Returns the name of the member that a pointer leads to, as errors show it.
pub(super) fn name_of(pointer: &JsonPointer) -> String {
    pointer.to_string()[1..].replace('/', ".")
}

/// Returns whether some parser may read a body as a JSON object or array, whatever its type. After the
/// bytes that parsers skip (in UTF-8, UTF-16 or UTF-32), such a body begins with a comment, or with a
/// brace or bracket and a character that may follow it in JSON or JSON5. The second character is
/// checked because bodies in brotli may begin with a bracket.
fn begins_like_json(body: &[u8]) -> bool {
    let (first, rest) = next_byte(body);
    let (second, _) = next_byte(rest);
    match (first, second) {
        (Some(b'{'), Some(second)) => {
            second.is_ascii_alphanumeric() || b"\"'}/_$".contains(&second)
        }
        (Some(b'['), Some(second)) => {
            second.is_ascii_alphanumeric() || b"\"'[]{/+-.".contains(&second)
        }
        (Some(b'/'), second) => matches!(second, Some(b'/' | b'*')),
        _ => false,
    }
}

/// Returns the first byte that JSON parsers do not skip, and the bytes after it.
fn next_byte(mut text: &[u8]) -> (Option<u8>, &[u8]) {
    const SKIPPED: [&[u8]; 7] = [
        // Byte order marks.
        b"\xef\xbb\xbf",
        b"\xfe\xff",
        b"\xff\xfe",
        // White space in JSON5 and ECMAScript.
        b"\xc2\xa0",
        b"\xe2\x80\xa8",
        b"\xe2\x80\xa9",
        b"\xe3\x80\x80",
    ];
    while let Some((&first, rest)) = text.split_first() {
        text = match first {
            // A NUL is half a character in UTF-16, and 0x1e begins a record (RFC 7464).
            0 | b'\t'..=b'\r' | 0x1e | b' ' => rest,
            _ => match SKIPPED.iter().find_map(|skipped| text.strip_prefix(*skipped)) {
                Some(rest) => rest,
                None => return (Some(first), rest),
            },
        };
    }
    (None, text)
}

impl fmt::Display for BusinessKeyUnreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Broken => {
                "The JSON body is invalid, compressed, or repeats a member name. Send valid, uncompressed JSON with unique names."
            }
            Self::OtherType => {
                "The body looks like JSON, but its Content-Type does not say so, so the API could read a business key that the gateway does not see. Send it with one Content-Type, application/json."
            }
            Self::Charset => {
                "The Content-Type names a charset other than UTF-8, or can be read in several ways. Send the body in UTF-8, with Content-Type: application/json."
            }
            Self::Lookalike(member) => {
                return write!(
                    f,
                    "The body has a member that some programs take for {member}, because the two names differ only in case or underscores. Send {member} once, spelled exactly like this, and no similar name."
                );
            }
            Self::Field(field) => {
                return write!(
                    f,
                    "Programs may read the field {field} of this body differently, or not find it. Send it once, under exactly this name, in a complete, uncompressed form in UTF-8 whose Content-Type is application/x-www-form-urlencoded or multipart/form-data."
                );
            }
            Self::Missing(member) => {
                return write!(
                    f,
                    "This request needs a business key. Send JSON whose member {member} is a string of 1 to 255 characters without control characters, or a number, or a form with such a field."
                );
            }
        })
    }
}

impl core::error::Error for BusinessKeyUnreadable {}
