//! The types of values in a request. Each type can only hold what is allowed, so that no other code
//! has to check it again.

use super::error::Refusal;
use super::fields::Field;
use oncekey::IdempotencyKey;
use oncekey::codec::percent;
use platform::json::Json;

/// Declares a type of text: its name, its rule in words, and the check of the rule.
macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $rule:literal, $fits:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub(super) struct $name(String);

        impl $name {
            pub(super) fn as_str(&self) -> &str {
                &self.0
            }

            pub(super) fn parse(text: String) -> Option<Self> {
                let fits: fn(&str) -> bool = $fits;
                fits(&text).then_some(Self(text))
            }
        }

        impl<'a> From<&'a $name> for platform::sql::Value<'a> {
            fn from(value: &'a $name) -> Self {
                value.as_str().into()
            }
        }

        impl Field for $name {
            const RULE: &'static str = $rule;

            fn read(value: Json) -> Option<Self> {
                match value {
                    Json::Text(text) => Self::parse(text),
                    _ => None,
                }
            }
        }
    };
}
pub(super) use text;

text!(
    /// The merchant's own permanent key of an order or a refund. It needs no escape in a URL.
    BusinessKey,
    "must be 1 to 64 letters (A-Z, a-z), digits, '-', '_', '.' or '~'",
    |text| (1..=64).contains(&text.len()) && text.bytes().all(is_unreserved)
);

text!(
    /// A text in the form of an ISO 4217 code. Whether the currency exists is not checked.
    Currency,
    "must be three upper-case letters, such as USD",
    |text| text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase())
);

text!(
    /// A text for people: what was bought, or by whom.
    ShortText,
    "must be 1 to 256 characters without control characters",
    |text| (1..=256).contains(&text.chars().count()) && !text.chars().any(char::is_control)
);

text!(
    /// The credential that identifies a merchant. It is never stored or logged.
    ApiKey,
    "must be a sandbox key",
    |text| {
        let name = text.strip_prefix("kuko_test_").or_else(|| text.strip_prefix("sandbox_"));
        name.is_some_and(|name| (1..=200).contains(&name.len()) && name.bytes().all(is_unreserved))
    }
);

/// Money in minor units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Amount(i64);

impl Amount {
    const MAX: i64 = 99_999_999_999;

    fn of(units: i64) -> Option<Self> {
        (1..=Self::MAX).contains(&units).then_some(Self(units))
    }

    pub(super) fn units(self) -> i64 {
        self.0
    }
}

impl Field for Amount {
    // `2990.0` is refused too: a caller who writes a decimal point may mean major units.
    const RULE: &'static str = "must be an integer from 1 to 99999999999 in minor units, without \
                                fraction, exponent or quotes";

    fn read(value: Json) -> Option<Self> {
        match value {
            Json::Integer(units) => Self::of(units),
            _ => None,
        }
    }

    /// Reads a number of only digits, without a leading zero, as in JSON.
    fn read_text(text: String) -> Option<Self> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
        let units = is_plain.then(|| text.parse::<i64>().ok())??;
        Self::of(units)
    }
}

/// Reads the bare idempotency key that `param` contains.
pub(super) fn parse_key(text: &str, param: &str) -> Result<IdempotencyKey, Box<Refusal>> {
    IdempotencyKey::parse_bare(text)
        .map_err(|_| Refusal::invalid(param, "must be 1 to 255 visible ASCII characters"))
}

/// Decodes percent-escapes as in URLs: other text stays as it is, and invalid UTF-8 becomes U+FFFD.
pub(super) fn percent_decoded(text: &str) -> String {
    let bytes: Vec<u8> = percent::decoded(text.as_bytes()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns whether a text is a valid rest of an id after its prefix.
pub(super) fn is_id_part(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~')
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
        assert!(BusinessKey::read(good(&"a".repeat(64))).is_some());
        assert!(BusinessKey::read(good(&"a".repeat(65))).is_none());
        assert!(BusinessKey::read(good("a b")).is_none());
        assert!(Currency::read(good("usd")).is_none());
        assert!(ShortText::read(good(&"訂".repeat(256))).is_some());
        assert!(ShortText::read(good(&"訂".repeat(257))).is_none());
        assert!(ShortText::read(good("a\u{85}b")).is_none());
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
