//! Writes a reply: an object in JSON.

use oncekey::codec::text::digits;

/// An object that is being filled.
pub(crate) struct Members(String);

impl Members {
    pub(crate) fn new() -> Self {
        Self(String::from("{"))
    }

    /// Returns a reply that JavaScript throws.
    pub(crate) fn error(message: &str) -> Self {
        Self::new().with_text("error", message)
    }

    /// Returns the object with this member, whose value is JSON.
    fn with(mut self, name: &str, value: &str) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(name);
        self.0.push_str("\":");
        self.0.push_str(value);
        self
    }

    pub(crate) fn with_text(self, name: &str, text: &str) -> Self {
        self.with(name, &quoted(text))
    }

    pub(crate) fn with_texts(self, name: &str, texts: &[String]) -> Self {
        let texts: Vec<_> = texts.iter().map(|text| quoted(text)).collect();
        self.with(name, &["[", &texts.join(","), "]"].concat())
    }

    pub(crate) fn with_number(self, name: &str, number: u64) -> Self {
        self.with(name, &digits(number))
    }

    pub(crate) fn with_flag(self, name: &str, flag: bool) -> Self {
        self.with(name, if flag { "true" } else { "false" })
    }

    pub(crate) fn with_object(self, name: &str, object: Members) -> Self {
        self.with(name, &object.done())
    }

    pub(crate) fn done(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// Returns the text as a string of JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(character);
            }
            // JSON allows no control characters. Only a pointer in an error may contain one.
            '\0'..' ' => quoted.push(' '),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}
