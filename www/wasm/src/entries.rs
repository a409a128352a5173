//! What a stored text says about an intent.

use crate::fields::Fields;
use crate::members::Members;
use oncekey::client::intent::{AfterAbort, EntryError, IntentState, Stored};

/// `status`: the stored text.
pub(crate) fn status(fields: &mut Fields<'_>) -> Members {
    status_of(&stored(fields))
}

/// `facts`: the stored text, the retention, the time. Returns what may be done with the entry.
pub(crate) fn facts(fields: &mut Fields<'_>) -> Members {
    let stored = stored(fields);
    let (retention, now) = (fields.millis(), fields.time());
    let after_abort = match stored.after_abort() {
        AfterAbort::Unknown => "unknown",
        AfterAbort::Succeeded => "succeeded",
        AfterAbort::NotSent => "not_sent",
    };
    Members::new()
        .with_flag("isPending", stored.is_pending())
        .with_flag("isSpent", stored.is_spent())
        .with_flag("isOver", stored.is_over(retention, now))
        .with_text("afterAbort", after_abort)
}

pub(crate) fn stored(fields: &mut Fields<'_>) -> Stored {
    Stored::read(fields.optional())
}

/// Returns what is known about an intent.
pub(crate) fn status_of(stored: &Stored) -> Members {
    let members = Members::new();
    match stored {
        Stored::Nothing => members.with_text("state", "idle"),
        Stored::Entry(entry) => with_state(members, entry.state)
            .with_text("key", entry.key.as_str())
            .with_number("attempts", entry.attempts.into())
            .with_number("createdAt", entry.created_at.as_u64()),
        Stored::Unreadable(error) => {
            let members =
                with_state(members, IntentState::Unknown).with_text("problem", error.message());
            match error {
                EntryError::NewerVersion { key } => members.with_text("key", key.as_str()),
                _ => members,
            }
        }
    }
}

pub(crate) fn with_state(members: Members, state: IntentState) -> Members {
    let (name, http_status) = match state {
        IntentState::Prepared => ("prepared", None),
        IntentState::Sending => ("sending", None),
        IntentState::Unknown => ("unknown", None),
        IntentState::Succeeded { http_status } => ("succeeded", Some(http_status)),
        IntentState::Refused { http_status } => ("refused", Some(http_status)),
        IntentState::Voided => ("voided", None),
    };
    let members = members.with_text("state", name);
    match http_status {
        Some(status) => members.with_number("httpStatus", status.into()),
        None => members,
    }
}
