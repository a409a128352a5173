//! An answer before it is a `Response`: so that it can be made here and in the object alike.

use super::error::{Failure, Refusal};
use super::input::RequestId;
use super::pages::Listed;
use platform::json::writer::{Shown, array};
use worker::{Response, ResponseBuilder};

/// Status and JSON body, complete with the request id.
pub(super) struct Answer {
    status: u16,
    allow: Option<String>,
    body: Vec<u8>,
}

impl Answer {
    /// `{"data": …, "request_id": …}`, with `data` in JSON.
    pub(super) fn data(status: u16, data: &str, request_id: &RequestId) -> Self {
        Self::shown(status, Shown::new().json("data", data), request_id)
    }

    /// `{"data": […], "next_cursor": …, "request_id": …}`
    pub(super) fn list(listed: &Listed, request_id: &RequestId) -> Self {
        let data = Shown::new().json("data", &array(&listed.items));
        let next = listed.next.map(|next| next.to_string());
        Self::shown(200, data.maybe("next_cursor", next.as_deref()), request_id)
    }

    fn shown(status: u16, shown: Shown, request_id: &RequestId) -> Self {
        let body = shown.text("request_id", request_id.as_str()).finish().into_bytes();
        Self::ready(status, body)
    }

    /// The text of an answer that is read here.
    pub(super) fn lines(self) -> Option<String> {
        String::from_utf8(self.body).ok().filter(|_| self.status == 200)
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
        let body = refusal.body(request_id.as_str());
        Self { status: refusal.status, allow: refusal.allow, body }
    }

    pub(super) fn into_response(self, request_id: &RequestId) -> worker::Result<Response> {
        let mut builder = ResponseBuilder::new()
            .with_status(self.status)
            .with_header("Content-Type", "application/json")?
            .with_header("X-Request-Id", request_id.as_str())?;
        if let Some(allow) = &self.allow {
            builder = builder.with_header("Allow", allow)?;
        }
        // Of a 500 nobody knows: SDKs go by the status.
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
