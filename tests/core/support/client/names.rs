//! The names of outcomes, states and steps in tables and vectors.

use oncekey::client::intent::{End, IntentState, Start, Stored};
use oncekey::client::retry::{Outcome, RetryDecision, Stop};

pub(crate) fn outcome_name(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Succeeded { .. } => "succeeded".into(),
        Outcome::Refused { .. } => "refused".into(),
        Outcome::NotExecuted { again: true, .. } => "not_executed again".into(),
        Outcome::NotExecuted { .. } => "not_executed".into(),
        Outcome::InProgress => "in_progress".into(),
        Outcome::Ambiguous(unknown) => format!("ambiguous {}", unknown.as_str()),
        Outcome::Unsettled(unknown) => format!("unsettled {}", unknown.as_str()),
        Outcome::KeyReused { .. } => "key_reused".into(),
        Outcome::KeyVoided => "key_voided".into(),
        Outcome::KeyExpired => "key_expired".into(),
    }
}

pub(crate) fn next_name(next: RetryDecision) -> String {
    match next {
        RetryDecision::Again { after, counts: true } => format!("retry after {}", after.as_u64()),
        RetryDecision::Again { after, counts: false } => format!("poll after {}", after.as_u64()),
        RetryDecision::Stop(Stop::Outcome) => "stop".into(),
        RetryDecision::Stop(Stop::RetriesUsedUp) => "stop: retries used up".into(),
        RetryDecision::Stop(Stop::TimeUsedUp) => "stop: time used up".into(),
        RetryDecision::Stop(Stop::RetentionOver) => "stop: retention over".into(),
    }
}

pub(crate) fn state_name(stored: &Stored) -> String {
    match stored {
        Stored::Nothing => "nothing".into(),
        Stored::Unreadable(_) => "unreadable".into(),
        Stored::Entry(entry) => {
            let name = match entry.state {
                IntentState::Prepared => "prepared",
                IntentState::Sending => "sending",
                IntentState::Unknown => "unknown",
                IntentState::Succeeded { .. } => "succeeded",
                IntentState::Refused { .. } => "refused",
                IntentState::Voided => "voided",
            };
            name.into()
        }
    }
}

pub(crate) fn start_name(start: &Start) -> &'static str {
    match start {
        Start::Send { fresh: true, .. } => "send_fresh",
        Start::Send { fresh: false, .. } => "send_same",
        Start::ResolveFirst => "resolve_first",
        Start::PayloadChanged { .. } => "payload_changed",
        Start::ResponseGone { .. } => "response_gone",
        Start::TooOld => "too_old",
        Start::Unreadable(_) => "unreadable",
    }
}

pub(crate) fn end_name(end: &End) -> &'static str {
    match end {
        End::Response(_) => "ends: response",
        End::Unknown { .. } => "ends: unknown",
        End::PayloadChanged { .. } => "ends: payload changed",
        End::NotResolved => "ends: not resolved",
        End::ResponseGone { .. } => "ends: response gone",
        End::KeyReused => "ends: key reused",
        End::KeyVoided => "ends: key voided",
        End::Status(_) => "ends: found",
    }
}
