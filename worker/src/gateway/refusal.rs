//! Why a request gets neither the origin's response to it nor a stored one.

use crate::http::context::Caller;
use crate::http::response::HttpResponse;
use oncekey::Rejection;
use oncekey::write_result::WriteResult;

/// Why a request gets neither the origin's response to it nor a stored one.
pub(crate) enum Refusal {
    Rejected(Rejection),
    /// The origin does not accept the caller's credential. This is its response to the question.
    ByOrigin(HttpResponse),
}

impl Refusal {
    /// Returns the response that the caller gets.
    pub(crate) fn into_response(self, caller: &Caller) -> HttpResponse {
        match self {
            Self::Rejected(rejection) => caller.reject(&rejection),
            Self::ByOrigin(response) => {
                caller.measure.ended(WriteResult::Refused);
                response
            }
        }
    }
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}
