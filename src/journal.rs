//! The journal: what changed a key, one row a change, never changed again.
//!
//! It is what reconciliation reads when gateway and origin are compared, so it has a row for each
//! end of an attempt and for each decision about a key, and none for what only asks: a client that
//! polls must not fill it. [`Note::take`] looks at a key before a call and [`Note::entry`] at what
//! the call made of it; whoever stores the record stores the row in the same step.
//!
//! # The table
//!
//! | call | what it did | row |
//! |---|---|---|
//! | `begin` | took the key from an attempt whose lease had died | [`Overtook`](Kind::Overtook) |
//! | `begin` | began anew where an outcome had stayed unknown until it was forgotten | [`Expired`](Kind::Expired), of the earlier life |
//! | `begin` | anything else | none |
//! | `renew`, `recall` | | none |
//! | `complete` | the owner's answer is the key's | [`Completed`](Kind::Completed) |
//! | `complete`, `fail` | the owner's end leaves it unknown | [`Unknown`](Kind::Unknown) |
//! | `complete`, `fail` | the owner was not executed | [`Released`](Kind::Released) |
//! | `complete` | the owner was sent elsewhere, and the record goes | [`Elsewhere`](Kind::Elsewhere) |
//! | `complete` | an overtaken attempt's success is the key's answer | [`LateSuccess`](Kind::LateSuccess) |
//! | `complete` | an answer that came too late to count | [`LateIgnored`](Kind::LateIgnored) |
//! | `complete` | one that was recorded before | none |
//! | `fail` | changes nothing | none |
//! | `void` | the key is given up | [`Voided`](Kind::Voided) |
//! | `settle`, `look_up` | decides an unknown outcome | [`Settled`](Kind::Settled) |
//! | `void`, `settle`, `look_up` | changes nothing | none |
//! | `expire` | forgets an outcome that stayed unknown | [`Expired`](Kind::Expired) |
//! | `expire` | anything else: that an answer goes is told by its age | none |
//!
//! So in one life of a record there is one row at most that says `completed` or `late_success`, or
//! `settled` with that state; a key that was forgotten begins another life, which has another
//! [`created_at`](JournalEntry::created_at).

use crate::decision::Next;
use crate::record::{KeyState, Life, Record, ReleaseCause, State, Token, UnknownCause};
use crate::response::StoredResponse;
use crate::time::UnixMillis;

/// A row: what a call did to a key, or to what lives like one: a business number, an event. Whoever
/// stores it adds what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// When, by the store's clock.
    pub at: UnixMillis,
    /// The call.
    pub operation: &'static str,
    /// What it did.
    pub kind: Kind,
    /// The attempt that made the call; where none did, the last one of the key.
    pub attempt: u32,
    /// The id of the request that brought it: for an answer that of the answer.
    pub request_id: Option<String>,
    /// The status that the origin gave.
    pub http_status: Option<u16>,
    /// Why an outcome is unknown, or why it is sure that nothing was executed.
    pub cause: Option<&'static str>,
    /// The key after the call; `None` when there is no record.
    pub state: Option<KeyState>,
    /// When the record was begun, where there is one: what tells one life of a key from the next.
    pub created_at: Option<UnixMillis>,
}

/// What a call did to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An attempt got a key whose owner had shown no sign of life: what that one did is not known.
    Overtook,
    /// The key has its answer.
    Completed,
    /// An attempt ended, and nobody knows what it did.
    Unknown,
    /// An attempt ended without being executed.
    Released,
    /// An attempt was told to repeat its request elsewhere.
    Elsewhere,
    /// An overtaken attempt brought the key's answer.
    LateSuccess,
    /// An answer came too late to count.
    LateIgnored,
    /// The caller gave the key up.
    Voided,
    /// Somebody found out what became of an unknown outcome.
    Settled,
    /// Nobody found out, and the key is forgotten or refused from now on.
    Expired,
}

