//! What a client stores for an intent.

use super::credential::SentBy;
use super::payload::{Payload, Tag};
use crate::client::retry::Context;
use crate::key::IdempotencyKey;
use crate::policy::Policy;
use crate::record::KeyState;
use crate::time::{Millis, UnixMillis};
use core::fmt;

/// The stored entry of an intent. It contains no body, and of the body only a tag.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The key.
    pub key: IdempotencyKey,
    /// A short hash of the payload that the key was made for.
    pub tag: Tag,
    /// The state of the intent.
    pub state: IntentState,
    /// How many attempts were sent with the key.
    pub attempts: u32,
    /// Whether an attempt may have been executed. Once true, it stays true.
    pub maybe_executed: bool,
    /// Whether the caller chose the key. Such a key is never replaced.
    pub own_key: bool,
    /// Whether the server is known to send proof ([`Context::sends_proof`]). Once true, it stays
    /// true.
    pub sends_proof: bool,
    /// Under which credential the key was sent.
    pub sent_by: SentBy,
    /// When the intent got the key.
    pub created_at: UnixMillis,
    /// When the entry was last changed. A change after the clock went back keeps the later time.
    pub updated_at: UnixMillis,
    /// Until when the server certainly knows the key, if it ever received it. Then the entry is too old.
    ///
    /// A server that has forgotten a key executes it as if it were new. It forgets a key at the earliest
    /// one retention after its response, and the response cannot be older than the first byte of the
    /// request. So this is the time of the first byte plus the retention, less an hour for clocks. A
    /// server that returns `in_progress`, `unknown` or `released` has no response yet, which moves the
    /// time on. `Idempotency-Expires` can only shorten it ([`Entry::note_expiry`]).
    ///
    /// If the clock went back by more than that hour, the age of an entry is unknown, so the entry counts
    /// as too old. A clock that went back and was set right again before anybody looked is not noticed.
    ///
    /// If the server responded "not executed" to every attempt (401, 429), the intent keeps its key until
    /// the entry is too old, because a browser may send one request twice and the second copy may still
    /// arrive. Then it gets a fresh key.
    pub safe_until: UnixMillis,
}

/// The state of an intent. If nothing is stored, the intent is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntentState {
    /// The intent has a key, and nothing was executed with it.
    Prepared,
    /// The last attempt is in progress.
    Sending,
    /// An attempt may have been executed.
    Unknown,
    /// The request was executed. The intent is done.
    Succeeded {
        /// The status of the response.
        http_status: u16,
    },
    /// The request was refused. The key is used up; the intent may be sent again with a new key.
    Refused {
        /// The status of the response.
        http_status: u16,
    },
    /// The key was voided. Nothing was or will be executed with it.
    Voided,
}

/// What an aborted call leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AfterAbort {
    /// An attempt may have been executed.
    Unknown,
    /// An earlier attempt has succeeded.
    Succeeded,
    /// No attempt was executed.
    NotSent,
}

/// What the store holds for an intent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Stored {
    /// Nothing.
    Nothing,
    /// An entry.
    Entry(Entry),
    /// An entry that is damaged, or that a newer version of this project wrote (a deployment was rolled
    /// back). It may belong to a payment, and a new key in its place could pay twice, so nothing is sent.
    ///
    /// The buyer is locked out of this intent in this browser until the newer version is deployed again,
    /// or until the page has looked the result up in the merchant's API and calls `forget`. A second
    /// payment would be harder to undo than a page that says "we are checking".
    Unreadable(EntryError),
}

/// Why a stored text cannot be read as an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntryError {
    /// The text is no entry, or was changed.
    Damaged,
    /// A newer version of this project wrote it.
    NewerVersion {
        /// The key, to look up on the server.
        key: IdempotencyKey,
    },
}

