//! Percent-encoding in URLs and forms (RFC 3986 §2.1).
//!
//! The `percent-encoding` crate decodes whole texts only. Code for paths, pointers and forms works on
//! single escapes: it decodes some and keeps others, rejects a broken escape, or stops at the end of a
//! name.

use super::hex;

/// Decodes a text. A percent sign that begins no valid escape is kept.
pub fn decoded(mut text: &[u8]) -> impl Iterator<Item = u8> + '_ {
    core::iter::from_fn(move || {
        let (byte, rest) = first(text)?;
        text = rest;
        Some(byte)
    })
}

/// Decodes the first byte of a text. Returns the byte and the rest of the text, or `None` if the
/// text is empty.
pub(crate) fn first(text: &[u8]) -> Option<(u8, &[u8])> {
    let (&first, rest) = text.split_first()?;
    Some(match first {
        b'%' => escaped(rest).map_or((first, rest), |byte| (byte, &rest[2..])),
        _ => (first, rest),
    })
}

/// Returns whether the text has a percent sign without two hexadecimal digits after it.
pub(crate) fn has_broken_escape(text: &[u8]) -> bool {
    let mut escapes = text.split(|&byte| byte == b'%').skip(1);
    escapes.any(|rest| escaped(rest).is_none())
}

/// Decodes an escape whose percent sign is removed already: two hexadecimal digits at the start of a
/// text.
pub(crate) fn escaped(text: &[u8]) -> Option<u8> {
    hex::byte_of(text)
}
