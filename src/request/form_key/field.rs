//! The field of a form that carries the key: its name, and where it was found.

use super::error::FormKeyError;
use crate::key::IdempotencyKey;
use core::fmt;
use core::ops::Range;

/// The name of the form field that may carry the key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldName(String);

/// Why a text is no name for the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldNameError {
    /// Too long, empty, or with a character that forms have to spell in another way.
    NotAName,
    /// The name `_charset_`.
    FilledInByBrowsers,
}

impl FieldName {
    /// The longest name, in characters (which are bytes).
    pub const MAX_LENGTH: usize = 64;

    /// Takes 1 to 64 visible ASCII characters, without those that a form has to escape or that
    /// readers do not agree on.
    pub fn parse(text: &str) -> Result<Self, FieldNameError> {
        let fits = |byte: &u8| byte.is_ascii_graphic() && !b"\"&=%+;\\".contains(byte);
        if !(1..=Self::MAX_LENGTH).contains(&text.len()) || !text.as_bytes().iter().all(fits) {
            return Err(FieldNameError::NotAName);
        }
        // HTML, "constructing the entry list": it always holds the charset's name.
        if text.eq_ignore_ascii_case("_charset_") {
            return Err(FieldNameError::FilledInByBrowsers);
        }
        Ok(Self(text.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The field in a body.
pub(super) struct Found {
    pub(super) value: Vec<u8>,
    /// What is to be cut out.
    pub(super) bytes: Range<usize>,
}

impl Found {
    /// How much of a value is enough to see that it is too long for a key.
    pub(super) const ENOUGH: usize = IdempotencyKey::MAX_LENGTH + 1;

    pub(super) fn only(found: &mut Option<Self>, new: Self) -> Result<(), FormKeyError> {
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
