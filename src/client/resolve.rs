//! Resolves a key whose outcome is unknown.
//!
//! There are two key calls: `GET` returns the state of the key, and `POST` voids it. The shell asks
//! [`first_step`] what to do, does it, and passes the result to [`after_report`].
//!
//! | the server returns | this proves that | the intent becomes |
//! |---|---|---|
//! | `completed`, with a status below 400 | the request was executed | Succeeded |
//! | `completed`, 4xx | the request was refused | Refused |
//! | `voided` | nothing was and nothing will be executed, for as long as the server remembers that | Voided |
//! | `in_progress` | an attempt is in progress | the state is asked for again |
//! | `unknown` | the server does not know either | Unknown |
//! | `released` | nothing was executed so far; a request may still be in progress | Unknown |
//! | `expired`, 404, `completed` with 5xx | nothing | Unknown |
//!
//! [`Purpose::Resolve`] asks for the state and sends nothing that changes it. [`Purpose::MakeRoom`]
//! makes room for another payload, in this order:
//!
//! 1. Ask for the state. If the key has a response, the outcome is known.
//! 2. Otherwise void the key, so that the old payload is not executed.
//! 3. If the server refuses that, or has no key calls, send the old payload again with the old key,
//!    if its body is still in memory. This is the last way to get its response.
//! 4. Otherwise the outcome stays unknown.
//!
//! An intent is Prepared if the server responded "not executed" to every attempt (429, for
//! example). A request that the browser sent twice may still arrive, so the key is voided too, if
//! the server has the key calls. Otherwise the key counts as abandoned.
//!
//! A key that is too old is neither voided nor sent. The server may have forgotten that it executed
//! the request, and would return "voided" by mistake.

use super::entry::{Entry, IntentState};
use crate::time::UnixMillis;

/// Why an intent is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// To learn the outcome.
    Resolve,
    /// To send another payload for the same intent.
    MakeRoom,
}

/// What the shell can use to resolve an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Means {
    /// Whether the server has the key calls.
    pub key_calls: bool,
    /// Whether the bytes of the old payload are still in memory.
    pub old_body: bool,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResolveStep {
    /// `GET` the state of the key.
    AskState,
    /// The same after a while: see
    /// [`Outcome::InProgress`](crate::client::retry::Outcome::InProgress).
    AskAgain,
    /// `POST` to void the key.
    Void,
    /// Send the old payload with the old key, as for any retry; then start anew.
    SendAgain,
    /// The outcome is known.
    Settled,
    /// The outcome stays unknown.
    StillUnknown,
}

/// Which key call was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyCall {
    /// `GET` of the state.
    State,
    /// `POST` to void.
    Void,
}

/// The result of a key call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Report {
    /// The key has its response.
    Completed {
        /// The status of the response.
        http_status: u16,
    },
    /// An attempt is in progress.
    InProgress,
    /// The server does not know.
    Unknown,
    /// Nothing was executed so far.
    Released,
    /// Nothing was and nothing will be executed.
    Voided,
    /// There was a response, which has expired.
    Expired,
    /// The server does not know the key, or this call: 404.
    Absent,
    /// There was no response, or the response cannot be read.
    NoResponse,
}

impl Report {
    /// Reads the response to a key call: its status, and the members `state` and `http_status` of
    /// its body. They are `None` if the body was cut or is no JSON.
    pub fn read(status: u16, state: Option<&str>, http_status: Option<u16>) -> Self {
        match (status, state, http_status) {
            (404, ..) => Self::Absent,
            (200, Some("completed"), Some(http_status)) => Self::Completed { http_status },
            (200, Some("in_progress"), _) => Self::InProgress,
            (200, Some("unknown"), _) => Self::Unknown,
            (200, Some("released"), _) => Self::Released,
            (200, Some("voided"), _) => Self::Voided,
            (200, Some("expired"), _) => Self::Expired,
            _ => Self::NoResponse,
        }
    }

