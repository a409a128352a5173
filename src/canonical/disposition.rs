//! Reads the `Content-Disposition` of a part of a form (RFC 7578 §4.2), as browsers write it.

use super::media_type::is_token;
use super::multipart::{Part, trim};
use super::work::spent;

/// Returns the name of a part that is a field. Returns `None` if the part is a file, or if readers may
/// disagree about its name.
pub(crate) fn field_name<'a>(part: &Part<'a>) -> Option<&'a [u8]> {
    match part_name(part)? {
        PartName::Field(name) => Some(name),
        PartName::File(_) => None,
    }
}

/// The name of a part of a form, and whether the part is a field or a file.
pub(crate) enum PartName<'a> {
    Field(&'a [u8]),
    File(&'a [u8]),
}

/// Returns the name of a part that has one `Content-Disposition`, which is `form-data` with one `name`.
/// Returns `None` for any other part, because readers may disagree about its name.
pub(crate) fn part_name<'a>(part: &Part<'a>) -> Option<PartName<'a>> {
    let mut dispositions = part.values("content-disposition");
    let (Some(disposition), None) = (dispositions.next(), dispositions.next()) else {
        return None;
    };
    spent(disposition.len());
    if has_ambiguous_quote(disposition) {
        return None;
    }
    let (kind, mut rest) = halves(disposition, b';');
    if !trim(kind).eq_ignore_ascii_case(b"form-data") {
        return None;
    }
    let (mut found, mut is_file) = (None, false);
    while let Some(start) = rest.iter().position(|byte| !b" \t;".contains(byte)) {
        let (name, value, later) = parameter(&rest[start..])?;
        rest = later;
        if name.eq_ignore_ascii_case(b"name") {
            if found.replace(value).is_some() {
                return None;
            }
        } else if starts_with(name, b"name*") {
            return None;
        }
        is_file |= starts_with(name, b"filename");
    }
    found.map(|name| if is_file { PartName::File(name) } else { PartName::Field(name) })
}

/// Returns whether a disposition contains a backslash before a quote. By RFC 2183 the value continues
/// after that quote, but for browsers it ends there.
pub(crate) fn has_ambiguous_quote(disposition: &[u8]) -> bool {
    disposition.windows(2).any(|pair| pair == b"\\\"")
}

/// Reads the first parameter of a list. Returns its name, its value and the rest of the list. A quoted
/// value ends at the next quote, because browsers write a quote inside it as `%22`.
pub(crate) fn parameter(list: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let equals = list.iter().position(|&byte| byte == b'=')?;
    let (name, value) = (&list[..equals], &list[equals + 1..]);
    if !is_token(name) {
        return None;
    }
    if let Some(quoted) = value.strip_prefix(b"\"") {
        let end = quoted.iter().position(|&byte| byte == b'"')?;
        let (between, later) = halves(&quoted[end + 1..], b';');
        return trim(between).is_empty().then_some((name, &quoted[..end], later));
    }
    let (value, later) = halves(value, b';');
    (!value.contains(&b'"')).then_some((name, value, later))
}

/// Splits a text at the first `divider`. Without a divider, the second half is empty.
pub(crate) fn halves(text: &[u8], divider: u8) -> (&[u8], &[u8]) {
    match text.iter().position(|&byte| byte == divider) {
        None => (text, &[]),
        Some(at) => (&text[..at], &text[at + 1..]),
    }
}

/// Returns whether a name starts with `start`, ignoring case.
pub(crate) fn starts_with(name: &[u8], start: &[u8]) -> bool {
    name.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start))
}
