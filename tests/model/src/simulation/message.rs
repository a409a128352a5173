//! The messages between the actors, and the events in the queue.

use super::origin::AtOrigin;
use super::page::PageInput;
use super::shard::{Reply, ShardMessage};
use oncekey::write_flow::{Identity, OriginFailure};
use oncekey::{IdempotencyKey, KeyState, StoredResponse, UnixMillis};
use std::rc::Rc;

/// An event that is about to happen.
pub(super) enum Event {
    Send(usize),
    GivesUp { caller: usize, number: u32 },
    KeyCall { caller: usize, endpoint: Endpoint },
    Arrive(Box<Request>),
    Response(To, Rc<SeenResponse>),
    AtShard(Box<ShardMessage>),
    Reply { call: u32, attempt: u8, reply: Option<Rc<Reply>> },
    TryIsOver { call: u32, attempt: u8 },
    TryAgain { call: u32, attempt: u8 },
    Slow { flow: u32, step: u8 },
    Copied { flow: u32, step: u8, bytes: Option<Rc<[u8]>> },
    CopyArrives { name: usize, bytes: Rc<[u8]>, left: u64 },
    AtOrigin(Box<AtOrigin>),
    Called { flow: u32, step: u8, called: Box<Result<OriginResponse, OriginFailure>> },
    LookedUp { flow: u32, step: u8, found: Option<Box<StoredResponse>> },
    Renew { flow: u32 },
    PlatformEnds { flow: u32 },
    Alarm { shard: usize, number: u32 },
    RandomFault,
    Repair { name: usize, bytes: Rc<[u8]> },
    Page(PageInput),
    Rest(u8),
}

/// The receiver of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    Caller { caller: usize, number: u32 },
    Page(PageInput),
}

/// The endpoint of a request: the API, or one of the key calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Write,
    State,
    Void,
}

/// A request on its way to a gateway.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) to: To,
    pub(super) endpoint: Endpoint,
    pub(super) tenant: u8,
    pub(super) key: Option<IdempotencyKey>,
    pub(super) content: u8,
    pub(super) identity: Identity,
    pub(super) gateway: usize,
}

/// A response of the origin, as it reached a gateway.
#[derive(Clone, Debug)]
pub(super) struct OriginResponse {
    /// The number of the response among all responses of the origin.
    pub(super) response: usize,
    /// The response in its stored form.
    pub(super) stored: StoredResponse,
}

/// The parts of a response that a caller sees.
#[derive(Clone, Debug, Default)]
pub(super) struct SeenResponse {
    pub(super) status: u16,
    pub(super) code: Option<&'static str>,
    pub(super) state: Option<KeyState>,
    pub(super) expires: Option<UnixMillis>,
    pub(super) retry_after: Option<u32>,
    pub(super) replayed: bool,
    pub(super) not_stored: bool,
    pub(super) html: bool,
    /// Whether the response came from the target of a redirect.
    pub(super) redirected: bool,
    pub(super) cut: bool,
    /// The number of the origin's response.
    pub(super) from_origin: Option<usize>,
    /// The state and the status that a key call reports.
    pub(super) report: Option<(Option<KeyState>, Option<u16>)>,
    /// Whether the connection failed, so that there was no response.
    pub(super) failed: bool,
}
