//! Changes of a JSON value or of a multipart body that give it another meaning.

use super::form::{Form, Part};
use super::reference::{Decimal, Value};
use super::spelling::Choices;

/// Changes one digit, character, member, or the order of an array.
pub(crate) fn change_value(value: &mut Value, choices: &mut Choices) {
    match value {
        Value::Array(elements) if !elements.is_empty() => {
            let pick = choices.below(elements.len());
            match choices.below(4) {
                0 => drop(elements.remove(pick)),
                1 => elements.insert(pick, elements[pick].clone()),
                2 if elements[pick] != elements[0] => elements.swap(0, pick),
                _ => change_value(&mut elements[pick], choices),
            }
        }
        Value::Object(members) if !members.is_empty() => {
            let name = members.keys().nth(choices.below(members.len())).unwrap().clone();
            match choices.below(4) {
                0 => drop(members.remove(&name)),
                1 => {
                    let member = members.remove(&name).unwrap();
                    let mut renamed = name.clone();
                    // The new name is longer than all others, so it differs from them.
                    renamed.extend(members.keys().flatten().copied().chain([0x78]));
                    members.insert(renamed, member);
                }
                _ => change_value(members.get_mut(&name).unwrap(), choices),
            }
        }
        Value::Array(elements) => elements.push(Value::Object(Default::default())),
        Value::Object(_) => *value = Value::Array(Vec::new()),
        Value::Null => *value = Value::String("null".into()),
        Value::Bool(is_true) => *is_true = !*is_true,
        Value::Number(number) => change_number(number, choices),
        Value::String(text) => {
            let mut characters: Vec<char> = text.chars().collect();
            let pick = choices.below(characters.len() + 1);
            match characters.get(pick) {
                Some(&character) if choices.below(2) == 0 => {
                    characters[pick] = if character == 'b' { 'a' } else { 'b' }
                }
                Some(_) => drop(characters.remove(pick)),
                None => characters.push('\u{0}'),
            }
            *text = characters.into_iter().collect();
        }
    }
}

fn change_number(number: &mut Decimal, choices: &mut Choices) {
    if number.digits.is_empty() {
        *number = Decimal::new(choices.below(2) == 0, "1", choices.below(40) as i64 - 20);
        return;
    }
    match choices.below(3) {
        0 => number.negative = !number.negative,
        1 => number.exponent += if choices.below(2) == 0 { 1 } else { -1 },
        _ => {
            let pick = choices.below(number.digits.len());
            let digit = number.digits.as_bytes()[pick];
            let other =
                if digit == b'9' { "1".to_owned() } else { char::from(digit + 1).to_string() };
            number.digits.replace_range(pick..=pick, &other);
        }
    }
}

/// Returns the value without one of its members or elements, or with another in its place, and the pointer to
/// it.
pub(crate) fn without_one(
    value: &Value,
    choices: &mut Choices,
    steps: &mut Vec<String>,
    substitute: Option<&Value>,
) -> Option<Value> {
    let mut value = value.clone();
    match &mut value {
        Value::Array(elements) if !elements.is_empty() => {
            let pick = choices.below(elements.len());
            steps.push(pick.to_string());
            if choices.below(2) == 0
                && let Some(inner) = without_one(&elements[pick], choices, steps, substitute)
            {
                elements[pick] = inner;
            } else if let Some(substitute) = substitute {
                elements[pick] = substitute.clone();
            } else {
                elements.remove(pick);
            }
        }
        Value::Object(members) if !members.is_empty() => {
            let name = members.keys().nth(choices.below(members.len())).unwrap().clone();
            steps.push(String::from_utf16(&name).unwrap());
            if choices.below(2) == 0
                && let Some(inner) = without_one(&members[&name], choices, steps, substitute)
            {
                members.insert(name, inner);
            } else if let Some(substitute) = substitute {
                members.insert(name, substitute.clone());
            } else {
                members.remove(&name);
            }
        }
        _ => return None,
    }
    Some(value)
}

/// Changes one part, one of its header fields, or the text around the parts.
pub(crate) fn change_form(form: &mut Form, choices: &mut Choices) {
    let count = form.parts.len();
    let pick = choices.below(count.max(1));
    match choices.below(7) {
        0 => form.parts.insert(pick, Part { fields: Vec::new(), content: Vec::new() }),
        1 if count > 0 => drop(form.parts.remove(pick)),
        2 if count > 0 => form.parts.swap(0, pick),
        3 if count > 0 => form.parts[pick].content.push(b'x'),
        4 if count > 0 => drop(form.parts[pick].content.pop()),
        5 if count > 0 => form.parts[pick].fields.push(("y".into(), Vec::new())),
        6 if count > 0 => match form.parts[pick].fields.first_mut() {
            Some(field) => field.1.push(b'x'),
            None => form.epilogue.push(b'x'),
        },
        _ => form.preamble.push(b'x'),
    }
}
