//! SQL in a Durable Object, always within a transaction.

use super::error::{Failure, Refusal};
use oncekey::UnixMillis;
use worker::wasm_bindgen::{self, JsCast, JsValue, prelude::wasm_bindgen};
use worker::{SqlStorage, SqlStorageValue, Storage};

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
    let raw: &JsValue = storage.as_raw();
    let tx = Tx { sql: storage.sql() };
    let mut work = Some(work);
    let mut result = None;
    let committed = raw.unchecked_ref::<JsStorage>().transaction_sync(&mut || {
        let work = work.take().ok_or("a transaction ran twice")?;
        // Throwing is how a transaction is rolled back.
        result.insert(work(&tx)).as_ref().map(drop).map_err(|_| JsValue::from_str("rolled back"))
    });
    let committed = committed.map_err(worker::Error::from);
    match result {
        Some(Ok(value)) => Ok(committed.map(|()| value)?),
        Some(Err(failure)) => Err(failure),
        None if work.is_some() => {
            Err(committed.err().map_or("a transaction did not begin".into(), Failure::from))
        }
        // A panic in `work` has passed through `transactionSync`, which rolled back, and arrived
        // here as an exception. It continues as a panic, so that it is treated as one.
        None => panic!("a panic within a transaction"),
    }
}

impl Tx {
    /// Runs a statement and ignores its rows.
    pub(super) fn run(&self, statement: &str, values: &[SqlStorageValue]) -> Result<(), Failure> {
        self.sql.exec(statement, values.to_vec())?;
        Ok(())
    }

    /// Returns a query's rows. Of all ways to a cursor's rows, only `raw()` turns an exception into an
    /// error.
    fn rows(&self, query: &str, values: &[SqlStorageValue]) -> Result<Vec<RowReader>, Failure> {
        let rows = self.sql.exec(query, values.to_vec())?.raw();
        rows.map(|row| Ok(RowReader(row?.into_iter()))).collect()
    }

    /// Reads each row of a query.
    pub(super) fn all<T>(
        &self,
        query: &str,
        values: &[SqlStorageValue],
        read: impl Fn(&mut RowReader) -> Option<T>,
    ) -> Result<Vec<T>, Failure> {
        let mut rows = self.rows(query, values)?;
        let read: Option<Vec<T>> = rows.iter_mut().map(read).collect();
        read.ok_or_else(|| UNREADABLE.into())
    }

    /// Reads the first row of a query, if there is one.
    pub(super) fn first<T>(
        &self,
        query: &str,
        values: &[SqlStorageValue],
        read: impl Fn(&mut RowReader) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        match self.rows(query, values)?.first_mut() {
            Some(row) => read(row).map(Some).ok_or_else(|| UNREADABLE.into()),
            None => Ok(None),
        }
    }

    /// Returns the object with this id, in the JSON that the query selects.
    pub(super) fn object(&self, query: &str, id: &str) -> Result<String, Failure> {
        let found = self.first(query, &[id.into()], RowReader::text)?;
        Ok(found.ok_or_else(Refusal::no_such_object)?)
    }
}

pub(super) const UNREADABLE: &str = "a stored row breaks the rules of its table";

/// Reads the columns of a row from left to right. Returns `None` if the database was damaged, or
/// written by code with other rules.
pub(super) struct RowReader(std::vec::IntoIter<SqlStorageValue>);

impl RowReader {
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

/// Converts a time to a column: an integer that JavaScript's numbers hold exactly, which they do until
/// the year 287396.
pub(super) fn column(time: UnixMillis) -> SqlStorageValue {
    SqlStorageValue::Integer(i64::try_from(time.as_u64()).unwrap_or(i64::MAX).min(1 << 53))
}
