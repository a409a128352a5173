//! JSON for callers, written member by member. This adds much less code to the bundle than a type with
//! a derived serializer for each response.

use crate::clock;
use oncekey::UnixMillis;
use oncekey::codec::hex::hex;

/// Writes a JSON object.
#[derive(Default)]
pub struct JsonObject(String);

impl JsonObject {
    /// Begins an empty object.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins an object with the members `id` and `object`.
    pub fn object(kind: &str, id: &str) -> Self {
        Self::new().text("id", id).text("object", kind)
    }

    /// Adds a member whose value is JSON already.
    pub fn json(mut self, name: &str, value: &str) -> Self {
        let separator = if self.0.is_empty() { "{\"" } else { ",\"" };
        self.0.extend([separator, name, "\":", value]);
        self
    }

    /// Adds a string.
    pub fn text(self, name: &str, value: &str) -> Self {
        self.json(name, &quoted(value))
    }

    /// Adds a string or null.
    pub fn maybe(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self.json(name, "null"),
        }
    }

    /// Adds an integer.
    pub fn integer(self, name: &str, value: i64) -> Self {
        self.json(name, &value.to_string())
    }

    /// Adds an integer or null.
    pub fn maybe_integer(self, name: &str, value: Option<i64>) -> Self {
        match value {
            Some(value) => self.integer(name, value),
            None => self.json(name, "null"),
        }
    }

    /// Adds a time in RFC 3339, or null.
    pub fn maybe_time(self, name: &str, time: Option<UnixMillis>) -> Self {
        self.maybe(name, time.map(clock::rfc3339).as_deref())
    }

    /// Adds a time in RFC 3339.
    pub fn time(self, name: &str, time: UnixMillis) -> Self {
        self.text(name, &clock::rfc3339(time))
    }

    /// Returns the object.
    pub fn finish(self) -> String {
        if self.0.is_empty() { "{}".to_owned() } else { self.0 + "}" }
    }
}

/// Writes values that are JSON already as an array.
pub fn array(items: &[String]) -> String {
    ["[", &items.join(","), "]"].concat()
}

/// Writes a string.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        let short = match character {
            '"' | '\\' => character,
            '\u{8}' => 'b',
            '\u{C}' => 'f',
            '\n' => 'n',
            '\r' => 'r',
            '\t' => 't',
            '\0'..'\u{20}' => {
                quoted.extend(["\\u00", &hex(&[character as u8])]);
                continue;
            }
            _ => {
                quoted.push(character);
                continue;
            }
        };
        quoted.extend(['\\', short]);
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_string_is_written_as_by_another_writer() {
        let ascii = (0..128).map(char::from);
        let text: String = ascii.chain("é€😀\u{2028}\u{fffd}".chars()).collect();
        assert_eq!(quoted(&text), serde_json::to_string(&text).unwrap());
    }
}
