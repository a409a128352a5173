//! An answer before it is a `Response`: so that it can be made here and in the object alike.

use super::error::{Failure, Refusal};
use super::input::RequestId;
use serde::Serialize;
use worker::{Response, ResponseBuilder};

/// Status and JSON body, complete with the request id.
pub(super) struct Answer {
    status: u16,
    allow: Option<&'static str>,
    body: Vec<u8>,
}

impl Answer {
    /// `{"data": …, "request_id": …}`.
    pub(super) fn data(
        status: u16,
        data: &impl Serialize,
        request_id: &RequestId,
    ) -> worker::Result<Self> {
        #[derive(Serialize)]
        struct Body<'a, T> {
            data: &'a T,
            request_id: &'a RequestId,
        }
        let body = serde_json::to_vec(&Body { data, request_id })?;
        Ok(Self { status, allow: None, body })
    }

    /// What another part has made already, passed on as it is.
    pub(super) fn ready(status: u16, body: Vec<u8>) -> Self {
        Self { status, allow: None, body }
    }

    /// The caller learns of a refusal all there is, and of a breakdown only that it was one.
    pub(super) fn failed(failure: Failure, request_id: &RequestId) -> Self {
        let refusal = match failure {
            Failure::Refused(refusal) => refusal,
            Failure::Broken(error) => {
                worker::console_error!("sandbox, {}: {error}", request_id.as_str());
                Refusal::internal()
            }
        };
        Self { status: refusal.status, allow: refusal.allow, body: refusal.body(request_id) }
    }

    pub(super) fn into_response(self, request_id: &RequestId) -> worker::Result<Response> {
        let mut builder = ResponseBuilder::new()
            .with_status(self.status)
            .with_header("Content-Type", "application/json")?
            .with_header("X-Request-Id", request_id.as_str())?;
        if let Some(allow) = self.allow {
            builder = builder.with_header("Allow", allow)?;
        }
        if self.status == 503 {
            builder = builder.with_header("Retry-After", "1")?;
        }
        Ok(builder.fixed(self.body))
    }
}
