//! What a request comes to.

use crate::http::response::Answer;
use futures_util::future::LocalBoxFuture;

/// Work for after the answer.
pub(crate) type Work = LocalBoxFuture<'static, ()>;

/// An answer, and what is left to do once it has gone out.
pub(crate) struct Outcome {
    pub(crate) answer: Answer,
    pub(crate) after: Option<Work>,
}

impl From<Answer> for Outcome {
    fn from(answer: Answer) -> Self {
        Self { answer, after: None }
    }
}
