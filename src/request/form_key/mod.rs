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

mod error;
mod field;
mod pairs;
mod parts;

pub use error::FormKeyError;
pub use field::{FieldName, FieldNameError};

use core::fmt;

use crate::canonical::MediaType;
use crate::key::IdempotencyKey;

/// A form, and what it says of the key.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Taken {
    /// The key in the field; `None` where there is no such field.
    pub key: Option<IdempotencyKey>,
    /// The body without the field: what is compared, and what the origin gets.
    pub body: Vec<u8>,
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

impl fmt::Debug for Taken {
    /// The body may hold what should be in no log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Taken({:?}, {} bytes)", self.key, self.body.len())
    }
}

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
