//! One call of a client, step by step: a submit with all its attempts, or the resolving of an
//! intent.
//!
//! A [`Call`] is a state machine that the shell drives. The shell reports each event; the call
//! returns what to store and what to do next:
//!
//! | the call asks the shell to | and the shell reports |
//! |---|---|
//! | [`Send`](Command::Send) a request | its result: [`Call::attempt_ended`] |
//! | [`Wait`](Command::Wait) | that the time is over: [`Call::waited`] |
//! | [`AskState`](Command::AskState), [`Void`](Command::Void), [`LookUp`](Command::LookUp) | what the server or the look-up returned: [`Call::report`] |
//! | [`End`](Command::End) | nothing more |
//!
//! With each report the shell passes a [`CallInput`] with what is stored now, and stores
//! [`CallStep::write`] before it does anything else. So two tabs change an entry one after the
//! other, and no request leaves before its key is stored.
//!
//! # The flow of a submit
//!
//! ```text
//! start ─┬─ Send ──► note_sending ──► (send) ──► classify, note_outcome ──► next ─┬─► Wait, send
//!        │                                                                        └─► End
//!        └─ ResolveFirst ──► first_step, after_report ──► … ──► start
//! ```
//!
//! A success after a redirect shows no proof. If the server has the key calls, the call asks for
//! the state of the key before it ends.
//!
//! The rules are in [`start`], [`note_outcome`], [`first_step`], [`classify`] and [`next`]. This
//! folder only calls them in order: `attempts.rs` for the attempts of a submit, `resolving.rs` for
//! the key calls and the look-up.
//!
//! [`start`]: crate::client::intent::start
//! [`note_outcome`]: crate::client::intent::note_outcome
//! [`first_step`]: crate::client::intent::first_step
//! [`classify`]: crate::client::retry::classify
//! [`next`]: crate::client::retry::next

mod attempts;
mod resolving;
mod step;

pub use step::{CallStep, Command, End, EndReason, Hints, SentRequest, WaitReason};

use super::credential::{Credential, KeyCallCredential};
use super::entry::{Entry, Stored};
use super::payload::Payload;
use super::resolve::KeyCall;
use crate::client::retry::{RetryPolicy, UnknownReason};
use crate::key::IdempotencyKey;
use crate::time::{Millis, UnixMillis};
use step::{end, out_of_turn};

/// A call in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    goal: Goal,
    /// The credential of the call's own request.
    credential: Option<Credential>,
    settings: CallSettings,
    phase: Phase,
    /// The key that the server offered for the intent, if it did.
    offered: Option<IdempotencyKey>,
    /// How many retries were used up.
    retries: u32,
    /// When the call began, by the monotonic clock.
    began: Option<Millis>,
    looked_up: bool,
}

/// The purpose of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Goal {
    /// Sends a request until its outcome is known.
    Submit {
        /// The request.
        payload: Payload,
        /// The key that the caller chose, if it did.
        own_key: Option<IdempotencyKey>,
        /// Since when this call waited for another sender of the intent, if it did.
        waited_since: Option<UnixMillis>,
    },
    /// Resolves the outcome of the intent. Sends nothing that changes it.
    Resolve {
        /// Whether the caller can look up the outcome by other means.
        look_up: bool,
    },
    /// Abandons the intent if nothing was executed.
    Abandon,
}

/// The settings of a whole call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallSettings {
    /// How often and how long to retry.
    pub retry: RetryPolicy,
    /// How long the server keeps responses.
    pub retention: Millis,
    /// Whether the server offers the key calls.
    pub key_calls: bool,
    /// See [`Context::sends_proof`](crate::client::retry::Context::sends_proof).
    pub sends_proof: bool,
    /// See [`Context::final_statuses`](crate::client::retry::Context::final_statuses).
    pub final_statuses: Vec<u16>,
    /// See [`Context::expects`](crate::client::retry::Context::expects).
    pub expects: String,
}

/// What the shell passes with each event: the store, the clocks and the random bits of now.
#[derive(Clone, Debug)]
pub struct CallInput {
    /// What the store holds for the intent.
    pub stored: Stored,
    /// The current time by the client's clock.
    pub now: UnixMillis,
    /// The time by a monotonic clock (`performance.now`). Only differences count.
    pub ticks: Millis,
    /// 16 bytes from a cryptographic source.
    pub random: [u8; 16],
    /// The key whose request is still in memory and can be sent again.
    pub in_memory: Option<IdempotencyKey>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Sent {
        entry: Entry,
        request: SentRequest,
    },
    Pausing {
        key: IdempotencyKey,
        request: SentRequest,
        reason: Option<UnknownReason>,
    },
    Asking {
        key: IdempotencyKey,
        key_call: KeyCall,
    },
    PausingToAsk {
        key: IdempotencyKey,
    },
    /// The response came after a redirect. The state of the key shows whether the redirect was the
    /// key's response.
    Confirming {
        sent: Entry,
    },
    LookingUp {
        key: Option<IdempotencyKey>,
        attempts: u32,
    },
}

impl Call {
    /// Returns a call that has not begun.
    pub fn new(goal: Goal, settings: CallSettings) -> Self {
        Self {
            goal,
            credential: None,
            settings,
            phase: Phase::Idle,
            offered: None,
            retries: 0,
            began: None,
            looked_up: false,
        }
    }

    /// Returns the same call with a key that the server offered in its form. The call uses this key
    /// instead of minting one.
    #[must_use]
    pub fn offering(mut self, key: IdempotencyKey) -> Self {
        self.offered = Some(key);
        self
    }

    /// Returns the same call with the credential of its own request.
    #[must_use]
    pub fn under(self, credential: Credential) -> Self {
        Self { credential: Some(credential), ..self }
    }

    /// Returns the credential that the current key call must have. `source` contains the headers that
    /// are available.
    pub fn key_call(&self, source: &Credential, stored: &Stored) -> KeyCallCredential {
        match (&self.phase, stored) {
            (
                Phase::Asking { key, .. } | Phase::Confirming { sent: Entry { key, .. } },
                Stored::Entry(entry),
            ) if entry.key == *key => entry.sent_by.key_call(key, source),
            _ => KeyCallCredential::Caller(source.names()),
        }
    }

    /// Starts the call. Before a submit, the caller must be the only sender of the intent.
    pub fn begin(&mut self, input: &CallInput) -> CallStep {
        self.began.get_or_insert(input.ticks);
        match (&self.goal, &input.stored) {
            (Goal::Submit { .. }, stored) => self.start(stored, input),
            (_, Stored::Nothing) => end(End::Status(None)),
            (_, Stored::Unreadable(_)) => self.still_unknown(&input.stored),
            (_, Stored::Entry(entry)) => self.resolve(entry, input),
        }
    }

    /// Continues after the wait.
    pub fn waited(&mut self, input: &CallInput) -> CallStep {
        match self.take_phase() {
            Phase::Pausing { key, request, reason } => {
                self.send_again(&key, request, reason, input)
            }
            Phase::PausingToAsk { key } => self.ask(key, KeyCall::State),
            _ => out_of_turn(),
        }
    }

    fn take_phase(&mut self) -> Phase {
        core::mem::replace(&mut self.phase, Phase::Idle)
    }
}
