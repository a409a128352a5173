//! SQL in a Durable Object. The only way to it is a transaction.

use super::error::{Failure, Refusal};
use super::row::{Row, Value};
use worker::wasm_bindgen::{self, JsCast, JsValue, prelude::wasm_bindgen};
use worker::{SqlCursor, SqlStorage, Storage};

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
        // here as an exception. It goes on as the panic it was, so that it is known as one.
        None => panic!("a panic within a transaction"),
    }
}

impl Tx {
    /// A statement whose rows, if any, do not matter.
    pub(super) fn run(&self, statement: &str, values: &[Value]) -> Result<(), Failure> {
        self.cursor(statement, values).map(drop)
    }

    /// A query's rows. Through `raw()`, since of all ways to a cursor's rows this one alone turns
    /// an exception into an error.
    pub(super) fn rows(&self, query: &str, values: &[Value]) -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        for row in self.cursor(query, values)?.raw() {
            rows.push(Row::new(row?));
        }
        Ok(rows)
    }

    /// What `read` reads of each row.
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

    /// What `read` reads of the first row, if there is one.
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

    /// What a query shows of the object with this id.
    pub(super) fn shown(&self, query: &str, id: &str) -> Result<String, Failure> {
        let found = self.first(query, &[id.into()], Row::text)?;
        Ok(found.ok_or_else(Refusal::no_such_object)?)
    }

    fn cursor(&self, statement: &str, values: &[Value]) -> Result<SqlCursor, Failure> {
        let values: Vec<JsValue> = values.iter().map(|value| (*value).into()).collect();
        Ok(self.sql.exec_raw(statement, values)?)
    }
}

pub(super) const UNREADABLE: &str = "what is stored breaks its rule";
