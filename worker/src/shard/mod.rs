//! The authority: a Durable Object that holds the records of one shard in SQLite.
//!
//! Each call reads a record, lets the core decide, and writes what it says, without an `await`
//! between. An object runs one call at a time between two awaits, so no lock is needed, and its
//! output gate holds the reply back until the write is durable.

pub(crate) mod client;
mod journal;
mod keys;
mod odd_headers;
pub(crate) mod protocol;
mod replay_counts;

use crate::config;
use journal::Whose;
use odd_headers::OddHeaders;
use oncekey::budget::SMALL;
use oncekey::journal::{JournalEntry, RequestedBy};
use oncekey::{
    Attempt, Change, Decision, Millis, Next, Record, RecordError, Step, UnixMillis, lifecycle,
};
use platform::clock;
use platform::durable_object::LENGTH;
use platform::panic;
use protocol::{Call, Operation, Reply, Told, VERSION};
use replay_counts::Replays;
use std::cell::Cell;
use std::rc::Rc;
use worker::{
    DurableObject, Env, Error, Headers, Request, Response, Result, ScheduledTime, SqlStorage,
    SqlStorageValue, State, durable_object, wasm_bindgen, web_sys,
};

/// How many records one alarm looks at; what is left over gets the next alarm at once.
const SWEEP_BATCH: i64 = 500;

/// One of the 256 shards.
#[durable_object(alarm)]
pub struct Shard(Rc<Inner>);

struct Inner {
    state: State,
    store: Store,
    /// When the next sweep is set for, in milliseconds, or `u64::MAX` while none is known.
    alarm_at: Cell<u64>,
}

impl DurableObject for Shard {
    fn new(state: State, env: Env) -> Self {
        let inner = state._inner();
        let odd_headers = inner.storage().map(|storage| OddHeaders::of(&storage));
        let state = State::from(inner);
        let store = Store {
            sql: state.storage().sql(),
            odd_headers: odd_headers.unwrap_or_else(|nothing| OddHeaders::of(&nothing)),
            migrated: Cell::new(false),
            journal_retention: config::journal_retention(&env),
            replays: Replays::since(clock::now()),
        };
        Self(Rc::new(Inner { state, store, alarm_at: Cell::new(u64::MAX) }))
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let odd = request.headers().0.clone();
        let bytes = request.bytes().await?;
        let inner = Rc::clone(&self.0);
        let (reply, odd) = contained(async move { inner.serve(&bytes, &odd).await }).await?;
        let length = reply.len();
        let response = Response::from_bytes(reply)?;
        let mut response = match odd {
            Some(odd) => response.with_headers(Headers(odd)),
            None => response,
        };
        if length as u64 > SMALL {
            response.headers_mut().set(LENGTH, &length.to_string())?;
        }
        Ok(response)
    }

    async fn alarm(&self) -> Result<Response> {
        let inner = Rc::clone(&self.0);
        contained(async move { inner.sweep().await }).await?;
        Response::empty()
    }
}

/// Keeps a panic to the call that it happens in: the gateway asks again, the platform rings again.
async fn contained<T: 'static>(work: impl Future<Output = Result<T>> + 'static) -> Result<T> {
    let lost = |panic::Panicked| Error::from("the call was lost to an internal error");
    panic::contain(work).await.map_err(lost)?
}

impl Inner {
    /// The reply, and the headers that go with it because they are no text.
    async fn serve(
        &self,
        bytes: &[u8],
        odd: &web_sys::Headers,
    ) -> Result<(Vec<u8>, Option<web_sys::Headers>)> {
        // A call starts as an array of CBOR does, and a question of an operator with a letter.
        match str::from_utf8(bytes) {
            Ok(question) => Ok((self.store.lines(question)?.into_bytes(), None)),
            Err(_) => {
                let (reply, odd) = self.answer(bytes, odd).await?;
                Ok((minicbor::to_vec(&reply).map_err(|error| error.to_string())?, odd))
            }
        }
    }

