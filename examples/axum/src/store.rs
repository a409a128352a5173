//! Records in a table of SQLite.

use oncekey::store::Store;
use oncekey::{Record, RecordUpdate, ScopedKey, Transition};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use std::{error::Error, path::Path, sync::Mutex};

/// A database with a table of records. One connection, behind a lock, is enough for thousands of writes a
/// second. Each transaction takes well under a millisecond, so it may run on a thread of the runtime.
pub struct SqliteStore(Mutex<Connection>);

impl SqliteStore {
    /// Opens or creates a database. A commit is on disk when it returns, also in WAL mode.
    pub fn open(path: impl AsRef<Path>) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 1000;
             CREATE TABLE IF NOT EXISTS records (name BLOB PRIMARY KEY, record BLOB NOT NULL);",
        )?;
        Ok(Self(Mutex::new(connection)))
    }
}

impl Store for SqliteStore {
    type Error = Box<dyn Error + Send + Sync>;

    fn transact<D>(
        &self,
        name: &ScopedKey,
        decide: impl FnOnce(Option<Record>) -> Transition<D>,
    ) -> Result<Transition<D>, Self::Error> {
        let mut connection = self.0.lock().map_err(|_| "an earlier call has panicked")?;
        // Other processes wait, too. Without a commit, the transaction is rolled back.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let name = name.as_bytes();
        let select = "SELECT record FROM records WHERE name = ?";
        let bytes: Option<Vec<u8>> =
            transaction.query_row(select, [name], |row| row.get(0)).optional()?;
        let decided = decide(bytes.map(|bytes| Record::decode(&bytes)).transpose()?);
        match &decided.next {
            RecordUpdate::Keep => 0,
            RecordUpdate::Write(record) => transaction
                .execute("INSERT OR REPLACE INTO records VALUES (?, ?)", (name, record.encode()))?,
            RecordUpdate::Remove => {
                transaction.execute("DELETE FROM records WHERE name = ?", [name])?
            }
        };
        transaction.commit()?;
        Ok(decided)
    }
}
