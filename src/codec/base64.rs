//! Base64 (RFC 4648 §4): the encoding of signatures and of their secrets.
//!
//! The `base64ct` crate was tried. It reads padding in one way only, so decoding needs two of its encodings,
//! and it makes the wasm of a page 2.2 KB larger (compressed, of 70 KB).

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the text of some bytes, with padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |place: usize| u32::from(group.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place > group.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

/// Reads a text with or without padding. `None` for what [`encode`] never writes: another alphabet, white
/// space, padding in the wrong place, and bits behind the last byte.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    if digits.len() % 4 == 1 || (padding > 0 && (padding > 2 || !text.len().is_multiple_of(4))) {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut bits, mut held) = (0_u32, 0);
    for digit in digits.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    (bits & ((1 << held) - 1) == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn the_vectors_of_rfc_4648() {
        for (plain, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(plain.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(plain.as_bytes()));
            assert_eq!(decode(text.trim_end_matches('=')).as_deref(), Some(plain.as_bytes()));
        }
    }

    #[test]
    fn all_bytes_go_there_and_back() {
        let all: Vec<u8> = (0..=255).collect();
        for start in 0..all.len() {
            assert_eq!(decode(&encode(&all[start..])).as_deref(), Some(&all[start..]));
        }
    }

    #[test]
    fn what_is_never_written_is_not_read() {
        for text in [
            "A", "=", "====", "A===", "AA=", "AA===", "AA==AA==", "AAA==", "AB==", "AA\n=", "A-_A",
            " AAAA", "é",
        ] {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }
}
