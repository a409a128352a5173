//! The members of a JSON body, the fields of a form, or the parameters of a query. An operation takes
//! them out one by one as checked types.

use super::body_type::BodyType;
use super::error::Refusal;
use platform::json::{Json, Place};

/// A type of value that a field of a request can have.
pub(super) trait Field: Sized {
    /// What the value must be, as the end of the sentence "FIELD …".
    const RULE: &'static str;

    fn read(value: Json) -> Option<Self>;

    /// Reads a value of a form or a query, where everything is text.
    fn read_text(text: String) -> Option<Self> {
        Self::read(Json::Text(text))
    }
}

/// Members, fields or parameters. Each has a known name, and no name is repeated.
#[derive(Debug)]
pub(super) struct Fields {
    members: Vec<(String, Json)>,
    /// Whether every value is text, as in a form or a query.
    pub(super) is_text: bool,
}

impl Fields {
    pub(super) fn of_body(
        kind: BodyType,
        body: &[u8],
        known: &[&str],
    ) -> Result<Self, Box<Refusal>> {
        match kind {
            BodyType::Json => Self::of_json(body, known),
            BodyType::Form => Self::of_form(body, known),
        }
    }

    fn of_json(body: &[u8], known: &[&str]) -> Result<Self, Box<Refusal>> {
        match Json::parse(body) {
            Ok(Json::Object(members)) => Self::of(members, false, known),
            Ok(_) => Err(Refusal::unreadable("The body must be a JSON object.")),
            Err(Place { line, column }) => Err(Refusal::unreadable(format!(
                "The body is invalid JSON at line {line}, column {column}. Send a JSON object in UTF-8."
            ))),
        }
    }

    /// Refuses invalid UTF-8, as in JSON, because a replacement character would be stored instead.
    fn of_form(body: &[u8], known: &[&str]) -> Result<Self, Box<Refusal>> {
        let fields = Self::of_pairs(body, known)?;
        let is_garbled =
            |value: &Json| matches!(value, Json::Text(text) if text.contains('\u{fffd}'));
        match fields.members.iter().find(|(_, value)| is_garbled(value)) {
            Some((name, _)) => Err(Refusal::invalid(name, "must be in UTF-8")),
            None => Ok(fields),
        }
    }

    pub(super) fn of_query(query: &str, known: &[&str]) -> Result<Self, Box<Refusal>> {
        Self::of_pairs(query.as_bytes(), known)
    }

    fn of_pairs(pairs: &[u8], known: &[&str]) -> Result<Self, Box<Refusal>> {
        let pairs = worker::url::form_urlencoded::parse(pairs);
        let members =
            pairs.map(|(name, value)| (name.into_owned(), Json::Text(value.into_owned())));
        Self::of(members.collect(), true, known)
    }

    fn of(
        members: Vec<(String, Json)>,
        is_text: bool,
        known: &[&str],
    ) -> Result<Self, Box<Refusal>> {
        for (place, (name, _)) in members.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                let rule =
                    format!("is not a field of this request. Send only {}", known.join(", "));
                return Err(Refusal::invalid(&shortened(name), &rule));
            }
            if members[..place].iter().any(|(earlier, _)| earlier == name) {
                return Err(Refusal::invalid(name, "appears twice. Send it once"));
            }
        }
        Ok(Self { members, is_text })
    }

    /// Takes a required field.
    pub(super) fn take<T: Field>(&mut self, name: &str) -> Result<T, Box<Refusal>> {
        self.optional(name)?.ok_or_else(|| {
            let rule = format!("is missing. It {}", T::RULE);
            Refusal::invalid(name, &rule)
        })
    }

    /// Takes an optional field.
    pub(super) fn optional<T: Field>(&mut self, name: &str) -> Result<Option<T>, Box<Refusal>> {
        let Some(place) = self.members.iter().position(|(member, _)| member == name) else {
            return Ok(None);
        };
        let value = match self.members.swap_remove(place).1 {
            Json::Text(text) if self.is_text => T::read_text(text),
            value => T::read(value),
        };
        value.map(Some).ok_or_else(|| Refusal::invalid(name, T::RULE))
    }
}

/// Returns an unknown name for a message: up to 64 characters, without control characters.
fn shortened(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::super::input::{Amount, BusinessKey, Currency, ShortText};
    use super::*;

    fn order(body: &str) -> Result<(), Box<Refusal>> {
        let known = ["out_trade_no", "amount", "currency", "subject"];
        let mut fields = Fields::of_body(BodyType::Json, body.as_bytes(), &known)?;
        fields.take::<BusinessKey>("out_trade_no")?;
        fields.take::<Amount>("amount")?;
        fields.take::<Currency>("currency")?;
        fields.take::<ShortText>("subject")?;
        Ok(())
    }

    #[test]
    fn the_field_at_fault_is_named() {
        for (body, param) in [
            (r#"{"out_trade_no":"1","amount":1,"currency":"USD"}"#, "subject"),
            (r#"{"out_trade_no":1,"amount":1,"currency":"USD","subject":"s"}"#, "out_trade_no"),
            (r#"{"amount":1,"amount":1}"#, "amount"),
            (r#"{"ammount":1}"#, "ammount"),
        ] {
            let refusal = order(body).unwrap_err();
            assert_eq!(refusal.param.as_deref(), Some(param), "{body}");
            assert!(refusal.message.starts_with(param), "{body}");
        }
    }

    #[test]
    fn no_body_makes_it_panic() {
        let start =
            r#"{"out_trade_no":"O-1","amount":2990,"currency":"USD","subject":"a\ud83d\ude00"}"#;
        assert_eq!(order(start), Ok(()));
        for end in 0..start.len() {
            assert!(order(&start[..end]).is_err());
        }
        for place in 0..start.len() {
            for byte in [0, b'"', b'\\', b'{', b'9', b'.', 0x80, 0xff] {
                let mut body = start.as_bytes().to_vec();
                body[place] = byte;
                let _ = Fields::of_body(BodyType::Json, &body, &[]);
                let _ = Fields::of_body(BodyType::Form, &body, &[]);
            }
        }
        assert!(order(&"[".repeat(100_000)).is_err());
        assert!(order(r#"{"subject":"\ud83d"}"#).is_err());
    }
}
