//! Test cards. Only these numbers are taken: a real card has no business here, and is refused
//! before anything is stored. A number never leaves this file; brand and last four digits stand for
//! the card everywhere else.

use super::body_type::BodyType;
use super::error::Refusal;
use super::fields::{Field, Fields};
use platform::json::Json;
use std::time::Duration;

/// What a payment with a card comes to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Succeeds,
    /// It fails, with this code.
    Declines(&'static str),
    /// It succeeds, and the answer is 500.
    LosesAnswer,
    /// It succeeds at once, and the answer comes late.
    Slow,
}

/// How late the answer of [`Fate::Slow`] comes.
const SLOW: Duration = Duration::from_secs(3);

struct TestCard {
    number: &'static str,
    brand: &'static str,
    fate: Fate,
}

const fn card(number: &'static str, brand: &'static str, fate: Fate) -> TestCard {
    TestCard { number, brand, fate }
}

/// No two end in the same four digits, and none is ever taken out: stored payments name them.
static TEST_CARDS: [TestCard; 10] = [
    card("4242424242424242", "visa", Fate::Succeeds),
    card("5555555555554444", "mastercard", Fate::Succeeds),
    card("378282246310005", "amex", Fate::Succeeds),
    card("4000000000000002", "visa", Fate::Declines("card_declined")),
    card("4000000000009995", "visa", Fate::Declines("insufficient_funds")),
    card("4000000000000069", "visa", Fate::Declines("expired_card")),
    card("4000000000000127", "visa", Fate::Declines("incorrect_cvc")),
    card("4000000000000119", "visa", Fate::Declines("processing_error")),
    card("4000000000005001", "visa", Fate::LosesAnswer),
    card("4000000000003006", "visa", Fate::Slow),
];

/// One of the test cards.
#[derive(Clone, Copy)]
pub(super) struct Card(&'static TestCard);

impl Card {
    /// What a form names the number, having no objects.
    const FORM_FIELD: &'static str = "card[number]";

    /// The fields of a body that may hold a card.
    pub(super) fn fields(kind: BodyType) -> &'static [&'static str] {
        match kind {
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

    pub(super) fn take(fields: &mut Fields, kind: BodyType) -> Result<Self, Box<Refusal>> {
        fields.take(match kind {
            BodyType::Json => "card",
            BodyType::Form => Self::FORM_FIELD,
        })
    }

    pub(super) fn brand(self) -> &'static str {
        self.0.brand
    }

    pub(super) fn last4(self) -> &'static str {
        &self.0.number[self.0.number.len() - 4..]
    }

    pub(super) fn fate(self) -> Fate {
        self.0.fate
    }

    /// How long its answer is held back.
    pub(super) fn delay(self) -> Option<Duration> {
        (self.0.fate == Fate::Slow).then_some(SLOW)
    }

    fn find(fits: impl Fn(Self) -> bool) -> Option<Self> {
        TEST_CARDS.iter().map(Self).find(|card| fits(*card))
    }
}

impl PartialEq for Card {
    fn eq(&self, other: &Self) -> bool {
        self.0.number == other.0.number
    }
}

/// By the last four digits.
impl TryFrom<String> for Card {
    type Error = &'static str;

    fn try_from(last4: String) -> Result<Self, Self::Error> {
        Self::find(|card| card.last4() == last4).ok_or("no test card")
    }
}

impl Field for Card {
    const RULE: &'static str = "must be {\"number\": …} with the number of one of the sandbox's \
                                test cards, such as 4242424242424242; never send a real card here";

    /// An object; month, year, check digits and name may be there, and are not looked at.
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

    /// A number, as people write it: with spaces or hyphens between, or without.
    fn read_text(text: String) -> Option<Self> {
        let digits = text.replace([' ', '-'], "");
        Self::find(|card| card.0.number == digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_numbers_of_cards_and_end_differently() {
        for card in TEST_CARDS.iter().map(Card) {
            let digits = card.0.number.bytes().rev().map(|digit| u32::from(digit - b'0'));
            let sum: u32 = digits
                .enumerate()
                .map(|(place, digit)| match (place % 2, digit * 2) {
                    (0, _) => digit,
                    (_, double @ 0..=9) => double,
                    (_, double) => double - 9,
                })
                .sum();
            assert_eq!(sum % 10, 0, "Luhn, {}", card.0.number);
            let found = Card::try_from(card.last4().to_owned()).unwrap();
            assert_eq!(found.0.number, card.0.number);
        }
        assert!(Card::read_text(String::new()).is_none());
        assert!(Card::read_text("4242".to_owned()).is_none());
    }
}
