//! The client's side of a key's life: which key a submit sends, and what is known afterwards.
//!
//! An *intent* is a named operation (`order:1042`) and a payload. The shell keeps one [`Entry`] an
//! intent, where every tab and every reload finds it. Like those of the server's
//! [`lifecycle`](crate::lifecycle), these functions decide and touch no store: the shell reads the
//! entry, calls one of them and writes what it says, with nothing in between.
//!
//! # The rules
//!
//! 1. At most one key of an intent has an outcome that is not known.
//! 2. A key is stored before the first byte that carries it is sent.
//! 3. Once an attempt *may* have been executed (`maybe_executed`), only the key's own answer, or a
//!    proof that nothing was and nothing will be executed, makes room for another key.
//! 4. A success is the end of an intent. A later answer, of whichever attempt, does not change it.
//! 5. A key is not sent any more once the server may have forgotten what it did with it.
//! 6. What cannot be read counts as an intent whose outcome is unknown.
//! 7. What is said of a key under another credential than that of its requests says nothing of it.
//!
//! # A submit: [`start`]
//!
//! | stored | same payload | another payload, or another key of the caller's own |
//! |---|---|---|
//! | nothing | Send, fresh key | – |
//! | Prepared, never sent | Send, same key | Send, fresh key |
//! | Prepared, sent and not executed | Send, same key | ResolveFirst |
//! | Sending: its page is gone | Send, same key | ResolveFirst |
//! | Unknown | Send, same key | ResolveFirst |
//! | Succeeded | Send, same key: the first answer comes again | PayloadChanged |
//! | Refused while this submit waited for its turn | Send, same key: the same answer | Send, fresh key |
//! | Refused, Voided | Send, fresh key | Send, fresh key |
//! | Prepared, too old | Send, fresh key | Send, fresh key |
//! | Sending or Unknown, too old | TooOld | TooOld |
//! | Succeeded, too old | AnswerGone | PayloadChanged |
//! | unreadable | Unreadable | Unreadable |
//!
//! A caller's own key is the fresh key wherever one is needed.
//!
//! # An attempt: [`note_sending`], [`note_outcome`]
//!
//! | | the last attempt | an earlier one, whose answer comes late |
//! |---|---|---|
//! | Succeeded | → Succeeded | → Succeeded |
//! | Refused, KeyReused | → Refused | – |
//! | KeyVoided | → Voided | – |
//! | NotExecuted | → Prepared, or Unknown when `maybe_executed` | – |
//! | KeyExpired | → Prepared, and [`remint`] makes a key without time | – |
//! | InProgress, Ambiguous, Unsettled | → Unknown, `maybe_executed` | `maybe_executed` |
//!
//! From Succeeded nothing leads away; from Refused and Voided only a success does.
//!
//! # What is too old
//!
//! A server that has forgotten a key executes it as if it were new. The earliest that it can forget
//! is its retention after it answered, and it cannot have answered before the first byte was sent:
//! so [`Entry::safe_until`] is that moment and the retention, less an hour for clocks. A server that
//! says `in_progress`, `unknown` or `released` has no answer yet, which moves it on; an
//! `Idempotency-Expires` can only bring it nearer ([`Entry::note_expiry`]). Where the clock went
//! back by more than that hour nobody can say how old an entry is, so it counts as too old. (A clock
//! that went back and has caught up by the time that anybody looks cannot be noticed.)
//!
//! An intent whose attempts were all told that they were not executed (401, 429) gets a fresh key
//! once it is too old; until then its key stays, or is voided, because a browser may send one
//! request twice and the other copy may still arrive. The limit of this is such a copy that was
//! executed, while nobody asked for as long as the server remembered it, or could ask. To lock out
//! everybody who comes back to a checkout on the day after a 401 would be the greater harm. The same
//! copy has another limit: a first try that is told `expired` means a wrong clock here, and gets a
//! key without time; while gateways run under two settings, another one may execute the copy.
//! And a third: a refusal that the server could not store (`Idempotency-Stored: false`) makes room
//! for a new key, while the copy may yet be executed by an origin that has forgotten its refusal.
//!
//! # Double-charge limits
//!
//! Where a second key of an intent may still be charged beside the first one:
//!
//! - The three copies of the section before: what a browser sent twice on its own.
//! - A first attempt, of whose server nothing is known. Until the key calls are named, or an answer
//!   has carried `Idempotency-State`, a plain 2xx is taken for the server's success and a plain 4xx
//!   for its refusal. Whoever answers in the server's place (a service worker, a firewall) is
//!   believed then, while the request may go on. Name the key calls, and nobody is.
//! - The statuses that a page names as answers for the key itself ([`Context::final_statuses`]): a
//!   server that uses one of them for a single attempt, too, makes room for another key.
//! - A credential that the client cannot see: a cookie that becomes somebody else's between the
//!   request and a key call has the same mark.
//! - A submit that goes out under another credential than the attempts before it: its key is another
//!   key at the server, which executes it. The client notes that ([`SentBy::Several`]) and lets no
//!   key call settle it, but it does not forbid the submit, because credentials are renewed.
//! - Storage that was cleared, and [`forget`](Stored): then the client knows nothing.
//!
//! After an attempt whose outcome is unknown, no answer without proof makes room for another key,
//! whoever the server is; that it used to was a limit.
//!
//! [`Context::final_statuses`]: crate::client::retry::Context::final_statuses
//!
//! # What cannot be read
//!
//! An entry that is damaged, or that a newer version of this project wrote (a deploy was taken
//! back), may stand for a payment. To mint a key in its place could pay twice, so nothing is sent.
//! That locks the buyer out of this one intent, in this one browser: until the newer version is
//! served again, or until the page has found out (by the merchant's own API) and calls `forget`.
//! Money that was taken twice is harder to give back than a page that says "we are checking".

