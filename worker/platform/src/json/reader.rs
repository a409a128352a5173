//! JSON as it was sent: repeated member names are kept, and integers are distinct from other
//! numbers.
//!
//! Most readers silently keep the last of two members with the same name. The gateway compares such a
//! body byte by byte, and the sandbox must not read it differently.
//!
//! No call takes a number that is not an integer, so such numbers have no value here. Their conversion
//! to a double would need large tables.

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// A number without fraction and exponent that an `i64` holds exactly.
    Integer(i64),
    /// A string.
    Text(String),
    /// Members in the order in which they were sent, repeated names included.
    Object(Vec<(String, Json)>),
    /// An array.
    Array(Vec<Json>),
    /// `null`.
    Null,
    /// A boolean or any other number, which no call accepts.
    Other,
}

/// The place in a text from which on it is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The number of the line, from 1.
    pub line: usize,
    /// The number of the byte in its line, from 1.
    pub column: usize,
}

/// How deep arrays and objects can be nested.
const MAX_DEPTH: usize = 127;

impl Json {
    /// Reads a text by RFC 8259. A text with half of a surrogate pair is not JSON here, nor is one that is nested too
    /// deep.
    pub fn parse(text: &[u8]) -> Result<Self, Place> {
        let place = |at: usize| {
            let before = &text[..at];
            let line_start =
                before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            Place { line, column: at - line_start + 1 }
        };
        let text = std::str::from_utf8(text).map_err(|error| place(error.valid_up_to()))?;
        let mut reader = Reader { text, at: 0, depth: 0 };
        let value = reader.value();
        if value.is_some() {
            reader.skip_space();
        }
        value.filter(|_| reader.at == text.len()).ok_or_else(|| place(reader.at))
    }
}

/// Removes a member from an object and returns it. Of several with the same name, the last counts.
pub fn take(members: &mut Vec<(String, Json)>, name: &str) -> Option<Json> {
    let place = members.iter().rposition(|(member, _)| member == name)?;
    Some(members.remove(place).1)
}

