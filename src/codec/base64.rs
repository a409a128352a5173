//! Base64 (RFC 4648 §4), which webhook signatures, their secrets and Basic credentials use.
//!
//! The `base64ct` crate was tried. Each of its encodings either requires padding or rejects it, so
//! decoding would need two of them. It also adds 2.2 KB to the 70 KB of compressed wasm that a page
//! loads.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes, with padding.
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

/// Decodes a text with or without padding. Returns `None` for a text that [`encode`] cannot have
/// written: other characters, white space, wrong padding, or bits left over after the last byte.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    read(text, false)
}

/// Decodes a text of either alphabet, or of both.
pub(crate) fn decode_either(text: &str) -> Option<Vec<u8>> {
    read(text, true)
}

/// Decodes the alphabet for URLs (RFC 4648 §5), as JWTs use it: without padding.
pub(crate) fn decode_url(text: &str) -> Option<Vec<u8>> {
    let is_of_urls = !text.contains(['+', '/', '=']);
    is_of_urls.then(|| read(text, true)).flatten()
}

fn read(text: &str, may_be_of_urls: bool) -> Option<Vec<u8>> {
    let padding = text.bytes().rev().take_while(|&byte| byte == b'=').count();
    let digits = &text.as_bytes()[..text.len() - padding];
    if digits.len() % 4 == 1 || (padding > 0 && (padding > 2 || !text.len().is_multiple_of(4))) {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut bits, mut bit_count) = (0_u32, 0);
    for &digit in digits {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'-' if may_be_of_urls => 62,
            b'_' if may_be_of_urls => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xffff;
        bit_count += 6;
        if bit_count >= 8 {
            bit_count -= 8;
            bytes.push((bits >> bit_count) as u8);
        }
    }
    (bits & ((1 << bit_count) - 1) == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{decode, decode_url, encode};

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
    fn every_byte_is_decoded_as_it_was_encoded() {
        let all: Vec<u8> = (0..=255).collect();
        for start in 0..all.len() {
            assert_eq!(decode(&encode(&all[start..])).as_deref(), Some(&all[start..]));
        }
    }

    #[test]
    fn the_alphabet_for_urls_has_no_padding_and_no_other_characters() {
        assert_eq!(decode_url("-_8").as_deref(), Some(&[0xfb, 0xff][..]));
        assert_eq!(decode_url("").as_deref(), Some(&[][..]));
        for text in ["+/8", "-_8=", "-/8", "-_9", "-_8 ", "A"] {
            assert_eq!(decode_url(text), None, "{text:?}");
        }
    }

    #[test]
    fn text_that_the_encoder_never_writes_is_refused() {
        for text in [
            "A", "=", "====", "A===", "AA=", "AA===", "AA==AA==", "AAA==", "AB==", "AA\n=", "A-_A",
            " AAAA", "é",
        ] {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }
}
