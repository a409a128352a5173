//! The result of a request.

use crate::http::response::Answer;
use futures_util::future::LocalBoxFuture;

/// Work that follows the response.
pub(crate) type Work = LocalBoxFuture<'static, ()>;

/// A response, and the work to do once it has gone out.
pub(crate) struct GatewayOutcome {
    pub(crate) answer: Answer,
    /// In this order.
    pub(crate) after: Vec<Work>,
}

impl From<Answer> for GatewayOutcome {
    fn from(answer: Answer) -> Self {
        Self { answer, after: Vec::new() }
    }
}
