use oncekey::canonical::JsonPointer;
use oncekey::canonical::json::{MAX_DEPTH, canonicalize};
use proptest::prelude::*;

use crate::support::change::{change_value, without_one};
use crate::support::random::{text, value};
use crate::support::reference::{self, Value, utf16};
use crate::support::spelling::{Choices, spell};

fn form(text: &str) -> Option<Vec<u8>> {
    canonicalize(text.as_bytes(), &[])
}

proptest! {
    #![proptest_config(crate::support::cases(500))]

    #[test]
    fn two_spellings_have_one_canonical_form(value in value(), one: u64, other: u64) {
        let (one, other) = (spell(&value, &mut Choices(one)), spell(&value, &mut Choices(other)));
        let expected = reference::canonicalize(one.as_bytes());
        prop_assert!(expected.is_some());
        prop_assert_eq!(form(&one), expected.clone(), "{}", one);
        prop_assert_eq!(form(&other), expected, "{}", other);
    }

    #[test]
    fn the_canonical_form_is_json_with_the_same_value_and_its_own_canonical_form(value in value(), seed: u64) {
        let form = form(&spell(&value, &mut Choices(seed))).unwrap();
        prop_assert_eq!(reference::read(&form), Some(value));
        prop_assert_eq!(canonicalize(&form, &[]), Some(form));
    }

    #[test]
    fn one_change_makes_another_canonical_form(value in value(), change: u64, one: u64, other: u64) {
        let mut changed = value.clone();
        change_value(&mut changed, &mut Choices(change));
        prop_assert_ne!(&changed, &value);
        let [one, other] = [(&value, one), (&changed, other)]
            .map(|(value, seed)| form(&spell(value, &mut Choices(seed))));
        prop_assert_ne!(one, other);
    }

    #[test]
    fn damaged_text_is_read_as_the_reference_reads_it(value in value(), seed: u64) {
        let mut choices = Choices(seed);
        let mut bytes = spell(&value, &mut choices).into_bytes();
        for _ in 0..choices.below(3) + 1 {
            damage(&mut bytes, &mut choices);
        }
        let (form, expected) = (canonicalize(&bytes, &[]), reference::canonicalize(&bytes));
        prop_assert_eq!(form, expected, "{}", String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_bytes_are_read_as_the_reference_reads_them(bytes: Vec<u8>) {
        prop_assert_eq!(canonicalize(&bytes, &[]), reference::canonicalize(&bytes));
    }

    #[test]
    fn any_tokens_are_read_as_the_reference_reads_them(
        tokens in r#"([\[\]{},:]|"a"|"\\u0061"|"b"|[-0-9.eE+]|true|null| ){0,24}"#,
    ) {
        prop_assert_eq!(form(&tokens), reference::canonicalize(tokens.as_bytes()), "{}", tokens);
    }

    #[test]
    fn any_number_is_read_as_the_reference_reads_it(
        number in r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][-+]?[0-9]{1,20})?",
    ) {
        prop_assert_eq!(form(&number), reference::canonicalize(number.as_bytes()), "{}", number);
    }

    #[test]
    fn the_value_at_an_ignored_pointer_does_not_count(
        value in value(), pick: u64, with: u64, without: u64, substitute in value(),
    ) {
        let mut steps = Vec::new();
        let Some(removed) = without_one(&value, &mut Choices(pick), &mut steps, None) else {
            return Ok(());
        };
        let replaced = without_one(&value, &mut Choices(pick), &mut Vec::new(), Some(&substitute));
        let replaced = replaced.unwrap();

        let escaped = steps.iter().map(|step| step.replace('~', "~0").replace('/', "~1"));
        let pointer: String = escaped.map(|step| format!("/{step}")).collect();
        let ignore = [JsonPointer::parse("/x/y/z").unwrap(), JsonPointer::parse(&pointer).unwrap()];
        let expected = form(&spell(&removed, &mut Choices(0)));
        for present in [&value, &replaced] {
            let present = spell(present, &mut Choices(with));
            let form = canonicalize(present.as_bytes(), &ignore);
            prop_assert_eq!(&form, &expected, "{} of {}", pointer, present);
        }
        // If an element is left out, the next element takes its place. So only a member can be
        // absent.
        if steps.last().is_some_and(|step| step.parse::<usize>().is_err()) {
            let absent = spell(&removed, &mut Choices(without));
            prop_assert_eq!(canonicalize(absent.as_bytes(), &ignore), expected);
        }
    }

    #[test]
    fn names_are_sorted_by_utf16(names in prop::collection::btree_set(text(), 0..40), seed: u64) {
        let value = Value::Object(names.iter().map(|name| (utf16(name), Value::Null)).collect());
        let spelling = spell(&value, &mut Choices(seed));
        prop_assert_eq!(form(&spelling), reference::canonicalize(spelling.as_bytes()));
    }
}

#[test]
fn a_value_at_the_greatest_depth_has_a_form_and_a_deeper_one_has_none() {
    let nested = |depth: usize| {
        format!("{}{{\"b\":1,\"a\":2}}{}", "[".repeat(depth - 1), "]".repeat(depth - 1))
    };
    for depth in [1, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1] {
        assert_eq!(form(&nested(depth)), reference::canonicalize(nested(depth).as_bytes()));
        assert_eq!(form(&nested(depth)).is_some(), depth <= MAX_DEPTH);
    }
}

fn damage(bytes: &mut Vec<u8>, choices: &mut Choices) {
    const PIECES: [&[u8]; 24] = [
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b":",
        b"\"",
        b"\\",
        b"\\u",
        b"\\ud800",
        b"\\udc00",
        b"0",
        b"1",
        b"-",
        b"+",
        b".",
        b"e",
        b"E9",
        b" ",
        b"null",
        b"\x00",
        b"\xff",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
    ];
    let at = choices.below(bytes.len() + 1);
    let until = bytes.len().min(at + choices.below(3));
    match choices.below(4) {
        0 => drop(bytes.drain(at..until)),
        1 => drop(bytes.splice(at..until, PIECES[choices.below(PIECES.len())].iter().copied())),
        2 => {
            let copy = bytes[at..bytes.len().min(at + choices.below(12))].to_vec();
            let to = choices.below(bytes.len() + 1);
            bytes.splice(to..to, copy);
        }
        _ => bytes.insert(at, PIECES[choices.below(PIECES.len())][0]),
    }
}
