//! The gateway's side of a shard: calls that are asked again when they fail.
//!
//! Each call may be repeated: the token makes the same attempt get the same answer, so a reply that
//! was lost is asked for again instead of guessed.

use crate::http::body_budget::Reservation;
use crate::http::context::Caller;
use crate::metrics::{self, Measure};
use crate::shard::protocol::{Call, Operation, Reply, Told, VERSION};
use futures_util::future::{Either, select};
use oncekey::{Decision, Millis, Scope, ScopedKey};
use platform::clock;
use platform::durable_object::Object;
use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;
use worker::{Env, web_sys};

/// The binding of the shards' namespace, and the version of the layout that spreads keys over them.
const BINDING: &str = "SHARDS";
const LAYOUT: &str = "v1";

/// The shard that has the authority over one key.
pub(crate) struct Authority {
    env: Env,
    pub(crate) name: ScopedKey,
    /// Calls through one stub arrive in the order in which they were made. A stub that failed may
    /// stay broken, so the next call takes a new one.
    stub: RefCell<Option<Rc<Object>>>,
    told: RefCell<Told>,
    /// Headers of the origin's answer that are no UTF-8, and those that came with the last reply.
    odd: RefCell<Option<web_sys::Headers>>,
    came: RefCell<Option<web_sys::Headers>>,
    measure: Option<Rc<Measure>>,
    /// Where the bytes of large replies are counted.
    room: Option<Rc<Reservation>>,
}

/// How long a caller waits: how often it asks, and how long each time.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    pub(crate) tries: u32,
    pub(crate) each: Millis,
    /// Between two tries, growing with their number.
    pub(crate) pause: Millis,
}

/// Why there is no reply.
#[derive(Debug)]
pub(crate) enum NoReply {
    /// The shard did not answer, or could not store.
    Unavailable,
    /// The reply holds a response that there is no room for.
    NoRoom,
}

impl Patience {
    /// For a caller who waits before anything was executed: `whole` in all.
    pub(crate) fn within(whole: Millis) -> Self {
        Self {
            tries: 3,
            each: Millis::new(whole.as_u64() / 3),
            pause: Millis::new((whole.as_u64() / 50).min(50)),
        }
    }

    /// For a caller whose request was executed: it should not wait for long, but its answer should
    /// not be lost either.
    pub(crate) fn with_answer_in_hand() -> Self {
        Self { tries: 4, each: Millis::new(4000), pause: Millis::new(150) }
    }

    /// For work that nobody waits for.
    pub(crate) fn in_background() -> Self {
        Self { tries: 6, each: Millis::new(4000), pause: Millis::new(400) }
    }
}

impl Authority {
    pub(crate) fn new(env: &Env, name: ScopedKey) -> Self {
        let (stub, told) = (RefCell::default(), RefCell::default());
        let (odd, came) = (RefCell::default(), RefCell::default());
        Self { env: env.clone(), name, stub, told, odd, came, measure: None, room: None }
    }

    /// What is completed from now on has these headers, as the platform has them.
    pub(crate) fn bring(&self, odd: Option<web_sys::Headers>) {
        self.odd.replace(odd);
    }

    /// The headers that are no UTF-8 of the answer that the last reply had, if it had any.
    pub(crate) fn came(&self) -> Option<web_sys::Headers> {
        self.came.borrow().clone()
    }

    /// Lets the journal know who calls, and the metrics how long it takes.
    pub(crate) fn for_caller(mut self, caller: &Caller, scope: &Scope, of: &str) -> Self {
        let (scope, of) = (scope.hex(), of.to_owned());
        let request_id = caller.request_id.clone();
        self.told = RefCell::new(Told { scope, of, request_id, ..Told::default() });
        self.measure = Some(Rc::clone(&caller.measure));
        self.room = Some(Rc::clone(&caller.room));
        self
    }

    /// The caller is an operator.
    pub(crate) fn for_operator(self, caller: &Caller) -> Self {
        let mut told = self.told.borrow_mut();
        told.by = "operator".to_owned();
        told.request_id = caller.request_id.clone();
        drop(told);
        self
    }

