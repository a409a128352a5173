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
use journal::WhoseColumns;
use odd_headers::OddHeaders;
use oncekey::budget::SMALL;
use oncekey::journal::{JournalEntry, RequestedBy};
use oncekey::{
    Attempt, Change, Decision, Millis, Next, Record, RecordError, Step, UnixMillis, lifecycle,
};
use platform::clock;
use platform::durable_object::LENGTH;
use platform::panic;
use protocol::{
    AnyOperation, Begin, Call, CallContext, Complete, Decided, Fail, Inspect, KeyEntry, KeyQuery,
    Message, NOT_STORED, Operation, Peek, Renew, Row, RowQuery, Settle, UNKNOWN_MESSAGE,
    UNREADABLE, VERSION, Void,
};
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
        let message = request.bytes().await?;
        let inner = Rc::clone(&self.0);
        contained(async move { inner.serve(&message, &odd).await }).await
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
    async fn serve(&self, message: &[u8], odd: &web_sys::Headers) -> Result<Response> {
        let message = minicbor::decode::<Message>(message);
        match message.ok().filter(|message| message.version == VERSION).map(|known| known.request) {
            Some(protocol::Request::Call(call)) => self.answer(call, odd).await,
            Some(protocol::Request::Rows(query)) => {
                reply(encode(self.store.journal_rows(query)?)?, None)
            }
            Some(protocol::Request::Keys(query)) => {
                reply(encode(self.store.key_entries(&query)?)?, None)
            }
            None => Ok(Response::empty()?.with_status(UNKNOWN_MESSAGE)),
        }
    }

    async fn answer(&self, call: Call, odd: &web_sys::Headers) -> Result<Response> {
        panic::point("object");
        match self.store.carry_out(call, odd)? {
            Ok(Done { bytes, odd, due_at }) => {
                if due_at.is_some_and(|due_at| due_at.as_u64() < self.alarm_at.get()) {
                    self.set_alarm().await?;
                }
                reply(bytes, odd)
            }
            Err(status) => Ok(Response::empty()?.with_status(status)),
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

/// A reply, and the headers that go with it because they are no text.
fn reply(bytes: Vec<u8>, odd: Option<web_sys::Headers>) -> Result<Response> {
    let length = bytes.len();
    let mut response = Response::from_bytes(bytes)?;
    if let Some(odd) = odd {
        response = response.with_headers(Headers(odd));
    }
    if length as u64 > SMALL {
        response.headers_mut().set(LENGTH, &length.to_string())?;
    }
    Ok(response)
}

fn encode(reply: impl minicbor::Encode<()>) -> Result<Vec<u8>> {
    Ok(minicbor::to_vec(reply).map_err(|error| error.to_string())?)
}

/// A call that was carried out: the reply in bytes, and when the written record is due.
struct Done {
    bytes: Vec<u8>,
    /// Headers of the response in the record that are no UTF-8.
    odd: Option<web_sys::Headers>,
    due_at: Option<UnixMillis>,
}

/// The database of a shard.
struct Store {
    sql: SqlStorage,
    odd_headers: OddHeaders,
    migrated: Cell<bool>,
    journal_retention: Millis,
    replays: Replays,
}

impl Store {
    fn journal_rows(&self, query: RowQuery) -> Result<Vec<Row>> {
        self.migrate()?;
        journal::rows(&self.sql, query)
    }

    fn key_entries(&self, query: &KeyQuery) -> Result<Vec<KeyEntry>> {
        self.migrate()?;
        keys::entries(&self.sql, query, &self.replays, self.now()?)
    }

    /// Reads, decides, writes. Where that fails: the status to refuse the call with.
    fn carry_out(
        &self,
        call: Call,
        odd: &web_sys::Headers,
    ) -> Result<std::result::Result<Done, u16>> {
        self.migrate()?;
        let Call { name, operation, context } = call;
        let name = name.as_bytes();
        let record = match self.read(name)?.transpose() {
            Ok(record) => record,
            Err(error) => {
                worker::console_error!("record unreadable: {error}");
                return Ok(Err(UNREADABLE));
            }
        };
        let now = self.now()?;
        let had_odd = record.as_ref().is_some_and(Record::has_odd_headers);
        let odd_before = had_odd.then(|| self.odd_headers.get(name)).flatten();
        let is_completing = matches!(operation, AnyOperation::Complete(_));
        let operator = matches!(operation, AnyOperation::Settle(Settle { by_operator: true, .. }));
        let (bytes, next, change) = self.decide(name, operation, record, now)?;
        let has_odd = matches!(&next, Next::Write(record) if record.has_odd_headers());
        let drops_odd = had_odd && !has_odd && next != Next::Keep;
        let due_at = match &next {
            Next::Write(record) => record.due_at(),
            Next::Keep | Next::Remove => None,
        };
        let CallContext { whose, request_id, attempt } = context;
        let by = RequestedBy { attempt, request_id: Some(&request_id), operator };
        let entry = change.map(|change| JournalEntry::new(change, by, now));
        if let Err(error) = self.write(name, WhoseColumns::new(whose), next, entry, now) {
            worker::console_error!("record not written: {error}");
            return Ok(Err(NOT_STORED));
        }
        if is_completing && has_odd {
            self.odd_headers.put(name, odd);
        } else if drops_odd {
            self.odd_headers.delete(name);
        }
        Ok(Ok(Done { bytes, odd: odd_before, due_at }))
    }

    /// The core's decision on one call, as the bytes of the reply, and what it does.
    fn decide(
        &self,
        name: &[u8],
        operation: AnyOperation,
        record: Option<Record>,
        now: UnixMillis,
    ) -> Result<(Vec<u8>, Next, Option<Change>)> {
        match operation {
            AnyOperation::Begin(Begin { fingerprints, token, minted_at, policy }) => {
                let attempt =
                    Attempt { fingerprints: &fingerprints, token, minted_at, policy: &policy };
                let step = lifecycle::begin(record, &attempt, now);
                if matches!(step.decision, Decision::Replay(_)) {
                    self.replays.note(name, now);
                }
                decided::<Begin>(step)
            }
            AnyOperation::Renew(Renew { token }) => {
                decided::<Renew>(lifecycle::renew(record, token, now))
            }
            AnyOperation::Complete(Complete { token, response }) => {
                decided::<Complete>(lifecycle::complete(record, token, response, now))
            }
            AnyOperation::Fail(Fail { token, cause }) => {
                decided::<Fail>(lifecycle::fail(record, token, cause, now))
            }
            AnyOperation::Void(Void { minted_at, policy }) => {
                decided::<Void>(lifecycle::void(record, minted_at, &policy, now))
            }
            AnyOperation::Settle(Settle { settlement, .. }) => {
                decided::<Settle>(lifecycle::settle(record, settlement, now))
            }
            AnyOperation::Peek(Peek { fingerprints }) => {
                decided::<Peek>(lifecycle::peek(record, &fingerprints, now))
            }
            AnyOperation::Inspect(Inspect) => {
                let status = record.and_then(|record| record.status(now));
                decided::<Inspect>(Step { decision: (), status, next: Next::Keep, change: None })
            }
        }
    }

    /// The record, if there is one; within it, why its bytes cannot be read.
    fn read(&self, name: &[u8]) -> Result<Option<std::result::Result<Record, RecordError>>> {
        let query = "SELECT record FROM records WHERE name = ?";
        let found = self.rows(query, vec![name.to_vec().into()])?;
        let value = found.into_iter().next().and_then(|row| row.into_iter().next());
        Ok(value.map(|value| match value {
            SqlStorageValue::Blob(bytes) => Record::decode(&bytes),
            _ => Err(RecordError::NotARecord),
        }))
    }

    /// Writes what is to become of the record, and the row of the journal with it.
    fn write(
        &self,
        name: &[u8],
        whose: WhoseColumns,
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
    fn put(&self, name: &[u8], whose: &WhoseColumns, record: Record) -> Result<()> {
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
        let smaller = record.without_response_body().ok_or(error)?;
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
                    let whose = WhoseColumns { scope: scope.clone(), of: of.clone() };
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

/// What the lifecycle decided on an operation, in bytes, and what it does.
fn decided<O: Operation>(step: Step<O::Decision>) -> Result<(Vec<u8>, Next, Option<Change>)> {
    let reply: Decided<O::Decision> = (step.decision, step.status);
    Ok((encode(reply)?, step.next, step.change))
}
