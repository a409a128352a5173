//! What may be in a request. Each type can only hold what is allowed, so that nothing behind it
//! has to check again.

use super::error::Refusal;
use super::fields::Field;
use super::row::{Row, Value};
use oncekey::codec::percent;
use platform::json::Json;
use platform::random;

/// A text type: its name, the rule in words, and the rule itself.
macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $rule:literal, $fits:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub(super) struct $name(String);

        impl $name {
            pub(super) fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = &'static str;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                let fits: fn(&str) -> bool = $fits;
                if fits(&text) { Ok(Self(text)) } else { Err(Self::RULE) }
            }
        }

        impl Field for $name {
            const RULE: &'static str = $rule;

            fn read(value: Json) -> Option<Self> {
                match value {
                    Json::Text(text) => Self::try_from(text).ok(),
                    _ => None,
                }
            }
        }
    };
}
pub(super) use text;

text!(
    /// The merchant's own number of an order or a refund. Its characters can stand in an URL as they
    /// are.
    OwnNumber,
    "must be 1 to 64 letters (A-Z, a-z), digits, '-', '_', '.' or '~'",
    |text| (1..=64).contains(&text.len()) && text.bytes().all(is_unreserved)
);

text!(
    /// An ISO 4217 code by its form; which currencies there are is not the sandbox's matter.
    Currency,
    "must be three upper-case letters, such as USD",
    |text| text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase())
);

text!(
    /// What was bought, by whom, for people.
    Subject,
    "must be 1 to 256 characters, none of them a control character",
    |text| (1..=256).contains(&text.chars().count()) && !text.chars().any(char::is_control)
);

text!(
    /// The bare `Idempotency-Key`.
    IdempotencyKey,
    "must be 1 to 255 visible ASCII characters",
    |text| is_visible(text, 255)
);

text!(
    /// Names one exchange: `request_id` in bodies, `X-Request-Id` in headers.
    RequestId,
    "must be 1 to 128 visible ASCII characters",
    |text| is_visible(text, 128)
);

text!(
    /// The credential that names a merchant. It is never stored nor logged.
    ApiKey,
    "must be a sandbox key",
    |text| {
        let name = text
            .strip_prefix("kuko_test_")
            .or_else(|| text.strip_prefix("sandbox_"));
        name.is_some_and(|name| {
            (1..=200).contains(&name.len()) && name.bytes().all(is_unreserved)
        })
    }
);

text!(
    /// The id of anything but an order. What it begins with says of what.
    Id,
    "must be an id: a prefix and 32 hexadecimal digits",
    |text| text.split_once('_').is_some_and(|(_, digits)| is_id_part(digits))
);

/// Money in minor units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Amount(i64);

impl Amount {
    const MAX: i64 = 99_999_999_999;

    pub(super) fn of_row(row: &mut Row) -> Option<Self> {
        Self::try_from(row.integer()?).ok()
    }

    pub(super) fn value(self) -> Value<'static> {
        Value::Integer(self.0)
    }
}

impl TryFrom<i64> for Amount {
    type Error = &'static str;

    fn try_from(units: i64) -> Result<Self, Self::Error> {
        if (1..=Self::MAX).contains(&units) { Ok(Self(units)) } else { Err(Self::RULE) }
    }
}

impl From<Amount> for i64 {
    fn from(amount: Amount) -> Self {
        amount.0
    }
}

impl Field for Amount {
    // `2990.0` is refused too: who writes a decimal point may mean major units, and money is not
    // the place to guess.
    const RULE: &'static str = "must be an integer from 1 to 99999999999, in minor units, written \
                                without fraction, exponent or quotes";

    fn read(value: Json) -> Option<Self> {
        match value {
            Json::Integer(units) => Self::try_from(units).ok(),
            _ => None,
        }
    }

    /// As JSON would have it: digits alone, without a zero in front.
    fn read_text(text: String) -> Option<Self> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
        let units = is_plain.then(|| text.parse::<i64>().ok())??;
        Self::try_from(units).ok()
    }
}

impl IdempotencyKey {
    pub(super) fn parse(text: String, param: &str) -> Result<Self, Box<Refusal>> {
        Self::try_from(text).map_err(|rule| Refusal::invalid(param, rule))
    }
}

impl Id {
    /// `prefix` says of what it is the id.
    pub(super) fn mint(prefix: &str) -> Self {
        Self(random::id::<16>(prefix))
    }

    pub(super) fn parse(text: &str, prefix: &str) -> Option<Self> {
        let is_of_kind = text.starts_with(prefix);
        is_of_kind.then(|| Self::try_from(text.to_owned()).ok())?
    }
}

impl ApiKey {
    pub(super) fn parse(text: String) -> Option<Self> {
        Self::try_from(text).ok()
    }
}

impl RequestId {
    pub(super) fn parse(text: String) -> Option<Self> {
        Self::try_from(text).ok()
    }

    pub(super) fn mint() -> Self {
        Self(random::request_id())
    }
}

/// Percent-decoding as URLs have it: what is no escape stays as it is, bad UTF-8 becomes U+FFFD.
pub(super) fn percent_decoded(text: &str) -> String {
    let bytes: Vec<u8> = percent::decoded(text.as_bytes()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a text is what an id has behind its prefix.
pub(super) fn is_id_part(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~')
}

fn is_visible(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_its_bounds() {
        let good = |text: &str| Json::Text(text.to_owned());
        assert!(Amount::read(Json::Integer(1)).is_some());
        assert!(Amount::read(Json::Integer(99_999_999_999)).is_some());
        assert!(Amount::read(Json::Integer(0)).is_none());
        assert!(Amount::read(Json::Integer(100_000_000_000)).is_none());
        assert!(Amount::read(good("2990")).is_none());
        assert!(Amount::read_text("2990".to_owned()).is_some());
        for text in ["", "0", "02990", "+1", "-1", "1.0", "1e3", " 1", "100000000000", "１"] {
            assert!(Amount::read_text(text.to_owned()).is_none(), "{text}");
        }
        assert!(OwnNumber::read(good(&"a".repeat(64))).is_some());
        assert!(OwnNumber::read(good(&"a".repeat(65))).is_none());
        assert!(OwnNumber::read(good("a b")).is_none());
        assert!(Currency::read(good("usd")).is_none());
        assert!(Subject::read(good(&"訂".repeat(256))).is_some());
        assert!(Subject::read(good(&"訂".repeat(257))).is_none());
        assert!(Subject::read(good("a\u{85}b")).is_none());
        assert!(ApiKey::parse("kuko_test_".to_owned()).is_none());
        assert!(ApiKey::parse("kuko_live_x".to_owned()).is_none());
        assert!(ApiKey::parse("sandbox_x".to_owned()).is_some());
    }

    #[test]
    fn percent_decoding_takes_anything() {
        assert_eq!(percent_decoded("a%2Fb%20c"), "a/b c");
        assert_eq!(percent_decoded("100%"), "100%");
        assert_eq!(percent_decoded("%2"), "%2");
        assert_eq!(percent_decoded("%zz%41"), "%zzA");
        assert_eq!(percent_decoded("%ff"), "\u{fffd}");
    }
}
