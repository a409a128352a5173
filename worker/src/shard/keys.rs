//! The keys of a shard as operators see them: the fields of each record, without the response.

use super::columns::decode;
use super::replay_counts::Replays;
use super::store::Store;
use super::tables::{OnRecord, find};
use crate::shard::protocol::{KeyEntry, KeyQuery};
use oncekey::codec::hex::hex;
use oncekey::{KeyState, RecordState, UnixMillis};
use platform::json::writer::JsonObject;
use platform::sql::{Result, Value};
use std::collections::BTreeSet;

/// The most names that a query takes from one place.
const MOST: usize = 2000;

/// The names of records without a response, which are together in the table.
const OPEN: &str = "SELECT name FROM records WHERE open = 1 LIMIT ?";
/// The names of the records that got a response or were given up last, the newest first.
const NEWEST: &str = "SELECT name FROM journal ORDER BY id DESC LIMIT ?";
/// Any names, for records that have no row in the journal any more.
const ANY: &str = "SELECT name FROM records LIMIT ?";

/// Returns keys, newest first.
pub(super) fn entries(
    store: &Store,
    query: &KeyQuery,
    replays: &Replays,
    now: UnixMillis,
) -> Result<Vec<KeyEntry>> {
    let limit = query.limit as usize;
    let mut found =
        Found { store, query, replays, now, seen: BTreeSet::new(), entries: Vec::new() };
    if let Some(name) = query.key {
        found.add(name.as_bytes())?;
        return Ok(found.entries);
    }
    use KeyState::{Completed, Expired, InProgress, Released, Unknown, Voided};
    let has_no_response = |state| matches!(state, InProgress | Unknown | Released);
    let has_ended = |state| matches!(state, Completed | Voided | Expired);
    if query.state.is_none_or(has_no_response) {
        found.add_all(OPEN, usize::MAX)?;
    }
    if query.state.is_none_or(has_ended) {
        let most = found.entries.len() + limit;
        if found.add_all(NEWEST, most)? < MOST {
            found.add_all(ANY, most)?;
        }
    }
    found.entries.sort_by_key(|entry| std::cmp::Reverse(entry.created_at));
    found.entries.truncate(limit);
    Ok(found.entries)
}

/// The entries of a query.
struct Found<'a> {
    store: &'a Store,
    query: &'a KeyQuery,
    replays: &'a Replays,
    now: UnixMillis,
    seen: BTreeSet<Vec<u8>>,
    entries: Vec<KeyEntry>,
}

impl Found<'_> {
    /// Adds records by name, until there are `most` entries. Returns how many names there are.
    fn add_all(&mut self, names: &str, most: usize) -> Result<usize> {
        let names = self.store.sql.run(names, &[Value::Number(MOST as f64)])?;
        let names = names.each::<1>()?;
        for [name] in &names {
            if self.entries.len() >= most {
                break;
            }
            if let Value::Blob(name) = name
                && !self.seen.contains(*name)
            {
                self.seen.insert(name.to_vec());
                self.add(name)?;
            }
        }
        Ok(names.len())
    }

    /// Adds a record. Records are read one at a time, because each contains a response.
    fn add(&mut self, name: &[u8]) -> Result<()> {
        const FIND: OnRecord = find!("SELECT scope, ifnull(of, 'key'), record FROM records");
        let rows = self.store.run(&FIND, name)?;
        if let Some([scope, of, record]) = rows.each()?.first() {
            let entry = entry(name, *scope, *of, *record, self.replays, self.now);
            let is_wanted = |entry: &KeyEntry| self.query.state.is_none_or(|s| s == entry.state);
            self.entries.extend(entry.filter(is_wanted));
        }
        Ok(())
    }
}

/// Returns a row as operators see it, or `None` if the key counts as new.
fn entry(
    name: &[u8],
    scope: Value<'_>,
    of: Value<'_>,
    record: Value<'_>,
    replays: &Replays,
    now: UnixMillis,
) -> Option<KeyEntry> {
    let Value::Text(of) = of else {
        return None;
    };
    let record = decode(record).ok()?;
    let status = record.status(now)?;
    let scope = match scope {
        Value::Text(scope) => Some(scope),
        _ => None,
    };
    let cause = record.cause(now);
    let http_status = status.http_status.or(cause.and_then(|cause| cause.http_status));
    let lease_until = match record.state {
        RecordState::InFlight { lease_until, .. } => Some(lease_until),
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
