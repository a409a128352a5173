//! The tables of a shard, and how an object of an earlier version gets them.
//!
//! A large table of records of an earlier form keeps its form until it is smaller, because the copy is made in
//! one step that blocks the object. It has the same columns, and [`Form`] says how a record is found in it.

use platform::sql::{Result, Sql, Value};

const RECORDS: &str = include_str!("records.sql");
const JOURNAL: &str = include_str!("journal.sql");
const META: &str = "CREATE TABLE IF NOT EXISTS meta (
        id INTEGER PRIMARY KEY CHECK (id = 1), last_seen INTEGER NOT NULL);
    INSERT OR IGNORE INTO meta (id, last_seen) VALUES (1, 0)";

/// The most rows that are copied, or whose entries an index loses, in one step.
const MOST_ROWS: f64 = 100_000.0;

/// The form of the table of records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    /// Its primary key is whether the record has no response, and the name.
    OpenAndName,
    /// A form of an earlier version: its primary key is the name. A record with a response may have null as `open`.
    Name,
}

/// A statement on the record whose name is `?1`, for each form of the table.
pub(super) struct OnRecord {
    pub(super) by_open_and_name: &'static str,
    pub(super) by_name: &'static str,
}

/// Makes an [`OnRecord`] of a `SELECT` without its `WHERE`. `IN` would read three rows instead of one.
macro_rules! find {
    ($select:literal) => {
        $crate::shard::tables::OnRecord {
            by_open_and_name: concat!(
                $select,
                " WHERE open = 0 AND name = ?1 UNION ALL ",
                $select,
                " WHERE open = 1 AND name = ?1"
            ),
            by_name: concat!($select, " WHERE name = ?1"),
        }
    };
}

/// Makes an [`OnRecord`] of an `UPDATE` or `DELETE` without its `WHERE`.
macro_rules! change {
    ($statement:literal) => {
        $crate::shard::tables::OnRecord {
            by_open_and_name: concat!($statement, " WHERE open IN (0, 1) AND name = ?1"),
            by_name: concat!($statement, " WHERE name = ?1"),
        }
    };
}
pub(super) use {change, find};

impl Form {
    /// Returns the statement for this form.
    pub(super) fn of(self, statement: &OnRecord) -> &'static str {
        match self {
            Self::OpenAndName => statement.by_open_and_name,
            Self::Name => statement.by_name,
        }
    }
}

/// Makes the tables, or brings those of an earlier version up to date. Returns the form of the table of records.
pub(super) fn bring_up_to_date(sql: &Sql) -> Result<Form> {
    const OF_JOURNAL: &str = "SELECT 1 FROM sqlite_schema WHERE name = 'journal_at'";
    if finds(sql, OF_JOURNAL)? && is_small(sql, "SELECT 1 FROM journal LIMIT ?1")? {
        let drop = "DROP INDEX IF EXISTS journal_at; DROP INDEX IF EXISTS journal_name;
            DROP INDEX IF EXISTS journal_request";
        sql.run(drop, &[])?;
    }
    sql.run(JOURNAL, &[])?;
    sql.run(META, &[])?;
    let form = form_of_records(sql)?;
    if form == Form::OpenAndName {
        sql.run(RECORDS, &[])?;
    }
    Ok(form)
}

/// Returns the form that the table of records has, after it was rebuilt if it can be.
fn form_of_records(sql: &Sql) -> Result<Form> {
    const EARLIER: &str = "SELECT 1 FROM sqlite_schema WHERE name = 'records'
        AND sql NOT LIKE '%PRIMARY KEY (open, name)%'";
    if !finds(sql, EARLIER)? {
        return Ok(Form::OpenAndName);
    }
    add_columns(sql)?;
    if is_small(sql, "SELECT 1 FROM records LIMIT ?1")? {
        match rebuild(sql) {
            Ok(()) => return Ok(Form::OpenAndName),
            // The earlier form serves as well.
            Err(error) => platform::console_error!("records not moved to the new table: {error}"),
        }
    }
    let index = "CREATE INDEX IF NOT EXISTS records_open ON records (open) WHERE open = 1";
    sql.run(index, &[])?;
    Ok(Form::Name)
}

/// Adds the columns that a table of the first versions lacks.
fn add_columns(sql: &Sql) -> Result<()> {
    if !finds(sql, "SELECT 1 FROM pragma_table_info('records') WHERE name = 'open'")? {
        let add = "ALTER TABLE records ADD COLUMN scope TEXT;
            ALTER TABLE records ADD COLUMN of TEXT;
            ALTER TABLE records ADD COLUMN open INTEGER";
        sql.run(add, &[])?;
    }
    Ok(())
}

/// Moves the records into a table of today's form. A crash leaves all of it or nothing, because an object
/// stores what it did between two awaits in one step.
fn rebuild(sql: &Sql) -> Result<()> {
    const REBUILD: &str = "DROP TABLE IF EXISTS rebuilt;
        CREATE TABLE rebuilt (
            open INTEGER NOT NULL, name BLOB NOT NULL, due_at INTEGER, scope TEXT, of TEXT, record BLOB NOT NULL,
            PRIMARY KEY (open, name)) WITHOUT ROWID;
        INSERT INTO rebuilt (open, name, due_at, scope, of, record)
            SELECT ifnull(open, 0), name, due_at, scope, of, record FROM records;
        DROP VIEW IF EXISTS record_and_row;
        DROP TABLE records;
        ALTER TABLE rebuilt RENAME TO records";
    sql.run(REBUILD, &[]).map(drop)
}

fn finds(sql: &Sql, query: &str) -> Result<bool> {
    Ok(sql.number(query, &[])?.is_some())
}

fn is_small(sql: &Sql, rows: &str) -> Result<bool> {
    let count = ["SELECT count(*) FROM (", rows, ")"].concat();
    let count = sql.number(&count, &[Value::Number(MOST_ROWS + 1.0)])?;
    Ok(count.is_some_and(|count| count as f64 <= MOST_ROWS))
}
