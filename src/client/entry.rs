//! What is kept for an intent.

use super::credential::SentBy;
use super::payload::{Payload, Tag};
use crate::client::retry::Context;
use crate::key::IdempotencyKey;
use crate::policy::Policy;
use crate::record::KeyState;
use crate::time::{Millis, UnixMillis};
use core::fmt;

/// What is kept for an intent: never a body, nor anything of one but its tag.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The key.
    pub key: IdempotencyKey,
    /// Tells whether a payload is the one that the key was made for.
    pub tag: Tag,
    /// Where the intent stands.
    pub state: State,
    /// How many attempts were sent with the key.
    pub attempts: u32,
    /// Whether some attempt may have been executed. Sticky, like the server's.
    pub maybe_executed: bool,
    /// The key is the caller's own: it is never replaced by one of ours.
    pub own_key: bool,
    /// The server is known to send proof ([`Context::sends_proof`]). Sticky.
    pub sends_proof: bool,
    /// Under which credential the key was sent.
    pub sent_by: SentBy,
    /// When the key became the intent's.
    pub created_at: UnixMillis,
    /// When the entry was last changed, by the latest clock that it has seen.
    pub updated_at: UnixMillis,
    /// Until when the server surely knows the key, if it ever learned of it.
    pub safe_until: UnixMillis,
}

/// Where an intent stands. That nothing is stored is the state idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// It has a key, under which nothing was executed.
    Prepared,
    /// The last attempt is under way.
    Sending,
    /// Some attempt may have been executed.
    Unknown,
    /// It was executed: the end of the intent.
    Succeeded {
        /// The status of the answer.
        http_status: u16,
    },
    /// It was refused: the key is used up, the intent is not.
    Refused {
        /// The status of the answer.
        http_status: u16,
    },
    /// The key was given up, and nothing was or will be executed under it.
    Voided,
}

/// What the store holds for an intent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Stored {
    /// Nothing.
    Nothing,
    /// An entry.
    Entry(Entry),
    /// Something that cannot be read.
    Unreadable(EntryError),
}

/// Why a stored text is no entry. None of these means that nothing is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntryError {
    /// It does not look like one, or was changed.
    Damaged,
    /// A newer version of this project wrote it.
    NewerVersion {
        /// Its key, to ask the server or a person about.
        key: IdempotencyKey,
    },
}

impl Stored {
    /// Reads what the store holds.
    pub fn read(text: Option<&str>) -> Self {
        match text.map(Entry::decode) {
            None => Self::Nothing,
            Some(Ok(entry)) => Self::Entry(entry),
            Some(Err(error)) => Self::Unreadable(error),
        }
    }

    /// Whether an outcome is not known: what `pending` lists, and what `forget` gives up.
    pub fn is_pending(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Entry(entry) => matches!(entry.state, State::Sending | State::Unknown),
            Self::Unreadable(_) => true,
        }
    }

    /// Whether it leads to nothing but a new start, so that storage that is full may lose it.
    pub fn is_spent(&self) -> bool {
        match self {
            Self::Nothing | Self::Unreadable(_) => false,
            Self::Entry(entry) => match entry.state {
                State::Prepared => entry.attempts == 0,
                State::Refused { .. } | State::Voided => true,
                State::Sending | State::Unknown | State::Succeeded { .. } => false,
            },
        }
    }

    /// Whether the outcome is known, and older than the server's memory of it: such an entry is
    /// removed in time. One whose outcome is open stays, however old, and so does one that cannot be
    /// read.
    pub fn is_over(&self, retention: Millis, now: UnixMillis) -> bool {
        match self {
            Self::Nothing | Self::Unreadable(_) => false,
            Self::Entry(entry) => entry.is_over(retention, now),
        }
    }

    /// The entry, if this is its key.
    pub(super) fn with_key(&self, key: &IdempotencyKey) -> Option<&Entry> {
        match self {
            Self::Entry(entry) if entry.key == *key => Some(entry),
            _ => None,
        }
    }
}

