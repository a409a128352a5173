//! JSON bodies: two bodies are the same request exactly if the reference agrees. A byte that JSON never
//! contains divides an input into two bodies.

use super::change::{change_value, without_one};
use super::input::{choices, halves};
use super::reference::{self, Value};
use super::spelling::{Choices, spell};
use oncekey::canonical::JsonPointer;
use oncekey::canonical::json::canonicalize;
use oncekey::fingerprint::RequestParts;
use oncekey::{BusinessKeys, Fingerprint};
use std::sync::LazyLock;

const DIVIDER: u8 = 0xff;

pub(crate) fn check(bytes: &[u8]) {
    let mut choices = choices(bytes);
    let (one, other) = halves(bytes, DIVIDER);
    let first = check_one(one, &mut choices);
    if let Some(other) = other {
        let second = check_one(other, &mut choices);
        let are_same = match (first, second) {
            (Some(first), Some(second)) => first == second,
            (None, None) => one == other,
            _ => false,
        };
        assert_eq!(fingerprint(one) == fingerprint(other), are_same);
    }
}

fn check_one(body: &[u8], choices: &mut Choices) -> Option<Value> {
    let form = canonicalize(body, &[]);
    let value = reference::read(body);
    assert_eq!(form, reference::canonicalize(body));
    if choices.below(4) == 0 {
        check_business_key(body, value.as_ref());
    }
    let (form, value) = (form?, value?);
    if !is_tame(&value) {
        return Some(value);
    }

    // One comparison for each run. Other inputs lead to other comparisons.
    match choices.below(4) {
        0 => {
            let again = canonicalize(&form, &[]);
            assert_eq!(again.as_ref(), Some(&form), "a canonical form is its own canonical form");
        }
        1 => {
            let spelling = spell(&value, choices);
            let form_of_it = canonicalize(spelling.as_bytes(), &[]);
            assert_eq!(form_of_it.as_ref(), Some(&form), "{spelling}");
        }
        2 => {
            let mut changed = value.clone();
            change_value(&mut changed, choices);
            let spelling = spell(&changed, choices);
            let form_of_it = canonicalize(spelling.as_bytes(), &[]);
            assert_ne!(form_of_it.as_ref(), Some(&form), "{spelling}");
        }
        _ => check_left_out(body, &value, choices),
    }
    Some(value)
}

/// Checks that a member which a pointer names does not count.
fn check_left_out(body: &[u8], value: &Value, choices: &mut Choices) {
    let (pick, mut steps) = (choices.below(usize::MAX) as u64, Vec::new());
    let Some(removed) = without_one(value, &mut Choices(pick), &mut steps, None) else {
        return;
    };
    let mut replaced = value.clone();
    if let Some(other) = without_one(value, &mut Choices(pick), &mut Vec::new(), Some(&Value::Null))
    {
        replaced = other;
    }
    let escaped = steps.iter().map(|step| step.replace('~', "~0").replace('/', "~1"));
    let pointer: String = escaped.map(|step| format!("/{step}")).collect();
    let ignore = [JsonPointer::parse(&pointer).expect("a pointer")];
    let expected = canonicalize(spell(&removed, &mut Choices(0)).as_bytes(), &[]);
    assert_eq!(canonicalize(body, &ignore), expected, "{pointer}");
    let replaced = spell(&replaced, choices);
    assert_eq!(canonicalize(replaced.as_bytes(), &ignore), expected, "{pointer} of {replaced}");
}

/// Checks that the business key in the body is the member that the reference finds.
fn check_business_key(body: &[u8], value: Option<&Value>) {
    static KEYS: LazyLock<BusinessKeys> =
        LazyLock::new(|| BusinessKeys::parse("POST:/o:/no").expect("a list"));
    let found = KEYS.read("POST", "/o", Some("application/json"), body);
    let Some(value) = value else {
        return assert!(found.is_err());
    };
    let expected = value.get("no").and_then(|member| match member {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) => {
            let form = reference::canonicalize(spell(member, &mut Choices(0)).as_bytes());
            form.and_then(|form| String::from_utf8(form).ok())
        }
        _ => None,
    });
    let fits = |text: &String| {
        (1..=255).contains(&text.chars().count()) && !text.chars().any(char::is_control)
    };
    if has_lookalike(value) {
        return assert!(found.is_err());
    }
    if is_tame(value) {
        let found = found.expect("it can be read");
        assert_eq!(found.map(|number| number.value().to_owned()), expected.filter(fits));
    }
}

/// Returns whether a parser could read another member as the one with the business key.
fn has_lookalike(value: &Value) -> bool {
    let Value::Object(members) = value else { return false };
    members.keys().any(|name| {
        let name = String::from_utf16_lossy(name);
        let is_bare = !name.starts_with('_') && !name.ends_with('_');
        name != "no" && is_bare && name.replace('_', "").to_lowercase() == "no"
    })
}

fn fingerprint(body: &[u8]) -> Fingerprint {
    Fingerprint::plain(&RequestParts {
        method: "POST",
        path: "/",
        query: None,
        content_encoding: None,
        content_type: Some("application/json"),
        body,
        ignore: &[],
    })
}

/// Returns whether its numbers have other spellings. Near the largest exponents, some spellings have too many digits.
fn is_tame(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => true,
        Value::Number(number) => number.exponent.unsigned_abs() < 900_000_000_000_000_000,
        Value::Array(elements) => elements.iter().all(is_tame),
        Value::Object(members) => members.values().all(is_tame),
    }
}
