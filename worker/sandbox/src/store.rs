//! SQL in a Durable Object, always within a transaction.

use super::error::{Failure, Refusal};
use oncekey::UnixMillis;
use worker::wasm_bindgen::{self, JsCast, JsValue, prelude::wasm_bindgen};
use worker::{SqlCursor, SqlStorage, SqlStorageValue, Storage};

#[wasm_bindgen]
extern "C" {
    /// `ctx.storage`, for the one method that the `worker` crate does not bind.
    type JsStorage;

    #[wasm_bindgen(method, catch, js_name = transactionSync)]
    fn transaction_sync(
        this: &JsStorage,
        work: &mut dyn FnMut() -> Result<(), JsValue>,
    ) -> Result<(), JsValue>;
}

/// An open transaction.
pub(super) struct Tx {
    sql: SqlStorage,
}

/// Runs `work` as one transaction. On an error, nothing of it is stored.
///
/// It is synchronous, so no other code of this object runs between its first read and its last
/// write. The platform holds the response back until the writes are durable.
pub(super) fn transaction<T>(
    storage: &Storage,
    work: impl FnOnce(&Tx) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut work = Some(work);
    let mut value = None;
    run(storage, &mut |tx| {
        let work = work.take().ok_or("a transaction ran twice")?;
        value = Some(work(tx)?);
        Ok(())
    })?;
    value.ok_or_else(|| "the transaction did not begin".into())
}

fn run(storage: &Storage, work: &mut dyn FnMut(&Tx) -> Result<(), Failure>) -> Result<(), Failure> {
    let raw: &JsValue = storage.as_raw();
    let tx = Tx { sql: storage.sql() };
    let mut began = false;
    let mut outcome = None;
    let committed = raw
        .unchecked_ref::<JsStorage>()
        .transaction_sync(&mut || {
            began = true;
            let result = work(&tx);
            let keep = result.is_ok();
            outcome = Some(result);
            // Throwing is how a transaction is rolled back.
            if keep { Ok(()) } else { Err(JsValue::from_str("rolled back")) }
        })
        .map_err(worker::Error::from);
    match outcome {
        Some(Ok(())) => Ok(committed?),
        Some(Err(failure)) => Err(failure),
        None if !began => Ok(committed?),
        // A panic in `work` has passed through `transactionSync`, which rolled back, and arrived
        // here as an exception. It is raised again as a panic, so that it is handled as one.
        None => panic!("a panic within a transaction"),
    }
}

impl Tx {
    /// Runs a statement and ignores its rows.
    pub(super) fn run(&self, statement: &str, values: &[Value]) -> Result<(), Failure> {
        self.cursor(statement, values).map(drop)
    }

    /// Returns a query's rows. Of all ways to a cursor's rows, only `raw()` turns an exception into an
    /// error.
    fn rows(&self, query: &str, values: &[Value]) -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        for row in self.cursor(query, values)?.raw() {
            rows.push(Row(row?.into_iter()));
        }
        Ok(rows)
    }

    /// Reads each row of a query.
    pub(super) fn all<T>(
        &self,
        query: &str,
        values: &[Value],
        read: impl Fn(&mut Row) -> Option<T>,
    ) -> Result<Vec<T>, Failure> {
        let mut rows = self.rows(query, values)?;
        let read: Option<Vec<T>> = rows.iter_mut().map(read).collect();
        read.ok_or_else(|| UNREADABLE.into())
    }

    /// Reads the first row of a query, if there is one.
    pub(super) fn first<T>(
        &self,
        query: &str,
        values: &[Value],
        read: impl Fn(&mut Row) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        match self.rows(query, values)?.first_mut() {
            Some(row) => read(row).map(Some).ok_or_else(|| UNREADABLE.into()),
            None => Ok(None),
        }
    }

    /// Returns the object with this id, as the query shows it in JSON.
    pub(super) fn shown(&self, query: &str, id: &str) -> Result<String, Failure> {
        let found = self.first(query, &[id.into()], Row::text)?;
        Ok(found.ok_or_else(Refusal::no_such_object)?)
    }

    fn cursor(&self, statement: &str, values: &[Value]) -> Result<SqlCursor, Failure> {
        let values: Vec<JsValue> = values.iter().map(|value| (*value).into()).collect();
        Ok(self.sql.exec_raw(statement, values)?)
    }
}

pub(super) const UNREADABLE: &str = "a stored value has an unexpected form";

/// A parameter of a statement.
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

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
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

/// A row, read column by column from left to right. A reader returns `None` if the database was
/// damaged, or written by code with other rules.
pub(super) struct Row(std::vec::IntoIter<SqlStorageValue>);

impl Row {
    pub(super) fn integer(&mut self) -> Option<i64> {
        match self.0.next() {
            Some(SqlStorageValue::Integer(number)) => Some(number),
            _ => None,
        }
    }

    pub(super) fn time(&mut self) -> Option<UnixMillis> {
        self.integer().and_then(|millis| u64::try_from(millis).ok()).map(UnixMillis::new)
    }

    pub(super) fn text(&mut self) -> Option<String> {
        match self.0.next() {
            Some(SqlStorageValue::String(text)) => Some(text),
            _ => None,
        }
    }
}
