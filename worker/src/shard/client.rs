//! The gateway's side of a shard: calls that are sent again until there is a reply.
//!
//! Each call is safe to repeat, because repeated calls with the same token get the same reply. So after
//! a lost reply the gateway sends the call again.

use crate::http::body_budget::Reservation;
use crate::http::bridge::Bridge;
use crate::http::context::Caller;
use crate::shard::protocol::{
    self, AnyOperation, CallContext, Decided, Query, Request, ShardCall, UNREADABLE, Whose,
};
use futures_util::future::LocalBoxFuture;
use oncekey::budget::SMALL;
use oncekey::codec::message;
use oncekey::{Millis, Rejection, ScopedKey};
use platform::clock;
use platform::operation::{FAILED, LATE, Operation, Reply};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::JsCast;

/// The version of the layout that spreads keys over the shards.
const LAYOUT: &str = "v1";

/// How many shards an operator's call asks at the same time.
pub(crate) const AT_ONCE: usize = 16;

/// The limit of an operator's question: the longest that a timer of the platform can wait.
const NO_LIMIT: Millis = Millis::new(i32::MAX as u64);

/// A client of the shard that holds one record.
pub(crate) struct ShardClient {
    bridge: Rc<Bridge>,
    pub(crate) name: ScopedKey,
    whose: Option<Whose>,
    request_id: String,
    /// The number of the attempt, once the record has given it one.
    pub(crate) attempt: Cell<Option<u32>>,
    /// Headers that are not UTF-8: those of the origin's response, which go with the calls, and those
    /// of the last reply.
    pub(crate) odd_sent: RefCell<Option<web_sys::Headers>>,
    pub(crate) odd_received: RefCell<Option<web_sys::Headers>>,
    /// Where the bytes of large replies are counted.
    room: Rc<Reservation>,
}

/// How long a caller waits: how often it tries, and how long each time.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    tries: u32,
    each: Millis,
    /// The pause between two tries, which grows with their number.
    pause: Millis,
    /// Whether the write was executed. If so, its response reaches the caller even if memory is short.
    has_executed: bool,
}

/// Why there is no reply.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NoReply {
    /// The shard did not reply, could not store the change, or does not know the message.
    Unavailable,
    /// The stored record cannot be read.
    Unreadable,
    /// There is no room for the response in the reply.
    NoRoom,
}

impl From<NoReply> for Rejection {
    fn from(why: NoReply) -> Self {
        match why {
            NoReply::Unavailable => Self::StoreUnavailable,
            NoReply::Unreadable => Self::RecordUnreadable,
            NoReply::NoRoom => Self::Overloaded,
        }
    }
}

impl Patience {
    /// Returns the patience of a caller that waits before anything was executed, for at most `whole`.
    pub(crate) fn within(whole: Millis) -> Self {
        let pause = Millis::new((whole.as_u64() / 50).min(50));
        Self { tries: 3, each: Millis::new(whole.as_u64() / 3), pause, has_executed: false }
    }

    /// Returns the patience of a caller whose request was executed. The caller should not wait long, and
    /// its response should not be lost.
    pub(crate) fn after_execution() -> Self {
        let (each, pause) = (Millis::new(4000), Millis::new(150));
        Self { tries: 4, each, pause, has_executed: true }
    }

    /// Returns the patience of work that no caller waits for.
    pub(crate) fn in_background() -> Self {
        Self { tries: 6, pause: Millis::new(400), ..Self::after_execution() }
    }
}

impl ShardClient {
    pub(crate) fn new(caller: &Caller, name: ScopedKey, whose: Option<Whose>) -> Self {
        Self {
            bridge: Rc::clone(&caller.bridge),
            name,
            whose,
            request_id: caller.request_id.clone(),
            attempt: Cell::default(),
            odd_sent: RefCell::default(),
            odd_received: RefCell::default(),
            room: Rc::clone(&caller.room),
        }
    }

    /// Makes a call until there is a reply.
    pub(crate) async fn call<O: protocol::Operation>(
        &self,
        operation: O,
        patience: Patience,
    ) -> std::result::Result<Decided<O::Decision>, NoReply> {
        let reply = self.send(operation.into(), patience).await?;
        message::decode(&reply).map_err(|_| NoReply::Unavailable)
    }

