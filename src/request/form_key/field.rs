//! The form field that contains the key: its name, and its position in a body.

use super::error::FormKeyError;
use crate::key::IdempotencyKey;
use core::fmt;
use core::ops::Range;

/// The name of the form field that may contain the key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldName(String);

/// Why a text is not a valid name for the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldNameError {
    /// The name is empty or too long, or contains a character that forms escape or that readers
    /// handle differently.
    NotAName,
    /// The name is `_charset_`, which browsers fill in themselves.
    FilledInByBrowsers,
}

impl FieldName {
    /// The maximum length of a name, in characters (all are ASCII, so also in bytes).
    pub const MAX_LENGTH: usize = 64;

    /// Parses a name of 1 to 64 visible ASCII characters. Characters that a form has to escape or that
    /// readers handle differently are not allowed.
    pub fn parse(text: &str) -> Result<Self, FieldNameError> {
        let fits = |byte: &u8| byte.is_ascii_graphic() && !b"\"&=%+;\\".contains(byte);
        if !(1..=Self::MAX_LENGTH).contains(&text.len()) || !text.as_bytes().iter().all(fits) {
            return Err(FieldNameError::NotAName);
        }
        // HTML, "constructing the entry list": browsers set this field to the name of the charset.
        if text.eq_ignore_ascii_case("_charset_") {
            return Err(FieldNameError::FilledInByBrowsers);
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The key field that was found in a body.
pub(super) struct FoundField {
    pub(super) value: Vec<u8>,
    /// The bytes to remove from the body.
    pub(super) bytes: Range<usize>,
}

impl FoundField {
    /// The number of bytes of a value to read. A value of this length is already too long for a key.
    pub(super) const MAX_READ: usize = IdempotencyKey::MAX_LENGTH + 1;

    /// Records a found field. Returns an error if one was found before.
    pub(super) fn set_once(found: &mut Option<Self>, new: Self) -> Result<(), FormKeyError> {
        if found.replace(new).is_some() { Err(FormKeyError::Twice) } else { Ok(()) }
    }
}

impl fmt::Display for FieldNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAName => {
                "must be a name of 1 to 64 visible ASCII characters without \" & = % + ; and \\"
            }
            Self::FilledInByBrowsers => {
                "must not be _charset_, because browsers fill in that field themselves"
            }
        })
    }
}

impl core::error::Error for FieldNameError {}
