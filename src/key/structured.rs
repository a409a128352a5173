//! As much of Structured Field Values (RFC 9651) as an item that is a string needs: the string, and
//! whether what follows it are parameters.

use core::str;

/// The content of a string whose opening quote is taken off already, and what follows it.
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

/// Whether this is a list of well-formed parameters (§3.1.2), an empty one included.
pub(super) fn are_parameters(mut rest: &str) -> bool {
    while !rest.is_empty() {
        let parameter = rest.strip_prefix(';').map(|rest| rest.trim_start_matches(' '));
        let Some(after) = parameter.and_then(after_parameter) else {
            return false;
        };
        rest = after;
    }
    true
}

/// What follows a parameter: a name, and after `=` a bare item.
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

/// What follows a bare item (§3.3).
fn after_bare_item(text: &str) -> Option<&str> {
    let rest = text.get(1..);
    match text.bytes().next()? {
        b'"' => after_string(rest?),
        b'?' => rest?.strip_prefix(['0', '1']),
        b':' => after_bytes(rest?),
        b'@' => match number(rest?)? {
            (Number::Integer, rest) => Some(rest),
            (Number::Decimal, _) => None,
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

/// A string's characters are visible ASCII and spaces.
fn after_string(text: &str) -> Option<&str> {
    let (content, rest) = string(text)?;
    content.bytes().all(|byte| (b' '..=b'~').contains(&byte)).then_some(rest)
}

/// Base64 up to the colon.
fn after_bytes(text: &str) -> Option<&str> {
    let (content, rest) = text.split_once(':')?;
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    content.bytes().all(is_base64).then_some(rest)
}

/// Visible ASCII, spaces, and other UTF-8 percent-encoded in lower case, up to the quote.
fn after_display_string(text: &str) -> Option<&str> {
    let (content, rest) = text.split_once('"')?;
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
enum Number {
    Integer,
    Decimal,
}

/// A number (§4.2.4): up to 15 digits, or up to 12 and one to three behind a point.
fn number(text: &str) -> Option<(Number, &str)> {
    let is_digit = |byte: u8| byte.is_ascii_digit();
    let (whole, rest) = split_while(text.strip_prefix('-').unwrap_or(text), is_digit);
    let Some(behind) = rest.strip_prefix('.') else {
        return (1..=15).contains(&whole.len()).then_some((Number::Integer, rest));
    };
    let (part, rest) = split_while(behind, is_digit);
    let fits = (1..=12).contains(&whole.len()) && (1..=3).contains(&part.len());
    fits.then_some((Number::Decimal, rest))
}

fn split_while(text: &str, is_in: impl Fn(u8) -> bool) -> (&str, &str) {
    let end = text.bytes().position(|byte| !is_in(byte)).unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_told_from_what_is_none() {
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