    /// Sends a call until there is a reply. The future is in a box, because each kind of call would contain its code
    /// once more.
    fn send(
        &self,
        operation: AnyOperation,
        patience: Patience,
    ) -> LocalBoxFuture<'_, std::result::Result<Vec<u8>, NoReply>> {
        let (whose, request_id) = (self.whose, self.request_id.clone());
        let context = CallContext { whose, request_id, attempt: self.attempt.get() };
        let call = ShardCall { name: self.name, operation, context };
        Box::pin(self.repeat(protocol::encode(Request::Call(call)), patience))
    }

    /// Sends a message until there is a reply. It is also sent again if nothing was stored or the shard
    /// does not know the message, because the next try may reach a newer version.
    async fn repeat(
        &self,
        message: Vec<u8>,
        patience: Patience,
    ) -> std::result::Result<Vec<u8>, NoReply> {
        let mut failure = "no reply in time, or nothing stored".to_owned();
        for number in 1..=patience.tries {
            match self.try_once(&message, patience).await {
                Ok(reply) => return reply,
                Err(NoTry(Some(error))) => failure = error,
                Err(NoTry(None)) => {}
            }
            if number < patience.tries {
                let pause = patience.pause.as_u64().saturating_mul(number.into());
                clock::sleep(Millis::new(pause)).await;
            }
        }
        platform::console_error!("shard {} unavailable: {failure}", self.name.shard());
        Err(NoReply::Unavailable)
    }

    async fn try_once(
        &self,
        message: &[u8],
        patience: Patience,
    ) -> std::result::Result<std::result::Result<Vec<u8>, NoReply>, NoTry> {
        let until = clock::now().plus(patience.each);
        let odd = self.odd_sent.borrow().clone();
        let name = shard_name(self.name.shard());
        let mut reply = self.bridge.shard(&name, message, odd.as_ref(), patience.each).await;
        let status = reply.status;
        if reply.object.is_object() {
            let length = reply.text.parse().unwrap_or(0);
            let response: web_sys::Response = reply.object.unchecked_into();
            if length <= SMALL {
                // It is in memory already.
            } else if patience.has_executed {
                self.room.takes_in(length);
            } else if !self.room.fits_replay(length) {
                let _ = response.body().map(|body| body.cancel());
                return Ok(Err(NoReply::NoRoom));
            }
            self.odd_received.replace(Some(response.headers()));
            let left = until.since(clock::now());
            reply = self.bridge.read_reply(&response, left).await;
        }
        match (reply.status, status) {
            // The reply may still arrive, and later calls arrive after it.
            (LATE, _) => Err(NoTry(None)),
            (FAILED, _) => Err(NoTry(Some(reply.text))),
            (_, 200) => Ok(Ok(reply.bytes.unwrap_or_default())),
            (_, UNREADABLE) => Ok(Err(NoReply::Unreadable)),
            _ => Err(NoTry(None)),
        }
    }
}

/// A call that may be made again, and the platform's error if there is one.
struct NoTry(Option<String>);

/// Asks several shards at the same time, each once and without a time limit. Each question comes with the
/// number of its shard. Returns the entries of each shard, in the order of the questions.
pub(crate) async fn ask<Q: Query>(
    bridge: &Bridge,
    questions: impl IntoIterator<Item = (u8, Q)>,
) -> std::result::Result<Vec<Vec<Q::Entry>>, Rejection> {
    let start = |(number, question): (u8, Q)| {
        let message = protocol::encode(question.into());
        bridge.shard(&shard_name(number), &message, None, NO_LIMIT)
    };
    let asked: Vec<Operation> = questions.into_iter().map(start).collect();
    let replies: LocalBoxFuture<'_, _> = Box::pin(replies(bridge, asked));
    let read =
        |reply: Vec<u8>| message::decode(&reply).map_err(|_| "the reply cannot be read".to_owned());
    let entries = replies.await.and_then(|replies| replies.into_iter().map(read).collect());
    entries.map_err(|error| {
        platform::console_error!("question to a shard: {error}");
        Rejection::StoreUnavailable
    })
}

/// Returns the bytes of each reply. The operations are in progress together, so the order of waiting costs no time.
async fn replies(
    bridge: &Bridge,
    asked: Vec<Operation>,
) -> std::result::Result<Vec<Vec<u8>>, String> {
    let mut bodies = Vec::new();
    for operation in asked {
        let reply = operation.await;
        let status = reply.status;
        let body = match reply.object.is_object() {
            true => Body::Comes(bridge.read_reply(&reply.object.unchecked_into(), NO_LIMIT)),
            false => Body::Came(reply),
        };
        bodies.push((status, body));
    }
    let mut replies = Vec::new();
    for (status, body) in bodies {
        let reply = match body {
            Body::Came(reply) => reply,
            Body::Comes(operation) => operation.await,
        };
        match (reply.status, status) {
            (FAILED, _) => return Err(reply.text),
            (_, 200) => replies.push(reply.bytes.unwrap_or_default()),
            _ => return Err(format!("the shard responded with status {status}")),
        }
    }
    Ok(replies)
}

/// The body of a reply, which has come with it, or is read.
enum Body {
    Came(Reply),
    Comes(Operation),
}

fn shard_name(number: u8) -> String {
    [LAYOUT, "-", &number.to_string()].concat()
}
