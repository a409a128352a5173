//! The key of a plain HTML form, in a field of its own.
//!
//! A form that a browser posts by itself has no say in the request's headers, so the setting
//! `KEY_FIELD` can name a field that carries the key. The field is taken out: it has no part in the
//! fingerprint, and the origin gets the key where it always is, in the header. So the same form is
//! the same request, whether its key came in the field or in the header.
//!
//! Looked into are bodies of two types:
//!
//! | type | the field is | what is cut out |
//! |---|---|---|
//! | `application/x-www-form-urlencoded` | a pair whose name, decoded, is the field's | the pair and one `&` |
//! | `multipart/form-data` | a part whose `Content-Disposition` is `form-data` with this `name` | the part and its delimiter's line |
//!
//! All other bytes stay as they are. Names are compared as they stand, case included; the charset
//! of a form does not matter, since name and key are ASCII. A key is never taken from a query, from
//! JSON, or from a body with a `Content-Encoding`, which nobody looks into here.
//!
//! # What is refused
//!
//! What one reader takes for the field and another does not, so that no key is overlooked:
//!
//! - in pairs, a `;` that some readers divide pairs at, where the field's name stands next to it, or
//!   a broken escape in the key;
//! - in parts, a disposition that is not plainly `form-data` with one `name`, where the field's name
//!   can be read in it, or a key in a transfer encoding;
//! - a multipart body that cannot be taken apart (see
//!   [`canonical::multipart`](crate::canonical::multipart)), where the field's name stands in it
//!   anywhere: a reader at the origin may find a key there. Where it does not, the form has none.
//!
//! Time grows with the length of the body.

mod pairs;
mod parts;

use core::fmt;
use core::ops::Range;

use crate::canonical::MediaType;
use crate::key::{IdempotencyKey, KeyError};

/// The name of the form field that may carry the key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldName(String);

/// Why a text is no name for the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldNameError {
    /// Too long, empty, or with a character that forms have to spell in another way.
    NotAName,
    /// The name `_charset_`.
    FilledInByBrowsers,
}

/// A form, and what it says of the key.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Taken {
    /// The key in the field; `None` where there is no such field.
    pub key: Option<IdempotencyKey>,
    /// The body without the field: what is compared, and what the origin gets.
    pub body: Vec<u8>,
}

/// Why a form's key cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FormKeyError {
    /// What is in the field is no key.
    Malformed(KeyError),
    /// The field is there more than once.
    Twice,
    /// The header carries another key.
    Differs,
    /// The field is a file.
    File,
    /// One reader finds the field here, and another does not.
    Ambiguous,
    /// The field's name is in a multipart body that cannot be taken apart.
    Unreadable,
}

impl FieldName {
    /// The longest name, in characters (which are bytes).
    pub const MAX_LENGTH: usize = 64;

