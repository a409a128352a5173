//! The text of forms: percent-escapes, and texts that a character divides.

/// Up to the first `divider` and behind it.
pub(super) fn halves(text: &[u8], divider: u8) -> (&[u8], &[u8]) {
    match text.iter().position(|&byte| byte == divider) {
        None => (text, &[]),
        Some(at) => (&text[..at], &text[at + 1..]),
    }
}

/// The bytes that a form's text stands for. What is no escape stays as it is.
pub(super) fn decoded(mut text: &[u8]) -> impl Iterator<Item = u8> + '_ {
    core::iter::from_fn(move || {
        let (&first, rest) = text.split_first()?;
        let (byte, rest) = match first {
            b'+' => (b' ', rest),
            b'%' => escaped(rest).map_or((first, rest), |byte| (byte, &rest[2..])),
            _ => (first, rest),
        };
        text = rest;
        Some(byte)
    })
}

/// The byte that two hexadecimal digits at the start of the text stand for.
pub(super) fn escaped(text: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*text.get(at)?).to_digit(16);
    u8::try_from(digit(0)? << 4 | digit(1)?).ok()
}
