//! The journal of a shard: a table to which rows are only added, until their retention has passed.
//!
//! A row is written in the same step as the record, without an `await` in between, so either both are
//! stored or neither. If the database refuses only the row, the record is kept, because a payment's
//! response matters more than the note about it.
//!
//! The id of a row is the only index. It begins with the time, so rows are found by time. A query for a key
//! or a request reads a number of rows, and then says where the next query has to go on.

use super::columns::WhoseColumns;
use crate::shard::protocol::{Row, RowQuery};
use oncekey::journal::JournalEntry;
use oncekey::{Millis, UnixMillis};
use platform::sql::{Result, Sql, Value};

/// How many rows one sweep deletes. The rest is left to the next alarm, which follows at once.
const SWEEP_BATCH: f64 = 500.0;

/// How many rows a query reads to find those of a key or a request.
const MOST_READ: u64 = 20_000;

/// Rows are deleted once an hour, so that a shard does not wake up for each row.
const HOUR: u64 = 3_600_000;

/// The rows of earlier versions have smaller ids than this, and later rows have larger ones.
const FIRST_ID_BY_TIME: u64 = 1 << 40;

/// The largest number that JavaScript has exactly.
const LARGEST: u64 = 1 << 53;

/// Returns the columns of a row that do not say whose it is, from `at` to `created_at`.
pub(super) fn columns(entry: &JournalEntry) -> [Value<'_>; 9] {
    [
        entry.at.into(),
        Value::Text(entry.operation),
        Value::Text(entry.kind.as_str()),
        Value::Number(entry.attempt.into()),
        entry.request_id.as_deref().into(),
        entry.http_status.map_or(Value::Null, |status| Value::Number(status.into())),
        entry.cause.into(),
        entry.state.map(|state| state.as_str()).into(),
        entry.created_at.map_or(Value::Null, Value::from),
    ]
}

/// Adds a row, unless the row reports a late response that was reported in the last two minutes: no call
/// is repeated for longer. `stored` is the scope and subject of the record, for what `whose` does not say.
pub(super) fn add(
    sql: &Sql,
    name: &[u8],
    whose: &WhoseColumns,
    stored: [Value<'_>; 2],
    entry: &JournalEntry,
) -> Result<()> {
    const ADD: &str = "INSERT INTO journal (at, operation, kind, attempt, request_id, http_status,
            cause, state, created_at, name, scope, of, id)
        SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ifnull(?11, ?13), coalesce(?12, ?14, 'key'),
            max(CAST(?1 AS INTEGER) * 1000, (SELECT ifnull(max(id), 0) + 1 FROM journal))
        WHERE ?3 <> 'late_ignored' OR NOT EXISTS (SELECT 1 FROM journal
            WHERE id > (CAST(?1 AS INTEGER) - 120000) * 1000
            AND name = ?10 AND kind = ?3 AND request_id = ?5 AND attempt = ?4)";
    let mut values = columns(entry).to_vec();
    values.extend([Value::Blob(name), whose.scope.as_deref().into(), whose.of]);
    values.extend(stored);
    sql.run(ADD, &values).map(drop)
}

