//! The parts of a response that a page sees.

use crate::config::IntermediaryResponse;
use oncekey::write_flow::{CallerResponse, WriteOutcome};
use oncekey::{Dialect, KeyState, StoredResponse};

/// The parts of a response that a page sees.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::world) struct SeenResponse {
    pub(super) status: u16,
    pub(super) code: Option<&'static str>,
    /// `Idempotency-State`. A response from an intermediary has none.
    pub(super) state: Option<&'static str>,
    pub(super) is_replay: bool,
    pub(super) is_not_stored: bool,
    pub(super) is_redirected: bool,
}

impl SeenResponse {
    pub(in crate::world) fn of(outcome: &WriteOutcome, own: Option<&StoredResponse>) -> Self {
        let state = match (&outcome.status, &outcome.response) {
            (Some(status), _) => status.state.as_str(),
            (None, CallerResponse::Rejected(rejection)) => rejection.state_without_record(),
            (None, _) => KeyState::NOTHING_KNOWN,
        };
        let state = Some(state);
        let of = |status, is_replay, is_not_stored| Self {
            status,
            code: None,
            state,
            is_replay,
            is_not_stored,
            is_redirected: false,
        };
        match &outcome.response {
            CallerResponse::Own => of(own.map_or(500, |own| own.status), false, false),
            CallerResponse::NotStored => of(own.map_or(500, |own| own.status), false, true),
            CallerResponse::Replay(response) => of(response.status, true, false),
            CallerResponse::Duplicate => of(200, false, false),
            CallerResponse::Rejected(rejection) => {
                let error = rejection.to_response(
                    Dialect::Kukopay,
                    None,
                    "",
                    oncekey::RequestKind::KeyedWrite,
                );
                Self { code: Some(error.code), ..of(error.status, false, false) }
            }
        }
    }

    pub(super) fn of_intermediary(response: IntermediaryResponse) -> Self {
        let (status, code, state) = match response {
            IntermediaryResponse::SignIn => {
                (401, Some("authentication_error"), Some(KeyState::NOTHING_KNOWN))
            }
            IntermediaryResponse::BadRequest => (400, Some("invalid_request_error"), None),
            IntermediaryResponse::LogIn => (200, None, None),
            IntermediaryResponse::Queued => (202, None, None),
        };
        let is_redirected = response == IntermediaryResponse::LogIn;
        Self { status, code, state, is_replay: false, is_not_stored: false, is_redirected }
    }
}
