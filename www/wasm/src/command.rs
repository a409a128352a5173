//! The commands of a call, for JavaScript.

use crate::entries::{status_of, with_state};
use crate::members::Members;
use oncekey::client::intent::{
    Command, End, EndReason, IntentState, SentRequest, Stored, WaitReason,
};
use oncekey::client::retry::{Outcome, Stop};

/// Returns a command for JavaScript: an object whose `do` says what to do.
pub(crate) fn reply(to_do: &Command, stored: &Stored) -> Members {
    match to_do {
        Command::Send { key, attempt, timeout, request, rotated } => command("send")
            .with_text("key", key.as_str())
            .with_number("attempt", (*attempt).into())
            .with_number("timeout", timeout.as_u64())
            .with_flag("earlier", *request == SentRequest::Earlier)
            .with_flag("rotated", *rotated),
        Command::Wait { after, why } => {
            let why = match why {
                WaitReason::Retry => "retry",
                WaitReason::InProgress => "inprogress",
            };
            command("wait").with_number("after", after.as_u64()).with_text("why", why)
        }
        Command::AskState { key } => command("ask").with_text("key", key.as_str()),
        Command::Void { key } => command("void").with_text("key", key.as_str()),
        Command::LookUp => command("lookup"),
        Command::End(end) => end_members(end, stored),
    }
}

fn end_members(end: &End, stored: &Stored) -> Members {
    let (state, status) = match (end, stored) {
        // The result of a look-up is not stored if the entry cannot be read.
        (End::Status(Some(state)), Stored::Unreadable(_)) => {
            (Some(*state), with_state(Members::new(), *state))
        }
        (_, Stored::Entry(entry)) => (Some(entry.state), status_of(stored)),
        (_, Stored::Unreadable(_)) => (Some(IntentState::Unknown), status_of(stored)),
        (_, Stored::Nothing) => (None, status_of(stored)),
    };
    let settled = match end {
        End::Response(outcome) => !matches!(outcome, Outcome::NotExecuted { .. }),
        _ => state.is_some_and(IntentState::is_settled),
    };
    let members = command("end")
        .with_object("status", status)
        .with_flag("settled", settled)
        .with_flag("open", state.is_some_and(IntentState::is_open));
    match end {
        End::Response(_) => members.with_text("end", "response"),
        End::Unknown { reason, why } => {
            let members = members.with_text("end", "unknown").with_text("why", why_name(*why));
            match reason {
                Some(reason) => members.with_text("unknownReason", reason.as_str()),
                None => members,
            }
        }
        End::PayloadChanged { http_status } => members
            .with_text("end", "payload_changed")
            .with_number("httpStatus", (*http_status).into()),
        End::ResponseGone { http_status } => members
            .with_text("end", "response_gone")
            .with_number("httpStatus", (*http_status).into()),
        End::NotResolved => members.with_text("end", "not_resolved"),
        End::KeyReused => members.with_text("end", "key_reused"),
        End::KeyVoided => members.with_text("end", "key_voided"),
        End::Status(_) => members.with_text("end", "status"),
    }
}

fn why_name(why: EndReason) -> &'static str {
    match why {
        EndReason::Stopped(Stop::Outcome) => "outcome",
        EndReason::Stopped(Stop::RetriesUsedUp) => "retries_used_up",
        EndReason::Stopped(Stop::TimeUsedUp) => "time_used_up",
        EndReason::Stopped(Stop::RetentionOver) | EndReason::TooOld => "too_old",
        EndReason::Unreadable => "unreadable",
        EndReason::Overtaken => "overtaken",
    }
}

/// Returns a new command, without its members.
fn command(name: &str) -> Members {
    Members::new().with_text("do", name)
}
