//! The data of one request that every response to it needs.

use crate::config::Config;
use crate::http::body_budget::Reservation;
use crate::http::bridge::Bridge;
use crate::http::cors;
use crate::http::delivery::Delivery;
use crate::http::request::HttpRequest;
use crate::http::response::{Body, HttpResponse};
use crate::metrics::Measure;
use oncekey::caching::keep_private;
use oncekey::{KeyState, KeyStatus, Rejection, RequestKind};
use std::cell::Cell;
use std::rc::Rc;

/// The data of one request that every response to it needs.
pub(crate) struct Caller {
    pub(crate) bridge: Rc<Bridge>,
    pub(crate) config: Rc<Config>,
    /// The id of this request. The origin's own id replaces it in the response.
    pub(crate) request_id: String,
    /// The counts and times of the request.
    pub(crate) measure: Rc<Measure>,
    /// The kind of request. Whether a write is keyed may be known only after its body was read.
    asked: Cell<RequestKind>,
    /// The room of the response in the isolate's memory.
    pub(crate) room: Rc<Reservation>,
    /// The `Origin` of the page that sent the request, if a page did.
    origin: Option<String>,
    accept: Option<String>,
}

impl Caller {
    pub(crate) fn new(
        bridge: Rc<Bridge>,
        config: Rc<Config>,
        request: &HttpRequest,
        request_id: String,
    ) -> Self {
        let header = |name| request.header(name).map(str::to_owned);
        let (origin, accept) = (header("origin"), header("accept"));
        let asked = if !request.is_write() || request.path.starts_with("/_oncekey/") {
            // Calls about keys and by operators can be repeated like reads.
            RequestKind::Read
        } else if config.receives(&request.path) {
            RequestKind::Event
        } else if config.key_headers.are_in(&request.headers) {
            RequestKind::KeyedWrite
        } else {
            RequestKind::Write
        };
        let (measure, asked) = (Rc::new(Measure::begin()), Cell::new(asked));
        let room = Rc::new(Reservation::of_response());
        Self { bridge, config, request_id, measure, asked, room, origin, accept }
    }

    /// Notes whether the write has a key or a business key.
    pub(crate) fn is_keyed(&self, is_keyed: bool) {
        self.asked.set(if is_keyed { RequestKind::KeyedWrite } else { RequestKind::Write });
    }

    /// Returns the error response for a rejection.
    pub(crate) fn reject(&self, rejection: &Rejection) -> HttpResponse {
        self.reject_by(rejection, None)
    }

    /// Returns the error response for a rejection, with the key's state if a record returned it.
    pub(crate) fn reject_by(
        &self,
        rejection: &Rejection,
        status: Option<&KeyStatus>,
    ) -> HttpResponse {
        self.measure.ended(rejection.write_result());
        let (dialect, accept) = (self.config.dialect, self.accept.as_deref());
        let asked = self.asked.get();
        let response =
            HttpResponse::of_rejection(rejection, dialect, accept, &self.request_id, asked);
        response.with_key_status(status)
    }

    /// Returns a response with a JSON body of the gateway's own.
    pub(crate) fn json(&self, status: u16, body: Vec<u8>) -> HttpResponse {
        let headers = [("content-type", "application/json"), ("cache-control", "no-store")];
        HttpResponse::new(status, headers.into_iter().collect(), Body::Bytes(body))
    }

    /// Returns the response to an event that was already handled.
    pub(crate) fn duplicate(&self) -> HttpResponse {
        let mut response = self.json(200, br#"{"status":"duplicate"}"#.to_vec());
        response.mark_replayed();
        response
    }

    /// Adds the headers that every response has, and sends the response. Returns the work that delivers a large body
    /// to the caller.
    pub(crate) fn send(&self, mut response: HttpResponse) -> Option<Delivery> {
        if response.header("x-request-id").is_none() {
            response.set("x-request-id", &self.request_id);
        }
        if self.asked.get().names_a_key() {
            if response.key_state.is_none() {
                response.set_key_state(KeyState::NOTHING_KNOWN);
            }
            keep_private(
                &mut response.headers,
                self.config.scope.headers().chain(self.config.key_headers.names()),
            );
        }
        cors::apply(&self.config.cors, self.origin.as_deref(), &mut response);
        let delivery = response.deliver(&self.bridge, &self.room);
        response.send(&self.bridge);
        delivery
    }
}
