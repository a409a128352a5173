//! The keys of a shard as operators see them: the fields of each record, without the response.

use super::replay_counts::Replays;
use crate::shard::protocol::{KeyEntry, KeyQuery};
use oncekey::codec::hex::hex;
use oncekey::{KeyState, Record, State, UnixMillis};
use platform::json::writer::JsonObject;
use worker::{Result, SqlStorage, SqlStorageValue};

/// The most records that one call reads. Open records have an index; of the others, the newest are read.
const MOST: i64 = 2000;

/// Adds the columns that a table of an earlier version lacks, and the index of open records.
pub(super) fn bring_up_to_date(sql: &SqlStorage) -> Result<()> {
    let known = "SELECT 1 FROM pragma_table_info('records') WHERE name = 'open'";
    if sql.exec(known, None)?.raw().next().is_none() {
        let add = "ALTER TABLE records ADD COLUMN scope TEXT;
            ALTER TABLE records ADD COLUMN of TEXT;
            ALTER TABLE records ADD COLUMN open INTEGER";
        sql.exec(add, None)?;
    }
    let index = "CREATE INDEX IF NOT EXISTS records_open ON records (open) WHERE open = 1";
    sql.exec(index, None).map(drop)
}

/// Returns keys, newest first.
pub(super) fn entries(
    sql: &SqlStorage,
    query: &KeyQuery,
    replays: &Replays,
    now: UnixMillis,
) -> Result<Vec<KeyEntry>> {
    const LIST: &str = "SELECT name, scope, ifnull(of, 'key'), record FROM records";
    // Row ids grow with each insert.
    const NEWEST: &str = " ORDER BY rowid DESC LIMIT ?";
    let condition = match query.state {
        _ if query.key.is_some() => " WHERE name = ?",
        Some(KeyState::InProgress | KeyState::Unknown | KeyState::Released) => " WHERE open = 1",
        _ => "",
    };
    let text = [LIST, condition, if query.key.is_some() { "" } else { NEWEST }].concat();
    let value = query.key.map_or(MOST.into(), |name| name.as_bytes().to_vec().into());
    let mut entries = Vec::new();
    // Rows are read one at a time, because each contains a response.
    for row in sql.exec(&text, vec![value])?.raw() {
        if entries.len() == query.limit as usize {
            break;
        }
        let entry = entry(&row?, replays, now);
        let is_wanted = |entry: &KeyEntry| query.state.is_none_or(|state| state == entry.state);
        entries.extend(entry.filter(is_wanted));
    }
    Ok(entries)
}

/// Returns a row as operators see it, or `None` if the key counts as new.
fn entry(row: &[SqlStorageValue], replays: &Replays, now: UnixMillis) -> Option<KeyEntry> {
    use SqlStorageValue as Value;
    let [Value::Blob(name), scope, Value::String(of), Value::Blob(record)] = row else {
        return None;
    };
    let record = Record::decode(record).ok()?;
    let status = record.status(now)?;
    let scope = match scope {
        Value::String(scope) => Some(scope.as_str()),
        _ => None,
    };
    let cause = record.cause(now);
    let http_status = status.http_status.or(cause.and_then(|cause| cause.http_status));
    let lease_until = match record.state {
        State::InFlight { lease_until, .. } => Some(lease_until),
        _ => None,
    };
    let json = JsonObject::new()
        .text("key", &hex(name))
        .text("of", of)
        .maybe("scope", scope)
        .text("state", status.state.as_str())
        .maybe("cause", cause.map(|cause| cause.name))
        .integer("attempts", status.attempts.into())
        .maybe_integer("http_status", http_status.map(i64::from))
        .maybe("request_id", status.request_id.as_deref())
        .time("created_at", record.created_at)
        .time("changed_at", record.changed_at())
        .maybe_time("lease_until", lease_until)
        .maybe_time("completed_at", status.completed_at)
        .maybe_time("expires_at", status.expires_at)
        .json("replays", replays.shown(name).as_deref().unwrap_or("null"));
    Some(KeyEntry { created_at: record.created_at, state: status.state, json: json.finish() })
}

/// Returns the column that marks a record without a response, which may need attention.
pub(super) fn open(record: &Record) -> SqlStorageValue {
    match record.state {
        State::InFlight { .. } | State::Unknown { .. } | State::Released { .. } => 1.into(),
        _ => SqlStorageValue::Null,
    }
}