pub use super::call::{
    Call, CallSettings, Command, End, Ended, Goal, Moment, Said, Step, Waiting, Which,
};
pub use super::credential::{Cookies, Credential, CredentialMark, KeyCallAs, SentBy};
pub use super::entry::{Entry, EntryError, State, Stored};
pub use super::payload::{Payload, Tag};
pub use super::resolve::{Asked, Means, Purpose, Report, ResolveStep, after_report, first_step};
pub use super::tab_lease::{Claim, Claiming, TabToken};

use crate::client::retry::Outcome;
use crate::key::IdempotencyKey;
use crate::time::{Millis, UnixMillis};
use core::fmt;

/// A submit: what is to be sent for an intent.
#[derive(Clone, Copy, Debug)]
pub struct Submit<'a> {
    /// The request.
    pub payload: &'a Payload,
    /// The key that the caller chose, where it did.
    pub own_key: Option<&'a IdempotencyKey>,
    /// Since when this submit waited for another sender of the intent, where it did.
    pub waited_since: Option<UnixMillis>,
    /// How long the server keeps answers.
    pub retention: Millis,
    /// 16 bytes from a cryptographic source.
    pub random: [u8; 16],
}

/// What a submit does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// Store the entry, and send the request with its key.
    Send {
        /// The entry.
        entry: Entry,
        /// Whether its key has never been used; otherwise this may bring an answer that there was
        /// before.
        fresh: bool,
    },
    /// The outcome of the earlier payload comes first: see [`first_step`].
    ResolveFirst,
    /// The intent has succeeded with another payload: name a new intent, or forget this one.
    PayloadChanged {
        /// The status of its answer.
        http_status: u16,
    },
    /// The intent has succeeded, and the server may not have the answer any more.
    AnswerGone {
        /// The status of its answer.
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
    /// The intent has no entry any more, or one with another key.
    Overtaken,
    /// The key was given up.
    Voided,
    /// The server may have forgotten the key.
    TooOld,
}

/// A submit. Whoever calls this is the only sender of the intent, by a lock or a [`Claim`]: an entry
/// that says Sending was left by a page that is gone.
pub fn start(stored: &Stored, submit: &Submit<'_>, now: UnixMillis) -> Start {
    let entry = match stored {
        Stored::Nothing => return fresh(submit, now),
        Stored::Unreadable(error) => return Start::Unreadable(error.clone()),
        Stored::Entry(entry) => entry,
    };
    let other_key = submit.own_key.is_some_and(|own| *own != entry.key);
    let changed = other_key || submit.payload.tag(&entry.key) != entry.tag;
    let too_old = entry.is_too_old(now);
    // Two tabs, one click each: both get the answer of the one that was sent.
    let is_shared = submit.waited_since.is_some_and(|since| since <= entry.updated_at);
    let same = || Start::Send { entry: entry.clone(), fresh: false };
    match entry.state {
        State::Prepared if too_old => fresh(submit, now),
        State::Prepared if !changed => same(),
        State::Prepared if entry.attempts == 0 => fresh(submit, now),
        State::Prepared => Start::ResolveFirst,
        State::Sending | State::Unknown if too_old => Start::TooOld,
        State::Sending | State::Unknown if changed => Start::ResolveFirst,
        State::Sending | State::Unknown => same(),
        State::Succeeded { http_status } if changed => Start::PayloadChanged { http_status },
        State::Succeeded { http_status } if too_old => Start::AnswerGone { http_status },
        State::Succeeded { .. } => same(),
        State::Refused { .. } if is_shared && !changed && !too_old => same(),
        State::Refused { .. } | State::Voided => fresh(submit, now),
    }
}

