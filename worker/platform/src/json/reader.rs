//! JSON as it was sent: repeated member names are kept, and integers are distinct from other
//! numbers.
//!
//! `serde_json::Value` would silently keep the last of two members with the same name. The gateway
//! compares such a body byte by byte, and the sandbox must not read it differently.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// A number without fraction and exponent that an `i64` holds exactly.
    Integer(i64),
    /// A string.
    Text(String),
    /// Members in the order in which they were sent, repeated names included.
    Object(Vec<(String, Json)>),
    /// An array.
    Array(Vec<Json>),
    /// `null`.
    Null,
    /// A boolean or any other number, which no call accepts.
    Other,
}

/// Removes a member from an object and returns it. Of several with the same name, the last counts.
pub fn take(members: &mut Vec<(String, Json)>, name: &str) -> Option<Json> {
    let place = members.iter().rposition(|(member, _)| member == name)?;
    Some(members.remove(place).1)
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyJson)
    }
}

struct AnyJson;

impl<'de> Visitor<'de> for AnyJson {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        Ok(Json::Integer(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(i64::try_from(number).map_or(Json::Other, Json::Integer))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Json::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::Json;

    fn read(text: &str) -> Json {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn only_exact_integers_are_integers() {
        assert_eq!(read("2990"), Json::Integer(2990));
        assert_eq!(read("-5"), Json::Integer(-5));
        assert_eq!(read("9007199254740993"), Json::Integer(9_007_199_254_740_993));
        for other in [
            "1.5",
            "2990.0",
            "2990.0000000000000001",
            "1e3",
            "-0",
            "9223372036854775808",
            "18446744073709551616",
            "1e400000",
        ] {
            // Some of these numbers are out of every range, and serde_json refuses them. None of them is an integer.
            let value = serde_json::from_str::<Json>(other);
            assert!(!matches!(value, Ok(Json::Integer(_))), "{other}");
        }
    }

    #[test]
    fn repeated_names_are_kept() {
        let Json::Object(members) = read(r#"{"a":1,"a":2}"#) else {
            panic!("an object");
        };
        assert_eq!(members.len(), 2);
    }
}
