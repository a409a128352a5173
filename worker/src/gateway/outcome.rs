//! The result of a request.

use crate::http::response::Answer;
use futures_util::future::LocalBoxFuture;

/// Work that follows the response.
pub(crate) type Work = LocalBoxFuture<'static, ()>;

/// A response, and the work to do after it was sent.
pub(crate) struct GatewayOutcome {
    pub(crate) answer: Answer,
    /// The work, in the order in which it is done.
    pub(crate) after: Vec<Work>,
}

impl From<Answer> for GatewayOutcome {
    fn from(answer: Answer) -> Self {
        Self { answer, after: Vec::new() }
    }
}
