//! A second implementation of canonical JSON, as plain as possible: a recursive reader of
//! values and a writer. It is slow and trusts its input; the core is compared with it.

use std::collections::BTreeMap;

pub(crate) const MAX_DEPTH: usize = 128;

/// A JSON value. Members are sorted by the UTF-16 code units of their names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(Decimal),
    String(String),
    Array(Vec<Value>),
    Object(BTreeMap<Vec<u16>, Value>),
}

/// ± digits × 10^exponent, without zeros at either end of the digits. Zero has no digits.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Decimal {
    pub(crate) negative: bool,
    pub(crate) digits: String,
    pub(crate) exponent: i64,
}

/// Returns the value of a JSON text; `None` if it has no canonical form.
pub(crate) fn read(bytes: &[u8]) -> Option<Value> {
    let text: Vec<char> = std::str::from_utf8(bytes).ok()?.chars().collect();
    let mut reader = Reader { text: &text, at: 0 };
    let value = reader.value(0)?;
    reader.space();
    (reader.at == text.len()).then_some(value)
}

/// Returns the canonical form of a JSON text.
pub(crate) fn canonicalize(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut form = String::new();
    write(&read(bytes)?, &mut form);
    Some(form.into_bytes())
}

impl Value {
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Object(members) => members.get(&utf16(name)),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn elements(&self) -> &[Value] {
        match self {
            Value::Array(elements) => elements,
            _ => panic!("not an array: {self:?}"),
        }
    }
}

impl Decimal {
    pub(crate) fn new(negative: bool, digits: &str, exponent: i64) -> Self {
        let digits = digits.trim_start_matches('0');
        let significant = digits.trim_end_matches('0');
        if significant.is_empty() {
            return Self::default();
        }
        let exponent = exponent + (digits.len() - significant.len()) as i64;
        Self { negative, digits: significant.to_owned(), exponent }
    }
}

pub(crate) fn utf16(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

struct Reader<'t> {
    text: &'t [char],
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Option<Value> {
        self.space();
        match self.peek()? {
            '[' | '{' if depth == MAX_DEPTH => None,
            '[' => {
                self.at += 1;
                let mut elements = Vec::new();
                self.list(']', |reader| {
                    elements.push(reader.value(depth + 1)?);
                    Some(())
                })?;
                Some(Value::Array(elements))
            }
            '{' => {
                self.at += 1;
                let mut members = BTreeMap::new();
                self.list('}', |reader| {
                    reader.space();
                    let name = utf16(&reader.string()?);
                    reader.space();
                    reader.expect(':')?;
                    let value = reader.value(depth + 1)?;
                    members.insert(name, value).is_none().then_some(())
                })?;
                Some(Value::Object(members))
            }
            '"' => self.string().map(Value::String),
            't' => self.word("true", Value::Bool(true)),
            'f' => self.word("false", Value::Bool(false)),
            'n' => self.word("null", Value::Null),
            _ => self.number().map(Value::Number),
        }
    }

    fn list(&mut self, close: char, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.space();
        if self.expect(close).is_some() {
            return Some(());
        }
        loop {
            item(self)?;
            self.space();
            if self.expect(close).is_some() {
                return Some(());
            }
            self.expect(',')?;
        }
    }

    fn string(&mut self) -> Option<String> {
        self.expect('"')?;
        let mut units = Vec::new();
        loop {
            match self.next()? {
                '"' => return String::from_utf16(&units).ok(),
                '\u{0}'..='\u{1f}' => return None,
                '\\' => units.push(match self.next()? {
                    'b' => 8,
                    't' => 9,
                    'n' => 10,
                    'f' => 12,
                    'r' => 13,
                    same @ ('"' | '\\' | '/') => same as u16,
                    'u' => {
                        let digits: String = (0..4).map(|_| self.next()).collect::<Option<_>>()?;
                        if !digits.chars().all(|digit| digit.is_ascii_hexdigit()) {
                            return None;
                        }
                        u16::from_str_radix(&digits, 16).ok()?
                    }
                    _ => return None,
                }),
                plain => units.extend(plain.encode_utf16(&mut [0; 2]).iter()),
            }
        }
    }

    fn number(&mut self) -> Option<Decimal> {
        let negative = self.expect('-').is_some();
        let int = self.digits()?;
        if int.len() > 1 && int.starts_with('0') {
            return None;
        }
        let fraction = if self.expect('.').is_some() { self.digits()? } else { String::new() };
        let digits = int + &fraction;
        let mut exponent = String::from("0");
        if self.expect('e').or_else(|| self.expect('E')).is_some() {
            let sign = if self.expect('-').is_some() { "-" } else { "" };
            if sign.is_empty() {
                self.expect('+');
            }
            exponent = sign.to_owned() + &self.digits()?;
        }
        if digits.chars().all(|digit| digit == '0') {
            return Some(Decimal::default());
        }
        let size = exponent.trim_start_matches('-').trim_start_matches('0');
        if size.len() > 18 {
            return None;
        }
        Some(Decimal::new(negative, &digits, exponent.parse::<i64>().ok()? - fraction.len() as i64))
    }

    fn digits(&mut self) -> Option<String> {
        let mut digits = String::new();
        while let Some(digit @ '0'..='9') = self.peek() {
            digits.push(digit);
            self.at += 1;
        }
        (!digits.is_empty()).then_some(digits)
    }

    fn word(&mut self, word: &str, value: Value) -> Option<Value> {
        word.chars().try_for_each(|letter| self.expect(letter))?;
        Some(value)
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t' | '\n' | '\r')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, wanted: char) -> Option<()> {
        (self.peek()? == wanted).then(|| self.at += 1)
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }
}

