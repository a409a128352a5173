//! The name by which an issuer or the origin knows a caller.

use crate::canonical::json::JsonValue;

/// The largest whole number that all JSON parsers read alike.
const MAX_INTEGER: i64 = (1 << 53) - 1;

/// The value that identifies a caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Name {
    Text(String),
    /// A whole number. It is another caller than the text with the same digits.
    Integer(String),
}

/// One part of a scope that is hashed: the kind of the source, its name and its value.
pub(super) type Part = [String; 3];

impl Name {
    /// Reads a text that is not blank, or a whole number that all parsers read alike.
    pub(super) fn read(value: JsonValue<'_>) -> Option<Self> {
        let text = value.scalar()?;
        if !value.is_number() {
            let has_content = text.chars().any(|letter| !letter.is_whitespace());
            return has_content.then_some(Self::Text(text));
        }
        let number: i64 = text.parse().ok()?;
        (number.abs() <= MAX_INTEGER).then_some(Self::Integer(text))
    }

    /// Returns the part of a scope. `kind` is the kind of the source, and `of` its name.
    pub(super) fn part(self, kind: &str, of: String) -> Part {
        match self {
            Self::Text(text) => [kind.to_owned(), of, text],
            Self::Integer(digits) => [format!("{kind}-integer"), of, digits],
        }
    }
}
