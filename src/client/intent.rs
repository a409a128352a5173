//! The client side of a key: which key a submit sends, and what is known afterwards.
//!
//! An *intent* is a named operation (`order:1042`) with a payload. The shell keeps one [`Entry`]
//! for each intent, where every tab and every reload finds it. Like the server's
//! [`lifecycle`](crate::lifecycle), these functions decide and touch no store: the shell reads the
//! entry, calls a function and writes what it returns, with nothing in between.
//!
//! # The rules
//!
//! 1. At most one key of an intent has an unknown outcome.
//! 2. A key is stored before the first byte that carries it is sent.
//! 3. Once an attempt *may* have been executed (`maybe_executed`), the intent gets another key only
//!    after the response of the key, or after proof that nothing was and nothing will be executed.
//! 4. A success ends the intent. A later response, of any attempt, does not change it.
//! 5. A key is not sent once the server may have forgotten it.
//! 6. An entry that cannot be read counts as an unknown outcome.
//! 7. What a server returns about a key under another credential says nothing about the key that was
//!    sent.
//!
//! # A submit: [`start`]
//!
//! | stored | same payload | another payload, or another key that the caller chose |
//! |---|---|---|
//! | nothing | Send, fresh key | – |
//! | Prepared, never sent | Send, same key | Send, fresh key |
//! | Prepared, sent and not executed | Send, same key | ResolveFirst |
//! | Sending: its page is gone | Send, same key | ResolveFirst |
//! | Unknown | Send, same key | ResolveFirst |
//! | Succeeded | Send, same key: the server replays the response | PayloadChanged |
//! | Refused while this submit waited for its turn | Send, same key: the same response | Send, fresh key |
//! | Refused, Voided | Send, fresh key | Send, fresh key |
//! | Prepared, too old | Send, fresh key | Send, fresh key |
//! | Sending or Unknown, too old | TooOld | TooOld |
//! | Succeeded, too old | ResponseGone | PayloadChanged |
//! | unreadable | Unreadable | Unreadable |
//!
//! If the caller chose a key, it is used wherever a fresh key is needed.
//!
//! # An attempt: [`note_sending`], [`note_outcome`]
//!
//! | | the last attempt | an earlier attempt whose response is late |
//! |---|---|---|
//! | Succeeded | → Succeeded | → Succeeded |
//! | Refused, KeyReused | → Refused | – |
//! | KeyVoided | → Voided | – |
//! | NotExecuted | → Prepared, or Unknown when `maybe_executed` | – |
//! | KeyExpired | → Prepared, and [`remint`] makes a key without time | – |
//! | InProgress, Ambiguous, Unsettled | → Unknown, `maybe_executed` | `maybe_executed` |
//!
//! Nothing changes Succeeded. Only a success changes Refused and Voided.
//!
//! [`Entry::safe_until`] says when an entry is too old, and [`Stored::Unreadable`] what happens to one
//! that cannot be read.
//!
//! # Double-charge limits
//!
//! In these cases a second key of an intent may be charged besides the first:
//!
//! - The browser sent a request twice. One copy got "not executed" (401, 429), the other copy was
//!   executed, and the page did not ask for the state of the key while the server knew it. After that
//!   time the intent gets a fresh key: locking out every buyer who returns to a checkout the day after
//!   a 401 would do more harm.
//! - The browser sent a request twice, and the server refused one copy with `expired`. The clock of the
//!   page is wrong, so the intent gets a key without a time. While gateways run with two settings,
//!   another gateway may execute the other copy.
//! - The server could not store a refusal (`Idempotency-Stored: false`), which makes room for a new key.
//!   If the browser sent the request twice, the origin may have forgotten the refusal and execute the
//!   other copy.
//! - The first attempt went to a server about which nothing is known. Until the key calls are
//!   configured, or a response had `Idempotency-State`, a plain 2xx counts as a success of the server
//!   and a plain 4xx as its refusal. A service worker or a firewall may have returned it while the
//!   request continues. If the key calls are configured, such a response settles nothing.
//! - The server returns a status for a single attempt that the page lists as a response for the key
//!   itself ([`Context::final_statuses`](crate::client::retry::Context::final_statuses)).
//! - The credential changed where the client cannot see it: a cookie that belongs to another user by the
//!   time of a key call looks the same.
//! - A submit has another credential than the attempts before it. For the server its key is another key,
//!   and it executes the request. The client notes that ([`SentBy::Several`]) and lets no key call settle
//!   the intent, but it does not refuse the submit, because credentials are renewed.
//! - The storage was cleared, or the page called `forget`. Then the client knows nothing.
//!
//! After an attempt whose outcome is unknown, a response without proof never makes room for another key.