impl Entry {
    pub(super) fn new(
        key: IdempotencyKey,
        own_key: bool,
        payload: &Payload,
        retention: Millis,
        now: UnixMillis,
    ) -> Self {
        Self {
            tag: payload.tag(&key),
            key,
            state: State::Prepared,
            attempts: 0,
            maybe_executed: false,
            own_key,
            sends_proof: false,
            sent_by: SentBy::NotKnown,
            created_at: now,
            updated_at: now,
            safe_until: Self::safe_from(now, retention),
        }
    }

    /// For how long the key may still be sent: see [`Progress`](crate::client::retry::Progress). Nothing
    /// when the clock went back so far that the entry's age cannot be told.
    pub fn time_left(&self, now: UnixMillis) -> Millis {
        if self.updated_at.since(now) > Policy::CLOCK_TOLERANCE {
            return Millis::new(0);
        }
        self.safe_until.since(now.never_before(self.updated_at))
    }

    /// What is known when an attempt with this key ends. See [`Context`] for the arguments.
    /// `sends_proof`: it is known of the server, whatever is known of the key.
    pub fn context<'a>(&self, sends_proof: bool, expects: &'a str) -> Context<'a> {
        Context {
            maybe_executed: self.maybe_executed,
            may_remint: self.may_remint() && self.state == State::Sending,
            // A success that is known needs no further proof.
            sends_proof: (sends_proof || self.sends_proof)
                && !matches!(self.state, State::Succeeded { .. }),
            final_statuses: &[],
            expects,
        }
    }

    /// Takes what an answer's head says about how long the server will know the key: its
    /// `Idempotency-State`, and `Idempotency-Expires` as
    /// [`expires_at`](crate::client::retry::expires_at) reads it. The shell calls it with the answer's entry
    /// before it stores it.
    pub fn note_expiry(
        &mut self,
        state: Option<&str>,
        expires_at: Option<UnixMillis>,
        retention: Millis,
        now: UnixMillis,
    ) {
        // Whatever answer the key will get comes after this one.
        let has_no_answer = [KeyState::InProgress, KeyState::Unknown, KeyState::Released]
            .iter()
            .any(|open| state == Some(open.as_str()));
        if has_no_answer {
            self.safe_until = Self::safe_from(now, retention);
            // Counted from here on, whatever the clock said before.
            self.updated_at = now;
        }
        if let Some(expires_at) = expires_at {
            self.safe_until = self.safe_until.min(expires_at.minus(tolerance(retention)));
        }
    }

    /// Whether it is settled, and neither the retention since its last change nor the time that the
    /// server surely knows its key is left. Where the clock went back there is always time left.
    fn is_over(&self, retention: Millis, now: UnixMillis) -> bool {
        let is_settled = match self.state {
            State::Succeeded { .. } | State::Refused { .. } | State::Voided => true,
            State::Prepared | State::Sending | State::Unknown => false,
        };
        let kept_until = self.updated_at.plus(retention).max(self.safe_until);
        is_settled && kept_until <= now
    }

    /// The entry is changed now. Its time never goes back, or a clock that did would be noticed
    /// only once.
    pub(super) fn touch(&mut self, now: UnixMillis) {
        self.updated_at = now.never_before(self.updated_at);
    }

    pub(super) fn is_too_old(&self, now: UnixMillis) -> bool {
        self.time_left(now) == Millis::new(0)
    }

    /// A key of ours that tells its time, and that surely nothing was executed under.
    pub(super) fn may_remint(&self) -> bool {
        !self.maybe_executed && !self.own_key && self.key.minted_at().is_some()
    }

    /// How long the server surely knows a key that it answers at `point` or later.
    pub(super) fn safe_from(point: UnixMillis, retention: Millis) -> UnixMillis {
        point.plus(retention).minus(tolerance(retention))
    }
}

/// How far the clock here may go wrong within a retention.
fn tolerance(retention: Millis) -> Millis {
    Policy::CLOCK_TOLERANCE.min(retention.half())
}

impl fmt::Display for EntryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Damaged => "what is stored for this intent is damaged",
            Self::NewerVersion { .. } => {
                "what is stored for this intent was written by a newer version of this package"
            }
        })
    }
}

impl core::error::Error for EntryError {}