    /// Takes 1 to 64 visible ASCII characters, without those that a form has to escape or that
    /// readers do not agree on.
    pub fn parse(text: &str) -> Result<Self, FieldNameError> {
        let fits = |byte: &u8| byte.is_ascii_graphic() && !b"\"&=%+;\\".contains(byte);
        if !(1..=Self::MAX_LENGTH).contains(&text.len()) || !text.as_bytes().iter().all(fits) {
            return Err(FieldNameError::NotAName);
        }
        // HTML, "constructing the entry list": it always holds the charset's name.
        if text.eq_ignore_ascii_case("_charset_") {
            return Err(FieldNameError::FilledInByBrowsers);
        }
        Ok(Self(text.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Pairs,
    Parts,
}

impl Kind {
    fn of(media_type: &MediaType<'_>) -> Option<Self> {
        match media_type.essence() {
            "application/x-www-form-urlencoded" => Some(Self::Pairs),
            "multipart/form-data" => Some(Self::Parts),
            _ => None,
        }
    }
}

/// Whether a body may have fields that can be seen: a form of one of the two types, not coded.
pub fn has_fields(content_type: Option<&str>, content_encoding: Option<&str>) -> bool {
    let coding = content_encoding.unwrap_or_default().trim();
    let is_plain = coding.is_empty() || coding.eq_ignore_ascii_case("identity");
    is_plain && Kind::of(&MediaType::parse(content_type)).is_some()
}

/// Takes the key out of a form. A body of any other type comes back as it is, without a key.
///
/// ```
/// use oncekey::form::{FieldName, take_key};
///
/// let field = FieldName::parse("key").unwrap();
/// let body = b"amount=10&key=k-1&currency=USD".to_vec();
/// let taken = take_key("application/x-www-form-urlencoded", body, &field).unwrap();
/// assert_eq!(taken.key.unwrap().as_str(), "k-1");
/// assert_eq!(taken.body, b"amount=10&currency=USD");
/// ```
pub fn take_key(
    content_type: &str,
    mut body: Vec<u8>,
    field: &FieldName,
) -> Result<Taken, FormKeyError> {
    let media_type = MediaType::parse(Some(content_type));
    let found = match Kind::of(&media_type) {
        Some(Kind::Pairs) => pairs::find(&body, field)?,
        Some(Kind::Parts) => parts::find(&media_type, &body, field)?,
        None => None,
    };
    let Some(found) = found else {
        return Ok(Taken { key: None, body });
    };
    // What is no UTF-8 is no ASCII either.
    let text = String::from_utf8(found.value).unwrap_or_else(|_| "\u{fffd}".to_owned());
    let key = IdempotencyKey::parse_bare(&text).map_err(FormKeyError::Malformed)?;
    body.drain(found.bytes);
    Ok(Taken { key: Some(key), body })
}

/// The key of a request whose header and whose form may carry one. Both may, if it is the same.
pub fn one_key(
    header: Option<IdempotencyKey>,
    field: Option<IdempotencyKey>,
) -> Result<Option<IdempotencyKey>, FormKeyError> {
    match (header, field) {
        (Some(header), Some(field)) if header != field => Err(FormKeyError::Differs),
        (header, field) => Ok(header.or(field)),
    }
}

/// The field in a body.
struct Found {
    value: Vec<u8>,
    /// What is to be cut out.
    bytes: Range<usize>,
}

impl Found {
    /// How much of a value is enough to see that it is too long for a key.
    const ENOUGH: usize = IdempotencyKey::MAX_LENGTH + 1;

    fn only(found: &mut Option<Self>, new: Self) -> Result<(), FormKeyError> {
        if found.replace(new).is_some() { Err(FormKeyError::Twice) } else { Ok(()) }
    }
}

impl fmt::Debug for Taken {
    /// The body may hold what should be in no log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Taken({:?}, {} bytes)", self.key, self.body.len())
    }
}

impl fmt::Display for FieldNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAName => {
                "must be a name of 1 to 64 visible ASCII characters without \" & = % + ; and \\"
            }
            Self::FilledInByBrowsers => "must not be _charset_, which browsers fill in themselves",
        })
    }
}

impl core::error::Error for FieldNameError {}

impl fmt::Display for FormKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed(error) => return error.fmt(f),
            Self::Twice => "The form holds the field of the idempotency key twice; send it once.",
            Self::Differs => {
                "The Idempotency-Key header and the form's field carry different keys; send one of them, or the same key in both."
            }
            Self::File => {
                "The form field of the idempotency key is a file; send the key as a plain field."
            }
            Self::Ambiguous => {
                "The form field of the idempotency key can be read in more than one way; send name and value as a browser writes them."
            }
            Self::Unreadable => {
                "The multipart form seems to hold an idempotency key and cannot be taken apart; send it as RFC 7578 has it, or the key in the Idempotency-Key header and not in the form."
            }
        })
    }
}

impl core::error::Error for FormKeyError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::work::measure;

    const SIZE: usize = 1 << 18;

    #[test]
    fn hostile_forms_cost_their_length() {
        let field = FieldName::parse(&"k".repeat(64)).unwrap();
        let name = field.as_str();
        let part = |disposition: &str| format!("--B\r\nContent-Disposition: {disposition}\r\n\r\n");
        let urlencoded = "application/x-www-form-urlencoded";
        for (content_type, text) in [
            (urlencoded, "&".repeat(SIZE)),
            (urlencoded, ";".repeat(SIZE)),
            (urlencoded, "k".repeat(SIZE)),
            (urlencoded, format!("{name}={}", "%6b".repeat(SIZE / 3))),
            ("multipart/form-data; boundary=B", "k".repeat(SIZE)),
            ("multipart/form-data; boundary=B", part(&"a=b;".repeat(SIZE / 4)) + "\r\n--B--"),
            ("multipart/form-data; boundary=B", part(&"name=k;".repeat(SIZE / 7)) + "\r\n--B--"),
            ("multipart/form-data; boundary=B", part(&"\\\"%6b".repeat(SIZE / 5)) + "\r\n--B--"),
            (
                "multipart/form-data; boundary=B",
                (part("form-data; name=k") + "\r\n").repeat(SIZE / 50) + "--B--",
            ),
        ] {
            let body = text.clone().into_bytes();
            let (_, spent) = measure(|| take_key(content_type, body, &field));
            assert!(spent <= 12 * text.len(), "{}: {}", &text[..20], spent / text.len());
        }
    }
}