/// The next attempt with this key is about to be sent: what is to be stored before its first byte.
/// Called for every attempt, with what is stored by then.
pub fn note_sending(
    stored: &Stored,
    key: &IdempotencyKey,
    retention: Millis,
    now: UnixMillis,
) -> Result<Entry, SendError> {
    let mut entry = stored.with_key(key).ok_or(SendError::Overtaken)?.clone();
    match entry.state {
        State::Voided => return Err(SendError::Voided),
        _ if entry.attempts == 0 => entry.safe_until = Entry::safe_from(now, retention),
        _ if entry.is_too_old(now) => return Err(SendError::TooOld),
        _ => {}
    }
    // The attempt before this one never told its end.
    entry.maybe_executed |= entry.state == State::Sending;
    if !matches!(entry.state, State::Succeeded { .. }) {
        entry.state = State::Sending;
    }
    entry.attempts = entry.attempts.saturating_add(1);
    entry.touch(now);
    Ok(entry)
}

/// The attempt with this key and number ended like this: what is to be stored, or `None` when that
/// changes nothing, or the key is not the intent's any more.
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
    let is_open = matches!(entry.state, State::Prepared | State::Sending | State::Unknown);
    match *outcome {
        Outcome::Succeeded { http_status } if !matches!(entry.state, State::Succeeded { .. }) => {
            entry.state = State::Succeeded { http_status };
        }
        _ if !is_open => {}
        Outcome::InProgress | Outcome::Ambiguous(_) | Outcome::Unsettled(_) => {
            entry.maybe_executed = true;
            if is_last || entry.state == State::Prepared {
                entry.state = State::Unknown;
            }
        }
        _ if !is_last => {}
        Outcome::Refused { http_status } | Outcome::KeyReused { http_status } => {
            entry.state = State::Refused { http_status };
        }
        Outcome::KeyVoided => entry.state = State::Voided,
        Outcome::NotExecuted { .. } | Outcome::KeyExpired if entry.maybe_executed => {
            entry.state = State::Unknown;
        }
        Outcome::NotExecuted { http_status, .. } => {
            entry.state = State::Prepared;
            // Refused for who asked: the next attempt may carry another credential.
            if matches!(http_status, 401 | 403 | 407) {
                entry.sent_by = SentBy::NotKnown;
            }
        }
        Outcome::KeyExpired => entry.state = State::Prepared,
        Outcome::Succeeded { .. } => {}
    }
    if entry == *before {
        return None;
    }
    entry.touch(now);
    Some(entry)
}

/// The attempt with this key and number was never sent, as the browser has proved: what is to be
/// stored, or `None` when that changes nothing.
pub fn note_not_sent(
    stored: &Stored,
    key: &IdempotencyKey,
    attempt: u32,
    now: UnixMillis,
) -> Option<Entry> {
    let mut entry = stored.with_key(key)?.clone();
    if attempt != entry.attempts || entry.state != State::Sending {
        return None;
    }
    entry.attempts = entry.attempts.saturating_sub(1);
    entry.state = if entry.maybe_executed { State::Unknown } else { State::Prepared };
    entry.touch(now);
    Some(entry)
}

/// After [`Outcome::KeyExpired`]: the same intent with a key that tells no time, a UUIDv4. `None`
/// where that is not safe, or the key is not the intent's any more.
pub fn remint(
    stored: &Stored,
    key: &IdempotencyKey,
    submit: &Submit<'_>,
    now: UnixMillis,
) -> Option<Entry> {
    let entry = stored.with_key(key)?;
    let is_right = entry.state == State::Prepared
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
            Self::Overtaken => "the intent was forgotten, or has another key by now",
            Self::Voided => "the key was given up; start the intent again",
            Self::TooOld => "the server may have forgotten the key and would execute it anew",
        })
    }
}

impl core::error::Error for SendError {}
