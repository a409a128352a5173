//! The key of a plain HTML form, in a field of its own.
//!
//! A plain HTML form cannot set request headers, so the setting `KEY_FIELD` can name a form field that
//! contains the key. The gateway removes the field: the fingerprint does not include it, and the origin
//! gets the key in the header. So the same form is the same request, whether its key was sent in the
//! field or in the header.
//!
//! Two types of body can contain the field:
//!
//! | type | the field is | removed with it |
//! |---|---|---|
//! | `application/x-www-form-urlencoded` | a pair whose decoded name is the field's name | one `&` |
//! | `multipart/form-data` | a part whose `Content-Disposition` is `form-data` with this `name` | the line of its delimiter |
//!
//! All other bytes are kept. Names are compared with case. The charset of the form does not matter,
//! because name and key are ASCII. A key is never read from a query, from JSON, or from a body with a
//! `Content-Encoding`.
//!
//! # What is refused
//!
//! A form is refused if some readers would find the field in it and others would not:
//!
//! - url-encoded: the field is next to a `;`, at which some readers split pairs, or the key has a
//!   broken escape;
//! - multipart: a `Content-Disposition` from which the field's name can be read, but which is not
//!   `form-data` with exactly one `name`; or a key with a transfer encoding;
//! - multipart: the body cannot be parsed (see [`canonical::multipart`](crate::canonical::multipart))
//!   and contains the field's name anywhere, so the origin may find a key in it.
//!
//! Time is linear in the length of the body.

mod error;
mod field;
mod pairs;
mod parts;

pub use error::FormKeyError;
pub use field::{FieldName, FieldNameError};

use core::fmt;

use crate::canonical::MediaType;
use crate::key::IdempotencyKey;

/// The key of a form, and the form without it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SplitForm {
    /// The key in the field. `None` if the form has no such field.
    pub key: Option<IdempotencyKey>,
    /// The body without the field. It is compared and sent to the origin.
    pub body: Vec<u8>,
}

#[derive(Clone, Copy)]
enum FormEncoding {
    UrlEncoded,
    Multipart,
}

impl FormEncoding {
    fn of(media_type: &MediaType<'_>) -> Option<Self> {
        match media_type.essence() {
            "application/x-www-form-urlencoded" => Some(Self::UrlEncoded),
            "multipart/form-data" => Some(Self::Multipart),
            _ => None,
        }
    }
}

/// Returns whether a body is a form whose fields can be read: one of the two types, without a
/// `Content-Encoding`.
#[doc(hidden)]
pub fn has_fields(content_type: Option<&str>, content_encoding: Option<&str>) -> bool {
    let coding = content_encoding.unwrap_or_default().trim();
    let is_plain = coding.is_empty() || coding.eq_ignore_ascii_case("identity");
    is_plain && FormEncoding::of(&MediaType::parse(content_type)).is_some()
}

/// Removes the key from a form and returns both. A body of any other type is returned unchanged,
/// without a key. A field whose value is not a valid key is an error.
///
/// ```
/// use oncekey::request::form_key::{FieldName, take_key};
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
) -> Result<SplitForm, FormKeyError> {
    let media_type = MediaType::parse(Some(content_type));
    let found = match FormEncoding::of(&media_type) {
        Some(FormEncoding::UrlEncoded) => pairs::find(&body, field)?,
        Some(FormEncoding::Multipart) => parts::find(&media_type, &body, field)?,
        None => None,
    };
    let Some(found) = found else {
        return Ok(SplitForm { key: None, body });
    };
    // A value that is not UTF-8 cannot be a key. The replacement character makes the next line refuse it.
    let text = String::from_utf8(found.value).unwrap_or_else(|_| "\u{fffd}".to_owned());
    let key = IdempotencyKey::parse_bare(&text).map_err(FormKeyError::Malformed)?;
    body.drain(found.bytes);
    Ok(SplitForm { key: Some(key), body })
}

/// Returns the key of a request that may have one in its header and one in its form. If both are
/// present, they must be equal.
#[doc(hidden)]
pub fn merge_keys(
    header: Option<IdempotencyKey>,
    field: Option<IdempotencyKey>,
) -> Result<Option<IdempotencyKey>, FormKeyError> {
    match (header, field) {
        (Some(header), Some(field)) if header != field => Err(FormKeyError::Differs),
        (header, field) => Ok(header.or(field)),
    }
}

impl fmt::Debug for SplitForm {
    /// Shows only the length of the body, which may contain personal data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SplitForm({:?}, {} bytes)", self.key, self.body.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::work::measure;

    const SIZE: usize = 1 << 18;

    #[test]
    fn hostile_forms_are_read_in_linear_time() {
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