fn write(value: &Value, form: &mut String) {
    match value {
        Value::Null => form.push_str("null"),
        Value::Bool(true) => form.push_str("true"),
        Value::Bool(false) => form.push_str("false"),
        Value::Number(number) => write_number(number, form),
        Value::String(text) => write_string(text, form),
        Value::Array(elements) => {
            form.push('[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    form.push(',');
                }
                write(element, form);
            }
            form.push(']');
        }
        Value::Object(members) => {
            form.push('{');
            for (index, (name, member)) in members.iter().enumerate() {
                if index > 0 {
                    form.push(',');
                }
                write_string(&String::from_utf16(name).unwrap(), form);
                form.push(':');
                write(member, form);
            }
            form.push('}');
        }
    }
}

fn write_string(text: &str, form: &mut String) {
    form.push('"');
    for character in text.chars() {
        match character {
            '"' => form.push_str("\\\""),
            '\\' => form.push_str("\\\\"),
            '\u{8}' => form.push_str("\\b"),
            '\t' => form.push_str("\\t"),
            '\n' => form.push_str("\\n"),
            '\u{c}' => form.push_str("\\f"),
            '\r' => form.push_str("\\r"),
            '\u{0}'..='\u{1f}' => form.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => form.push(character),
        }
    }
    form.push('"');
}

/// ECMAScript's Number::toString, steps 6 to 12: `k` digits, and a decimal point after `n` of them.
fn write_number(number: &Decimal, form: &mut String) {
    let digits = &number.digits;
    let k = digits.len() as i64;
    let n = k + number.exponent;
    if k == 0 {
        return form.push('0');
    }
    if number.negative {
        form.push('-');
    }
    let zeros = |count: i64| "0".repeat(count as usize);
    if k <= n && n <= 21 {
        form.push_str(&format!("{digits}{}", zeros(n - k)));
    } else if 0 < n && n <= 21 {
        form.push_str(&format!("{}.{}", &digits[..n as usize], &digits[n as usize..]));
    } else if -6 < n && n <= 0 {
        form.push_str(&format!("0.{}{digits}", zeros(-n)));
    } else {
        let exponent = format!("{}{}", if n > 0 { '+' } else { '-' }, (n - 1).abs());
        if k == 1 {
            form.push_str(&format!("{digits}e{exponent}"));
        } else {
            form.push_str(&format!("{}.{}e{exponent}", &digits[..1], &digits[1..]));
        }
    }
}
