//! Percent-escapes, as URLs and forms have them (RFC 3986 §2.1).

/// The bytes that a text stands for. What is no escape stays as it is.
pub fn decoded(mut text: &[u8]) -> impl Iterator<Item = u8> + '_ {
    core::iter::from_fn(move || {
        let (byte, rest) = first(text)?;
        text = rest;
        Some(byte)
    })
}

/// The first byte that a text stands for, and the text behind it.
pub(crate) fn first(text: &[u8]) -> Option<(u8, &[u8])> {
    let (&first, rest) = text.split_first()?;
    Some(match first {
        b'%' => escaped(rest).map_or((first, rest), |byte| (byte, &rest[2..])),
        _ => (first, rest),
    })
}

/// The byte that two hexadecimal digits at the start of the text stand for.
pub(crate) fn escaped(text: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*text.get(at)?).to_digit(16);
    u8::try_from(digit(0)? << 4 | digit(1)?).ok()
}
