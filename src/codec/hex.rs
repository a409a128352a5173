//! Hexadecimal digits.

/// Encodes bytes as two lower-case digits each.
pub fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// Encodes a number as 8 lower-case digits.
pub(crate) fn hex32(number: u32) -> String {
    hex(&number.to_be_bytes())
}

/// Decodes exactly 64 digits of either case. Returns `None` for any other text.
pub(crate) fn parse_hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = byte_of(pair)?;
    }
    Some(bytes)
}

/// Decodes the first two digits of a text. Returns `None` if the text is shorter or has other
/// characters there.
pub(crate) fn byte_of(text: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*text.get(at)?).to_digit(16);
    u8::try_from(digit(0)? << 4 | digit(1)?).ok()
}
