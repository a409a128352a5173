//! Finds the key field in a `multipart/form-data` body.

use super::error::FormKeyError;
use super::field::{FieldName, FoundField};
use crate::canonical::MediaType;
use crate::canonical::disposition::{halves, has_ambiguous_quote, parameter, starts_with};
use crate::canonical::fields::decoded;
use crate::canonical::multipart::{MultipartBody, Part, trim};
use crate::canonical::work::spent;

/// Finds the key field. Parts are read as RFC 7578 defines them and as browsers write them (HTML,
/// "multipart/form-data encoding algorithm").
pub(super) fn find(
    media_type: &MediaType<'_>,
    body: &[u8],
    field: &FieldName,
) -> Result<Option<FoundField>, FormKeyError> {
    let Some(multipart) = MultipartBody::parse(media_type, body) else {
        return if is_in(field, body) { Err(FormKeyError::Unreadable) } else { Ok(None) };
    };
    let mut found = None;
    for (bytes, part) in multipart.parts() {
        if is_field(&part, field)? {
            let value = part.content().iter().copied().take(FoundField::MAX_READ).collect();
            FoundField::set_once(&mut found, FoundField { value, bytes })?;
        }
    }
    Ok(found)
}

fn is_field(part: &Part<'_>, field: &FieldName) -> Result<bool, FormKeyError> {
    let dispositions = part.values("content-disposition");
    let matches: Vec<_> = dispositions.map(|value| FieldMatch::read(value, field)).collect();
    let is_coded = part.values("content-transfer-encoding").any(|coding| {
        let known: [&[u8]; 3] = [b"7bit", b"8bit", b"binary"];
        !known.iter().any(|known| coding.eq_ignore_ascii_case(known))
    });
    match matches[..] {
        [FieldMatch::Field] if !is_coded => Ok(true),
        [FieldMatch::File] => Err(FormKeyError::File),
        _ if matches.iter().all(|found| *found == FieldMatch::Other) => Ok(false),
        _ => Err(FormKeyError::Ambiguous),
    }
}

/// How the name in a part's `Content-Disposition` relates to the key field.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum FieldMatch {
    /// The part has another name.
    Other,
    /// The part is the key field.
    Field,
    /// The part has the name of the key field, but is a file.
    File,
    /// Some readers would take the part for the key field, and others would not.
    Ambiguous,
}

impl FieldMatch {
    fn read(disposition: &[u8], field: &FieldName) -> Self {
        spent(disposition.len());
        match Disposition::read(disposition, field) {
            None if is_in(field, &lenient(disposition)) => Self::Ambiguous,
            None => Self::Other,
            Some(read) if !read.may_be_field => Self::Other,
            Some(Disposition { is_field: true, names: 1, is_form_data: true, is_file, .. }) => {
                if is_file {
                    Self::File
                } else {
                    Self::Field
                }
            }
            Some(_) => Self::Ambiguous,
        }
    }
}

/// A `Content-Disposition` that was parsed.
#[derive(Default)]
struct Disposition {
    is_form_data: bool,
    is_file: bool,
    names: usize,
    is_field: bool,
    /// Whether a lenient reader could take the part for the key field.
    may_be_field: bool,
}

impl Disposition {
    fn read(disposition: &[u8], field: &FieldName) -> Option<Self> {
        if has_ambiguous_quote(disposition) {
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
                read.may_be_field |= lenient(value) == field.as_str().as_bytes();
            } else if starts_with(name, b"name*") {
                // RFC 8187 and RFC 2231 allow encoded and split names. RFC 7578 §4.2 forbids them in forms.
                read.names += 1;
                read.may_be_field = true;
            } else if name.eq_ignore_ascii_case(b"filename") || starts_with(name, b"filename*") {
                read.is_file = true;
            }
        }
    }
}

/// Returns a name as a lenient reader may read it: without white space around it and backslashes in
/// it, and with escapes decoded.
fn lenient(text: &[u8]) -> Vec<u8> {
    let plain: Vec<u8> = trim(text).iter().copied().filter(|&byte| byte != b'\\').collect();
    decoded(&plain).collect()
}

/// Returns whether a text contains the name of the field.
fn is_in(field: &FieldName, text: &[u8]) -> bool {
    spent(text.len());
    text.windows(field.as_str().len()).any(|window| window == field.as_str().as_bytes())
}
