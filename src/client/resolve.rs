//! Finding out what became of a key whose outcome is unknown.
//!
//! Two calls tell: `GET` of the key's state, and `POST` to void it. The shell asks [`first_step`]
//! what to do, does it, and asks [`after_report`] again with what came.
//!
//! | the server says | it is known that | so the intent is |
//! |---|---|---|
//! | `completed`, with a status below 400 | it was executed | Succeeded |
//! | `completed`, 4xx | it was refused | Refused |
//! | `voided` | nothing was and nothing will be executed, for as long as the server remembers that | Voided |
//! | `in_progress` | an attempt is under way | asked again |
//! | `unknown` | the server does not know either | Unknown |
//! | `released` | nothing was executed so far; a request may still be under way | Unknown |
//! | `expired`, 404, `completed` with 5xx | nothing | Unknown |
//!
//! To find out ([`Purpose::FindOut`]), the state is asked, and nothing is sent that changes it. To
//! make room for another payload ([`Purpose::MakeRoom`]), in this order:
//!
//! 1. ask the state: an answer that is there settles it;
//! 2. where there is none, void the key: then the payload that the buyer has changed is not even
//!    executed;
//! 3. where that is refused, or the server has no such calls, send the old payload again with the
//!    old key, if its body is still in memory: the only way left to get its answer;
//! 4. else the outcome stays unknown.
//!
//! An intent whose attempts were all told that they were not executed (429, say) is Prepared. What
//! the browser sent twice may still arrive, so its key is voided too where it can be; where the
//! server has no such calls, it counts as given up.
//!
//! A key that is too old is neither voided nor sent: the server may have forgotten that it executed
//! it, and would then say "voided" in good faith.

use super::entry::{Entry, State};
use crate::time::UnixMillis;

/// What resolving is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// To know.
    FindOut,
    /// To send another payload for the same intent.
    MakeRoom,
}

/// What the shell has to resolve with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Means {
    /// The server offers the key calls.
    pub key_calls: bool,
    /// The old payload's bytes are still in memory.
    pub old_body: bool,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResolveStep {
    /// `GET` the key's state.
    AskState,
    /// The same after a while: see [`Outcome::InProgress`](crate::client::retry::Outcome::InProgress).
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

/// Which call was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asked {
    /// `GET` of the state.
    State,
    /// `POST` to void.
    Void,
}

/// What a key call told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Report {
    /// The key has its answer.
    Completed {
        /// The answer's status.
        http_status: u16,
    },
    /// An attempt is under way.
    InProgress,
    /// The server does not know.
    Unknown,
    /// Nothing was executed so far.
    Released,
    /// Nothing was and nothing will be executed.
    Voided,
    /// There was an answer, which is gone.
    Expired,
    /// The server does not know the key, or this call: 404.
    Absent,
    /// There was no answer, or none that can be read.
    NoAnswer,
}

impl Report {
    /// Reads the answer to a key call: its status, and the members `state` and `http_status` of its
    /// body; `None` for a body that was cut or is no JSON.
    pub fn read(status: u16, state: Option<&str>, http_status: Option<u16>) -> Self {
        match (status, state, http_status) {
            (404, ..) => Self::Absent,
            (200, Some("completed"), Some(http_status)) => Self::Completed { http_status },
            (200, Some("in_progress"), _) => Self::InProgress,
            (200, Some("unknown"), _) => Self::Unknown,
            (200, Some("released"), _) => Self::Released,
            (200, Some("voided"), _) => Self::Voided,
            (200, Some("expired"), _) => Self::Expired,
            _ => Self::NoAnswer,
        }
    }

    /// Reads what a look-up of the caller's own has found: `succeeded` or `refused`, and the status
    /// of the answer where it is known. `None` for any other word, and for a status that does not
    /// fit: to take one for a refusal would let another key be made.
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

/// What to do first, and what to store before.
pub fn first_step(
    entry: &Entry,
    purpose: Purpose,
    means: Means,
    now: UnixMillis,
) -> (Option<Entry>, ResolveStep) {
    let is_open = match entry.state {
        State::Sending | State::Unknown => true,
        // Nothing is unknown, but what was sent may still be under way.
        State::Prepared => purpose == Purpose::MakeRoom && entry.attempts > 0,
        State::Succeeded { .. } | State::Refused { .. } | State::Voided => false,
    };
    if !is_open {
        (None, ResolveStep::Settled)
    } else if means.key_calls {
        (None, ResolveStep::AskState)
    } else {
        last_resort(entry, purpose, means, now)
    }
}

/// What to do after a key call, and what to store before.
pub fn after_report(
    entry: &Entry,
    asked: Asked,
    report: Report,
    purpose: Purpose,
    means: Means,
    now: UnixMillis,
) -> (Option<Entry>, ResolveStep) {
    if let Some(state) = settled(entry, report, now) {
        return (changed(entry, state, now), ResolveStep::Settled);
    }
    // The server knows of an attempt that may have been executed, whatever we were told.
    let mut entry = entry.clone();
    let is_news = matches!(report, Report::InProgress | Report::Unknown) && !entry.maybe_executed;
    if is_news {
        (entry.state, entry.maybe_executed) = (State::Unknown, true);
        entry.touch(now);
    }
    let may_void = purpose == Purpose::MakeRoom && asked == Asked::State && !entry.is_too_old(now);
    let (next, step) = match report {
        Report::InProgress => (None, ResolveStep::AskAgain),
        // The call itself failed: the next one would, too.
        Report::NoAnswer => (None, ResolveStep::StillUnknown),
        _ if may_void => (None, ResolveStep::Void),
        _ => last_resort(&entry, purpose, means, now),
    };
    (next.or(is_news.then_some(entry)), step)
}

/// What the report proves.
fn settled(entry: &Entry, report: Report, now: UnixMillis) -> Option<State> {
    match (entry.state, report) {
        (State::Succeeded { .. } | State::Refused { .. } | State::Voided, _) => Some(entry.state),
        (_, Report::Completed { http_status }) => match http_status {
            200..400 => Some(State::Succeeded { http_status }),
            400..500 => Some(State::Refused { http_status }),
            _ => None,
        },
        (_, Report::Voided) if !entry.is_too_old(now) => Some(State::Voided),
        _ => None,
    }
}

/// Without the key calls.
fn last_resort(
    entry: &Entry,
    purpose: Purpose,
    means: Means,
    now: UnixMillis,
) -> (Option<Entry>, ResolveStep) {
    let makes_room = purpose == Purpose::MakeRoom;
    if makes_room && entry.state == State::Prepared {
        // Every attempt was told that it was not executed: that has to do.
        (changed(entry, State::Voided, now), ResolveStep::Settled)
    } else if makes_room && means.old_body && !entry.is_too_old(now) {
        (None, ResolveStep::SendAgain)
    } else {
        (None, ResolveStep::StillUnknown)
    }
}

fn changed(entry: &Entry, state: State, now: UnixMillis) -> Option<Entry> {
    (entry.state != state).then(|| {
        let mut entry = Entry { state, ..entry.clone() };
        entry.touch(now);
        entry
    })
}
