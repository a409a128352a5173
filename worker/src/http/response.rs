//! Responses to callers.

use crate::http::body_budget::Reservation;
use crate::http::bridge::Bridge;
use crate::http::delivery::{self, Delivery};
use crate::http::headers::{self, is_taken_off};
use oncekey::codec::http_date::format_http_date;
use oncekey::{Dialect, HeaderList, KeyStatus, Rejection, RequestKind, StoredResponse};
use platform::clock;
use std::rc::Rc;
use web_sys::ReadableStream;

/// A response on its way out.
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderList,
    pub(crate) body: Body,
    /// The headers of the origin's response as the platform's own object, if it is the origin's.
    pub(crate) came: Option<web_sys::Headers>,
    /// The value of `Idempotency-State`, if it is set.
    pub(crate) key_state: Option<&'static str>,
    pub(crate) is_replay: bool,
    /// `false` for a response of the origin that cannot be replayed.
    pub(crate) is_stored: bool,
}

pub(crate) enum Body {
    /// Bytes that the caller can get again.
    Bytes(Vec<u8>),
    /// Bytes that the caller cannot get again.
    Once(Vec<u8>),
    Stream(ReadableStream),
    /// The part of a body that was read, and the rest.
    Joined(Vec<u8>, ReadableStream),
}

impl HttpResponse {
    pub(crate) fn new(status: u16, headers: HeaderList, body: Body) -> Self {
        let (came, key_state, is_replay, is_stored) = (None, None, false, true);
        Self { status, headers, body, came, key_state, is_replay, is_stored }
    }

    /// Returns the error response for a rejection.
    pub(crate) fn of_rejection(
        rejection: &Rejection,
        dialect: Dialect,
        accept: Option<&str>,
        request_id: &str,
        asked: RequestKind,
    ) -> Self {
        let error = rejection.to_response(dialect, accept, request_id, asked);
        let body = Body::Bytes(error.body.into_bytes());
        let mut response = Self::new(error.status, HeaderList::default(), body);
        response.set("content-type", error.content_type);
        response.set("cache-control", "no-store");
        response.set("link", &error.link);
        if let Some(seconds) = error.retry_after {
            response.set("retry-after", &seconds.to_string());
        }
        if let Some(allow) = error.allow {
            response.set("allow", allow);
        }
        if asked.names_a_key() {
            response.set_key_state(rejection.state_without_record());
        }
        response.set_should_retry(error.should_retry);
        response
    }

    /// Sets the headers by which SDKs decide whether to retry. Without them, SDKs look only at the
    /// status.
    pub(crate) fn set_should_retry(&mut self, again: bool) {
        for name in ["stripe-should-retry", "x-should-retry"] {
            self.set(name, if again { "true" } else { "false" });
        }
    }

    /// Returns the replay of a stored response, or `None` if its body was not kept. `came` contains its
    /// headers that are not UTF-8.
    pub(crate) fn replay(response: StoredResponse, came: Option<web_sys::Headers>) -> Option<Self> {
        let (status, headers) = (response.status, response.headers.clone());
        let request_id = response.request_id.clone();
        let body = Body::Bytes(response.into_body()?);
        let mut response = Self { came, ..Self::new(status, headers, body) };
        // Callers compare `Idempotency-Expires` with `Date`, so `Date` is the time of the replay.
        if let Some(date) = response.headers.joined("date") {
            response.set("idempotency-date", &date);
        }
        response.set("date", &format_http_date(clock::now()));
        response.set("x-request-id", &request_id);
        response.mark_replayed();
        Some(response)
    }

    /// Marks the response as that of an earlier request.
    pub(crate) fn mark_replayed(&mut self) {
        self.is_replay = true;
        self.set("idempotent-replayed", "true");
    }

    pub(crate) fn set_key_state(&mut self, state: &'static str) {
        self.key_state = Some(state);
        self.set("idempotency-state", state);
    }

    /// Adds the key's state.
    pub(crate) fn with_key_status(mut self, status: Option<&KeyStatus>) -> Self {
        if let Some(status) = status {
            self.set_key_state(status.state.as_str());
            if let Some(expires_at) = status.expires_at {
                self.set("idempotency-expires", &format_http_date(expires_at));
            }
        }
        self
    }

    /// Marks that this response of the origin cannot be replayed.
    pub(crate) fn not_stored(mut self) -> Self {
        self.is_stored = false;
        self.set("idempotency-stored", "false");
        self.only_once()
    }

    /// Marks that the body is not stored, so the caller cannot get it again.
    pub(crate) fn only_once(mut self) -> Self {
        if let Body::Bytes(bytes) = self.body {
            self.body = Body::Once(bytes);
        }
        self
    }

    /// Makes a stream of a large body, and returns the work that feeds it.
    pub(crate) fn deliver(&mut self, bridge: &Bridge, room: &Rc<Reservation>) -> Option<Delivery> {
        let is_large = |bytes: &[u8]| bytes.len() > delivery::PIECE;
        let (bytes, rest, can_ask_again) = match &mut self.body {
            Body::Bytes(bytes) if is_large(bytes) => (std::mem::take(bytes), None, true),
            Body::Once(bytes) if is_large(bytes) => (std::mem::take(bytes), None, false),
            Body::Joined(read, rest) => (std::mem::take(read), Some(rest.clone()), false),
            Body::Bytes(_) | Body::Once(_) | Body::Stream(_) => return None,
        };
        let (stream, delivery) = delivery::of(bridge, bytes, rest, can_ask_again, Rc::clone(room));
        self.body = Body::Stream(stream);
        Some(delivery)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.headers.set(name, value);
    }

    /// Sends the response to the caller.
    pub(crate) fn send(self, bridge: &Bridge) {
        // The platform's constructor throws for other statuses. The bridge knows whether a 101 comes with a WebSocket.
        let is_status = matches!(self.status, 101 | 200..=599);
        let status = if is_status { self.status } else { 502 };
        // The body has this coding already, so the platform must not encode it again.
        let is_coded = self.header("content-encoding").is_some_and(|coding| !is_taken_off(coding));
        let (bytes, stream) = match &self.body {
            _ if matches!(status, 204 | 205 | 304) => (None, None),
            Body::Bytes(bytes) | Body::Once(bytes) | Body::Joined(bytes, _) => {
                (Some(&bytes[..]), None)
            }
            Body::Stream(stream) => (None, Some(stream)),
        };
        let mut headers = String::new();
        headers::write(&self.headers, &mut headers);
        let came = self.came.as_ref().filter(|_| headers::needs_copy(&self.headers));
        bridge.respond(status, &headers, bytes, stream, is_coded, came);
    }
}
