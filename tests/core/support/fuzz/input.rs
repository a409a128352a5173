//! Splits an input into its parts.

use super::spelling::Choices;

/// Returns choices that depend on the whole input, so that each change leads to other choices (FNV-1a).
pub(super) fn choices(bytes: &[u8]) -> Choices {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Choices(hash)
}

/// Returns the bytes before the first `divider`, and those after it, if there is one.
pub(super) fn halves(bytes: &[u8], divider: u8) -> (&[u8], Option<&[u8]>) {
    match bytes.iter().position(|byte| *byte == divider) {
        None => (bytes, None),
        Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
    }
}

/// Returns the first line as text, and the rest. `None` if the line is not text.
pub(super) fn line(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (line, rest) = halves(bytes, b'\n');
    Some((core::str::from_utf8(line).ok()?, rest.unwrap_or_default()))
}

/// Decodes percent-escapes, byte by byte.
pub(super) fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let digits = text.get(at + 1..at + 3).and_then(|pair| core::str::from_utf8(pair).ok());
        let digits = digits.filter(|pair| pair.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.filter(|_| text[at] == b'%') {
            Some(pair) => {
                bytes.push(u8::from_str_radix(pair, 16).expect("two digits"));
                at += 3;
            }
            None => {
                bytes.push(text[at]);
                at += 1;
            }
        }
    }
    bytes
}
