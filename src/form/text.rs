//! The text of forms: escapes, and texts that a character divides.

use crate::percent;

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
        let (byte, rest) = match text.split_first()? {
            (b'+', rest) => (b' ', rest),
            _ => percent::first(text)?,
        };
        text = rest;
        Some(byte)
    })
}