impl IntentState {
    /// Returns whether an attempt may have been executed while its outcome is unknown.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Sending | Self::Unknown)
    }

    /// Returns whether the outcome is known for good.
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::Succeeded { .. } | Self::Refused { .. } | Self::Voided)
    }
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

    /// Returns whether the outcome is unknown. `pending` lists these intents.
    pub fn is_pending(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Entry(entry) => entry.state.is_open(),
            Self::Unreadable(_) => true,
        }
    }

    /// Returns what an aborted call leaves behind, for the error that its caller gets.
    pub fn after_abort(&self) -> AfterAbort {
        match self {
            _ if self.is_pending() => AfterAbort::Unknown,
            Self::Entry(Entry { state: IntentState::Succeeded { .. }, .. }) => {
                AfterAbort::Succeeded
            }
            _ => AfterAbort::NotSent,
        }
    }

    /// Returns whether the next submit starts anew in any case. The page may remove such an entry when
    /// storage is full.
    pub fn is_spent(&self) -> bool {
        match self {
            Self::Nothing | Self::Unreadable(_) => false,
            Self::Entry(entry) => match entry.state {
                IntentState::Prepared => entry.attempts == 0,
                IntentState::Refused { .. } | IntentState::Voided => true,
                IntentState::Sending | IntentState::Unknown | IntentState::Succeeded { .. } => {
                    false
                }
            },
        }
    }

    /// Returns whether the outcome is known and older than the retention. The page removes such an
    /// entry. An entry whose outcome is open, or that cannot be read, stays.
    pub fn is_over(&self, retention: Millis, now: UnixMillis) -> bool {
        match self {
            Self::Nothing | Self::Unreadable(_) => false,
            Self::Entry(entry) => entry.is_over(retention, now),
        }
    }

    /// Returns the entry if this is its key.
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
            state: IntentState::Prepared,
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

    /// Returns for how long the key may still be sent: see
    /// [`Progress`](crate::client::retry::Progress). Returns 0 if the clock went back so far that
    /// the age of the entry is unknown.
    pub fn time_left(&self, now: UnixMillis) -> Millis {
        if self.updated_at.since(now) > Policy::CLOCK_TOLERANCE {
            return Millis::new(0);
        }
        self.safe_until.since(now.never_before(self.updated_at))
    }

    /// Returns what is known when an attempt with this key ends. `sends_proof` and `expects` are
    /// those of the client: see [`Context`].
    pub fn context<'a>(&self, sends_proof: bool, expects: &'a str) -> Context<'a> {
        Context {
            maybe_executed: self.maybe_executed,
            may_remint: self.may_remint() && self.state == IntentState::Sending,
            // A success that is known needs no further proof.
            sends_proof: (sends_proof || self.sends_proof)
                && !matches!(self.state, IntentState::Succeeded { .. }),
            final_statuses: &[],
            expects,
        }
    }

    /// Notes what the headers of a response say about how long the server will know the key:
    /// `Idempotency-State`, and `Idempotency-Expires` as
    /// [`expires_at`](crate::client::retry::expires_at) reads it. The caller stores the entry
    /// afterwards.
    pub fn note_expiry(
        &mut self,
        state: Option<&str>,
        expires_at: Option<UnixMillis>,
        retention: Millis,
        now: UnixMillis,
    ) {
        // The key has no response yet, so its retention starts later.
        let has_no_response = [KeyState::InProgress, KeyState::Unknown, KeyState::Released]
            .iter()
            .any(|open| state == Some(open.as_str()));
        if has_no_response {
            self.safe_until = Self::safe_from(now, retention);
            // The age counts from now on, whatever the clock showed before.
            self.updated_at = now;
        }
        if let Some(expires_at) = expires_at {
            self.safe_until = self.safe_until.min(expires_at.minus(tolerance(retention)));
        }
    }

    /// Returns whether the entry is settled, its retention is over, and the server may have
    /// forgotten its key. After the clock went back, an entry is never over.
    fn is_over(&self, retention: Millis, now: UnixMillis) -> bool {
        let kept_until = self.updated_at.plus(retention).max(self.safe_until);
        self.state.is_settled() && kept_until <= now
    }

    /// Notes that the entry changed now. The time never goes back, or a clock that went back would
    /// be noticed only once.
    pub(super) fn touch(&mut self, now: UnixMillis) {
        self.updated_at = now.never_before(self.updated_at);
    }

    pub(super) fn is_too_old(&self, now: UnixMillis) -> bool {
        self.time_left(now) == Millis::new(0)
    }

    /// Returns whether the key contains a time, was minted here, and nothing was executed with it.
    pub(super) fn may_remint(&self) -> bool {
        !self.maybe_executed && !self.own_key && self.key.minted_at().is_some()
    }

    /// Returns until when the server certainly knows a key that got its response at `point` or
    /// later.
    pub(super) fn safe_from(point: UnixMillis, retention: Millis) -> UnixMillis {
        point.plus(retention).minus(tolerance(retention))
    }
}

/// Returns how far the clock here may be wrong within a retention.
fn tolerance(retention: Millis) -> Millis {
    Policy::CLOCK_TOLERANCE.min(retention.half())
}

impl EntryError {
    /// Returns what is wrong, and what to do.
    pub const fn message(&self) -> &'static str {
        match self {
            Self::Damaged => "the stored entry is damaged; look up the result, then call forget()",
            Self::NewerVersion { .. } => {
                "the stored entry was written by a newer version of this package; deploy that version again"
            }
        }
    }
}

impl fmt::Display for EntryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl core::error::Error for EntryError {}
