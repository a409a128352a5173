//! What a call is told, and what it says.

use crate::client::intent::{Entry, State};
use crate::client::retry::{Doubt, Outcome, Stop};
use crate::key::IdempotencyKey;
use crate::time::Millis;

/// What an answer's head says besides what [`classify`](crate::client::retry::classify) reads. Values as `Headers.get` gives them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said<'a> {
    /// `Idempotency-State`.
    pub state: Option<&'a str>,
    /// `Idempotency-Expires`.
    pub expires: Option<&'a str>,
    /// `Retry-After`.
    pub retry_after: Option<&'a str>,
    /// `Date`.
    pub date: Option<&'a str>,
}

/// What to store, and then to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// To be stored before anything else is done; `None`: what is stored stays.
    pub write: Option<Entry>,
    /// What to do.
    pub command: Command,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Send a request with this key.
    Send {
        /// Its key.
        key: IdempotencyKey,
        /// The number of the attempt.
        attempt: u32,
        /// How long it may take, its answer's body included.
        timeout: Millis,
        /// Which request.
        request: Which,
        /// Whether the intent had another key before.
        rotated: bool,
    },
    /// Do nothing for this long.
    Wait {
        /// How long.
        after: Millis,
        /// What for.
        why: Waiting,
    },
    /// Ask the server how this key stands.
    AskState {
        /// The key.
        key: IdempotencyKey,
    },
    /// Ask the server to void this key.
    Void {
        /// The key.
        key: IdempotencyKey,
    },
    /// Let the caller look up what became of the intent.
    LookUp,
    /// The call is over.
    End(End),
}

/// Which request is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Which {
    /// The call's own.
    Own,
    /// The one in memory ([`Moment::in_memory`](super::Moment::in_memory)), whose outcome has to be known first.
    Earlier,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waiting {
    /// The next attempt.
    ToRetry,
    /// The end of an attempt that is in progress.
    ForAnswer,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The last answer is the caller's: Succeeded, Refused, or NotExecuted.
    Answered(Outcome),
    /// The outcome is not known.
    Unknown {
        /// What the last attempt left in doubt; `None` when nothing was sent.
        doubt: Option<Doubt>,
        /// Why no further attempt is made.
        why: Ended,
    },
    /// The intent has succeeded with another payload.
    PayloadChanged {
        /// The status of its answer.
        http_status: u16,
    },
    /// The payload was changed while the outcome of the earlier one is unknown, and it could not be
    /// found out.
    NotResolved,
    /// The intent has succeeded; its answer cannot be had again.
    AnswerGone {
        /// The status of its answer.
        http_status: u16,
    },
    /// The key belongs to another request.
    KeyReused,
    /// The key was given up.
    KeyVoided,
    /// What is known by now; `None` where nothing is stored.
    Found(Option<State>),
}

/// Why a call whose outcome is unknown is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ended {
    /// By the rules of [`next`](crate::client::retry::next).
    Stopped(Stop),
    /// The server may have forgotten the key.
    TooOld,
    /// What is stored cannot be read.
    Unreadable,
    /// The intent was forgotten, or got another key elsewhere.
    Overtaken,
}
