//! The database of a shard: its records, in SQLite, and the time of its last change.

use super::columns::{Columns, WhoseColumns, decode};
use super::journal;
use super::tables::{self, Form, OnRecord, change, find};
use oncekey::journal::JournalEntry;
use oncekey::{Millis, Record, RecordError, RecordUpdate, UnixMillis, lifecycle};
use platform::sql::{Result, Rows, Sql, Value};
use std::cell::Cell;
use wasm_bindgen::JsValue;

/// The database of a shard. Each call begins with [`Store::wake`].
pub(super) struct Store {
    pub(super) sql: Sql,
    form: Cell<Form>,
    pub(super) journal_retention: Millis,
    is_awake: Cell<bool>,
    /// The newest time of a change: as far as this object knows it, and as far as it is stored. See
    /// [`lifecycle::decision_time`].
    last_seen: Cell<UnixMillis>,
    stored_seen: Cell<UnixMillis>,
}

impl Store {
    pub(super) fn new(storage: &JsValue, journal_retention: Millis) -> Self {
        let never = UnixMillis::new(0);
        Self {
            sql: Sql::of(storage),
            form: Cell::new(Form::OpenAndName),
            journal_retention,
            is_awake: Cell::new(false),
            last_seen: Cell::new(never),
            stored_seen: Cell::new(never),
        }
    }

    /// Prepares the database when the object has just started.
    pub(super) fn wake(&self) -> Result<()> {
        if self.is_awake.get() {
            return Ok(());
        }
        self.form.set(tables::bring_up_to_date(&self.sql)?);
        const SEEN: &str = "SELECT max((SELECT last_seen FROM meta),
            ifnull((SELECT at FROM journal ORDER BY id DESC LIMIT 1), 0))";
        let seen = UnixMillis::new(self.sql.number(SEEN, &[])?.unwrap_or(0));
        self.last_seen.set(seen);
        self.stored_seen.set(seen);
        self.is_awake.set(true);
        Ok(())
    }

    /// Returns the record, or the error if its bytes cannot be read; `None` if there is no record.
    pub(super) fn read(
        &self,
        name: &[u8],
    ) -> Result<Option<std::result::Result<Record, RecordError>>> {
        const FIND: OnRecord = find!("SELECT record FROM records");
        let rows = self.run(&FIND, name)?;
        Ok(rows.each()?.first().map(|[record]| decode(*record)))
    }

    /// Returns the form of the table of records.
    pub(super) fn form(&self) -> Form {
        self.form.get()
    }

    /// Runs a statement on the record with a name.
    pub(super) fn run(&self, statement: &OnRecord, name: &[u8]) -> Result<Rows> {
        self.sql.run(self.form().of(statement), &[Value::Blob(name)])
    }

    /// Returns the time for a decision about a record.
    pub(super) fn time(&self, clock: UnixMillis, record: Option<&Record>) -> UnixMillis {
        lifecycle::decision_time(clock, self.last_seen.get(), record)
    }

    /// Writes the next state of the record, and the row of the journal. Returns when the record is due.
    pub(super) fn write(
        &self,
        name: &[u8],
        whose: &WhoseColumns,
        next: RecordUpdate,
        entry: Option<JournalEntry>,
        now: UnixMillis,
    ) -> Result<Option<UnixMillis>> {
        if next == RecordUpdate::Keep && entry.is_none() {
            return Ok(None);
        }
        let is_shown = next.shows_time(now);
        let mut due_at = None;
        // Whether the row is stored, and the row if it still has to be.
        let (mut has_row, mut entry) = (false, entry);
        match next {
            RecordUpdate::Keep => {}
            RecordUpdate::Remove => {
                self.run(&change!("DELETE FROM records"), name)?;
            }
            RecordUpdate::Write(record) => {
                let columns = Columns::of(&record);
                due_at = columns.due_at;
                // A table of an earlier form has no view for both.
                has_row = self.form() == Form::OpenAndName
                    && entry.as_ref().is_some_and(|entry| {
                        self.put_with_row(name, whose, &columns, entry).is_ok()
                    });
                if has_row {
                    entry = None;
                } else {
                    self.put(name, whose, *record, &columns)?;
                }
            }
        }
        if let Some(entry) = entry {
            match self.add_row(name, whose, &entry) {
                Ok(()) => has_row = true,
                Err(error) => platform::console_error!("journal not written: {error}"),
            }
        }
        self.last_seen.set(self.last_seen.get().max(now));
        if has_row {
            self.stored_seen.set(self.stored_seen.get().max(now));
        } else if !is_shown {
            self.store_time(now)?;
        }
        Ok(due_at)
    }

    /// Stores a record. If the database refuses a large response, it is stored without its body.
    fn put(
        &self,
        name: &[u8],
        whose: &WhoseColumns,
        record: Record,
        columns: &Columns,
    ) -> Result<()> {
        const PUT: OnRecord = OnRecord {
            by_open_and_name: "INSERT INTO record_write (name, due_at, scope, of, open, record)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            by_name: "INSERT INTO records (name, due_at, scope, of, open, record)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (name) DO UPDATE SET
                record = excluded.record, due_at = excluded.due_at, open = excluded.open,
                scope = ifnull(excluded.scope, scope), of = ifnull(excluded.of, of)",
        };
        let put = self.form().of(&PUT);
        let Err(error) = self.sql.run(put, &columns.values(name, whose)) else {
            return Ok(());
        };
        let smaller = Columns::of(&record.without_response_body().ok_or(error)?);
        self.sql.run(put, &smaller.values(name, whose)).map(drop)
    }

    /// Stores a record and a row of the journal in one statement: both or neither.
    fn put_with_row(
        &self,
        name: &[u8],
        whose: &WhoseColumns,
        columns: &Columns,
        entry: &JournalEntry,
    ) -> Result<()> {
        const PUT: &str = "INSERT INTO record_write (name, due_at, scope, of, open, record,
            at, operation, kind, attempt, request_id, http_status, cause, state, created_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let mut values = columns.values(name, whose).to_vec();
        values.extend(journal::columns(entry));
        self.sql.run(PUT, &values).map(drop)
    }

    /// Stores a row of the journal alone.
    fn add_row(&self, name: &[u8], whose: &WhoseColumns, entry: &JournalEntry) -> Result<()> {
        const STORED: OnRecord = find!("SELECT scope, of FROM records");
        let rows = self.run(&STORED, name)?;
        let stored = rows.each()?.first().copied().unwrap_or_default();
        journal::add(&self.sql, name, whose, stored, entry)
    }

    /// Stores a time that neither a record nor a row of the journal shows.
    fn store_time(&self, now: UnixMillis) -> Result<()> {
        if now > self.stored_seen.get() {
            let store = "UPDATE meta SET last_seen = max(last_seen, ?)";
            self.sql.run(store, &[now.into()])?;
            self.stored_seen.set(now);
        }
        Ok(())
    }
}