pub use super::call::{
    Call, CallInput, CallSettings, CallStep, Command, End, EndReason, Goal, Hints, SentRequest,
    WaitReason,
};
pub use super::credential::{Cookies, Credential, CredentialMark, KeyCallCredential, SentBy};
pub use super::entry::{AfterAbort, Entry, EntryError, IntentState, Stored};
pub use super::payload::{LARGE_BODY, Payload, Tag};
pub use super::resolve::{KeyCall, Means, Purpose, Report, ResolveStep, after_report, first_step};
pub use super::tab_lease::{Acquisition, TabLease, TabToken};

use crate::client::retry::Outcome;
use crate::key::IdempotencyKey;
use crate::time::{Millis, UnixMillis};
use core::fmt;

/// A submit: what is to be sent for an intent.
#[derive(Clone, Copy, Debug)]
pub struct Submit<'a> {
    /// The request.
    pub payload: &'a Payload,
    /// The key that the caller chose, if it did.
    pub own_key: Option<&'a IdempotencyKey>,
    /// Since when this submit waited for another sender of the intent, if it did.
    pub waited_since: Option<UnixMillis>,
    /// How long the server keeps responses.
    pub retention: Millis,
    /// 16 bytes from a cryptographic source.
    pub random: [u8; 16],
}

/// How a submit starts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// Store the entry, and send the request with its key.
    Send {
        /// The entry.
        entry: Entry,
        /// Whether the key has never been used. Otherwise the server may replay a response.
        fresh: bool,
    },
    /// Resolve the outcome of the earlier payload first: see [`first_step`].
    ResolveFirst,
    /// The intent has succeeded with another payload. Use a new intent, or forget this one.
    PayloadChanged {
        /// The status of the response.
        http_status: u16,
    },
    /// The intent has succeeded, and the server may no longer have the response.
    ResponseGone {
        /// The status of the response.
        http_status: u16,
    },
    /// The outcome is unknown, and the server may have forgotten the key.
    TooOld,
    /// What is stored cannot be read.
    Unreadable(EntryError),
}

/// Why an attempt must not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SendError {
    /// The intent has no entry any more, or an entry with another key.
    Overtaken,
    /// The key was voided.
    Voided,
    /// The server may have forgotten the key.
    TooOld,
}

/// Starts a submit. The caller must be the only sender of the intent, by a lock or a [`TabLease`].
/// An entry in the state Sending was left by a page that is gone.
pub fn start(stored: &Stored, submit: &Submit<'_>, now: UnixMillis) -> Start {
    let entry = match stored {
        Stored::Nothing => return fresh(submit, now),
        Stored::Unreadable(error) => return Start::Unreadable(error.clone()),
        Stored::Entry(entry) => entry,
    };
    let other_key = submit.own_key.is_some_and(|own| *own != entry.key);
    let changed = other_key || submit.payload.tag(&entry.key) != entry.tag;
    let too_old = entry.is_too_old(now);
    // Two tabs with one click each: both get the response of the request that was sent.
    let is_shared = submit.waited_since.is_some_and(|since| since <= entry.updated_at);
    let same = || Start::Send { entry: entry.clone(), fresh: false };
    match entry.state {
        IntentState::Prepared if too_old => fresh(submit, now),
        IntentState::Prepared if !changed => same(),
        IntentState::Prepared if entry.attempts == 0 => fresh(submit, now),
        IntentState::Prepared => Start::ResolveFirst,
        IntentState::Sending | IntentState::Unknown if too_old => Start::TooOld,
        IntentState::Sending | IntentState::Unknown if changed => Start::ResolveFirst,
        IntentState::Sending | IntentState::Unknown => same(),
        IntentState::Succeeded { http_status } if changed => Start::PayloadChanged { http_status },
        IntentState::Succeeded { http_status } if too_old => Start::ResponseGone { http_status },
        IntentState::Succeeded { .. } => same(),
        IntentState::Refused { .. } if is_shared && !changed && !too_old => same(),
        IntentState::Refused { .. } | IntentState::Voided => fresh(submit, now),
    }
}

