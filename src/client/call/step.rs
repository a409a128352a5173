//! What a call returns to the shell.

use crate::client::intent::{Entry, IntentState};
use crate::client::retry::{Outcome, Stop, UnknownReason};
use crate::key::IdempotencyKey;
use crate::time::Millis;

/// The headers of a response that [`classify`](crate::client::retry::classify) does not read, as
/// `Headers.get` returns them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hints<'a> {
    /// `Idempotency-State`.
    pub state: Option<&'a str>,
    /// `Idempotency-Expires`.
    pub expires: Option<&'a str>,
    /// `Retry-After`.
    pub retry_after: Option<&'a str>,
    /// `Date`.
    pub date: Option<&'a str>,
}

/// What the shell stores, and what it does then.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallStep {
    /// The entry to store before anything else is done. `None` keeps the stored entry.
    pub write: Option<Entry>,
    /// What to do.
    pub command: Command,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Send a request with this key.
    Send {
        /// The key.
        key: IdempotencyKey,
        /// The number of the attempt.
        attempt: u32,
        /// How long the attempt may take, including the body of the response.
        timeout: Millis,
        /// Which request.
        request: SentRequest,
        /// Whether the intent had another key before.
        rotated: bool,
    },
    /// Do nothing for this long.
    Wait {
        /// The length of the wait.
        after: Millis,
        /// Why the shell waits.
        why: WaitReason,
    },
    /// Ask the server for the state of this key.
    AskState {
        /// The key.
        key: IdempotencyKey,
    },
    /// Ask the server to void this key.
    Void {
        /// The key.
        key: IdempotencyKey,
    },
    /// Ask the caller to look up the outcome of the intent by other means.
    LookUp,
    /// The call is over.
    End(End),
}

/// Which request the shell sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SentRequest {
    /// The call's own request.
    Own,
    /// The request in memory ([`CallInput::in_memory`](super::CallInput::in_memory)), whose outcome
    /// has to be known first.
    Earlier,
}

/// Why the shell waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitReason {
    /// Until the next attempt.
    Retry,
    /// Until an attempt that is in progress has ended.
    InProgress,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The caller gets the last response: Succeeded, Refused, or NotExecuted.
    Response(Outcome),
    /// The outcome is unknown.
    Unknown {
        /// Why the last attempt settled nothing. `None` if nothing was sent.
        reason: Option<UnknownReason>,
        /// Why no further attempt is made.
        why: EndReason,
    },
    /// The intent has succeeded with another payload.
    PayloadChanged {
        /// The status of the response.
        http_status: u16,
    },
    /// The payload changed while an earlier request is still unresolved.
    NotResolved,
    /// The intent has succeeded, but the server no longer has its response.
    ResponseGone {
        /// The status of the response.
        http_status: u16,
    },
    /// The key belongs to another request.
    KeyReused,
    /// The key was voided.
    KeyVoided,
    /// The state that is known now. `None` if nothing is stored.
    Status(Option<IntentState>),
}

/// Why a call ends although the outcome is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndReason {
    /// The rules of [`next`](crate::client::retry::next) stop the retries.
    Stopped(Stop),
    /// The server may have forgotten the key.
    TooOld,
    /// What is stored cannot be read.
    Unreadable,
    /// The intent was forgotten, or got another key elsewhere.
    Overtaken,
}

impl CallStep {
    /// Returns the step with `write`, unless the step has something newer to write.
    pub(super) fn after(mut self, write: Option<Entry>) -> Self {
        self.write = self.write.or(write);
        self
    }
}

/// Returns the last step of a call.
pub(super) fn end(end: End) -> CallStep {
    CallStep { write: None, command: Command::End(end) }
}

/// Ends the call: the shell reported an event that the call does not wait for.
pub(super) fn out_of_turn() -> CallStep {
    end(End::Unknown { reason: None, why: EndReason::Overtaken })
}