    async fn answer(
        &self,
        bytes: &[u8],
        odd: &web_sys::Headers,
    ) -> Result<(Reply, Option<web_sys::Headers>)> {
        panic::point("object");
        match minicbor::decode::<Call>(bytes) {
            Ok(call) if call.version == VERSION => {
                let name = call.name.clone();
                let (reply, due_at) = self.store.carry_out(call, odd)?;
                let replayed = reply.replayed().filter(|response| response.has_odd_headers());
                let odd = replayed.and_then(|_| self.store.odd_headers.get(&name));
                if due_at.is_some_and(|due_at| due_at.as_u64() < self.alarm_at.get()) {
                    self.set_alarm().await?;
                }
                Ok((reply, odd))
            }
            _ => Ok((Reply::UnknownCall, None)),
        }
    }

    async fn sweep(&self) -> Result<()> {
        panic::point("alarm");
        self.alarm_at.set(u64::MAX);
        self.store.sweep()?;
        self.set_alarm().await
    }

    /// Sets the alarm for the record that is due first.
    async fn set_alarm(&self) -> Result<()> {
        let Some(due_at) = self.store.first_due()? else {
            return Ok(());
        };
        let date = worker::js_sys::Date::new(&(due_at as f64).into());
        self.state.storage().set_alarm(ScheduledTime::new(date)).await?;
        self.alarm_at.set(due_at);
        Ok(())
    }
}

/// The database of a shard.
struct Store {
    sql: SqlStorage,
    odd_headers: OddHeaders,
    migrated: Cell<bool>,
    journal_retention: Millis,
    replays: Replays,
}

/// A stored row whose bytes are no record.
enum ReadError {
    Unreadable(RecordError),
    Database(worker::Error),
}

impl Store {
    /// The lines that answer a question (`admin/fan_out.rs`).
    fn lines(&self, question: &str) -> Result<String> {
        self.migrate()?;
        let parts: Vec<_> = question.split('\t').collect();
        match &parts[..] {
            ["journal", parts @ ..] => journal::lines(&self.sql, parts),
            ["keys", parts @ ..] => keys::lines(&self.sql, parts, &self.replays, self.now()?),
            _ => Err("no such question".into()),
        }
    }

    /// Reads, decides, writes. Tells when the written record is due.
    fn carry_out(&self, call: Call, odd: &web_sys::Headers) -> Result<(Reply, Option<UnixMillis>)> {
        self.migrate()?;
        let record = match self.read(&call.name) {
            Ok(record) => record,
            Err(ReadError::Unreadable(error)) => {
                worker::console_error!("record unreadable: {error}");
                return Ok((Reply::Unreadable, None));
            }
            Err(ReadError::Database(error)) => return Err(error),
        };
        let now = self.now()?;
        let told = Told::decode(&call.told.unwrap_or_default());
        let had_odd = record.as_ref().is_some_and(Record::has_odd_headers);
        let is_completing = matches!(call.operation, Operation::Complete { .. });
        let (reply, next, change) = decide(call.operation, record, now);
        let has_odd = matches!(&next, Next::Write(record) if record.has_odd_headers());
        let brings_odd = is_completing && has_odd;
        let drops_odd = had_odd && !has_odd && !matches!(next, Next::Keep);
        if matches!(reply, Reply::Begun { decision: Decision::Replay(_), .. }) {
            self.replays.note(&call.name, now);
        }
        let due_at = match &next {
            Next::Write(record) => record.due_at(),
            Next::Keep | Next::Remove => None,
        };
        let by = journal::requested_by(&told);
        let entry = change.map(|change| JournalEntry::new(change, by, now));
        match self.write(&call.name, Whose::told(&told), next, entry, now) {
            Ok(()) => {
                if brings_odd {
                    self.odd_headers.put(&call.name, odd);
                } else if drops_odd {
                    self.odd_headers.delete(&call.name);
                }
                Ok((reply, due_at))
            }
            Err(error) => {
                worker::console_error!("record not written: {error}");
                Ok((Reply::NotStored, None))
            }
        }
    }

