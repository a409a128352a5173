//! The sweep: an alarm removes what is due.
//!
//! A pass reads all records, because an index of due times would cost more than all passes. An
//! alarm handles a part of the pass, so that it does not keep calls waiting, and the next alarm goes on at
//! once. A pass begins when the record with the earliest due time is due. Due times are rounded up to a
//! 24th of a record's life (`columns.rs`), so a record is read about 24 times.

use super::columns::{WhoseColumns, decode};
use super::journal;
use super::odd_headers::OddHeaders;
use super::store::Store;
use super::tables::{OnRecord, change, find};
use oncekey::journal::{JournalEntry, RequestedBy};
use oncekey::{Millis, RecordUpdate, Transition, UnixMillis, lifecycle};
use platform::sql::{Result, Value};
use std::cell::RefCell;

/// How many records an alarm reads.
const BATCH: usize = 1000;

/// When a record is looked at again that was due, and that the lifecycle keeps as it is.
const HOUR: Millis = Millis::from_seconds(3600);

/// The pass that is under way. It is only in memory: a restart begins a new one.
#[derive(Default)]
pub(super) struct Sweep(RefCell<Option<Pass>>);

#[derive(Default)]
struct Pass {
    /// The last record that was read: `open`, and the name.
    after: (f64, Vec<u8>),
    is_through: bool,
    /// The earliest due time of the records that remain, in milliseconds.
    first_due: Option<u64>,
}

impl Sweep {
    /// Returns whether a pass is under way. It remembers when a record that is written is due.
    pub(super) fn notes(&self, due_at: UnixMillis) -> bool {
        let mut pass = self.0.borrow_mut();
        pass.as_mut().map(|pass| pass.note(due_at)).is_some()
    }

    /// Handles the next part of the pass. Returns the time of the next alarm, if there is to be one.
    pub(super) fn go_on(
        &self,
        store: &Store,
        odd_headers: &OddHeaders,
        clock: UnixMillis,
    ) -> Result<Option<u64>> {
        let mut pass = self.0.take().unwrap_or_default();
        let now = store.time(clock, None);
        if !pass.is_through {
            pass.handle_batch(store, odd_headers, now)?;
        }
        let rows = journal::sweep(&store.sql, store.journal_retention, now)?;
        let has_more = !pass.is_through || rows.is_some_and(|due_at| due_at <= now.as_u64());
        if has_more {
            self.0.replace(Some(pass));
            return Ok(Some(now.as_u64()));
        }
        Ok(pass.first_due.into_iter().chain(rows).min())
    }
}

impl Pass {
    fn note(&mut self, due_at: UnixMillis) {
        let first = self.first_due.unwrap_or(u64::MAX);
        self.first_due = Some(first.min(due_at.as_u64()));
    }

    fn handle_batch(
        &mut self,
        store: &Store,
        odd_headers: &OddHeaders,
        now: UnixMillis,
    ) -> Result<()> {
        const NEXT: OnRecord = OnRecord {
            by_open_and_name: "SELECT open, name, due_at FROM records
                WHERE (open, name) > (?1, ?2) ORDER BY open, name LIMIT ?3",
            by_name: "SELECT ?1, name, due_at FROM records WHERE name > ?2 ORDER BY name LIMIT ?3",
        };
        let (open, name) = &self.after;
        let from = [Value::Number(*open), Value::Blob(name), Value::Number(BATCH as f64)];
        let rows = store.sql.run(store.form().of(&NEXT), &from)?;
        let rows = rows.each()?;
        let mut last = None;
        for [open, name, due_at] in &rows {
            let (Value::Number(open), Value::Blob(name)) = (open, name) else { continue };
            last = Some((*open, name.to_vec()));
            match due_at.as_u64().map(UnixMillis::new) {
                None => {}
                Some(due_at) if due_at > now => self.note(due_at),
                Some(_) => {
                    let due_at = expire(store, odd_headers, name, now)?;
                    due_at.into_iter().for_each(|due_at| self.note(due_at));
                }
            }
        }
        self.is_through = rows.len() < BATCH;
        self.after = last.unwrap_or_default();
        Ok(())
    }
}

/// Lets the core decide on a record that is due. Returns when it is due again.
fn expire(
    store: &Store,
    odd_headers: &OddHeaders,
    name: &[u8],
    now: UnixMillis,
) -> Result<Option<UnixMillis>> {
    const FIND: OnRecord = find!("SELECT record, scope, of FROM records");
    let rows = store.run(&FIND, name)?;
    let rows = rows.each()?;
    let Some([record, scope, of]) = rows.first() else {
        return Ok(None);
    };
    let Ok(record) = decode(*record) else {
        // It is kept for good, and not looked at again.
        return store.run(&change!("UPDATE records SET due_at = NULL"), name).map(|_| None);
    };
    let has_odd = record.has_odd_headers();
    let at = store.time(now, Some(&record));
    let Transition { next, change, .. } = lifecycle::expire(record, at);
    let is_kept = next == RecordUpdate::Keep;
    if has_odd && !is_kept {
        odd_headers.delete(name);
    }
    let entry = change.map(|change| JournalEntry::new(change, RequestedBy::default(), at));
    let due_at = store.write(name, &WhoseColumns::read(*scope, *of), next, entry, at)?;
    Ok(if is_kept { Some(now.plus(HOUR)) } else { due_at })
}
