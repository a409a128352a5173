//! A shard: a Durable Object that holds records in SQLite.
//!
//! Each call reads a record, lets the core decide, and writes the result, without an `await` in
//! between. An object runs nothing else between two awaits, so no lock is needed. The platform holds
//! the reply back until the write is durable (the output gate).

pub(crate) mod client;
mod journal;
mod keys;
mod odd_headers;
pub(crate) mod protocol;
mod replay_counts;
mod store;

use crate::config;
use journal::WhoseColumns;
use odd_headers::OddHeaders;
use oncekey::budget::SMALL;
use oncekey::codec::message;
use oncekey::journal::{JournalEntry, RequestedBy};
use oncekey::{Attempt, Change, Decision, Next, Record, Step, UnixMillis, lifecycle};
use platform::clock;
use platform::durable_object::LENGTH;
use platform::{panic, task};
use protocol::{
    AnyOperation, Begin, CallContext, Complete, Decided, Fail, GetStatus, NOT_STORED, Operation,
    Peek, Renew, Settle, ShardCall, UNKNOWN_MESSAGE, UNREADABLE, Void,
};
use replay_counts::Replays;
use std::cell::Cell;
use std::rc::Rc;
use store::{Due, Store};
use worker::{
    DurableObject, Env, Error, Headers, Request, Response, Result, ScheduledTime, State,
    durable_object, wasm_bindgen, web_sys,
};

/// One of the 256 shards.
#[durable_object(alarm)]
pub struct Shard(Rc<Inner>);

struct Inner {
    state: State,
    store: Store,
    odd_headers: OddHeaders,
    replays: Replays,
    /// The time of the next sweep in milliseconds, or `u64::MAX` if it is unknown.
    alarm_at: Cell<u64>,
}

impl DurableObject for Shard {
    fn new(state: State, env: Env) -> Self {
        let inner = state._inner();
        let odd_headers = inner.storage().map(|storage| OddHeaders::of(&storage));
        let state = State::from(inner);
        Self(Rc::new(Inner {
            store: Store::new(state.storage().sql(), config::journal_retention(&env)),
            state,
            odd_headers: odd_headers.unwrap_or_else(|nothing| OddHeaders::of(&nothing)),
            replays: Replays::since(clock::now()),
            alarm_at: Cell::new(u64::MAX),
        }))
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

/// Turns a panic into an error of its call. The gateway repeats a lost call, and the platform repeats a
/// lost alarm.
async fn contained<T: 'static>(work: impl Future<Output = Result<T>> + 'static) -> Result<T> {
    let lost = |task::Panicked| Error::from("the call was lost to an internal error");
    task::contain(work).await.map_err(lost)?
}

impl Inner {
    async fn serve(&self, message: &[u8], odd: &web_sys::Headers) -> Result<Response> {
        self.store.migrate()?;
        match protocol::decode(message) {
            Some(protocol::Request::Call(call)) => self.reply(call, odd).await,
            Some(protocol::Request::Rows(query)) => {
                reply(message::encode(&journal::rows(&self.store.sql, query)?), None)
            }
            Some(protocol::Request::Keys(query)) => {
                let now = self.store.now()?;
                let entries = keys::entries(&self.store.sql, &query, &self.replays, now)?;
                reply(message::encode(&entries), None)
            }
            None => Ok(Response::empty()?.with_status(UNKNOWN_MESSAGE)),
        }
    }

    async fn reply(&self, call: ShardCall, odd: &web_sys::Headers) -> Result<Response> {
        panic::point("object");
        let (reply, due_at) = self.carry_out(call, odd)?;
        if due_at.is_some_and(|due_at| due_at.as_u64() < self.alarm_at.get()) {
            self.set_alarm().await?;
        }
        Ok(reply)
    }

    /// Handles the records that are due, and sets the next alarm.
    async fn sweep(&self) -> Result<()> {
        panic::point("alarm");
        self.alarm_at.set(u64::MAX);
        self.store.migrate()?;
        let now = self.store.now()?;
        for Due { name, whose, bytes } in self.store.due(now)? {
            let Ok(record) = Record::decode(&bytes) else {
                self.store.keep_for_good(name)?;
                continue;
            };
            if record.has_odd_headers() {
                self.odd_headers.delete(&name);
            }
            let Step { next, change, .. } = lifecycle::expire(record, now);
            let by = RequestedBy::default();
            let entry = change.map(|change| JournalEntry::new(change, by, now));
            self.store.write(&name, whose, next, entry, now)?;
        }
        self.store.sweep_journal(now)?;
        self.set_alarm().await
    }