    fn read(&self, name: &[u8]) -> std::result::Result<Option<Record>, ReadError> {
        let found = self
            .rows("SELECT record FROM records WHERE name = ?", vec![name.to_vec().into()])
            .map_err(ReadError::Database)?;
        match found.into_iter().next().and_then(|row| row.into_iter().next()) {
            None => Ok(None),
            Some(SqlStorageValue::Blob(bytes)) => {
                Record::decode(&bytes).map(Some).map_err(ReadError::Unreadable)
            }
            Some(_) => Err(ReadError::Unreadable(RecordError::NotARecord)),
        }
    }

    /// Writes what is to become of the record, and the row of the journal with it.
    fn write(
        &self,
        name: &[u8],
        whose: Whose,
        next: Next,
        entry: Option<JournalEntry>,
        now: UnixMillis,
    ) -> Result<()> {
        match next {
            Next::Keep if entry.is_none() => return Ok(()),
            Next::Keep => {}
            Next::Remove => {
                self.rows("DELETE FROM records WHERE name = ?", vec![name.to_vec().into()])?;
            }
            Next::Write(record) => self.put(name, &whose, *record)?,
        }
        if let Some(Err(error)) = entry.map(|entry| journal::add(&self.sql, name, whose, entry)) {
            worker::console_error!("journal not written: {error}");
        }
        self.rows("UPDATE meta SET last_seen = ?", vec![clock::column(now)]).map(drop)
    }

    /// Stores a record; an answer that the database does not take is stored without its body.
    fn put(&self, name: &[u8], whose: &Whose, record: Record) -> Result<()> {
        const PUT: &str = "INSERT INTO records (name, record, due_at, scope, of, open)
            VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET record = excluded.record,
            due_at = excluded.due_at, open = excluded.open,
            scope = ifnull(excluded.scope, scope), of = ifnull(excluded.of, of)";
        let row = |record: &Record| {
            let due_at = record.due_at().map(clock::column);
            let bytes = record.encode();
            vec![
                name.to_vec().into(),
                bytes.into(),
                due_at.into(),
                whose.scope.clone(),
                whose.of.clone(),
                keys::open(record),
            ]
        };
        let Err(error) = self.rows(PUT, row(&record)) else {
            return Ok(());
        };
        let smaller = record.without_answer_body().ok_or(error)?;
        self.rows(PUT, row(&smaller)).map(drop)
    }

    /// Looks at the records that are due. One that cannot be read is kept, and not looked at again:
    /// nobody knows what it says.
    fn sweep(&self) -> Result<()> {
        self.migrate()?;
        let now = self.now()?;
        let due = self.rows(
            "SELECT name, record, scope, of FROM records WHERE due_at <= ? ORDER BY due_at LIMIT ?",
            vec![clock::column(now), SWEEP_BATCH.into()],
        )?;
        for row in due {
            let [SqlStorageValue::Blob(name), SqlStorageValue::Blob(bytes), scope, of] = &row[..]
            else {
                continue;
            };
            match Record::decode(bytes) {
                Ok(record) => {
                    if record.has_odd_headers() {
                        self.odd_headers.delete(name);
                    }
                    let Step { next, change, .. } = lifecycle::expire(record, now);
                    let by = RequestedBy::default();
                    let entry = change.map(|change| JournalEntry::new(change, by, now));
                    let whose = Whose { scope: scope.clone(), of: of.clone() };
                    self.write(name, whose, next, entry, now)?;
                }
                Err(_) => {
                    let keep = "UPDATE records SET due_at = NULL WHERE name = ?";
                    self.rows(keep, vec![name.clone().into()])?;
                }
            }
        }
        journal::sweep(&self.sql, self.journal_retention, now)
    }