/// A call about a key, as far as the journal wants to know.
#[derive(Clone, Copy, Debug)]
pub enum Call<'a> {
    /// [`begin`](crate::lifecycle::begin) by the attempt with this token.
    Begin(Token),
    /// [`complete`](crate::lifecycle::complete).
    Complete(Token, &'a StoredResponse),
    /// [`fail`](crate::lifecycle::fail).
    Fail,
    /// [`void`](crate::lifecycle::void).
    Void,
    /// [`settle`](crate::lifecycle::settle) with this answer, by an operator.
    Settle(Option<&'a StoredResponse>),
    /// The same, by a look-up at the origin.
    LookUp(Option<&'a StoredResponse>),
    /// [`expire`](crate::lifecycle::expire).
    Expire,
}

/// Who calls, where that is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Teller<'a> {
    /// The number of the attempt.
    pub attempt: Option<u32>,
    /// The id of the request.
    pub request_id: Option<&'a str>,
}

/// What has to be known of a key before a call, to tell afterwards what the call did.
#[derive(Clone, Debug)]
pub struct Note {
    now: UnixMillis,
    operation: Operation,
    attempt: Option<u32>,
    request_id: Option<String>,
    http_status: Option<u16>,
    before: Option<Before>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Begin,
    Complete,
    Fail,
    Void,
    Settle,
    LookUp,
    Expire,
}

/// The record before the call.
#[derive(Clone, Debug)]
struct Before {
    /// Nobody knows whether something was executed, nor does anybody work on it.
    is_open: bool,
    is_gone: bool,
    is_in_flight: bool,
    /// The call's attempt owns the key.
    is_owner: bool,
    /// What the call's attempt brought is recorded.
    has_ended: bool,
    attempts: u32,
    created_at: UnixMillis,
    cause: Option<Cause>,
    state: Option<KeyState>,
}

/// Why an outcome is unknown, or why it is sure that nothing was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Its name in journals and lists.
    pub name: &'static str,
    /// The origin's status, where that is why.
    pub http_status: Option<u16>,
}

impl Note {
    /// Looks at a key and at the call that is about to come.
    pub fn take(
        call: Call<'_>,
        teller: Teller<'_>,
        record: Option<&Record>,
        now: UnixMillis,
    ) -> Self {
        let (operation, token, answer) = match call {
            Call::Begin(token) => (Operation::Begin, Some(token), None),
            Call::Complete(token, answer) => (Operation::Complete, Some(token), Some(answer)),
            Call::Fail => (Operation::Fail, None, None),
            Call::Void => (Operation::Void, None, None),
            Call::Settle(answer) => (Operation::Settle, None, answer),
            Call::LookUp(answer) => (Operation::LookUp, None, answer),
            Call::Expire => (Operation::Expire, None, None),
        };
        let request_id = answer.map(|answer| answer.request_id.as_str()).or(teller.request_id);
        Self {
            now,
            operation,
            attempt: teller.attempt,
            request_id: request_id.map(str::to_owned),
            http_status: answer.map(|answer| answer.status),
            before: record.map(|record| Before::of(record, token, now)),
        }
    }

    /// The row to store beside `next`, if the call is worth one.
    pub fn entry(self, next: &Next) -> Option<JournalEntry> {
        let after = match next {
            Next::Write(record) => Some(&**record),
            Next::Keep | Next::Remove => None,
        };
        let before = self.before.as_ref();
        let kind = self.kind(after, next)?;
        let mut entry = JournalEntry {
            at: self.now,
            operation: self.operation.name(),
            kind,
            attempt: before.map_or(0, |before| before.attempts),
            request_id: None,
            http_status: self.http_status,
            cause: None,
            state: None,
            created_at: before.map(|before| before.created_at),
        };
        let why = match (kind, after) {
            // Told of the life that has ended, whoever noticed it.
            (Kind::Expired, after) => {
                let tombstone = after.filter(|_| self.operation == Operation::Expire);
                entry.state = state(tombstone, self.now);
                before.and_then(|before| before.cause)
            }
            (_, Some(after)) => {
                entry.attempt = self.attempt.unwrap_or(after.attempts);
                entry.created_at = Some(after.created_at);
                entry.state = state(Some(after), self.now);
                match kind {
                    Kind::Overtook => before.and_then(|before| before.cause),
                    _ => cause(after, self.now),
                }
            }
            (_, None) => {
                entry.attempt = self.attempt.unwrap_or(entry.attempt);
                // Where the record was removed there is none now.
                let stands = before.filter(|_| *next == Next::Keep);
                entry.state = stands.and_then(|before| before.state);
                None
            }
        };
        if kind != Kind::Expired {
            entry.request_id = self.request_id;
        }
        entry.cause = why.map(|why| why.name);
        entry.http_status = entry.http_status.or(why.and_then(|why| why.http_status));
        Some(entry)
    }

