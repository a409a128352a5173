//! What goes back to a caller.

use crate::http::body_budget::Reservation;
use crate::http::delivery::{self, Delivery};
use crate::http::headers::{self, is_taken_off};
use oncekey::{Dialect, HeaderList, KeyStatus, Rejection, RequestKind, StoredResponse};
use platform::clock;
use std::rc::Rc;
use worker::web_sys::{self, ReadableStream};
use worker::{EncodeBody, Response, ResponseBuilder};

/// An answer on its way out.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderList,
    pub(crate) body: Body,
    /// The headers of the origin's answer that this one is, as the platform has them.
    pub(crate) came: Option<web_sys::Headers>,
    /// What `Idempotency-State` says, where it says anything.
    pub(crate) key_state: Option<&'static str>,
    pub(crate) is_replay: bool,
    /// `false` for an answer of the origin that nobody will get again.
    pub(crate) is_stored: bool,
}

pub(crate) enum Body {
    /// Bytes that the caller can get again.
    Bytes(Vec<u8>),
    /// Bytes that nobody gets again.
    Once(Vec<u8>),
    Stream(ReadableStream),
}

impl Answer {
    pub(crate) fn new(status: u16, headers: HeaderList, body: Body) -> Self {
        let (came, key_state, is_replay, is_stored) = (None, None, false, true);
        Self { status, headers, body, came, key_state, is_replay, is_stored }
    }

    /// What is said of a request that gets no answer of the origin.
    pub(crate) fn of_rejection(
        rejection: &Rejection,
        dialect: Dialect,
        accept: Option<&str>,
        request_id: &str,
        asked: RequestKind,
    ) -> Self {
        let error = rejection.to_response(dialect, accept, request_id);
        let body = Body::Bytes(error.body.into_bytes());
        let mut answer = Self::new(error.status, HeaderList::default(), body);
        answer.set("content-type", error.content_type);
        answer.set("cache-control", "no-store");
        if let Some(seconds) = error.retry_after {
            answer.set("retry-after", &seconds.to_string());
        }
        if let Some(allow) = error.allow {
            answer.set("allow", allow);
        }
        if asked.names_a_key() {
            answer.set_key_state(rejection.state_without_record());
        }
        answer.say_whether_to_retry(rejection.should_retry(asked));
        answer
    }

    /// Tells SDKs, which would else go by the status alone, whether to send the request again.
    pub(crate) fn say_whether_to_retry(&mut self, again: bool) {
        for name in ["stripe-should-retry", "x-should-retry"] {
            self.set(name, if again { "true" } else { "false" });
        }
    }

    /// A stored answer, given again. `None` when its body was not kept.
    ///
    /// `came` are those of its headers that are no text.
    pub(crate) fn replay(response: StoredResponse, came: Option<web_sys::Headers>) -> Option<Self> {
        let (status, headers) = (response.status, response.headers.clone());
        let request_id = response.request_id.clone();
        let body = Body::Bytes(response.into_body()?);
        let mut answer = Self { came, ..Self::new(status, headers, body) };
        // The time of this answer is now; by it callers read `Idempotency-Expires`.
        if let Some(date) = answer.headers.joined("date") {
            answer.set("idempotency-date", &date);
        }
        answer.set("date", &clock::imf_fixdate(clock::now()));
        answer.set("x-request-id", &request_id);
        answer.mark_replayed();
        Some(answer)
    }

    /// Tells that the caller gets what an earlier request brought about.
    pub(crate) fn mark_replayed(&mut self) {
        self.is_replay = true;
        self.set("idempotent-replayed", "true");
    }

    pub(crate) fn set_key_state(&mut self, state: &'static str) {
        self.key_state = Some(state);
        self.set("idempotency-state", state);
    }

    /// Tells how the key stands.
    pub(crate) fn with_key_status(mut self, status: Option<&KeyStatus>) -> Self {
        if let Some(status) = status {
            self.set_key_state(status.state.as_str());
            if let Some(expires_at) = status.expires_at {
                self.set("idempotency-expires", &clock::imf_fixdate(expires_at));
            }
        }
        self
    }

    /// Tells that this is the origin's answer, and that nobody will get it again.
    pub(crate) fn not_stored(mut self) -> Self {
        self.is_stored = false;
        self.set("idempotency-stored", "false");
        self.only_once()
    }

    /// Marks that its bytes are kept nowhere else.
    pub(crate) fn only_once(mut self) -> Self {
        if let Body::Bytes(bytes) = self.body {
            self.body = Body::Once(bytes);
        }
        self
    }

    /// Makes a stream of a large body, and the work that feeds it.
    pub(crate) fn deliver(&mut self, room: &Rc<Reservation>) -> Option<Delivery> {
        let can_ask_again = matches!(self.body, Body::Bytes(_));
        let (Body::Bytes(bytes) | Body::Once(bytes)) = &mut self.body else { return None };
        if bytes.len() <= delivery::PIECE {
            return None;
        }
        match delivery::of(std::mem::take(bytes), can_ask_again, Rc::clone(room)) {
            Ok((stream, delivery)) => {
                self.body = Body::Stream(stream);
                Some(delivery)
            }
            Err(unsent) => {
                *bytes = unsent;
                None
            }
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.headers.set(name, value);
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
            Body::Bytes(bytes) | Body::Once(bytes) => builder.fixed(bytes),
            Body::Stream(stream) => builder.stream(stream),
        }
    }
}
