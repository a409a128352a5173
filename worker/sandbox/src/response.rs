//! A response before it is a `worker::Response`.

use crate::error::{Failure, Refusal};
use crate::pages::Listed;
use oncekey::error::help_link;
use platform::json::writer::{JsonObject, array};
use std::time::Duration;
use worker::{Response, ResponseBuilder};

/// Status and JSON body, complete with the request id.
pub(super) struct ApiResponse {
    status: u16,
    allow: Option<String>,
    /// The value of `Link`, which leads to the entry of an error.
    link: Option<String>,
    body: Vec<u8>,
    /// How long the object waits before it sends the response.
    pub(super) delay: Option<Duration>,
}

impl ApiResponse {
    /// `{"data": …, "request_id": …}`, with `data` in JSON.
    pub(super) fn data(status: u16, data: &str, request_id: &str) -> Self {
        let json = JsonObject::new().json("data", data).text("request_id", request_id);
        Self::new(status, json.finish().into_bytes())
    }

    /// `{"data": […], "next_cursor": …, "request_id": …}`
    pub(super) fn list(listed: &Listed, request_id: &str) -> Self {
        let next = listed.next.map(|next| next.to_string());
        let json = JsonObject::new()
            .json("data", &array(&listed.items))
            .maybe("next_cursor", next.as_deref())
            .text("request_id", request_id);
        Self::new(200, json.finish().into_bytes())
    }

    /// Returns a response with this body.
    pub(super) fn new(status: u16, body: Vec<u8>) -> Self {
        Self { status, allow: None, link: None, body, delay: None }
    }

    /// Returns an error. The caller sees the whole refusal, but of an internal error only that there was
    /// one.
    pub(super) fn failed(failure: Failure, request_id: &str) -> Self {
        let refusal = match failure {
            Failure::Refused(refusal) => refusal,
            Failure::Broken(error) => {
                worker::console_error!("sandbox, {request_id}: {error}");
                Refusal::internal()
            }
        };
        let body = refusal.body(request_id);
        let (allow, link) = (refusal.allow, Some(help_link(refusal.code)));
        Self { allow, link, ..Self::new(refusal.status, body) }
    }

    pub(super) fn into_response(self, request_id: &str) -> worker::Result<Response> {
        let mut builder = ResponseBuilder::new()
            .with_status(self.status)
            .with_header("Content-Type", "application/json")?
            .with_header("X-Request-Id", request_id)?;
        if let Some(allow) = &self.allow {
            builder = builder.with_header("Allow", allow)?;
        }
        if let Some(link) = &self.link {
            builder = builder.with_header("Link", link)?;
        }
        // A 500 has no such header, because its outcome is unknown. SDKs then go by the status.
        let should_retry = match self.status {
            408 | 503 => Some("true"),
            400..500 => Some("false"),
            _ => None,
        };
        if let Some(again) = should_retry {
            builder = builder
                .with_header("Stripe-Should-Retry", again)?
                .with_header("X-Should-Retry", again)?;
        }
        if self.status == 503 {
            builder = builder.with_header("Retry-After", "1")?;
        }
        Ok(builder.fixed(self.body))
    }
}
