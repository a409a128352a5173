//! The result of a request.

use crate::http::response::HttpResponse;
use futures_util::future::LocalBoxFuture;

/// Work that follows the response.
pub(crate) type Work = LocalBoxFuture<'static, ()>;

/// A response, and the work to do after it was sent.
pub(crate) struct GatewayOutcome {
    pub(crate) response: HttpResponse,
    /// The work, in the order in which it is done.
    pub(crate) after: Vec<Work>,
}

impl From<HttpResponse> for GatewayOutcome {
    fn from(response: HttpResponse) -> Self {
        Self { response, after: Vec::new() }
    }
}
