//! Why a form's key cannot be told.

use crate::key::KeyError;
use core::fmt;

/// Why a form's key cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FormKeyError {
    /// What is in the field is no key.
    Malformed(KeyError),
    /// The field is there more than once.
    Twice,
    /// The header carries another key.
    Differs,
    /// The field is a file.
    File,
    /// One reader finds the field here, and another does not.
    Ambiguous,
    /// The field's name is in a multipart body that cannot be taken apart.
    Unreadable,
}

impl fmt::Display for FormKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed(error) => return error.fmt(f),
            Self::Twice => "The form contains the field of the idempotency key more than once. Send it once.",
            Self::Differs => {
                "The Idempotency-Key header and the form field contain different keys. Send only one of them, or the same key in both."
            }
            Self::File => {
                "The form field of the idempotency key is a file. Send the key as a plain field."
            }
            Self::Ambiguous => {
                "The form field of the idempotency key can be read in more than one way. Send its name and value as a browser writes them."
            }
            Self::Unreadable => {
                "The multipart form seems to contain an idempotency key, but cannot be parsed. Send a form that follows RFC 7578, or send the key only in the Idempotency-Key header."
            }
        })
    }
}

impl core::error::Error for FormKeyError {}
