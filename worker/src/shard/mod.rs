//! A shard: a Durable Object that holds records in SQLite.
//!
//! Each call reads a record, lets the core decide, and writes the result, in one call from JavaScript
//! (`worker/entry.mjs`). An object runs nothing else meanwhile, so no lock is needed. The platform holds
//! the reply back until the write is durable (the output gate).

pub(crate) mod client;
mod columns;
mod journal;
mod keys;
mod odd_headers;
pub(crate) mod protocol;
mod replay_counts;
mod store;
mod sweep;
mod tables;

use crate::config;
use columns::WhoseColumns;
use odd_headers::OddHeaders;
use oncekey::budget::SMALL;
use oncekey::codec::message;
use oncekey::journal::{JournalEntry, RequestedBy};
use oncekey::{
    Attempt, Decision, KeyChange, Record, RecordUpdate, Transition, UnixMillis, lifecycle,
};
use platform::panic;
use platform::sql::Result;
use protocol::{
    AnyOperation, Begin, CallContext, Complete, CompleteAs, Decided, Fail, GetStatus, NOT_STORED,
    Operation, Peek, Renew, Settle, ShardCall, UNKNOWN_MESSAGE, UNREADABLE, Void,
};
use replay_counts::Replays;
use std::cell::RefCell;
use store::Store;
use sweep::Sweep;
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};
use web_sys::Headers;

/// One of the 256 shards: what JavaScript keeps of it in an instance of the wasm.
#[wasm_bindgen]
pub struct Shard {
    store: Store,
    odd_headers: OddHeaders,
    replays: Replays,
    sweep: Sweep,
    /// The headers of a reply, until JavaScript takes them.
    headers: RefCell<Option<Headers>>,
}

/// The status of a reply to a call that failed, and that can be repeated.
const FAILED: u16 = 500;

/// What JavaScript does with a reply: it adds the headers that [`Shard::take_headers`] returns. For either
/// bit, it also adds the header that announces the length of the reply.
const WITH_HEADERS: u8 = 1;
const IS_LARGE: u8 = 2;

/// The bytes before the body of a reply.
const HEAD: usize = 11;

/// A reply.
#[derive(Default)]
struct Reply {
    status: u16,
    body: Vec<u8>,
    /// When the record that the call wrote is due.
    due_at: Option<UnixMillis>,
}

#[wasm_bindgen]
impl Shard {
    /// Makes the shard of an object, with the object's storage.
    #[wasm_bindgen(constructor)]
    pub fn new(storage: &JsValue, env: &JsValue, now: f64) -> Self {
        Self {
            store: Store::new(storage, config::journal_retention(env)),
            odd_headers: OddHeaders::of(storage),
            replays: Replays::since(UnixMillis::new(now as u64)),
            sweep: Sweep::default(),
            headers: RefCell::default(),
        }
    }

    /// Carries out a message. `odd` are the headers of the request, and `alarm_at` is the time of the
    /// object's alarm, or 0 if there is none.
    ///
    /// Returns one byte that says what JavaScript adds to the reply, the status in two bytes, the time of an
    /// alarm to set, or 0, as a double, and the body. Numbers are little-endian.
    pub fn serve(&self, message: &[u8], odd: &Headers, now: f64, alarm_at: f64) -> Vec<u8> {
        let reply = self.reply(message, odd, UnixMillis::new(now as u64));
        let Reply { status, body, due_at } = reply.unwrap_or_else(|error| {
            platform::console_error!("object: {error}");
            Reply { status: FAILED, ..Reply::default() }
        });
        let mut adds = 0;
        if self.headers.borrow().is_some() {
            adds |= WITH_HEADERS;
        }
        if body.len() as u64 > SMALL {
            adds |= IS_LARGE;
        }
        let is_new = |due_at: &UnixMillis| {
            !self.sweep.notes(*due_at) && (alarm_at == 0.0 || (due_at.as_u64() as f64) < alarm_at)
        };
        let alarm = due_at.filter(is_new).map_or(0.0, |due_at| due_at.as_u64() as f64);
        let mut bytes = Vec::with_capacity(HEAD + body.len());
        bytes.push(adds);
        bytes.extend(status.to_le_bytes());
        bytes.extend(alarm.to_le_bytes());
        bytes.extend(body);
        bytes
    }

    /// Returns the headers of the last reply, whose values are no text.
    #[wasm_bindgen(js_name = takeHeaders)]
    pub fn take_headers(&self) -> Option<Headers> {
        self.headers.take()
    }

