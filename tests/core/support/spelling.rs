//! Random spellings of a JSON value.

use super::reference::{Decimal, Value};

/// Choices that depend only on a seed (SplitMix64).
pub(crate) struct Choices(pub(crate) u64);

impl Choices {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }

    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }
}

/// Writes a value in a random spelling.
pub(crate) fn spell(value: &Value, choices: &mut Choices) -> String {
    let mut spelling = String::new();
    spell_into(value, choices, &mut spelling);
    spelling
}

fn spell_into(value: &Value, choices: &mut Choices, out: &mut String) {
    space(choices, out);
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(is_true) => out.push_str(if *is_true { "true" } else { "false" }),
        Value::Number(number) => spell_number(number, choices, out),
        Value::String(text) => spell_text(text, choices, out),
        Value::Array(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                spell_into(element, choices, out);
            }
            space(choices, out);
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            choices.shuffle(&mut members);
            out.push('{');
            for (index, (name, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                space(choices, out);
                spell_text(&String::from_utf16(name).unwrap(), choices, out);
                space(choices, out);
                out.push(':');
                spell_into(member, choices, out);
            }
            space(choices, out);
            out.push('}');
        }
    }
    space(choices, out);
}

fn space(choices: &mut Choices, out: &mut String) {
    for _ in 0..choices.below(6).saturating_sub(3) {
        out.push_str(choices.one_of(&[" ", "\t", "\n", "\r"]));
    }
}

fn spell_text(text: &str, choices: &mut Choices, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        let short = match character {
            '"' => "\\\"",
            '\\' => "\\\\",
            '/' => "\\/",
            '\u{8}' => "\\b",
            '\t' => "\\t",
            '\n' => "\\n",
            '\u{c}' => "\\f",
            '\r' => "\\r",
            _ => "",
        };
        let can_stand = character >= ' ' && character != '"' && character != '\\';
        match choices.below(3) {
            0 if can_stand => out.push(character),
            1 if !short.is_empty() => out.push_str(short),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    out.push_str(&if choices.below(2) == 0 {
                        format!("\\u{unit:04x}")
                    } else {
                        format!("\\u{unit:04X}")
                    });
                }
            }
        }
    }
    out.push('"');
}

fn spell_number(number: &Decimal, choices: &mut Choices, out: &mut String) {
    if number.negative || (number.digits.is_empty() && choices.below(2) == 0) {
        out.push('-');
    }
    // Zeros around the digits, and a decimal point anywhere among them.
    let (before, after) = (choices.below(4), choices.below(4));
    let digits = format!(
        "{}{}{}",
        "0".repeat(before),
        number.digits,
        "0".repeat(after + usize::from(number.digits.is_empty()))
    );
    let point = choices.below(digits.len() + 1);
    let (int, fraction) = digits.split_at(point);
    let int = int.trim_start_matches('0');
    out.push_str(if int.is_empty() { "0" } else { int });
    let fraction = if fraction.is_empty() && choices.below(3) == 0 { "00" } else { fraction };
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    let exponent = number.exponent - after as i64 + (digits.len() - point) as i64;
    let exponent = if number.digits.is_empty() { choices.below(99) as i64 } else { exponent };
    if exponent != 0 || choices.below(3) == 0 {
        out.push_str(choices.one_of(&["e", "E"]));
        out.push_str(if exponent < 0 { "-" } else { choices.one_of(&["", "+"]) });
        out.push_str(choices.one_of(&["", "0", "000"]));
        out.push_str(&exponent.unsigned_abs().to_string());
    }
}
