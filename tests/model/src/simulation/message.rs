//! What goes from one to another, and what is about to happen.

use super::origin::AtOrigin;
use super::page::PageMoment;
use super::shard::{Letter, Reply};
use oncekey::write_flow::{Identity, OriginFailure};
use oncekey::{IdempotencyKey, KeyState, StoredResponse, UnixMillis};
use std::rc::Rc;

/// Something that is about to happen.
pub(super) enum Event {
    Ask(usize),
    GivesUp { caller: usize, number: u32 },
    KeyCall { caller: usize, kind: Kind },
    Arrive(Box<Request>),
    Hear(To, Rc<Said>),
    AtShard(Box<Letter>),
    Reply { call: u32, attempt: u8, reply: Option<Rc<Reply>> },
    TryIsOver { call: u32, attempt: u8 },
    TryAgain { call: u32, attempt: u8 },
    Slow { exchange: u32, step: u8 },
    Copied { exchange: u32, step: u8, bytes: Option<Rc<[u8]>> },
    CopyArrives { name: usize, bytes: Rc<[u8]>, left: u64 },
    AtOrigin(Box<AtOrigin>),
    Called { exchange: u32, step: u8, called: Box<Result<Came, OriginFailure>> },
    FoundOut { exchange: u32, step: u8, found: Option<Box<StoredResponse>> },
    Renew { exchange: u32 },
    Outlived { exchange: u32 },
    Alarm { shard: usize, number: u32 },
    Mischief,
    Mend { name: usize, bytes: Rc<[u8]> },
    Page(PageMoment),
    Rest(u8),
}

/// Who waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    Caller { caller: usize, number: u32 },
    Page(PageMoment),
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Write,
    State,
    Void,
}

/// A request on its way to a gateway.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) to: To,
    pub(super) kind: Kind,
    pub(super) tenant: u8,
    pub(super) key: Option<IdempotencyKey>,
    pub(super) content: u8,
    pub(super) identity: Identity,
    pub(super) gateway: usize,
}

/// An answer of the origin, as it reached a gateway.
#[derive(Clone, Debug)]
pub(super) struct Came {
    /// Which of all that the origin ever gave.
    pub(super) answer: usize,
    /// As it is kept.
    pub(super) stored: StoredResponse,
}

/// What a caller sees of an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    pub(super) status: u16,
    pub(super) code: Option<&'static str>,
    pub(super) state: Option<KeyState>,
    pub(super) expires: Option<UnixMillis>,
    pub(super) retry_after: Option<u32>,
    pub(super) replayed: bool,
    pub(super) not_stored: bool,
    pub(super) html: bool,
    /// It is what a redirect led to.
    pub(super) redirected: bool,
    pub(super) cut: bool,
    /// Which of the origin's answers it is.
    pub(super) answer: Option<usize>,
    /// What a key call tells.
    pub(super) report: Option<(Option<KeyState>, Option<u16>)>,
    /// There was none: the connection failed.
    pub(super) failed: bool,
}
