//! SQL in a Durable Object. The only way to it is a transaction.

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

/// Runs `work` as one transaction: all of it is stored, or, on any error, nothing.
///
/// It is synchronous, so nothing else of this object runs between its first read and its last
/// write. The platform holds the answer back until what was written is safe on disk.
pub(super) fn transaction<T, E: From<worker::Error>>(
    storage: &Storage,
    work: impl FnOnce(&Tx) -> Result<T, E>,
) -> Result<T, E> {
    let raw: &JsValue = storage.as_raw();
    let tx = Tx { sql: storage.sql() };
    let mut work = Some(work);
    let mut outcome = None;
    let committed = raw
        .unchecked_ref::<JsStorage>()
        .transaction_sync(&mut || {
            let result = work.take().map(|work| work(&tx));
            let keep = matches!(result, Some(Ok(_)));
            outcome = result;
            // Throwing is how a transaction is rolled back.
            if keep { Ok(()) } else { Err(JsValue::from_str("rolled back")) }
        })
        .map_err(worker::Error::from);
    match outcome {
        Some(Ok(value)) => committed.map(|()| value).map_err(E::from),
        Some(Err(error)) => Err(error),
        None if work.is_some() => {
            Err(committed.err().unwrap_or_else(|| "the transaction did not begin".into()).into())
        }
        // A panic in `work` has passed through `transactionSync`, which rolled back, and arrived
        // here as an exception. It goes on as the panic it was, so that it is known as one.
        None => panic!("a panic within a transaction"),
    }
}

impl Tx {
    /// A statement whose rows, if any, do not matter.
    pub(super) fn run(&self, statement: &str, values: Vec<SqlStorageValue>) -> worker::Result<()> {
        self.sql.exec(statement, values).map(drop)
    }

    /// A query's rows. Through `raw()`, since of all ways to a cursor's rows this one alone turns
    /// an exception into an error.
    pub(super) fn rows(
        &self,
        query: &str,
        values: Vec<SqlStorageValue>,
    ) -> worker::Result<Vec<Row>> {
        let cursor = self.sql.exec(query, values)?;
        cursor.raw().map(|row| row.map(Row::new)).collect()
    }
}

/// One row, read from left to right.
pub(super) struct Row {
    values: std::vec::IntoIter<SqlStorageValue>,
}

impl Row {
    fn new(values: Vec<SqlStorageValue>) -> Self {
        Self { values: values.into_iter() }
    }

    pub(super) fn integer(&mut self) -> worker::Result<i64> {
        match self.values.next() {
            Some(SqlStorageValue::Integer(number)) => Ok(number),
            _ => Err("a stored integer is missing".into()),
        }
    }

    pub(super) fn time(&mut self) -> worker::Result<UnixMillis> {
        let millis = u64::try_from(self.integer()?);
        millis.map(UnixMillis::new).map_err(|_| "a stored time is negative".into())
    }

    pub(super) fn text(&mut self) -> worker::Result<String> {
        match self.values.next() {
            Some(SqlStorageValue::String(text)) => Ok(text),
            _ => Err("a stored text is missing".into()),
        }
    }

    /// A text as one of the checked types. Fails on a database that was damaged, or written by
    /// code with other rules.
    pub(super) fn parsed<T: TryFrom<String>>(&mut self) -> worker::Result<T> {
        T::try_from(self.text()?).map_err(|_| "a stored value breaks its rule".into())
    }
}
