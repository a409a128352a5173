//! The database of a shard: its records and the rows of the journal, in SQLite.

use super::journal::{self, WhoseColumns};
use super::keys;
use oncekey::journal::JournalEntry;
use oncekey::{Millis, Next, Record, RecordError, UnixMillis};
use platform::clock;
use std::cell::Cell;
use worker::{Result, SqlStorage, SqlStorageValue};

/// How many records one alarm handles. The rest is left to the next alarm, which follows at once.
const SWEEP_BATCH: i64 = 500;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS records (
        name BLOB PRIMARY KEY, record BLOB NOT NULL, due_at INTEGER, scope TEXT, of TEXT, open INTEGER);
    CREATE INDEX IF NOT EXISTS records_due ON records (due_at) WHERE due_at IS NOT NULL;
    CREATE TABLE IF NOT EXISTS meta (id INTEGER PRIMARY KEY CHECK (id = 1), last_seen INTEGER NOT NULL);
    INSERT OR IGNORE INTO meta (id, last_seen) VALUES (1, 0);";

/// The database of a shard. Each call begins with [`Store::migrate`].
pub(super) struct Store {
    pub(super) sql: SqlStorage,
    migrated: Cell<bool>,
    journal_retention: Millis,
}

/// A record that is due.
pub(super) struct Due {
    pub(super) name: Vec<u8>,
    pub(super) whose: WhoseColumns,
    /// The record in its stored form.
    pub(super) bytes: Vec<u8>,
}

impl Store {
    pub(super) fn new(sql: SqlStorage, journal_retention: Millis) -> Self {
        Self { sql, migrated: Cell::new(false), journal_retention }
    }

    /// Returns the record, or the error if its bytes cannot be read; `None` if there is no record.
    pub(super) fn read(
        &self,
        name: &[u8],
    ) -> Result<Option<std::result::Result<Record, RecordError>>> {
        let query = "SELECT record FROM records WHERE name = ?";
        let found = self.rows(query, vec![name.to_vec().into()])?;
        let value = found.into_iter().next().and_then(|row| row.into_iter().next());
        Ok(value.map(|value| match value {
            SqlStorageValue::Blob(bytes) => Record::decode(&bytes),
            _ => Err(RecordError::NotARecord),
        }))
    }

    /// Writes the next state of the record, and the row of the journal.
    pub(super) fn write(
        &self,
        name: &[u8],
        whose: WhoseColumns,
        next: Next,
        entry: Option<JournalEntry>,
        now: UnixMillis,
    ) -> Result<()> {
        match next {
            Next::Keep if entry.is_none() => return Ok(()),
            Next::Keep => {}
            Next::Remove => {
                self.rows("DELETE FROM records WHERE name = ?", vec![name.to_vec().into()])?;
            }
            Next::Write(record) => self.put(name, &whose, *record)?,
        }
        if let Some(Err(error)) = entry.map(|entry| journal::add(&self.sql, name, whose, entry)) {
            worker::console_error!("journal not written: {error}");
        }
        self.rows("UPDATE meta SET last_seen = ?", vec![clock::column(now)]).map(drop)
    }

    /// Stores a record. If the database refuses a large response, it is stored without its body.
    fn put(&self, name: &[u8], whose: &WhoseColumns, record: Record) -> Result<()> {
        const PUT: &str = "INSERT INTO records (name, record, due_at, scope, of, open)
            VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET record = excluded.record,
            due_at = excluded.due_at, open = excluded.open,
            scope = ifnull(excluded.scope, scope), of = ifnull(excluded.of, of)";
        let row = |record: &Record| {
            let due_at = record.due_at().map(clock::column);
            let bytes = record.encode();
            vec![
                name.to_vec().into(),
                bytes.into(),
                due_at.into(),
                whose.scope.clone(),
                whose.of.clone(),
                keys::open(record),
            ]
        };
        let Err(error) = self.rows(PUT, row(&record)) else {
            return Ok(());
        };
        let smaller = record.without_response_body().ok_or(error)?;
        self.rows(PUT, row(&smaller)).map(drop)
    }

    /// Returns the records that are due.
    pub(super) fn due(&self, now: UnixMillis) -> Result<Vec<Due>> {
        let due = self.rows(
            "SELECT name, record, scope, of FROM records WHERE due_at <= ? ORDER BY due_at LIMIT ?",
            vec![clock::column(now), SWEEP_BATCH.into()],
        )?;
        let due = due.into_iter().filter_map(|row| match <[SqlStorageValue; 4]>::try_from(row) {
            Ok([SqlStorageValue::Blob(name), SqlStorageValue::Blob(bytes), scope, of]) => {
                let whose = WhoseColumns { scope, of };
                Some(Due { name, whose, bytes })
            }
            _ => None,
        });
        Ok(due.collect())
    }

    /// Keeps a record that cannot be read. The sweep does not look at it again.
    pub(super) fn keep_for_good(&self, name: Vec<u8>) -> Result<()> {
        self.rows("UPDATE records SET due_at = NULL WHERE name = ?", vec![name.into()]).map(drop)
    }

    /// Deletes the rows of the journal whose retention has passed.
    pub(super) fn sweep_journal(&self, now: UnixMillis) -> Result<()> {
        journal::sweep(&self.sql, self.journal_retention, now)
    }

    pub(super) fn first_due(&self) -> Result<Option<u64>> {
        const FIRST: &str = "SELECT min(due_at) FROM records WHERE due_at IS NOT NULL";
        let record = journal::number(&self.sql, FIRST)?;
        let row = journal::first_due(&self.sql, self.journal_retention)?;
        Ok(record.into_iter().chain(row).min())
    }

    /// Returns the time for the next decision. It is never earlier than the time of the last one.
    pub(super) fn now(&self) -> Result<UnixMillis> {
        let last_seen = journal::number(&self.sql, "SELECT last_seen FROM meta")?.unwrap_or(0);
        Ok(clock::now().never_before(UnixMillis::new(last_seen)))
    }

    pub(super) fn migrate(&self) -> Result<()> {
        if self.migrated.get() {
            return Ok(());
        }
        self.rows(TABLES, vec![])?;
        keys::bring_up_to_date(&self.sql)?;
        self.rows(journal::TABLES, vec![])?;
        self.migrated.set(true);
        Ok(())
    }

    fn rows(
        &self,
        query: &str,
        bindings: Vec<SqlStorageValue>,
    ) -> Result<Vec<Vec<SqlStorageValue>>> {
        self.sql.exec(query, bindings)?.raw().collect()
    }
}