/// Returns rows in the order in which they were written. If rows remain that were not read, the last row
/// is a mark: its id is where the next query has to go on, and it has no text.
pub(super) fn rows(sql: &Sql, query: &RowQuery) -> Result<Vec<Row>> {
    const ROWS: &str =
        "SELECT ?1 || '-' || at || '-' || id, json_object('id', ?1 || '-' || at || '-' || id,
            'at', strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch'),
            'key', lower(hex(name)), 'of', of, 'scope', scope,
            'operation', operation, 'kind', kind, 'attempt', attempt, 'request_id', request_id,
            'http_status', http_status, 'cause', cause, 'state', state,
            'created_at', strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch'))
        FROM journal WHERE id > ?2 AND id <= ?3 AND at >= ?4 AND at < ?5
            AND (?6 IS NULL OR name = ?6) AND (?7 IS NULL OR request_id = ?7)
            AND (?8 IS NULL OR state = ?8)
        ORDER BY id LIMIT ?9";
    let exact = |number: u64| Value::Number(number.min(LARGEST) as f64);
    let (from, after) = query.after;
    let oldest = sql.number("SELECT min(id) FROM journal", &[])?;
    let is_by_time = oldest.is_some_and(|id| id >= FIRST_ID_BY_TIME);
    let first = from.saturating_mul(1000).saturating_sub(1);
    let start = if is_by_time { after.max(first) } else { after };
    let is_filter = query.key.is_some() || query.request_id.is_some() || query.state.is_some();
    let end = if is_filter { end_of_read(sql, start)? } else { None };
    // The digits after the time may overflow into the next milliseconds.
    let before = query.before.saturating_add(1000).saturating_mul(1000);
    let last = end.map_or(before, |(_, id)| id.min(before));
    // The shard is passed as text: as a number it would show as `5.0` in an id.
    let shard = query.shard.to_string();
    let key = query.key.map(|key| *key.as_bytes());
    let values = [
        Value::Text(&shard),
        exact(start),
        exact(last),
        exact(from),
        exact(query.before),
        key.as_ref().map_or(Value::Null, |key| Value::Blob(key)),
        query.request_id.as_deref().into(),
        query.state.map(|state| state.as_str()).into(),
        exact(query.limit.into()),
    ];
    let found = sql.run(ROWS, &values)?;
    let row = |row: &[Value<'_>; 2]| match row {
        [Value::Text(id), Value::Text(json)] => {
            Some(Row { id: (*id).to_owned(), json: (*json).to_owned() })
        }
        _ => None,
    };
    let mut rows: Vec<Row> = found.each()?.iter().filter_map(row).collect();
    if let Some((at, id)) = end.filter(|(_, id)| *id < before)
        && rows.len() < query.limit as usize
    {
        rows.push(Row { id: format!("{shard}-{at}-{id}"), json: String::new() });
    }
    Ok(rows)
}

/// Returns the time and the id of the last row that a query reads; `None` if it reads all the rest.
fn end_of_read(sql: &Sql, start: u64) -> Result<Option<(u64, u64)>> {
    let query = "SELECT at, id FROM journal WHERE id > ?1 ORDER BY id LIMIT 1 OFFSET ?2";
    let most = Value::Number((MOST_READ - 1) as f64);
    let rows = sql.run(query, &[Value::Number(start.min(LARGEST) as f64), most])?;
    Ok(match rows.each()?.first() {
        Some([at, id]) => at.as_u64().zip(id.as_u64()),
        None => None,
    })
}

/// Deletes rows whose retention has passed. Returns when the oldest of the remaining rows is due.
pub(super) fn sweep(sql: &Sql, retention: Millis, now: UnixMillis) -> Result<Option<u64>> {
    let due_at = first_due(sql, retention)?;
    if due_at.is_none_or(|due_at| due_at > now.as_u64()) {
        return Ok(due_at);
    }
    let go_on = "UPDATE journal_end SET kept_from = ?1 WHERE kept_from < ?1";
    sql.run(go_on, &[now.minus(retention).into()])?;
    const TAKE: &str = "DELETE FROM journal WHERE id IN (SELECT id FROM journal
        WHERE at < (SELECT kept_from FROM journal_end) ORDER BY id LIMIT ?)";
    sql.run(TAKE, &[Value::Number(SWEEP_BATCH)])?;
    first_due(sql, retention)
}

/// Returns when the oldest row is due, in milliseconds: at the end of the hour in which its retention ends.
fn first_due(sql: &Sql, retention: Millis) -> Result<Option<u64>> {
    let oldest = sql.number("SELECT at FROM journal ORDER BY id LIMIT 1", &[])?;
    Ok(oldest.map(|at| {
        let end = UnixMillis::new(at).plus(retention).as_u64();
        end.saturating_add(1).div_ceil(HOUR).saturating_mul(HOUR)
    }))
}
