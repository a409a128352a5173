//! The journal of a shard: a table to which rows are only added, until their retention has passed.
//!
//! A row is written in the same step as the record, without an `await` in between, so either both are
//! stored or neither. If the database refuses only the row, the record is kept, because a payment's
//! response matters more than the note about it.

use crate::shard::protocol::{Row, RowQuery, Subject, Whose};
use oncekey::journal::JournalEntry;
use oncekey::{Millis, UnixMillis};
use platform::clock;
use worker::{Result, SqlStorage, SqlStorageValue};

/// How many rows one sweep deletes. The rest is left to the next alarm, which follows at once.
const SWEEP_BATCH: i64 = 500;

/// Rows are deleted once an hour, so that a shard does not wake up for each row.
const HOUR: u64 = 3_600_000;

pub(super) const TABLES: &str = include_str!("journal.sql");

/// Selects the id of a row, and the row in JSON.
const ROW: &str =
    "SELECT ?1 || '-' || at || '-' || id, json_object('id', ?1 || '-' || at || '-' || id,
        'at', strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch'),
        'key', lower(hex(name)), 'of', of, 'scope', scope,
        'operation', operation, 'kind', kind, 'attempt', attempt, 'request_id', request_id,
        'http_status', http_status, 'cause', cause, 'state', state,
        'created_at', strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch'))
    FROM journal WHERE (at, id) > (?, ?) AND at < ?";

/// The scope and subject of a record, as columns. They are null where they are not known.
#[derive(Clone)]
pub(super) struct WhoseColumns {
    pub(super) scope: SqlStorageValue,
    pub(super) of: SqlStorageValue,
}

impl WhoseColumns {
    pub(super) fn new(whose: Option<Whose>) -> Self {
        let of = |subject| match subject {
            Subject::Key => "key",
            Subject::BusinessKey => "number",
            Subject::Event => "event",
        };
        Self {
            scope: whose.map(|whose| whose.scope.hex()).into(),
            of: whose.map(|whose| of(whose.subject)).into(),
        }
    }
}

/// Adds a row, unless the row reports a late response that was already reported.
pub(super) fn add(
    sql: &SqlStorage,
    name: &[u8],
    whose: WhoseColumns,
    entry: JournalEntry,
) -> Result<()> {
    const ADD: &str = "INSERT INTO journal (at, name, scope, of, operation, kind, attempt,
            request_id, http_status, cause, state, created_at)
        SELECT ?1, ?2, ifnull(?3, (SELECT scope FROM records WHERE name = ?2)),
            coalesce(?4, (SELECT of FROM records WHERE name = ?2), 'key'), ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12
        WHERE ?6 <> 'late_ignored' OR NOT EXISTS (SELECT 1 FROM journal
            WHERE name = ?2 AND kind = ?6 AND request_id = ?8 AND attempt = ?7)";
    let number = |number: i64| SqlStorageValue::Integer(number);
    let values = vec![
        clock::column(entry.at),
        name.to_vec().into(),
        whose.scope,
        whose.of,
        entry.operation.into(),
        entry.kind.as_str().into(),
        number(entry.attempt.into()),
        entry.request_id.into(),
        entry.http_status.map(|status| number(status.into())).into(),
        entry.cause.into(),
        entry.state.map(|state| state.as_str()).into(),
        entry.created_at.map(clock::column).into(),
    ];
    sql.exec(ADD, values).map(drop)
}

/// Returns rows in the order in which they were written.
pub(super) fn rows(sql: &SqlStorage, query: RowQuery) -> Result<Vec<Row>> {
    // The shard is passed as text: as a JavaScript number it would show as `5.0` in an id.
    let number = |number: u64| SqlStorageValue::Integer(number.min(1 << 53) as i64);
    let (at, id) = query.after;
    let mut values =
        vec![query.shard.to_string().into(), number(at), number(id), number(query.before)];
    let mut text = ROW.to_owned();
    for (condition, value) in [
        (" AND name = ?", query.key.map(|key| key.as_bytes().to_vec().into())),
        (" AND request_id = ?", query.request_id.map(SqlStorageValue::from)),
        (" AND state = ?", query.state.map(|state| state.as_str().into())),
    ] {
        if let Some(value) = value {
            text.push_str(condition);
            values.push(value);
        }
    }
    text.push_str(" ORDER BY at, id LIMIT ?");
    values.push(number(query.limit.into()));
    let mut rows = Vec::new();
    for row in sql.exec(&text, values)?.raw() {
        if let Ok([SqlStorageValue::String(id), SqlStorageValue::String(json)]) =
            <[SqlStorageValue; 2]>::try_from(row?)
        {
            rows.push(Row { id, json });
        }
    }
    Ok(rows)
}

/// Deletes the rows whose retention has passed.
pub(super) fn sweep(sql: &SqlStorage, retention: Millis, now: UnixMillis) -> Result<()> {
    if first_due(sql, retention)?.is_none_or(|due_at| due_at > now.as_u64()) {
        return Ok(());
    }
    let kept_from = clock::column(now.minus(retention));
    let go_on = "UPDATE journal_end SET kept_from = max(kept_from, ?)";
    sql.exec(go_on, vec![kept_from])?;
    const TAKE: &str = "DELETE FROM journal WHERE id IN (SELECT id FROM journal
        WHERE at < (SELECT kept_from FROM journal_end) ORDER BY at LIMIT ?)";
    sql.exec(TAKE, vec![SWEEP_BATCH.into()]).map(drop)
}

/// Returns when the oldest row is due, in milliseconds.
pub(super) fn first_due(sql: &SqlStorage, retention: Millis) -> Result<Option<u64>> {
    let oldest = number(sql, "SELECT min(at) FROM journal")?;
    Ok(oldest.map(|at| due_at(at, retention)))
}

/// Returns when a row that was written at this time is due: at the end of the hour in which its
/// retention ends.
fn due_at(at: u64, retention: Millis) -> u64 {
    let end = UnixMillis::new(at).plus(retention).as_u64();
    end.saturating_add(1).div_ceil(HOUR).saturating_mul(HOUR)
}

/// Returns the number that a query finds; `None` if it finds no number.
pub(super) fn number(sql: &SqlStorage, query: &str) -> Result<Option<u64>> {
    let row = sql.exec(query, None)?.raw().next().transpose()?;
    Ok(match row.as_deref() {
        Some([SqlStorageValue::Integer(number)]) => u64::try_from(*number).ok(),
        _ => None,
    })
}