    /// Sets the alarm for the record or row that is due first.
    async fn set_alarm(&self) -> Result<()> {
        let Some(due_at) = self.store.first_due()? else {
            return Ok(());
        };
        let date = worker::js_sys::Date::new(&(due_at as f64).into());
        self.state.storage().set_alarm(ScheduledTime::new(date)).await?;
        self.alarm_at.set(due_at);
        Ok(())
    }

    /// Reads the record, decides, and writes. Returns the reply, and when the written record is due.
    fn carry_out(
        &self,
        call: ShardCall,
        odd: &web_sys::Headers,
    ) -> Result<(Response, Option<UnixMillis>)> {
        let refuse = |status| Ok((Response::empty()?.with_status(status), None));
        let ShardCall { name, operation, context } = call;
        let name = name.as_bytes();
        let record = match self.store.read(name)?.transpose() {
            Ok(record) => record,
            Err(error) => {
                worker::console_error!("record unreadable: {error}");
                return refuse(UNREADABLE);
            }
        };
        let now = self.store.now()?;
        let had_odd = record.as_ref().is_some_and(Record::has_odd_headers);
        let odd_before = had_odd.then(|| self.odd_headers.get(name)).flatten();
        let is_completing = matches!(operation, AnyOperation::Complete(_));
        let operator = matches!(operation, AnyOperation::Settle(Settle { by_operator: true, .. }));
        let (bytes, next, change) = self.decide(name, operation, record, now);
        let has_odd = matches!(&next, Next::Write(record) if record.has_odd_headers());
        let drops_odd = had_odd && !has_odd && next != Next::Keep;
        let due_at = match &next {
            Next::Write(record) => record.due_at(),
            Next::Keep | Next::Remove => None,
        };
        let CallContext { whose, request_id, attempt } = context;
        let by = RequestedBy { attempt, request_id: Some(&request_id), operator };
        let entry = change.map(|change| JournalEntry::new(change, by, now));
        if let Err(error) = self.store.write(name, WhoseColumns::new(whose), next, entry, now) {
            worker::console_error!("record not written: {error}");
            return refuse(NOT_STORED);
        }
        if is_completing && has_odd {
            self.odd_headers.put(name, odd);
        } else if drops_odd {
            self.odd_headers.delete(name);
        }
        Ok((reply(bytes, odd_before)?, due_at))
    }

    /// Lets the core decide on a call. Returns the bytes of the reply, the next record and the change.
    fn decide(
        &self,
        name: &[u8],
        operation: AnyOperation,
        record: Option<Record>,
        now: UnixMillis,
    ) -> (Vec<u8>, Next, Option<Change>) {
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
            AnyOperation::Renew(Renew(token)) => {
                decided::<Renew>(lifecycle::renew(record, token, now))
            }
            AnyOperation::Complete(Complete(token, response)) => {
                decided::<Complete>(lifecycle::complete(record, token, response, now))
            }
            AnyOperation::Fail(Fail(token, cause)) => {
                decided::<Fail>(lifecycle::fail(record, token, cause, now))
            }
            AnyOperation::Void(Void { minted_at, policy }) => {
                decided::<Void>(lifecycle::void(record, minted_at, &policy, now))
            }
            AnyOperation::Settle(Settle { settlement, .. }) => {
                decided::<Settle>(lifecycle::settle(record, settlement, now))
            }
            AnyOperation::Peek(Peek(fingerprints)) => {
                decided::<Peek>(lifecycle::peek(record, &fingerprints, now))
            }
            AnyOperation::GetStatus(GetStatus) => {
                let status = record.and_then(|record| record.status(now));
                decided::<GetStatus>(Step { decision: (), status, next: Next::Keep, change: None })
            }
        }
    }
}

/// Builds a reply with headers that are not UTF-8.
fn reply(bytes: Vec<u8>, odd: Option<web_sys::Headers>) -> Result<Response> {
    let length = bytes.len();
    let mut response = Response::from_bytes(bytes)?;
    let has_odd = odd.is_some();
    if let Some(odd) = odd {
        // Headers that come out of the storage cannot be changed, and a copy can.
        response = response.with_headers(Headers(web_sys::Headers::new_with_headers(&odd)?));
    }
    if length as u64 > SMALL || has_odd {
        response.headers_mut().set(LENGTH, &length.to_string())?;
    }
    Ok(response)
}

/// Encodes a decision of the lifecycle.
fn decided<O: Operation>(step: Step<O::Decision>) -> (Vec<u8>, Next, Option<Change>) {
    let reply: Decided<O::Decision> = (step.decision, step.status);
    (message::encode(&reply), step.next, step.change)
}
