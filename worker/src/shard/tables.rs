//! The tables of a shard, and how an object of an earlier version gets them.
//!
//! Tables of an earlier form have the same columns, so every statement works on both forms. A large table
//! keeps its form until it is smaller, because the copy is made in one step that blocks the object.

use platform::sql::{Sql, Value};
use worker::Result;

const RECORDS: &str = include_str!("records.sql");
const JOURNAL: &str = include_str!("journal.sql");

/// The most rows that are copied, or whose entries an index loses, in one step.
const MOST_ROWS: f64 = 100_000.0;

/// Makes the tables, or brings those of an earlier version up to date.
pub(super) fn bring_up_to_date(sql: &Sql) -> Result<()> {
    const OF_RECORDS: &str = "SELECT 1 FROM sqlite_schema WHERE name = 'records'
        AND sql NOT LIKE '%WITHOUT ROWID%'";
    if finds(sql, OF_RECORDS)? {
        add_columns(sql)?;
        if is_small(sql, "SELECT 1 FROM records LIMIT ?1")? {
            // The earlier form serves as well.
            if let Err(error) = rebuild(sql) {
                worker::console_error!("records not moved to the new table: {error}");
            }
        }
    }
    const OF_JOURNAL: &str = "SELECT 1 FROM sqlite_schema WHERE name = 'journal_at'";
    if finds(sql, OF_JOURNAL)? && is_small(sql, "SELECT 1 FROM journal LIMIT ?1")? {
        let drop = "DROP INDEX IF EXISTS journal_at; DROP INDEX IF EXISTS journal_name;
            DROP INDEX IF EXISTS journal_request";
        sql.run(drop, &[])?;
    }
    sql.run(JOURNAL, &[])?;
    sql.run(RECORDS, &[]).map(drop)
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
            name BLOB PRIMARY KEY, due_at INTEGER, scope TEXT, of TEXT, open INTEGER, record BLOB NOT NULL
        ) WITHOUT ROWID;
        INSERT INTO rebuilt SELECT name, due_at, scope, of, open, record FROM records;
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
