//! The journal of a shard: a table that only grows, but for what has outlived its retention.
//!
//! A row is written in the same step as the record, without an `await` between, so both are stored
//! or neither. Should the database refuse the row alone, the record stands: the answer of a payment
//! weighs more than the note about it.

use crate::shard::protocol::{Row, RowQuery, Subject, Whose};
use oncekey::journal::JournalEntry;
use oncekey::{Millis, UnixMillis};
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

/// The id of a row, and the row in JSON.
const ROW: &str =
    "SELECT ?1 || '-' || at || '-' || id, json_object('id', ?1 || '-' || at || '-' || id,
        'at', strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch'),
        'key', lower(hex(name)), 'of', of, 'scope', scope,
        'operation', operation, 'kind', kind, 'attempt', attempt, 'request_id', request_id,
        'http_status', http_status, 'cause', cause, 'state', state,
        'created_at', strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch'))
    FROM journal WHERE (at, id) > (?, ?) AND at < ?";

/// Whose record it is, as columns; null where it is not known.
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

/// Adds a row. One that says that an answer came too late is not repeated when the call is.
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

/// Rows in the order in which they were written.
pub(super) fn rows(sql: &SqlStorage, query: RowQuery) -> Result<Vec<Row>> {
    // The platform takes numbers as JavaScript has them; in an id the shard must not be `5.0`.
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