    /// Reads the result of the caller's look-up: `succeeded` or `refused`, and the status of the
    /// response if it is known. Returns `None` for any other word, and for a status that does not
    /// fit: a wrong refusal would make room for another key.
    pub fn looked_up(state: &str, http_status: Option<u16>) -> Option<Self> {
        let http_status = match (state, http_status) {
            ("succeeded", None) => 200,
            ("refused", None) => 400,
            ("succeeded", Some(status @ 200..400)) | ("refused", Some(status @ 400..500)) => status,
            _ => return None,
        };
        Some(Self::Completed { http_status })
    }
}

/// Returns what to do first, and what to store before that.
pub fn first_step(
    entry: &Entry,
    purpose: Purpose,
    means: Means,
    now: UnixMillis,
) -> (Option<Entry>, ResolveStep) {
    let is_open = match entry.state {
        IntentState::Sending | IntentState::Unknown => true,
        // Nothing is unknown, but a request may still be in progress.
        IntentState::Prepared => purpose == Purpose::MakeRoom && entry.attempts > 0,
        IntentState::Succeeded { .. } | IntentState::Refused { .. } | IntentState::Voided => false,
    };
    if !is_open {
        (None, ResolveStep::Settled)
    } else if means.key_calls {
        (None, ResolveStep::AskState)
    } else {
        last_resort(entry, purpose, means, now)
    }
}

/// Returns what to do after a key call, and what to store before that.
pub fn after_report(
    entry: &Entry,
    key_call: KeyCall,
    report: Report,
    purpose: Purpose,
    means: Means,
    now: UnixMillis,
) -> (Option<Entry>, ResolveStep) {
    if let Some(state) = settled(entry, report, now) {
        return (changed(entry, state, now), ResolveStep::Settled);
    }
    // The server knows of an attempt that may have been executed, whatever it returned before.
    let mut entry = entry.clone();
    let is_news = matches!(report, Report::InProgress | Report::Unknown) && !entry.maybe_executed;
    if is_news {
        (entry.state, entry.maybe_executed) = (IntentState::Unknown, true);
        entry.touch(now);
    }
    let may_void =
        purpose == Purpose::MakeRoom && key_call == KeyCall::State && !entry.is_too_old(now);
    let (next, step) = match report {
        Report::InProgress => (None, ResolveStep::AskAgain),
        // The key call failed. The next one would fail too.
        Report::NoResponse => (None, ResolveStep::StillUnknown),
        _ if may_void => (None, ResolveStep::Void),
        _ => last_resort(&entry, purpose, means, now),
    };
    (next.or(is_news.then_some(entry)), step)
}

/// Returns the state that the report proves.
fn settled(entry: &Entry, report: Report, now: UnixMillis) -> Option<IntentState> {
    match (entry.state, report) {
        (IntentState::Succeeded { .. } | IntentState::Refused { .. } | IntentState::Voided, _) => {
            Some(entry.state)
        }
        (_, Report::Completed { http_status }) => match http_status {
            200..400 => Some(IntentState::Succeeded { http_status }),
            400..500 => Some(IntentState::Refused { http_status }),
            _ => None,
        },
        (_, Report::Voided) if !entry.is_too_old(now) => Some(IntentState::Voided),
        _ => None,
    }
}

/// Returns what is left to do without the key calls.
fn last_resort(
    entry: &Entry,
    purpose: Purpose,
    means: Means,
    now: UnixMillis,
) -> (Option<Entry>, ResolveStep) {
    let makes_room = purpose == Purpose::MakeRoom;
    if makes_room && entry.state == IntentState::Prepared {
        // The server responded "not executed" to every attempt. There is no better proof.
        (changed(entry, IntentState::Voided, now), ResolveStep::Settled)
    } else if makes_room && means.old_body && !entry.is_too_old(now) {
        (None, ResolveStep::SendAgain)
    } else {
        (None, ResolveStep::StillUnknown)
    }
}

fn changed(entry: &Entry, state: IntentState, now: UnixMillis) -> Option<Entry> {
    (entry.state != state).then(|| {
        let mut entry = Entry { state, ..entry.clone() };
        entry.touch(now);
        entry
    })
}
