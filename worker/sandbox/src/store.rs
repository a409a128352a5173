//! SQL in a Durable Object, always within a transaction.

use super::error::{Failure, Refusal};
use platform::sql::{Sql, Value};
use worker::Storage;
use worker::wasm_bindgen::{self, JsCast, JsValue, prelude::wasm_bindgen};

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
pub(super) struct Tx(Sql);

/// Runs `work` as one transaction. On an error, nothing of it is stored.
///
/// It is synchronous, so no other code of this object runs between its first read and its last
/// write. The platform holds the response back until the writes are durable.
pub(super) fn transaction<T>(
    storage: &Storage,
    work: impl FnOnce(&Tx) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let raw: &JsValue = storage.as_raw();
    let tx = Tx(Sql::of(raw));
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
    pub(super) fn run(&self, statement: &str, values: &[Value<'_>]) -> Result<(), Failure> {
        self.0.run(statement, values)?;
        Ok(())
    }

    /// Reads each row of a query. `read` returns `None` if a column has another type than it should have:
    /// then the database was damaged, or written by code with other rules.
    pub(super) fn all<T, const N: usize>(
        &self,
        query: &str,
        values: &[Value<'_>],
        read: impl Fn([Value<'_>; N]) -> Option<T>,
    ) -> Result<Vec<T>, Failure> {
        let rows = self.0.run(query, values)?;
        let read: Option<Vec<T>> = rows.each()?.into_iter().map(read).collect();
        read.ok_or_else(|| UNREADABLE.into())
    }

    /// Reads the first row of a query, if there is one.
    pub(super) fn first<T, const N: usize>(
        &self,
        query: &str,
        values: &[Value<'_>],
        read: impl Fn([Value<'_>; N]) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        Ok(self.all(query, values, read)?.into_iter().next())
    }

    /// Returns the object with this id, in the JSON that the query selects.
    pub(super) fn object(&self, query: &str, id: &str) -> Result<String, Failure> {
        let found = self.first(query, &[id.into()], |[json]| json.to_text())?;
        Ok(found.ok_or_else(Refusal::no_such_object)?)
    }
}

pub(super) const UNREADABLE: &str = "a stored row breaks the rules of its table";
