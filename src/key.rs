//! The idempotency key: the name that a client gives to one intent.

use crate::codec::hex::hex;
use crate::codec::text::{digits, trim};
use crate::time::UnixMillis;
use core::fmt;

mod structured;

/// A valid idempotency key: 1 to 255 visible ASCII characters. It does not start with a quote or end
/// with a comma.
///
/// A key may identify a customer's operation, so `Debug` shows only its length.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

/// Why a text is not a valid idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyError {
    /// The key is empty.
    Empty,
    /// The key has more characters than this: [`IdempotencyKey::MAX_LENGTH`], or fewer if the gateway
    /// says so.
    TooLong(usize),
    /// The key contains a space, a control character or a character outside ASCII, or ends with a
    /// comma. A key that was sent in two header lines is rejected for this reason too, because the
    /// lines arrive joined by a comma and a space.
    NotVisibleAscii,
    /// The key starts with a quote but is not a structured-field string (RFC 9651), optionally with
    /// well-formed parameters.
    BrokenString,
    /// Several headers of the request contain different keys.
    Differ,
}

impl IdempotencyKey {
    /// The longest key, in characters (which are bytes).
    pub const MAX_LENGTH: usize = 255;

    /// Parses the value of an `Idempotency-Key` header.
    ///
    /// The IETF draft (draft-ietf-httpapi-idempotency-key-header) defines the value as a
    /// structured-field string, `"k"`, but most clients send the bare `k`. Both are the same key.
    /// Parameters after the string (`"k";a=1`, RFC 9651 §3.1.2) must be well-formed. They are ignored,
    /// because the draft defines none.
    ///
    /// ```
    /// # use oncekey::{IdempotencyKey, KeyError};
    /// let key = IdempotencyKey::parse_header("\"order-1042\"")?;
    /// assert_eq!(key.as_str(), "order-1042");
    /// assert_eq!(key, IdempotencyKey::parse_header("order-1042")?);
    ///
    /// // Two header lines, joined by a comma.
    /// assert_eq!(IdempotencyKey::parse_header("a, b"), Err(KeyError::NotVisibleAscii));
    /// # Ok::<(), KeyError>(())
    /// ```
    pub fn parse_header(value: &str) -> Result<Self, KeyError> {
        let value = trim(value);
        let Some(rest) = value.strip_prefix('"') else {
            return Self::parse_bare(value);
        };
        let (key, rest) = structured::string(rest).ok_or(KeyError::BrokenString)?;
        if !structured::are_parameters(rest) {
            return Err(KeyError::BrokenString);
        }
        Self::parse_bare(&key)
    }

