//! SQL in a Durable Object: one call to JavaScript for each statement, with its values and its rows in one
//! buffer each.
//!
//! The `worker` crate's own `SqlStorage` makes several calls for each value. The form of the buffers is
//! described in `worker/sql.mjs`, which is the other side.

use js_sys::{JsString, Reflect};
use oncekey::UnixMillis;
use wasm_bindgen::{JsCast, JsValue, prelude::wasm_bindgen};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = host, catch)]
    fn sql(
        database: &JsValue,
        statement: &str,
        values: &[u8],
    ) -> std::result::Result<Vec<u8>, JsValue>;
}

const NULL: u8 = 0;
const NUMBER: u8 = 1;
const TEXT: u8 = 2;
const BLOB: u8 = 3;

/// A result, or what the database says is wrong.
pub type Result<T> = std::result::Result<T, String>;

/// The database of a Durable Object.
pub struct Sql(JsValue);

/// A value of a statement or of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    #[default]
    Null,
    /// A number. JavaScript has it as a double, so integers are exact up to 2^53.
    Number(f64),
    /// A text.
    Text(&'a str),
    /// Bytes.
    Blob(&'a [u8]),
}

/// The rows that a statement returned.
pub struct Rows(Vec<u8>);

impl Sql {
    /// Returns the database in the storage of an object. Without a storage, every statement fails.
    pub fn of(storage: &JsValue) -> Self {
        let database = Reflect::get(storage, &JsValue::from_str("sql"));
        Self(database.unwrap_or(JsValue::UNDEFINED))
    }

    /// Runs a statement. Values are bound in their order, as `?1`, `?2` and so on.
    pub fn run(&self, statement: &str, values: &[Value<'_>]) -> Result<Rows> {
        let mut packed = Vec::with_capacity(values.iter().map(Value::length).sum());
        values.iter().for_each(|value| value.pack(&mut packed));
        sql(&self.0, statement, &packed).map(Rows).map_err(|error| error_of(&error))
    }

    /// Runs a query that returns one number. Returns `None` if it finds none.
    pub fn number(&self, query: &str, values: &[Value<'_>]) -> Result<Option<u64>> {
        let rows = self.run(query, values)?;
        let number = rows.each::<1>()?.first().and_then(|[value]| value.as_u64());
        Ok(number)
    }
}

/// Returns an error with the message of JavaScript's error, which has no stack.
fn error_of(error: &JsValue) -> String {
    let message = Reflect::get(error, &JsValue::from_str("message")).ok();
    let message = message.and_then(|message| message.dyn_into::<JsString>().ok());
    message.map_or_else(|| "the database failed".to_owned(), String::from)
}

impl Rows {
    /// Returns the rows of a statement that has `N` columns.
    pub fn each<const N: usize>(&self) -> Result<Vec<[Value<'_>; N]>> {
        let mut rows = Vec::new();
        let mut rest = self.0.as_slice();
        while !rest.is_empty() {
            let mut row = [Value::Null; N];
            for value in &mut row {
                *value = Value::read(&mut rest).ok_or("a row of the database has another form")?;
            }
            rows.push(row);
        }
        Ok(rows)
    }
}

impl<'a> Value<'a> {
    /// Returns the number if it is a whole number that is not negative.
    pub fn as_u64(self) -> Option<u64> {
        match self {
            Self::Number(number) if number >= 0.0 => Some(number as u64),
            _ => None,
        }
    }

    /// Returns the number as an integer.
    pub fn as_i64(self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(number as i64),
            _ => None,
        }
    }

    /// Returns the number as a time in milliseconds.
    pub fn as_time(self) -> Option<UnixMillis> {
        self.as_u64().map(UnixMillis::new)
    }

    /// Returns the text.
    pub fn to_text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.to_owned()),
            _ => None,
        }
    }

    fn length(&self) -> usize {
        match self {
            Self::Null => 1,
            Self::Number(_) => 9,
            Self::Text(text) => 5 + text.len(),
            Self::Blob(bytes) => 5 + bytes.len(),
        }
    }

    fn pack(&self, packed: &mut Vec<u8>) {
        let mut content = |kind, bytes: &[u8]| {
            packed.push(kind);
            packed.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
            packed.extend_from_slice(bytes);
        };
        match self {
            Self::Text(text) => content(TEXT, text.as_bytes()),
            Self::Blob(bytes) => content(BLOB, bytes),
            Self::Null => packed.push(NULL),
            Self::Number(number) => {
                packed.push(NUMBER);
                packed.extend(number.to_le_bytes());
            }
        }
    }

    /// Reads a value from the start of `rest`, and takes it off.
    fn read(rest: &mut &'a [u8]) -> Option<Self> {
        let kind = take(rest, 1)?[0];
        Some(match kind {
            NULL => Self::Null,
            NUMBER => Self::Number(f64::from_le_bytes(take(rest, 8)?.try_into().ok()?)),
            TEXT | BLOB => {
                let length = u32::from_le_bytes(take(rest, 4)?.try_into().ok()?);
                let content = take(rest, length as usize)?;
                if kind == BLOB {
                    Self::Blob(content)
                } else {
                    Self::Text(std::str::from_utf8(content).ok()?)
                }
            }
            _ => return None,
        })
    }
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (content, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(content)
}

/// A time is a number of milliseconds, exact until the year 287396.
impl From<UnixMillis> for Value<'_> {
    fn from(time: UnixMillis) -> Self {
        Self::Number(time.as_u64().min(1 << 53) as f64)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Number(number as f64)
    }
}

impl<'a, T: Into<Self>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, T::into)
    }
}
