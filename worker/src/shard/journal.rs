//! The journal of a shard: a table that only grows, but for what has outlived its retention.
//!
//! A row is written in the same step as the record, without an `await` between, so both are stored
//! or neither. Should the database refuse the row alone, the record stands: the answer of a payment
//! weighs more than the note about it.

use crate::shard::protocol::Told;
use oncekey::journal::{JournalEntry, RequestedBy};
use oncekey::{Millis, ScopedKey, UnixMillis};
use platform::clock;
use worker::{Result, SqlStorage, SqlStorageValue};

/// How many rows one sweep takes away; what is left over gets the next alarm at once.
const SWEEP_BATCH: i64 = 500;

/// Rows go by the hour, so that a shard does not wake for each.
const HOUR: u64 = 3_600_000;

/// A row stays as it is until it is older than `kept_from`, which only goes on.
pub(super) const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS journal (
        id          INTEGER PRIMARY KEY,
        at          INTEGER NOT NULL,
        name        BLOB NOT NULL,
        scope       TEXT,
        of          TEXT NOT NULL,
        operation   TEXT NOT NULL,
        kind        TEXT NOT NULL,
        attempt     INTEGER NOT NULL,
        request_id  TEXT,
        http_status INTEGER,
        cause       TEXT,
        state       TEXT,
        created_at  INTEGER
    ) STRICT;
    CREATE INDEX IF NOT EXISTS journal_at ON journal (at);
    CREATE INDEX IF NOT EXISTS journal_name ON journal (name, at);
    CREATE INDEX IF NOT EXISTS journal_request ON journal (request_id) WHERE request_id IS NOT NULL;
    CREATE TABLE IF NOT EXISTS journal_end (
        id        INTEGER PRIMARY KEY CHECK (id = 1),
        kept_from INTEGER NOT NULL
    ) STRICT;
    INSERT OR IGNORE INTO journal_end (id, kept_from) VALUES (1, 0);
    CREATE TRIGGER IF NOT EXISTS journal_end_goes_on BEFORE UPDATE ON journal_end
        WHEN NEW.kept_from < OLD.kept_from
        BEGIN SELECT RAISE(ABORT, 'what the journal has let go does not come back'); END;
    CREATE TRIGGER IF NOT EXISTS journal_does_not_change BEFORE UPDATE ON journal
        BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
    CREATE TRIGGER IF NOT EXISTS journal_is_kept BEFORE DELETE ON journal
        WHEN OLD.at >= (SELECT kept_from FROM journal_end)
        BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
    -- A replacement deletes without asking the trigger on deletes.
    CREATE TRIGGER IF NOT EXISTS journal_is_not_replaced BEFORE INSERT ON journal
        WHEN EXISTS (SELECT 1 FROM journal WHERE id = NEW.id)
        BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;";

/// A row in JSON. Its id, which is the cursor behind it, comes first.
const ROW: &str = "SELECT json_object('id', ? || '-' || at || '-' || id,
        'at', strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch'),
        'key', lower(hex(name)), 'of', of, 'scope', scope,
        'operation', operation, 'kind', kind, 'attempt', attempt, 'request_id', request_id,
        'http_status', http_status, 'cause', cause, 'state', state,
        'created_at', strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch'))
    FROM journal WHERE (at, id) > (?, ?) AND at < ?";

/// What a record is about, where the call, or the row that is swept, says it.
#[derive(Clone)]
pub(super) struct Whose {
    pub(super) scope: SqlStorageValue,
    pub(super) of: SqlStorageValue,
}

impl Whose {
    pub(super) fn told(told: &Told) -> Self {
        Self { scope: known(&told.scope).into(), of: known(&told.of).into() }
    }
}

/// An empty part says nothing.
fn known(part: &str) -> Option<&str> {
    Some(part).filter(|part| !part.is_empty())
}

/// Who made a call, for its row.
pub(super) fn requested_by(told: &Told) -> RequestedBy<'_> {
    RequestedBy {
        attempt: told.attempt.parse().ok(),
        request_id: known(&told.request_id),
        operator: told.by == "operator",
    }
}

/// Adds a row. One that says that an answer came too late is not repeated when the call is.
pub(super) fn add(sql: &SqlStorage, name: &[u8], whose: Whose, entry: JournalEntry) -> Result<()> {
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

/// Rows in the order in which they were written, as lines. The parts: the shard's number, the time
/// and number of the row before, the end, a key's name, a request id, a state, and how many.
pub(super) fn lines(sql: &SqlStorage, parts: &[&str]) -> Result<String> {
    let [shard, at, id, to, name, request_id, state, limit] = parts else {
        return Err("no such question".into());
    };
    // Numbers are compared as numbers, whatever they come as.
    let mut values: Vec<SqlStorageValue> =
        [shard, at, id, to].into_iter().map(|part| (*part).into()).collect();
    let mut query = ROW.to_owned();
    if let Some(name) = ScopedKey::from_hex(name) {
        query.push_str(" AND name = ?");
        values.push(name.as_bytes().to_vec().into());
    }
    for (column, value) in [(" AND request_id = ?", request_id), (" AND state = ?", state)] {
        if let Some(value) = known(value) {
            query.push_str(column);
            values.push(value.into());
        }
    }
    query.push_str(" ORDER BY at, id LIMIT ?");
    values.push((*limit).into());
    let mut lines = String::new();
    for row in sql.exec(&query, values)?.raw() {
        if let Some(SqlStorageValue::String(line)) = row?.first() {
            lines.extend([line, "\n"]);
        }
    }
    Ok(lines)
}

/// Takes away what has outlived the retention.
pub(super) fn sweep(sql: &SqlStorage, retention: Millis, now: UnixMillis) -> Result<()> {
    let Some(due_at) = first_due(sql, retention)? else {
        return Ok(());
    };
    if due_at > now.as_u64() {
        return Ok(());
    }
    let kept_from = clock::column(now.minus(retention));
    let go_on = "UPDATE journal_end SET kept_from = max(kept_from, ?)";
    sql.exec(go_on, vec![kept_from])?;
    const TAKE: &str = "DELETE FROM journal WHERE id IN (SELECT id FROM journal
        WHERE at < (SELECT kept_from FROM journal_end) ORDER BY at LIMIT ?)";
    sql.exec(TAKE, vec![SWEEP_BATCH.into()]).map(drop)
}

/// When the oldest row is due, in milliseconds.
pub(super) fn first_due(sql: &SqlStorage, retention: Millis) -> Result<Option<u64>> {
    let oldest = sql.exec("SELECT min(at) FROM journal", None)?.raw().next().transpose()?;
    Ok(match oldest.as_deref() {
        Some([SqlStorageValue::Integer(at)]) => Some(due_at(*at as u64, retention)),
        _ => None,
    })
}

/// When a row that was written then is due: at the end of an hour.
fn due_at(at: u64, retention: Millis) -> u64 {
    let end = UnixMillis::new(at).plus(retention).as_u64();
    end.saturating_add(1).div_ceil(HOUR).saturating_mul(HOUR)
}
