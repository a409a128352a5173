//! Test cards. Only these numbers are accepted. A real card is refused before anything is stored.
//! The number is never stored: a payment has only the brand and the last four digits.

use super::body_type::BodyType;
use super::error::Refusal;
use super::fields::{Field, Fields};
use platform::json::Json;
use std::time::Duration;

/// The result of a payment with a card.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Succeeds,
    /// The payment fails, with this code.
    Declines(&'static str),
    /// The payment succeeds, but the response is 500.
    LosesResponse,
    /// The payment succeeds at once, and the response comes late.
    Slow,
}

/// How late the response of [`Fate::Slow`] comes.
const SLOW: Duration = Duration::from_secs(3);

/// One of the test cards.
#[derive(Clone, Copy)]
pub(super) struct Card {
    number: &'static str,
    pub(super) brand: &'static str,
    pub(super) fate: Fate,
}

const fn card(number: &'static str, brand: &'static str, fate: Fate) -> Card {
    Card { number, brand, fate }
}

/// No two numbers end in the same four digits. No card is ever removed, because stored payments
/// refer to it.
static TEST_CARDS: [Card; 10] = [
    card("4242424242424242", "visa", Fate::Succeeds),
    card("5555555555554444", "mastercard", Fate::Succeeds),
    card("378282246310005", "amex", Fate::Succeeds),
    card("4000000000000002", "visa", Fate::Declines("card_declined")),
    card("4000000000009995", "visa", Fate::Declines("insufficient_funds")),
    card("4000000000000069", "visa", Fate::Declines("expired_card")),
    card("4000000000000127", "visa", Fate::Declines("incorrect_cvc")),
    card("4000000000000119", "visa", Fate::Declines("processing_error")),
    card("4000000000005001", "visa", Fate::LosesResponse),
    card("4000000000003006", "visa", Fate::Slow),
];

impl Card {
    /// The name of the card number's field in a form, because a form cannot contain objects.
    const FORM_FIELD: &'static str = "card[number]";

    /// Returns the fields of a payment in a body of this type.
    pub(super) fn fields(body_type: BodyType) -> &'static [&'static str] {
        match body_type {
            BodyType::Json => &["order_id", "card"],
            BodyType::Form => &[
                "order_id",
                Self::FORM_FIELD,
                "card[exp_month]",
                "card[exp_year]",
                "card[cvc]",
                "card[name]",
            ],
        }
    }

    pub(super) fn take(fields: &mut Fields) -> Result<Self, Box<Refusal>> {
        fields.take(if fields.is_text { Self::FORM_FIELD } else { "card" })
    }

    pub(super) fn last4(self) -> &'static str {
        &self.number[self.number.len() - 4..]
    }

    /// Returns how long the object waits before it sends the response.
    pub(super) fn delay(self) -> Option<Duration> {
        (self.fate == Fate::Slow).then_some(SLOW)
    }
}

impl Field for Card {
    const RULE: &'static str = "must be {\"number\": …} with the number of one of the sandbox's \
                                test cards, such as 4242424242424242; never send a real card here";

    /// Reads an object. Month, year, check digits and name are allowed, and ignored.
    fn read(value: Json) -> Option<Self> {
        let Json::Object(members) = value else {
            return None;
        };
        let mut number = None;
        for (name, value) in members {
            match (name.as_str(), value) {
                ("number", Json::Text(text)) if number.is_none() => number = Some(text),
                ("exp_month" | "exp_year" | "cvc" | "name", Json::Text(_) | Json::Integer(_)) => {}
                _ => return None,
            }
        }
        Self::read_text(number?)
    }

    /// Reads a number with or without spaces and hyphens.
    fn read_text(text: String) -> Option<Self> {
        let digits = text.replace([' ', '-'], "");
        TEST_CARDS.iter().find(|card| card.number == digits).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_numbers_of_cards_and_end_differently() {
        for card in &TEST_CARDS {
            let digits = card.number.bytes().rev().map(|digit| u32::from(digit - b'0'));
            let sum: u32 = digits
                .enumerate()
                .map(|(place, digit)| match (place % 2, digit * 2) {
                    (0, _) => digit,
                    (_, double @ 0..=9) => double,
                    (_, double) => double - 9,
                })
                .sum();
            assert_eq!(sum % 10, 0, "Luhn, {}", card.number);
            let alike = TEST_CARDS.iter().filter(|other| other.last4() == card.last4());
            assert_eq!(alike.count(), 1, "{}", card.number);
        }
        assert!(Card::read_text(String::new()).is_none());
        assert!(Card::read_text("4242".to_owned()).is_none());
    }
}
