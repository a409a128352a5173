//! The field among the parts of `multipart/form-data`.

use super::error::FormKeyError;
use super::field::{FieldName, Found};
use crate::canonical::MediaType;
use crate::canonical::disposition::{halves, has_doubtful_quote, parameter, starts_with};
use crate::canonical::fields::decoded;
use crate::canonical::multipart::{Message, Part, trim};
use crate::canonical::work::spent;

/// As browsers write parts (HTML, "multipart/form-data") and RFC 7578 has them read.
pub(super) fn find(
    media_type: &MediaType<'_>,
    body: &[u8],
    field: &FieldName,
) -> Result<Option<Found>, FormKeyError> {
    let Some(message) = Message::parse(media_type, body) else {
        return if is_in(field, body) { Err(FormKeyError::Unreadable) } else { Ok(None) };
    };
    let mut found = None;
    for (bytes, part) in message.parts() {
        if is_field(&part, field)? {
            let value = part.content().iter().copied().take(Found::ENOUGH).collect();
            Found::only(&mut found, Found { value, bytes })?;
        }
    }
    Ok(found)
}

fn is_field(part: &Part<'_>, field: &FieldName) -> Result<bool, FormKeyError> {
    let dispositions = part.values("content-disposition");
    let namings: Vec<_> = dispositions.map(|value| Naming::by(value, field)).collect();
    let is_coded = part.values("content-transfer-encoding").any(|coding| {
        let known: [&[u8]; 3] = [b"7bit", b"8bit", b"binary"];
        !known.iter().any(|known| coding.eq_ignore_ascii_case(known))
    });
    match namings[..] {
        [Naming::Field] if !is_coded => Ok(true),
        [Naming::File] => Err(FormKeyError::File),
        _ if namings.iter().all(|naming| *naming == Naming::Other) => Ok(false),
        _ => Err(FormKeyError::Ambiguous),
    }
}

/// What a part's `Content-Disposition` says of its name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Naming {
    Other,
    Field,
    /// A file under the field's name.
    File,
    /// The field by one reading, and not by another.
    Doubtful,
}

impl Naming {
    fn by(disposition: &[u8], field: &FieldName) -> Self {
        spent(disposition.len());
        match Disposition::read(disposition, field) {
            None if is_in(field, &loosened(disposition)) => Self::Doubtful,
            None => Self::Other,
            Some(read) if !read.may_be_field => Self::Other,
            Some(Disposition { is_field: true, names: 1, is_form_data: true, is_file, .. }) => {
                if is_file {
                    Self::File
                } else {
                    Self::Field
                }
            }
            Some(_) => Self::Doubtful,
        }
    }
}

/// A `Content-Disposition` whose parameters can be told apart.
#[derive(Default)]
struct Disposition {
    is_form_data: bool,
    is_file: bool,
    names: usize,
    is_field: bool,
    may_be_field: bool,
}

impl Disposition {
    fn read(disposition: &[u8], field: &FieldName) -> Option<Self> {
        if has_doubtful_quote(disposition) {
            return None;
        }
        let (kind, mut rest) = halves(disposition, b';');
        let is_form_data = trim(kind).eq_ignore_ascii_case(b"form-data");
        let mut read = Self { is_form_data, ..Self::default() };
        loop {
            let blank = rest.iter().position(|byte| !b" \t;".contains(byte));
            rest = match blank {
                None => return Some(read),
                Some(blank) => &rest[blank..],
            };
            let (name, value, later) = parameter(rest)?;
            rest = later;
            if name.eq_ignore_ascii_case(b"name") {
                read.names += 1;
                read.is_field |= value == field.as_str().as_bytes();
                read.may_be_field |= loosened(value) == field.as_str().as_bytes();
            } else if starts_with(name, b"name*") {
                // RFC 8187 and 2231 spell names in many ways and pieces; RFC 7578 wants none of it.
                read.names += 1;
                read.may_be_field = true;
            } else if name.eq_ignore_ascii_case(b"filename") || starts_with(name, b"filename*") {
                read.is_file = true;
            }
        }
    }
}

/// What a generous reader may make of a name: no spaces around it, no backslashes, no escapes.
fn loosened(text: &[u8]) -> Vec<u8> {
    let plain: Vec<u8> = trim(text).iter().copied().filter(|&byte| byte != b'\\').collect();
    decoded(&plain).collect()
}

fn is_in(field: &FieldName, text: &[u8]) -> bool {
    spent(text.len());
    text.windows(field.as_str().len()).any(|window| window == field.as_str().as_bytes())
}