    fn kind(&self, after: Option<&Record>, next: &Next) -> Option<Kind> {
        let is = |fact: fn(&Before) -> bool| self.before.as_ref().is_some_and(fact);
        match (self.operation, after.map(|after| &after.state)) {
            (Operation::Begin, Some(_)) if is(|before| before.is_open && before.is_gone) => {
                Some(Kind::Expired)
            }
            (Operation::Begin, Some(_)) if is(|before| before.is_in_flight && !before.is_gone) => {
                Some(Kind::Overtook)
            }
            (Operation::Begin, _) => None,
            (Operation::Void, Some(_)) => Some(Kind::Voided),
            (Operation::Settle | Operation::LookUp, Some(_)) => Some(Kind::Settled),
            (Operation::Void | Operation::Settle | Operation::LookUp, None) => None,
            (Operation::Expire, _) => {
                let has_ended = *next != Next::Keep && is(|before| before.is_open);
                has_ended.then_some(Kind::Expired)
            }
            (Operation::Fail, None) => None,
            (_, None) if *next == Next::Remove => Some(Kind::Elsewhere),
            (_, None) => (!is(|before| before.has_ended)).then_some(Kind::LateIgnored),
            (_, Some(State::Completed { .. })) if !is(|before| before.is_owner) => {
                Some(Kind::LateSuccess)
            }
            (_, Some(State::Completed { .. })) => Some(Kind::Completed),
            (_, Some(State::Released { .. })) => Some(Kind::Released),
            (_, Some(_)) => Some(Kind::Unknown),
        }
    }
}

fn state(record: Option<&Record>, now: UnixMillis) -> Option<KeyState> {
    record.and_then(|record| record.status(now)).map(|status| status.state)
}

impl Before {
    fn of(record: &Record, token: Option<Token>, now: UnixMillis) -> Self {
        let owner = match record.state {
            State::InFlight { token, .. } => Some(token),
            _ => None,
        };
        let state = state(Some(record), now);
        Self {
            is_open: state != Some(KeyState::InProgress)
                && matches!(record.state, State::InFlight { .. } | State::Unknown { .. }),
            is_gone: record.life(now) == Life::Gone,
            is_in_flight: owner.is_some() && owner != token,
            is_owner: owner.is_some() && owner == token,
            has_ended: token.is_some_and(|token| record.earlier.has_ended(token)),
            attempts: record.attempts,
            created_at: record.created_at,
            cause: cause(record, now),
            state,
        }
    }
}

/// Why a record's outcome is unknown, or why it is sure that nothing was executed; `None` for any
/// other.
pub fn cause(record: &Record, now: UnixMillis) -> Option<Cause> {
    let named = |name, http_status| Some(Cause { name, http_status });
    match record.state {
        State::InFlight { lease_until, .. } if lease_until <= now => named("lease_died", None),
        State::Unknown { cause, .. } => match cause {
            UnknownCause::Status(status) => named("status", Some(status)),
            UnknownCause::TimedOut => named("timed_out", None),
            UnknownCause::ConnectionLost => named("connection_lost", None),
            UnknownCause::NotStored => named("not_stored", None),
            UnknownCause::EarlierAttempt => named("earlier_attempt", None),
        },
        State::Released { cause, .. } => match cause {
            ReleaseCause::Status(status) => named("status", Some(status)),
            ReleaseCause::NotDispatched => named("not_dispatched", None),
            ReleaseCause::Settled => named("settled", None),
        },
        _ => None,
    }
}

/// When a record last changed; for a key in flight, when its attempt last gave a sign of life.
pub fn changed_at(record: &Record) -> UnixMillis {
    match record.state {
        State::InFlight { lease_until, .. } => lease_until.minus(record.policy.lease),
        State::Completed { completed_at: since, .. }
        | State::Unknown { since, .. }
        | State::Released { since, .. }
        | State::Voided { since }
        | State::Expired { since } => since,
    }
}

impl Kind {
    /// The name in journals.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Overtook => "overtook",
            Self::Completed => "completed",
            Self::Unknown => "unknown",
            Self::Released => "released",
            Self::Elsewhere => "elsewhere",
            Self::LateSuccess => "late_success",
            Self::LateIgnored => "late_ignored",
            Self::Voided => "voided",
            Self::Settled => "settled",
            Self::Expired => "expired",
        }
    }
}

impl Operation {
    const fn name(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::Complete => "complete",
            Self::Fail => "fail",
            Self::Void => "void",
            Self::Settle => "settle",
            Self::LookUp => "look_up",
            Self::Expire => "expire",
        }
    }
}
