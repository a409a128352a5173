//! Percent-escapes, as URLs and forms have them (RFC 3986 §2.1).
//!
//! The `percent-encoding` crate decodes a text as a whole. Paths, pointers and forms need single escapes:
//! to undo some and keep others, to refuse a broken one, or to stop at the end of a name.

use super::hex;

/// Returns the bytes that a text stands for. What is not an escape stays as it is.
pub fn decoded(mut text: &[u8]) -> impl Iterator<Item = u8> + '_ {
    core::iter::from_fn(move || {
        let (byte, rest) = first(text)?;
        text = rest;
        Some(byte)
    })
}

/// Returns the first byte that a text stands for, and the text behind it.
pub(crate) fn first(text: &[u8]) -> Option<(u8, &[u8])> {
    let (&first, rest) = text.split_first()?;
    Some(match first {
        b'%' => escaped(rest).map_or((first, rest), |byte| (byte, &rest[2..])),
        _ => (first, rest),
    })
}

/// Returns whether a percent sign begins no escape.
pub(crate) fn has_broken_escape(text: &[u8]) -> bool {
    let mut escapes = text.split(|&byte| byte == b'%').skip(1);
    escapes.any(|rest| escaped(rest).is_none())
}

/// Returns the byte that two hexadecimal digits at the start of a text stand for.
pub(crate) fn escaped(text: &[u8]) -> Option<u8> {
    hex::byte_of(text)
}
