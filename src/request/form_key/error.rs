//! Why the key of a form cannot be read.

use crate::key::KeyError;
use core::fmt;

/// Why the key of a form cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FormKeyError {
    /// The value of the field is not a valid key.
    Malformed(KeyError),
    /// The form has the field more than once.
    Twice,
    /// The header and the field contain different keys.
    Differs,
    /// The field is a file upload.
    File,
    /// Some readers would find the field in this form, and others would not.
    Ambiguous,
    /// The body is a multipart form that cannot be parsed, but it contains the name of the field.
    Unreadable,
}

impl fmt::Display for FormKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed(error) => return error.fmt(f),
            Self::Twice => "The form contains the field of the idempotency key more than once. Send it once.",
            Self::Differs => {
                "The header and the form field contain different idempotency keys. Send only one of them, or the same key in both."
            }
            Self::File => {
                "The form field of the idempotency key is a file. Send the key as a plain field."
            }
            Self::Ambiguous => {
                "The form field of the idempotency key can be read in more than one way. Send its name and value as a browser writes them."
            }
            Self::Unreadable => {
                "The multipart form seems to contain an idempotency key, but cannot be parsed. Send a form that follows RFC 7578, or send the key only in a header."
            }
        })
    }
}

impl core::error::Error for FormKeyError {}
