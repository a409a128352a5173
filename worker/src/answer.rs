//! What goes back to a caller.

use crate::clock;
use crate::config::Config;
use crate::cors;
use crate::headers;
use crate::incoming::Incoming;
use crate::metrics::Measure;
use crate::upstream::is_taken_off;
use oncekey::{KeyStatus, Rejection, StoredResponse};
use std::rc::Rc;
use worker::web_sys::{self, ReadableStream};
use worker::{EncodeBody, Response, ResponseBuilder};

/// What every answer to one request needs to know.
pub(crate) struct Caller {
    pub(crate) config: Rc<Config>,
    /// The id that this request has here; an origin's own takes its place.
    pub(crate) request_id: String,
    /// What is counted and timed of it.
    pub(crate) measure: Rc<Measure>,
    /// The `Origin` of the page that asks, if a page asks.
    origin: Option<String>,
    accept: Option<String>,
}

/// An answer on its way out.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Body,
    /// The headers of the origin's answer that this one is, as the platform has them.
    pub(crate) came: Option<web_sys::Headers>,
}

pub(crate) enum Body {
    Bytes(Vec<u8>),
    Stream(ReadableStream),
}

impl Caller {
    pub(crate) fn new(config: Rc<Config>, incoming: &Incoming, request_id: String) -> Self {
        let header = |name| incoming.header(name).map(str::to_owned);
        let (origin, accept) = (header("origin"), header("accept"));
        Self { config, request_id, measure: Rc::new(Measure::begin()), origin, accept }
    }

    /// The answer to a request that gets none of the origin's.
    pub(crate) fn reject(&self, rejection: &Rejection) -> Answer {
        self.measure.refused(rejection);
        let problem =
            rejection.problem(self.config.dialect, self.accept.as_deref(), &self.request_id);
        let mut headers = vec![
            ("content-type".to_owned(), problem.content_type.to_owned()),
            ("cache-control".to_owned(), "no-store".to_owned()),
        ];
        if let Some(seconds) = problem.retry_after {
            headers.push(("retry-after".to_owned(), seconds.to_string()));
        }
        if let Some(allow) = problem.allow {
            headers.push(("allow".to_owned(), allow.to_owned()));
        }
        let body = Body::Bytes(problem.body.into_bytes());
        Answer { status: problem.status, headers, body, came: None }
    }

    /// A JSON body of our own.
    pub(crate) fn json(&self, status: u16, body: Vec<u8>) -> Answer {
        let headers = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("cache-control".to_owned(), "no-store".to_owned()),
        ];
        Answer { status, headers, body: Body::Bytes(body), came: None }
    }

    /// What the sender of an event is told that is done.
    pub(crate) fn duplicate(&self) -> Answer {
        let mut answer = self.json(200, br#"{"status":"duplicate"}"#.to_vec());
        answer.set("idempotent-replayed", "true");
        answer
    }

    /// Adds what every answer carries, and makes the platform's response of it.
    pub(crate) fn finish(&self, mut answer: Answer) -> Response {
        if answer.header("x-request-id").is_none() {
            answer.set("x-request-id", &self.request_id);
        }
        cors::apply(&self.config.cors, self.origin.as_deref(), &mut answer);
        answer.into_response()
    }
}

impl Answer {
    /// A stored answer, given again. `None` when its body was not kept.
    pub(crate) fn replay(response: StoredResponse) -> Option<Self> {
        let (status, headers) = (response.status, response.headers.clone());
        let request_id = response.request_id.clone();
        let body = Body::Bytes(response.into_body()?);
        let mut answer = Self { status, headers, body, came: None };
        answer.set("x-request-id", &request_id);
        answer.set("idempotent-replayed", "true");
        Some(answer)
    }

    /// Tells how the key stands.
    pub(crate) fn with_key_status(mut self, status: Option<&KeyStatus>) -> Self {
        if let Some(status) = status {
            self.set("idempotency-state", status.state.as_str());
            if let Some(expires_at) = status.expires_at {
                self.set("idempotency-expires", &clock::imf_fixdate(expires_at));
            }
        }
        self
    }

    /// Tells that this is the origin's answer, and that nobody will get it again.
    pub(crate) fn not_stored(mut self) -> Self {
        self.set("idempotency-stored", "false");
        self
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) fn into_response(self) -> Response {
        let headers = headers::of(&self.headers, self.came.as_ref());
        // The platform's constructor throws for other statuses, and for these with a body.
        let status = if (200..=599).contains(&self.status) { self.status } else { 502 };
        let mut builder = ResponseBuilder::new().with_status(status).with_headers(headers);
        if self.header("content-encoding").is_some_and(|coding| !is_taken_off(coding)) {
            // The body has this coding already; the platform must not put another one on.
            builder = builder.with_encode_body(EncodeBody::Manual);
        }
        match self.body {
            _ if matches!(status, 204 | 205 | 304) => builder.empty(),
            Body::Bytes(bytes) => builder.fixed(bytes),
            Body::Stream(stream) => builder.stream(stream),
        }
    }
}
