//! A response before it is a `worker::Response`, so that the Worker and the object can both make it.

use crate::error::{Failure, Refusal};
use crate::pages::Listed;
use oncekey::error::help_link;
use platform::json::writer::{JsonObject, array};
use std::time::Duration;
use worker::{Response, ResponseBuilder};

/// Status and JSON body, complete with the request id.
pub(super) struct Reply {
    status: u16,
    allow: Option<String>,
    /// The value of `Link`, which leads to the entry of an error.
    link: Option<String>,
    body: Vec<u8>,
    /// How long the object delays the response.
    pub(super) delay: Option<Duration>,
}

impl Reply {
    /// `{"data": …, "request_id": …}`, with `data` in JSON.
    pub(super) fn data(status: u16, data: &str, request_id: &str) -> Self {
        Self::shown(status, JsonObject::new().json("data", data), request_id)
    }

    /// `{"data": […], "next_cursor": …, "request_id": …}`
    pub(super) fn list(listed: &Listed, request_id: &str) -> Self {
        let data = JsonObject::new().json("data", &array(&listed.items));
        let next = listed.next.map(|next| next.to_string());
        Self::shown(200, data.maybe("next_cursor", next.as_deref()), request_id)
    }

    fn shown(status: u16, json: JsonObject, request_id: &str) -> Self {
        Self::ready(status, json.text("request_id", request_id).finish().into_bytes())
    }

    /// Returns a reply with a body that is already complete.
    pub(super) fn ready(status: u16, body: Vec<u8>) -> Self {
        Self { status, allow: None, link: None, body, delay: None }
    }

    /// Takes the value of `Link` from the object's response.
    pub(super) fn with_link(self, link: Option<String>) -> Self {
        Self { link, ..self }
    }

    /// Delays the response.
    pub(super) fn after(self, delay: Option<Duration>) -> Self {
        Self { delay, ..self }
    }

    /// Returns the text of a 200.
    pub(super) fn text(self) -> Option<String> {
        String::from_utf8(self.body).ok().filter(|_| self.status == 200)
    }

    /// Returns the response to an error. A refusal tells the caller every detail; an internal error is
    /// a 500 without details.
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
        Self { allow, link, ..Self::ready(refusal.status, body) }
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
        // After a 500 the outcome is unknown, so SDKs must decide by the status.
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
