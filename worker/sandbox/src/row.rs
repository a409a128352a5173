//! Values in a row: how things come from the database, and how a command travels to the object. One
//! form for both, and one reader, instead of code that is derived for each type.

use minicbor::data::Type;
use minicbor::{Decoder, Encoder};
use oncekey::UnixMillis;
use worker::SqlStorageValue;
use worker::wasm_bindgen::JsValue;

/// A value on its way into the database, or to the object.
#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    Null,
    Integer(i64),
    Text(&'a str),
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<UnixMillis> for Value<'_> {
    /// JavaScript's numbers hold a time exactly until the year 287396.
    fn from(time: UnixMillis) -> Self {
        Self::Integer(i64::try_from(time.as_u64()).unwrap_or(i64::MAX).min(1 << 53))
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<Value<'_>> for JsValue {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Integer(number) => Self::from_f64(number as f64),
            Value::Text(text) => Self::from_str(text),
        }
    }
}

/// One row, read from left to right. Nothing is read from a database that was damaged, or written by
/// code with other rules.
pub(super) struct Row {
    values: std::vec::IntoIter<SqlStorageValue>,
}

impl Row {
    pub(super) fn new(values: Vec<SqlStorageValue>) -> Self {
        Self { values: values.into_iter() }
    }

    pub(super) fn integer(&mut self) -> Option<i64> {
        match self.values.next() {
            Some(SqlStorageValue::Integer(number)) => Some(number),
            _ => None,
        }
    }

    pub(super) fn time(&mut self) -> Option<UnixMillis> {
        self.integer().and_then(|millis| u64::try_from(millis).ok()).map(UnixMillis::new)
    }

    pub(super) fn text(&mut self) -> Option<String> {
        match self.values.next() {
            Some(SqlStorageValue::String(text)) => Some(text),
            _ => None,
        }
    }

    /// A text as one of the checked types.
    pub(super) fn parsed<T: TryFrom<String>>(&mut self) -> Option<T> {
        T::try_from(self.text()?).ok()
    }

    /// What `read` reads, or nothing where there is null.
    pub(super) fn maybe<T>(&mut self, read: fn(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if let Some(SqlStorageValue::Null) = self.values.as_slice().first() {
            self.values.next();
            return Some(None);
        }
        read(self).map(Some)
    }
}

/// A row as bytes.
pub(super) fn encode(values: &[Value]) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new());
    for value in values {
        // Writing to a vector can't fail.
        let _ = match value {
            Value::Null => encoder.null(),
            Value::Integer(number) => encoder.i64(*number),
            Value::Text(text) => encoder.str(text),
        };
    }
    encoder.into_writer()
}

/// The row that such bytes are, or nothing.
pub(super) fn decode(bytes: &[u8]) -> Option<Row> {
    let mut decoder = Decoder::new(bytes);
    let mut values = Vec::new();
    while decoder.position() < bytes.len() {
        values.push(match decoder.datatype().ok()? {
            Type::Null => {
                decoder.null().ok()?;
                SqlStorageValue::Null
            }
            Type::String => SqlStorageValue::String(decoder.str().ok()?.to_owned()),
            _ => SqlStorageValue::Integer(decoder.i64().ok()?),
        });
    }
    Some(Row::new(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_goes_there_and_back() {
        let bytes = encode(&[
            Value::Null,
            Value::Integer(-1),
            Value::Integer(99_999_999_999),
            Value::Text(""),
            Value::Text("Pro 年度訂閲"),
            UnixMillis::new(u64::MAX).into(),
        ]);
        let mut row = decode(&bytes).unwrap();
        assert_eq!(row.maybe(Row::text), Some(None));
        assert_eq!(row.maybe(Row::integer), Some(Some(-1)));
        assert_eq!(row.integer(), Some(99_999_999_999));
        assert_eq!(row.text().as_deref(), Some(""));
        assert_eq!(row.parsed::<String>().as_deref(), Some("Pro 年度訂閲"));
        assert_eq!(row.time(), Some(UnixMillis::new(1 << 53)));
        assert_eq!((row.integer(), row.text(), row.maybe(Row::text)), (None, None, None));
    }

    #[test]
    fn what_is_no_row_is_nothing() {
        let bytes = encode(&[Value::Integer(2), Value::Text("req_1"), Value::Null]);
        assert!(decode(&bytes[..bytes.len() - 2]).is_none());
        for place in 0..bytes.len() {
            for byte in 0..=255 {
                let mut other = bytes.clone();
                other[place] = byte;
                let _ = decode(&other);
            }
        }
        assert!(decode(&[0x80]).is_none(), "a list");
        assert!(decode(&[0x7b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]).is_none());
    }
}
