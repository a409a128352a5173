//! Splits, trims and numbers of ASCII texts.
//!
//! The methods of `str` take patterns of many kinds, numbers of all types are parsed by code of their own, and
//! `to_string` needs the formatting of the library. A page loads all of it, so what the page needs is here.

/// Splits a text at the first occurrence of an ASCII character, which neither part has.
pub fn split_once(text: &str, at: u8) -> Option<(&str, &str)> {
    let place = text.bytes().position(|byte| byte == at)?;
    Some((text.get(..place)?, text.get(place + 1..)?))
}

/// Returns the parts of a text between the occurrences of an ASCII character.
pub fn split(text: &str, at: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    core::iter::from_fn(move || {
        let text = rest?;
        let parts = split_once(text, at);
        rest = parts.map(|(_, after)| after);
        Some(parts.map_or(text, |(part, _)| part))
    })
}

/// Removes these ASCII characters from the beginning of a text.
pub fn trim_start<'a>(text: &'a str, characters: &[u8]) -> &'a str {
    let count = text.bytes().take_while(|byte| characters.contains(byte)).count();
    text.get(count..).unwrap_or_default()
}

/// Removes spaces and tabs from both ends of a text.
pub fn trim(text: &str) -> &str {
    let text = trim_start(text, b" \t");
    let count = text.bytes().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    text.get(..text.len() - count).unwrap_or_default()
}

/// Reads a number in digits only.
pub fn decimal(text: &str) -> Option<u64> {
    number(text, 10)
}

/// Reads a number in hexadecimal digits of either case.
pub fn hexadecimal(text: &str) -> Option<u64> {
    number(text, 16)
}

fn number(text: &str, radix: u32) -> Option<u64> {
    let digits = text.bytes().try_fold(0_u64, |number, digit| {
        let digit = char::from(digit).to_digit(radix)?;
        number.checked_mul(radix.into())?.checked_add(digit.into())
    });
    digits.filter(|_| !text.is_empty())
}

/// Returns the decimal digits of a number.
pub fn digits(number: u64) -> String {
    let mut text = if number < 10 { String::new() } else { digits(number / 10) };
    text.push(char::from(b'0' + (number % 10) as u8));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_as_the_library_does() {
        for text in ["", ",", "a", "a,b", ",a,,b,", "é,ü"] {
            assert_eq!(split_once(text, b','), text.split_once(','), "{text}");
            assert!(split(text, b',').eq(text.split(',')), "{text}");
        }
    }

    #[test]
    fn texts_are_trimmed_as_the_library_does() {
        for text in ["", " ", "\t a \t", "a", " é", "\u{a0}a\n", " a b ", "; a;"] {
            assert_eq!(trim(text), text.trim_matches([' ', '\t']), "{text:?}");
            assert_eq!(trim_start(text, b" ;"), text.trim_start_matches([' ', ';']), "{text:?}");
        }
    }

    #[test]
    fn numbers_are_read_and_written_as_the_library_does() {
        for number in [0, 1, 9, 10, 99, 1_764_000_000_000, u64::MAX] {
            assert_eq!(digits(number), number.to_string());
            assert_eq!(decimal(&digits(number)), Some(number));
            assert_eq!(hexadecimal(&format!("{number:x}")), Some(number));
            assert_eq!(hexadecimal(&format!("{number:X}")), Some(number));
        }
        assert_eq!(decimal("007"), Some(7));
        for text in ["", "-1", "+1", " 1", "1.0", "18446744073709551616", "a", "é"] {
            assert_eq!(decimal(text), None, "{text}");
        }
        assert_eq!(hexadecimal("10000000000000000"), None);
    }
}