    /// Handles records that are due, when the alarm rings. Returns the time of the next alarm, or 0, or NaN
    /// if it failed and has to be repeated.
    pub fn alarm(&self, now: f64) -> f64 {
        panic::point("alarm");
        let now = UnixMillis::new(now as u64);
        let next =
            self.store.wake().and_then(|()| self.sweep.go_on(&self.store, &self.odd_headers, now));
        match next {
            Ok(at) => at.map_or(0.0, |at| at as f64),
            Err(error) => {
                platform::console_error!("alarm: {error}");
                f64::NAN
            }
        }
    }
}

impl Shard {
    fn reply(&self, message: &[u8], odd: &Headers, now: UnixMillis) -> Result<Reply> {
        self.store.wake()?;
        let body = match protocol::decode(message) {
            None => return Ok(refusal(UNKNOWN_MESSAGE)),
            Some(protocol::Request::Call(call)) => {
                panic::point("object");
                return self.carry_out(call, odd, now);
            }
            Some(protocol::Request::Rows(query)) => {
                message::encode(&journal::rows(&self.store.sql, &query)?)
            }
            Some(protocol::Request::Keys(query)) => {
                let now = self.store.time(now, None);
                message::encode(&keys::entries(&self.store, &query, &self.replays, now)?)
            }
        };
        Ok(Reply { status: 200, body, due_at: None })
    }

    /// Reads the record, decides, and writes.
    fn carry_out(&self, call: ShardCall, odd: &Headers, clock: UnixMillis) -> Result<Reply> {
        let ShardCall { name, operation, context } = call;
        let name = name.as_bytes();
        let record = match self.store.read(name)?.transpose() {
            Ok(record) => record,
            Err(error) => {
                platform::console_error!("record unreadable: {error}");
                return Ok(refusal(UNREADABLE));
            }
        };
        let now = self.store.time(clock, record.as_ref());
        let had_odd = record.as_ref().is_some_and(Record::has_odd_headers);
        let odd_before = had_odd.then(|| self.odd_headers.get(name)).flatten();
        let is_completing =
            matches!(operation, AnyOperation::Complete(_) | AnyOperation::CompleteAs(_));
        let operator = matches!(operation, AnyOperation::Settle(Settle { by_operator: true, .. }));
        let (body, next, change) = self.decide(name, operation, record, now);
        let has_odd = matches!(&next, RecordUpdate::Write(record) if record.has_odd_headers());
        let drops_odd = had_odd && !has_odd && next != RecordUpdate::Keep;
        let CallContext { whose, request_id, attempt } = context;
        let by = RequestedBy { attempt, request_id: Some(&request_id), operator };
        let entry = change.map(|change| JournalEntry::new(change, by, now));
        let due_at = match self.store.write(name, &WhoseColumns::new(whose), next, entry, now) {
            Ok(due_at) => due_at,
            Err(error) => {
                platform::console_error!("record not written: {error}");
                return Ok(refusal(NOT_STORED));
            }
        };
        if is_completing && has_odd {
            self.odd_headers.put(name, odd);
        } else if drops_odd {
            self.odd_headers.delete(name);
        }
        self.headers.replace(odd_before);
        Ok(Reply { status: 200, body, due_at })
    }

    /// Lets the core decide on a call. Returns the bytes of the reply, the next record and the change.
    fn decide(
        &self,
        name: &[u8],
        operation: AnyOperation,
        record: Option<Record>,
        now: UnixMillis,
    ) -> (Vec<u8>, RecordUpdate, Option<KeyChange>) {
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
            AnyOperation::CompleteAs(CompleteAs(token, response, class)) => {
                decided::<CompleteAs>(lifecycle::complete_as(record, token, response, class, now))
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
                decided::<GetStatus>(Transition {
                    decision: (),
                    status,
                    next: RecordUpdate::Keep,
                    change: None,
                })
            }
        }
    }
}

/// Returns a reply without a body.
fn refusal(status: u16) -> Reply {
    Reply { status, ..Reply::default() }
}

/// Encodes a decision of the lifecycle.
fn decided<O: Operation>(
    step: Transition<O::Decision>,
) -> (Vec<u8>, RecordUpdate, Option<KeyChange>) {
    let reply: Decided<O::Decision> = (step.decision, step.status);
    (message::encode(&reply), step.next, step.change)
}