    /// Parses a key without quotes around it, as in a form field or a store.
    ///
    /// ```
    /// # use oncekey::{IdempotencyKey, KeyError};
    /// assert_eq!(IdempotencyKey::parse_bare("order-1042")?.as_str(), "order-1042");
    /// assert_eq!(IdempotencyKey::parse_bare(""), Err(KeyError::Empty));
    /// # Ok::<(), KeyError>(())
    /// ```
    pub fn parse_bare(text: &str) -> Result<Self, KeyError> {
        if text.is_empty() {
            return Err(KeyError::Empty);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(KeyError::NotVisibleAscii);
        }
        if text.len() > Self::MAX_LENGTH {
            return Err(KeyError::TooLong(Self::MAX_LENGTH));
        }
        // The origin gets the bare key, and would read this one as an unfinished string.
        if text.starts_with('"') {
            return Err(KeyError::BrokenString);
        }
        // The origin could read this key as two header lines, the second of them empty.
        if text.ends_with(',') {
            return Err(KeyError::NotVisibleAscii);
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the key, if it has at most `limit` characters.
    pub fn within(self, limit: usize) -> Result<Self, KeyError> {
        if self.0.len() > limit { Err(KeyError::TooLong(limit)) } else { Ok(self) }
    }

    /// Makes a new key: a UUIDv7 (RFC 9562). The time in it lets a server refuse a key that is too
    /// old even if the server has stored nothing about it. `random` must come from a cryptographic
    /// random generator.
    ///
    /// ```
    /// # use oncekey::{IdempotencyKey, UnixMillis};
    /// let now = UnixMillis::new(1_764_000_000_000);
    /// let random = [7; 10]; // of a cryptographic random generator
    /// assert_eq!(IdempotencyKey::mint(now, random).minted_at(), Some(now));
    /// ```
    pub fn mint(now: UnixMillis, random: [u8; 10]) -> Self {
        Self::of_uuid(uuid::Builder::from_unix_timestamp_millis(now.as_u64(), &random))
    }

    /// Makes a new key without a time: a UUIDv4 (RFC 9562), for a client whose clock is wrong.
    /// `random` must come from a cryptographic random generator.
    pub fn mint_untimed(random: [u8; 16]) -> Self {
        Self::of_uuid(uuid::Builder::from_random_bytes(random))
    }

    /// Returns when the key was made, if the key is a UUIDv7. Other keys contain no time.
    pub fn minted_at(&self) -> Option<UnixMillis> {
        let uuid = uuid::Uuid::try_parse(&self.0).ok()?;
        if uuid.get_version() != Some(uuid::Version::SortRand) {
            return None;
        }
        let mut bytes = [0; 8];
        bytes[2..].copy_from_slice(&uuid.as_bytes()[..6]);
        Some(UnixMillis::new(u64::from_be_bytes(bytes)))
    }

    fn of_uuid(uuid: uuid::Builder) -> Self {
        let mut text = hex(uuid.as_uuid().as_bytes());
        for place in [8, 13, 18, 23] {
            text.insert(place, '-');
        }
        Self(text)
    }

    /// Returns the key without quotes, as the origin gets it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdempotencyKey({} characters)", self.0.len())
    }
}

impl KeyError {
    /// Returns what is wrong, and what to send.
    pub fn message(&self) -> String {
        let text = match self {
            Self::Empty => {
                "The idempotency key is empty. Send 1 to 255 visible ASCII characters, such as a UUID."
            }
            Self::TooLong(limit) => {
                let limit = digits(*limit as u64);
                return [
                    "The idempotency key is longer than ",
                    &limit,
                    " characters. Send a shorter one.",
                ]
                .concat();
            }
            Self::NotVisibleAscii => {
                "The idempotency key may contain only visible ASCII characters without spaces, and must be sent only once."
            }
            Self::BrokenString => {
                "The idempotency key starts with a quote, but is not one complete quoted string, alone or with well-formed parameters. Send it without quotes or as \"key\"."
            }
            Self::Differ => {
                "Two headers of this request contain different idempotency keys. Send only one of them, or the same key in both."
            }
        };
        text.to_owned()
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl core::error::Error for KeyError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_with_quotes_and_without_is_the_same_key() {
        assert_eq!(IdempotencyKey::parse_header("\"k-1\""), IdempotencyKey::parse_header("k-1"));
        assert_eq!(IdempotencyKey::parse_header(r#""a\"b\\c""#).unwrap().as_str(), r#"a"b\c"#);
        assert_eq!(IdempotencyKey::parse_header(" k\t").unwrap().as_str(), "k");
    }

    #[test]
    fn parameters_are_not_part_of_a_quoted_key() {
        for value in ["\"k\";a=1", "\"k\"; a;b=?0", "\"k\";a=\"x;y\"", " \"k\";a=tok/en:1 "] {
            assert_eq!(IdempotencyKey::parse_header(value).unwrap().as_str(), "k", "{value}");
        }
        // A value without quotes is not a structured field, so all of it is the key.
        assert_eq!(IdempotencyKey::parse_header("k;a=1").unwrap().as_str(), "k;a=1");
    }

    #[test]
    fn the_error_of_an_invalid_key_says_what_is_wrong() {
        for (value, error) in [
            ("", KeyError::Empty),
            ("\"\"", KeyError::Empty),
            ("  ", KeyError::Empty),
            ("\"unclosed", KeyError::BrokenString),
            ("\"a\"b", KeyError::BrokenString),
            ("\"a\";p=", KeyError::BrokenString),
            ("\"a\" ;p=1", KeyError::BrokenString),
            ("\"a\";p=1, \"b\"", KeyError::BrokenString),
            ("\"\";p=1", KeyError::Empty),
            ("\"a\\n\"", KeyError::BrokenString),
            ("\"\\\"a\"", KeyError::BrokenString),
            ("\"", KeyError::BrokenString),
            ("a b", KeyError::NotVisibleAscii),
            ("\"a b\"", KeyError::NotVisibleAscii),
            ("a, b", KeyError::NotVisibleAscii),
            (", b", KeyError::NotVisibleAscii),
            ("a,", KeyError::NotVisibleAscii),
            ("\"a\",", KeyError::BrokenString),
            ("\"a,\"", KeyError::NotVisibleAscii),
            ("a\tb", KeyError::NotVisibleAscii),
            ("a\u{7f}b", KeyError::NotVisibleAscii),
            ("a\0b", KeyError::NotVisibleAscii),
            ("caf\u{e9}", KeyError::NotVisibleAscii),
            ("caf\u{fffd}", KeyError::NotVisibleAscii),
        ] {
            assert_eq!(IdempotencyKey::parse_header(value), Err(error), "{value:?}");
            assert!(error.to_string().contains("idempotency key"));
        }
        assert!(IdempotencyKey::parse_header(&"x".repeat(255)).is_ok());
        assert!(IdempotencyKey::parse_header(&format!("\"{}\"", "x".repeat(255))).is_ok());
        assert_eq!(IdempotencyKey::parse_header(&"x".repeat(256)), Err(KeyError::TooLong(255)));
    }

    #[test]
    fn only_a_uuidv7_contains_the_time_when_it_was_minted() {
        let now = UnixMillis::new(1_764_000_000_123);
        let key = IdempotencyKey::mint(now, [0xff; 10]);
        assert_eq!(key.minted_at(), Some(now));
        assert_eq!(IdempotencyKey::parse_header(key.as_str()), Ok(key.clone()));
        assert_ne!(key, IdempotencyKey::mint(now, [0; 10]));
        for other in
            ["9b2c4c4e-2d0c-4e49-8a6e-0242ac120002", "order-1042", "01890a5d-ac96-774b-bcce"]
        {
            assert_eq!(IdempotencyKey::parse_bare(other).unwrap().minted_at(), None, "{other}");
        }
    }

    #[test]
    fn debug_output_does_not_contain_the_key() {
        let shown = format!("{:?}", IdempotencyKey::parse_bare("secret-order").unwrap());
        assert!(!shown.contains("secret"), "{shown}");
    }
}
