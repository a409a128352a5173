//! The part of Structured Field Values (RFC 9651) that an `Idempotency-Key` header needs: a string with
//! optional parameters. The values of the parameters are checked, but not returned.

use crate::codec::text::{split_once, trim_start};
use core::str;

/// Reads a string whose opening quote is removed already. Returns the unescaped content and the text
/// after the closing quote.
pub(super) fn string(rest: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut characters = rest.chars();
    loop {
        match characters.next()? {
            '"' => return Some((text, characters.as_str())),
            '\\' => match characters.next()? {
                escaped @ ('"' | '\\') => text.push(escaped),
                _ => return None,
            },
            character => text.push(character),
        }
    }
}

/// Returns whether a text is a list of well-formed parameters (§3.1.2). The list may be empty.
pub(super) fn are_parameters(mut rest: &str) -> bool {
    while !rest.is_empty() {
        let parameter = rest.strip_prefix(';').map(|rest| trim_start(rest, b" "));
        let Some(after) = parameter.and_then(after_parameter) else {
            return false;
        };
        rest = after;
    }
    true
}

/// Reads a parameter (a name, optionally with `=` and a bare item) and returns the text after it.
fn after_parameter(text: &str) -> Option<&str> {
    if !text.starts_with(|first: char| first.is_ascii_lowercase() || first == '*') {
        return None;
    }
    let is_in_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.*".contains(&byte);
    let (_, rest) = split_while(text, is_in_name);
    match rest.strip_prefix('=') {
        Some(value) => after_bare_item(value),
        None => Some(rest),
    }
}

/// Reads a bare item (§3.3) and returns the text after it.
fn after_bare_item(text: &str) -> Option<&str> {
    let rest = text.get(1..);
    match text.bytes().next()? {
        b'"' => after_string(rest?),
        b'?' => rest?.strip_prefix(['0', '1']),
        b':' => after_bytes(rest?),
        b'@' => match number(rest?)? {
            (NumberType::Integer, rest) => Some(rest),
            (NumberType::Decimal, _) => None,
        },
        b'%' => after_display_string(rest?.strip_prefix('"')?),
        b'-' | b'0'..=b'9' => number(text).map(|(_, rest)| rest),
        b'*' | b'a'..=b'z' | b'A'..=b'Z' => {
            let is_in_token =
                |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte);
            Some(split_while(text, is_in_token).1)
        }
        _ => None,
    }
}

/// Reads a string of visible ASCII characters and spaces, without its opening quote, and returns the
/// text after it (§3.3.3).
fn after_string(text: &str) -> Option<&str> {
    let (content, rest) = string(text)?;
    content.bytes().all(|byte| (b' '..=b'~').contains(&byte)).then_some(rest)
}

/// Reads base64 up to the closing colon and returns the text after it (§3.3.5).
fn after_bytes(text: &str) -> Option<&str> {
    let (content, rest) = split_once(text, b':')?;
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    content.bytes().all(is_base64).then_some(rest)
}

/// Reads a display string up to its closing quote and returns the text after it (§3.3.8). Characters
/// other than visible ASCII and spaces are UTF-8 in lower-case percent-encoding.
fn after_display_string(text: &str) -> Option<&str> {
    let (content, rest) = split_once(text, b'"')?;
    let mut decoded = Vec::new();
    let mut bytes = content.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => hex(bytes.next()?)? << 4 | hex(bytes.next()?)?,
            b' '..=b'~' => byte,
            _ => return None,
        });
    }
    str::from_utf8(&decoded).is_ok().then_some(rest)
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[derive(PartialEq)]
enum NumberType {
    Integer,
    Decimal,
}

/// Reads a number and returns its type and the text after it (§4.2.4). An integer has up to 15 digits;
/// a decimal has up to 12 digits before the point and 1 to 3 after it.
fn number(text: &str) -> Option<(NumberType, &str)> {
    let is_digit = |byte: u8| byte.is_ascii_digit();
    let (whole, rest) = split_while(text.strip_prefix('-').unwrap_or(text), is_digit);
    let Some(after_point) = rest.strip_prefix('.') else {
        return (1..=15).contains(&whole.len()).then_some((NumberType::Integer, rest));
    };
    let (fraction, rest) = split_while(after_point, is_digit);
    let fits = (1..=12).contains(&whole.len()) && (1..=3).contains(&fraction.len());
    fits.then_some((NumberType::Decimal, rest))
}

fn split_while(text: &str, is_in: impl Fn(u8) -> bool) -> (&str, &str) {
    let end = text.bytes().position(|byte| !is_in(byte)).unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_formed_parameters_are_accepted_and_others_refused() {
        for good in [
            "",
            ";a",
            ";a=1;b",
            ";  a=-12.345",
            ";*a_b-c.d=999999999999999",
            ";a=\"x;\\\"y\\\\\";b",
            ";a=tok;b=*t/o:k",
            ";a=?1;b=?0",
            ";a=:aGk=:;b=::",
            ";a=@1659578233",
            ";a=%\"f%c3%bc n\"",
        ] {
            assert!(are_parameters(good), "{good}");
        }
        for bad in [
            " ",
            ";",
            ";A=1",
            ";1=a",
            ";a=",
            ";a = 1",
            ";a=1 ",
            " ;a=1",
            ";\ta=1",
            ";a=1234567890123456",
            ";a=1.",
            ";a=1.2345",
            ";a=1234567890123.1",
            ";a=-",
            ";a=\"x",
            ";a=\"\u{e9}\"",
            ";a=\"\\n\"",
            ";a=?2",
            ";a=:a-b:",
            ";a=:ab",
            ";a=@1.5",
            ";a=%\"%C3%BC\"",
            ";a=%\"%ff\"",
            ";a=%x",
            ";a=(1 2)",
            ";a=\u{e9}",
            ", \"b\"",
            "b",
        ] {
            assert!(!are_parameters(bad), "{bad}");
        }
    }
}