/// Returns the entry to store before the first byte of the next attempt is sent. Call it before every
/// attempt, with what is stored at that time. Returns an error if the attempt must not be sent.
pub fn note_sending(
    stored: &Stored,
    key: &IdempotencyKey,
    retention: Millis,
    now: UnixMillis,
) -> Result<Entry, SendError> {
    let mut entry = stored.with_key(key).ok_or(SendError::Overtaken)?.clone();
    match entry.state {
        IntentState::Voided => return Err(SendError::Voided),
        _ if entry.attempts == 0 => entry.safe_until = Entry::safe_from(now, retention),
        _ if entry.is_too_old(now) => return Err(SendError::TooOld),
        _ => {}
    }
    // The end of the previous attempt is unknown.
    entry.maybe_executed |= entry.state == IntentState::Sending;
    if !matches!(entry.state, IntentState::Succeeded { .. }) {
        entry.state = IntentState::Sending;
    }
    entry.attempts = entry.attempts.saturating_add(1);
    entry.touch(now);
    Ok(entry)
}

/// Returns the entry to store after the attempt with this key and number ended. `None` if nothing
/// changes, or if the intent has another key now.
pub fn note_outcome(
    stored: &Stored,
    key: &IdempotencyKey,
    attempt: u32,
    outcome: &Outcome,
    now: UnixMillis,
) -> Option<Entry> {
    let before = stored.with_key(key)?;
    let mut entry = before.clone();
    let is_last = attempt == entry.attempts;
    let is_open =
        matches!(entry.state, IntentState::Prepared | IntentState::Sending | IntentState::Unknown);
    match *outcome {
        Outcome::Succeeded { http_status }
            if !matches!(entry.state, IntentState::Succeeded { .. }) =>
        {
            entry.state = IntentState::Succeeded { http_status };
        }
        _ if !is_open => {}
        Outcome::InProgress | Outcome::Ambiguous(_) | Outcome::Unsettled(_) => {
            entry.maybe_executed = true;
            if is_last || entry.state == IntentState::Prepared {
                entry.state = IntentState::Unknown;
            }
        }
        _ if !is_last => {}
        Outcome::Refused { http_status } | Outcome::KeyReused { http_status } => {
            entry.state = IntentState::Refused { http_status };
        }
        Outcome::KeyVoided => entry.state = IntentState::Voided,
        Outcome::NotExecuted { .. } | Outcome::KeyExpired if entry.maybe_executed => {
            entry.state = IntentState::Unknown;
        }
        Outcome::NotExecuted { http_status, .. } => {
            entry.state = IntentState::Prepared;
            // The caller was refused. The next attempt may carry another credential.
            if matches!(http_status, 401 | 403 | 407) {
                entry.sent_by = SentBy::NotKnown;
            }
        }
        Outcome::KeyExpired => entry.state = IntentState::Prepared,
        Outcome::Succeeded { .. } => {}
    }
    if entry == *before {
        return None;
    }
    entry.touch(now);
    Some(entry)
}

/// Returns the entry to store after the browser proved that the attempt with this key and number was
/// never sent. `None` if nothing changes.
pub fn note_not_sent(
    stored: &Stored,
    key: &IdempotencyKey,
    attempt: u32,
    now: UnixMillis,
) -> Option<Entry> {
    let mut entry = stored.with_key(key)?.clone();
    if attempt != entry.attempts || entry.state != IntentState::Sending {
        return None;
    }
    entry.attempts = entry.attempts.saturating_sub(1);
    entry.state = if entry.maybe_executed { IntentState::Unknown } else { IntentState::Prepared };
    entry.touch(now);
    Some(entry)
}

/// Returns the same intent with a key that contains no time (a UUIDv4), after
/// [`Outcome::KeyExpired`]. `None` if that is not safe, or if the intent has another key now.
pub fn remint(
    stored: &Stored,
    key: &IdempotencyKey,
    submit: &Submit<'_>,
    now: UnixMillis,
) -> Option<Entry> {
    let entry = stored.with_key(key)?;
    let is_right = entry.state == IntentState::Prepared
        && entry.may_remint()
        && submit.own_key.is_none()
        && submit.payload.tag(&entry.key) == entry.tag;
    is_right.then(|| Entry {
        sends_proof: entry.sends_proof,
        ..Entry::new(
            IdempotencyKey::mint_untimed(submit.random),
            false,
            submit.payload,
            submit.retention,
            now,
        )
    })
}

fn fresh(submit: &Submit<'_>, now: UnixMillis) -> Start {
    let (key, is_own) = match submit.own_key {
        Some(own) => (own.clone(), true),
        None => {
            let [random @ .., _, _, _, _, _, _] = submit.random;
            (IdempotencyKey::mint(now, random), false)
        }
    };
    Start::Send {
        entry: Entry::new(key, is_own, submit.payload, submit.retention, now),
        fresh: true,
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overtaken => "the intent was forgotten or has another key now; read it again before you send",
            Self::Voided => "the key was voided; start the intent again",
            Self::TooOld => "the server may have forgotten the key and would execute the request again; look up the result first",
        })
    }
}

impl core::error::Error for SendError {}