    fn first_due(&self) -> Result<Option<u64>> {
        let found = self.rows(
            "SELECT due_at FROM records WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1",
            vec![],
        )?;
        let record = match found.first().and_then(|row| row.first()) {
            Some(SqlStorageValue::Integer(due_at)) => u64::try_from(*due_at).ok(),
            _ => None,
        };
        let row = journal::first_due(&self.sql, self.journal_retention)?;
        Ok(record.into_iter().chain(row).min())
    }

    /// The time to decide by: never earlier than any that this shard decided by before.
    fn now(&self) -> Result<UnixMillis> {
        let found = self.rows("SELECT last_seen FROM meta", vec![])?;
        let last_seen = match found.first().and_then(|row| row.first()) {
            Some(SqlStorageValue::Integer(millis)) => u64::try_from(*millis).unwrap_or(0),
            _ => 0,
        };
        Ok(clock::now().never_before(UnixMillis::new(last_seen)))
    }

    fn migrate(&self) -> Result<()> {
        if self.migrated.get() {
            return Ok(());
        }
        self.rows(
            "CREATE TABLE IF NOT EXISTS records (name BLOB PRIMARY KEY, record BLOB NOT NULL, due_at INTEGER, scope TEXT, of TEXT, open INTEGER)",
            vec![],
        )?;
        self.rows(
            "CREATE INDEX IF NOT EXISTS records_due ON records (due_at) WHERE due_at IS NOT NULL",
            vec![],
        )?;
        self.rows("CREATE TABLE IF NOT EXISTS meta (id INTEGER PRIMARY KEY CHECK (id = 1), last_seen INTEGER NOT NULL)", vec![])?;
        self.rows("INSERT OR IGNORE INTO meta (id, last_seen) VALUES (1, 0)", vec![])?;
        keys::bring_up_to_date(&self.sql)?;
        self.rows(journal::TABLES, vec![])?;
        self.migrated.set(true);
        Ok(())
    }

    fn rows(
        &self,
        query: &str,
        bindings: Vec<SqlStorageValue>,
    ) -> Result<Vec<Vec<SqlStorageValue>>> {
        self.sql.exec(query, bindings)?.raw().collect()
    }
}

/// The core's decision on one call.
fn decide(
    operation: Operation,
    record: Option<Record>,
    now: UnixMillis,
) -> (Reply, Next, Option<Change>) {
    match operation {
        Operation::Begin { fingerprints, token, minted_at, policy } => {
            let attempt =
                Attempt { fingerprints: &fingerprints, token, minted_at, policy: &policy };
            let step = lifecycle::begin(record, &attempt, now);
            (Reply::Begun { decision: step.decision, status: step.status }, step.next, step.change)
        }
        Operation::Renew { token } => {
            let step = lifecycle::renew(record, token, now);
            (Reply::Renewed { renewal: step.decision }, step.next, step.change)
        }
        Operation::Complete { token, response } => {
            let step = lifecycle::complete(record, token, response, now);
            (
                Reply::Ended { completion: step.decision, status: step.status },
                step.next,
                step.change,
            )
        }
        Operation::Fail { token, cause } => {
            let step = lifecycle::fail(record, token, cause, now);
            (
                Reply::Ended { completion: step.decision, status: step.status },
                step.next,
                step.change,
            )
        }
        Operation::Void { minted_at, policy } => {
            let step = lifecycle::void(record, minted_at, &policy, now);
            (Reply::Stands { status: step.status }, step.next, step.change)
        }
        Operation::Settle { settlement } => {
            let step = lifecycle::settle(record, settlement, now);
            (
                Reply::Settled { settling: step.decision, status: step.status },
                step.next,
                step.change,
            )
        }
        Operation::Recall { fingerprints } => {
            let step = lifecycle::recall(record, &fingerprints, now);
            (Reply::Recalled { decision: step.decision }, step.next, step.change)
        }
        Operation::Inspect => {
            let status = record.and_then(|record| record.status(now));
            (Reply::Stands { status }, Next::Keep, None)
        }
    }
}