    /// Makes a call until it is answered. A reply that says that nothing was stored, or that the
    /// call is not known, is asked again too: the next try may meet the newer version.
    pub(crate) async fn call(
        &self,
        operation: Operation,
        patience: Patience,
    ) -> Result<Reply, NoReply> {
        let waits = !matches!(operation, Operation::Renew { .. });
        let began_at = clock::now();
        let reply = self.repeat(operation, patience).await;
        if let Some(measure) = self.measure.as_ref().filter(|_| waits) {
            measure.waited_for_object(clock::now().since(began_at));
        }
        // The authority numbers the attempts; what follows says which of them it is.
        if let Ok(Reply::Begun { decision: Decision::Execute(execution), .. }) = &reply {
            self.told.borrow_mut().attempt = execution.attempt.to_string();
        }
        reply
    }

    async fn repeat(&self, operation: Operation, patience: Patience) -> Result<Reply, NoReply> {
        // What an executed write brought about reaches its caller, whatever room there is.
        let is_end = matches!(operation, Operation::Complete { .. } | Operation::Fail { .. });
        let name = self.name.as_bytes().to_vec();
        let told = Some(self.told.borrow().encode());
        let call = Call { version: VERSION, name, operation, told };
        let Ok(bytes) = minicbor::to_vec(&call) else {
            return Err(NoReply::Unavailable);
        };
        let mut failure = "no answer in time, or nothing stored".to_owned();
        for number in 1..=patience.tries {
            let answer = pin!(self.try_once(&bytes, is_end));
            match select(answer, pin!(clock::sleep(patience.each))).await {
                Either::Left((Ok(Some(Reply::NotStored | Reply::UnknownCall)), _)) => {}
                Either::Left((Ok(Some(reply)), _)) => return Ok(reply),
                Either::Left((Ok(None), _)) => return Err(NoReply::NoRoom),
                Either::Left((Err(error), _)) => {
                    failure = error.to_string();
                    self.stub.take();
                }
                // It may still arrive; the stub is kept so that what follows arrives after it.
                Either::Right(_) => {}
            }
            if number < patience.tries {
                let pause = patience.pause.as_u64().saturating_mul(number.into());
                clock::sleep(Millis::new(pause)).await;
            }
        }
        worker::console_error!("shard {} unavailable: {failure}", self.name.shard());
        Err(NoReply::Unavailable)
    }

    /// Makes a call once. `None` for a reply that there is no room for, unless it is an `is_end`.
    async fn try_once(&self, bytes: &[u8], is_end: bool) -> worker::Result<Option<Reply>> {
        let sent_at = clock::now();
        let odd = self.odd.borrow().clone();
        let answered = self.stub()?.ask(bytes, odd.as_ref()).await?;
        let status = answered.status();
        let length = answered.length();
        if let (Some(room), Some(length)) = (&self.room, length) {
            if is_end {
                room.takes_in(length);
            } else if !room.fits_replay(length) {
                answered.discard();
                return Ok(None);
            }
        }
        self.came.replace(Some(answered.headers()));
        let bytes = answered.bytes().await?;
        metrics::object_answered(clock::now().since(sent_at));
        if status != 200 {
            return Err(format!("the shard answered {status}").into());
        }
        minicbor::decode(&bytes).map(Some).map_err(|error| error.to_string().into())
    }

    fn stub(&self) -> worker::Result<Rc<Object>> {
        let mut known = self.stub.borrow_mut();
        if let Some(stub) = known.as_ref() {
            return Ok(Rc::clone(stub));
        }
        let stub = Rc::new(shard(&self.env, self.name.shard())?);
        *known = Some(Rc::clone(&stub));
        Ok(stub)
    }
}

/// The object of a shard.
pub(crate) fn shard(env: &Env, number: u8) -> worker::Result<Object> {
    Object::named(env, BINDING, &[LAYOUT, "-", &number.to_string()].concat())
}