/// Reads from `at` on. A function that returns `None` leaves `at` where the text is not JSON.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn value(&mut self) -> Option<Json> {
        self.skip_space();
        Some(match self.next()? {
            b'"' => Json::Text(self.string()?),
            b'{' => {
                let mut members = Vec::new();
                self.items(b'}', &mut |reader| {
                    let name = reader.string()?;
                    reader.skip_space();
                    reader.expect(b':')?;
                    members.push((name, reader.value()?));
                    Some(())
                })?;
                Json::Object(members)
            }
            b'[' => {
                let mut values = Vec::new();
                self.items(b']', &mut |reader| {
                    values.push(reader.value()?);
                    Some(())
                })?;
                Json::Array(values)
            }
            b'-' | b'0'..=b'9' => self.number()?,
            _ => {
                let words = ["null", "true", "false"];
                let word = words.iter().find(|word| self.text[self.at..].starts_with(**word))?;
                self.at += word.len();
                if *word == "null" { Json::Null } else { Json::Other }
            }
        })
    }

    /// Reads what is in brackets, with commas between the items.
    fn items(&mut self, close: u8, item: &mut dyn FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        self.at += 1;
        self.skip_space();
        if self.expect(close).is_none() {
            loop {
                self.skip_space();
                item(self)?;
                self.skip_space();
                if self.expect(close).is_some() {
                    break;
                }
                self.expect(b',')?;
            }
        }
        self.depth -= 1;
        Some(())
    }

    fn string(&mut self) -> Option<String> {
        self.expect(b'"')?;
        let mut text = String::new();
        loop {
            let rest = &self.text[self.at..];
            let is_special = |byte| byte < b' ' || byte == b'"' || byte == b'\\';
            let run = rest.bytes().position(is_special).unwrap_or(rest.len());
            text.push_str(&rest[..run]);
            self.at += run;
            if self.expect(b'"').is_some() {
                return Some(text);
            }
            self.expect(b'\\')?;
            text.push(self.escaped()?);
        }
    }

    fn escaped(&mut self) -> Option<char> {
        let character = match self.next()? {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{C}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = self.code_unit()?;
                if !(0xD800..0xDC00).contains(&unit) {
                    return char::from_u32(unit);
                }
                self.expect(b'\\')?;
                let low = self.code_unit().filter(|low| (0xDC00..0xE000).contains(low))?;
                return char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00));
            }
            _ => return None,
        };
        self.at += 1;
        Some(character)
    }

    /// Reads `uXXXX`.
    fn code_unit(&mut self) -> Option<u32> {
        self.expect(b'u')?;
        let mut unit = 0;
        for _ in 0..4 {
            unit = unit * 16 + char::from(self.next()?).to_digit(16)?;
            self.at += 1;
        }
        Some(unit)
    }

    fn number(&mut self) -> Option<Json> {
        let start = self.at;
        let _ = self.expect(b'-');
        if self.expect(b'0').is_none() {
            self.digits()?;
        }
        let integer = &self.text[start..self.at];
        let mut is_integer = integer != "-0";
        if self.expect(b'.').is_some() {
            self.digits()?;
            is_integer = false;
        }
        if self.expect(b'e').or_else(|| self.expect(b'E')).is_some() {
            let _ = self.expect(b'+').or_else(|| self.expect(b'-'));
            self.digits()?;
            is_integer = false;
        }
        let value = integer.parse().ok().filter(|_| is_integer);
        Some(value.map_or(Json::Other, Json::Integer))
    }

    /// Reads one digit or more.
    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.next().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn skip_space(&mut self) {
        while matches!(self.next(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Reads this byte, if it is the next one.
    fn expect(&mut self, byte: u8) -> Option<()> {
        if self.next() != Some(byte) {
            return None;
        }
        self.at += 1;
        Some(())
    }

    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn read(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn only_exact_integers_are_integers() {
        assert_eq!(read("2990"), Json::Integer(2990));
        assert_eq!(read("-5"), Json::Integer(-5));
        assert_eq!(read("9007199254740993"), Json::Integer(9_007_199_254_740_993));
        assert_eq!(read("-9223372036854775808"), Json::Integer(i64::MIN));
        for other in [
            "1.5",
            "2990.0",
            "2990.0000000000000001",
            "1e3",
            "-0",
            "9223372036854775808",
            "18446744073709551616",
            "1e400000",
        ] {
            assert_eq!(read(other), Json::Other, "{other}");
        }
    }

    #[test]
    fn repeated_names_are_kept() {
        let Json::Object(members) = read(r#"{"a":1,"a":2}"#) else {
            panic!("an object");
        };
        assert_eq!(members.len(), 2);
    }

    #[test]
    fn an_error_has_a_place() {
        for (text, line, column) in [
            (&b""[..], 1, 1),
            (b"{\"a\":1,}", 1, 8),
            (b"{\n  \"a\" 1}", 2, 7),
            (b"[1] x", 1, 5),
            (b"\n\"\xff\"", 2, 2),
            (b"\"a\nb\"", 1, 3),
        ] {
            let found = Json::parse(text);
            assert_eq!(found, Err(Place { line, column }), "{}", text.escape_ascii());
        }
    }

    /// Returns whether another reader finds the same. It keeps the last of two members with the same name.
    fn is_same(one: &Json, other: &Value) -> bool {
        match (one, other) {
            (Json::Null, Value::Null) | (Json::Other, Value::Bool(_)) => true,
            (Json::Integer(number), Value::Number(other)) => other.as_i64() == Some(*number),
            (Json::Other, Value::Number(other)) => other.as_i64().is_none(),
            (Json::Text(text), Value::String(other)) => text == other,
            (Json::Array(values), Value::Array(others)) => {
                values.len() == others.len()
                    && values.iter().zip(others).all(|(one, other)| is_same(one, other))
            }
            (Json::Object(members), Value::Object(others)) => {
                let mut members = members.clone();
                others.iter().all(|(name, other)| {
                    let value = take(&mut members, name);
                    members.retain(|(known, _)| known != name);
                    value.is_some_and(|value| is_same(&value, other))
                }) && members.is_empty()
            }
            _ => false,
        }
    }

    /// Every text one edit away from these is read as another reader reads it.
    #[test]
    fn texts_are_read_as_by_another_reader() {
        let texts = [
            r#"{"a":[1,-2.5e+3,"\u00e9\ud83d\ude00\n\"\\\/\b\f\r\t"],"b":{"c":null,"d":true}, "e":false}"#,
            " [ ] ",
            "{ }",
            "-0",
            "0.10E-2",
            "\"é€😀\u{7f}\"",
            "[[[[{\"a\":{}}]]],12345678901234567890]",
        ];
        let inserted = b"\"\\{}[]:, \n\t\x000159-+.eEuntfd8\xc3\xa9";
        let check = |text: &[u8]| match (Json::parse(text), serde_json::from_slice::<Value>(text)) {
            (Ok(one), Ok(other)) => assert!(is_same(&one, &other), "{}", text.escape_ascii()),
            // The other reader makes a double of it.
            (Ok(_), Err(error)) if error.to_string().starts_with("number out of range") => {}
            (one, other) => assert!(one.is_err() && other.is_err(), "{}", text.escape_ascii()),
        };
        for text in texts.map(str::as_bytes) {
            check(text);
            for at in 0..text.len() {
                check(&text[..at]);
                check(&[&text[..at], &text[at + 1..]].concat());
                for byte in inserted {
                    check(&[&text[..at], &[*byte], &text[at..]].concat());
                    check(&[&text[..at], &[*byte], &text[at + 1..]].concat());
                }
            }
        }
        for depth in [127, 128, 10_000] {
            check(&["[".repeat(depth), "]".repeat(depth)].concat().into_bytes());
            check(
                &[r#"{"a":"#.repeat(depth), "1".to_owned(), "}".repeat(depth)]
                    .concat()
                    .into_bytes(),
            );
        }
    }
}
