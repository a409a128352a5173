//! How a business key is read from a body, and what is refused because two programs could read two.
//!
//! Origins read more than RFC 8259 and a `Content-Type` say. Go's handlers decode JSON of any type,
//! Express decodes every `charset=utf-…`, Go and ASP.NET take `OUT_TRADE_NO` for `out_trade_no`. A
//! business key that only the origin sees protects nothing, so on its routes such a body is refused. The
//! fields of a form are read by [`fields`].

use super::fields::{self, UnclearField};
use crate::canonical::json::Document;
use crate::canonical::{JsonPointer, MediaType};
use core::fmt;

/// Why a request's business key cannot be told, so that the request is refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BusinessKeyUnreadable {
    /// The body is JSON by its type, and broken, coded, or with a name that comes twice.
    Broken,
    /// The body seems to be JSON, and its type says something else, or nothing.
    OtherType,
    /// The type names a charset other than UTF-8, or its parameters can be read in several ways.
    Charset,
    /// On the way to this member there is another one whose name differs in case alone.
    Lookalike(String),
    /// The body is a form, or may be taken for one, and this field can be read in it in several ways.
    Field(String),
    /// The route requires this member, and it is missing or not fit for a business key.
    Missing(String),
}

/// Returns the text that a body has at a pointer; `None` if there is none that is fit for a business
/// key. The body may be of any type.
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

/// Returns whether a text is fit for a business key.
pub(super) fn is_fit(text: &str) -> bool {
    (1..=255).contains(&text.chars().count()) && !text.contains(char::is_control)
}

/// Returns a pointer as errors name it.
pub(super) fn name_of(pointer: &JsonPointer) -> String {
    pointer.to_string()[1..].replace('/', ".")
}

/// Returns whether some reader may take a body for a JSON object or array, whatever its type: after
/// what readers skip, in UTF-8, UTF-16 or UTF-32, there is a brace or bracket with something of JSON
/// or JSON5 in it, or a comment. (Bodies in brotli may begin with a bracket.)
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

/// Returns the first byte that readers of JSON do not skip, and what is behind it.
fn next_byte(mut text: &[u8]) -> (Option<u8>, &[u8]) {
    const SKIPPED: [&[u8]; 7] = [
        // Byte order marks.
        b"\xef\xbb\xbf",
        b"\xfe\xff",
        b"\xff\xfe",
        // Blanks that JSON5 and ECMAScript know.
        b"\xc2\xa0",
        b"\xe2\x80\xa8",
        b"\xe2\x80\xa9",
        b"\xe3\x80\x80",
    ];
    while let Some((&first, rest)) = text.split_first() {
        text = match first {
            // A NUL is half of a character in UTF-16; 0x1e begins a record (RFC 7464).
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
