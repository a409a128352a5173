//! The origin: an API at a URL, a Worker that is bound as `ORIGIN`, or a part of this Worker (the sandbox, or the
//! handler of a Worker with oncekey inside).

use crate::config::Upstream;
use crate::gateway::origin_request::OriginRequest;
use crate::http::body_budget::Reservation;
use crate::http::bridge::{Bridge, Outgoing, OutgoingBody, Responder, Source};
use crate::http::context::Caller;
use crate::http::headers::{self, is_taken_off};
use crate::http::response::{Body, HttpResponse};
use oncekey::budget::SMALL;
use oncekey::request::forward::{is_link, path_below_origin};
use oncekey::response::{is_digest, is_own_header, is_request_id};
use oncekey::{HeaderList, Millis};
use platform::operation::{CUT_OFF, DONE, FAILED, LATE, Reply};
use wasm_bindgen::JsCast;

/// The base of URLs if the origin is the sandbox.
const SANDBOX: &str = "https://sandbox";

/// An origin's response whose body was not read, or only as a whole.
pub(crate) struct OriginResponse {
    pub(crate) status: u16,
    /// The origin's headers, except those of the connection and those that the gateway sets itself.
    headers: HeaderList,
    /// The body, if it was small.
    whole: Option<Vec<u8>>,
    /// The rest of the body, with the headers as the platform's own object. `None` if neither is needed.
    source: Option<Source>,
}

/// An origin's body, or the part of it that was read.
pub(crate) enum OriginBody {
    Whole(Vec<u8>),
    /// The body is too large to keep, or never ends. This part was read.
    Part(Vec<u8>),
}

/// Why there is no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OriginError {
    TimedOut,
    /// The connection failed before a response began. The platform does not say whether a connection
    /// was ever made.
    NoResponse,
    /// The connection broke within the response.
    CutOff,
}

/// How long a response may take, and how much of it is read.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// From when the request's body has gone out.
    pub(crate) time: Millis,
    /// In bytes. A larger body stays a stream.
    pub(crate) body: usize,
}

/// Calls the origin and waits for its response. `None` as limits leaves the body unread, and has no deadline, because
/// reports, long polls and event streams may take long.
pub(crate) async fn call(
    caller: &Caller,
    request: OriginRequest<'_>,
    limits: Option<Limits>,
) -> Result<OriginResponse, OriginError> {
    let gateway = request.gateway.clone();
    let (base, responder) = match &caller.config.upstream {
        Upstream::Sandbox => (SANDBOX, Responder::Sandbox),
        // The Worker gets the caller's own URL, so its router and its checks of the host work. Its links need no change.
        Upstream::Binding => (&*gateway, Responder::Binding),
        Upstream::Handler => (&*gateway, Responder::Handler),
        Upstream::Url(base) => (base.as_str(), Responder::Network),
    };
    let links = Links {
        asked: format!("{base}{}", request.target),
        came: format!("{}{}", request.gateway, request.target),
        gateway: request.gateway.clone(),
    };
    let time = limits.map(|limits| limits.time);
    let whole = limits.map(|limits| SMALL.min(limits.body as u64));
    let outgoing = request.into_outgoing(base, responder);
    let reply = caller.bridge.origin(&outgoing, time, whole).await;
    match reply.status {
        LATE => return Err(OriginError::TimedOut),
        FAILED => return Err(OriginError::NoResponse),
        CUT_OFF => return Err(OriginError::CutOff),
        _ => {}
    }
    let mut response = OriginResponse::new(reply);
    let status = response.status;
    for (name, value) in response.headers.iter_mut() {
        if is_link(name, status)
            && let Some(link) = links.at_gateway(&caller.bridge, value, base)
        {
            *value = link;
        }
    }
    Ok(response)
}

/// Fetches a document from a URL in the settings. Returns `None` unless it comes in time, with status 200
/// and at most [`SMALL`] bytes.
pub(crate) async fn fetch_document(caller: &Caller, url: &str, time: Millis) -> Option<Vec<u8>> {
    let head = format!("GET\n{url}\naccept\napplication/json");
    let (body, responder) = (OutgoingBody::None, Responder::Network);
    let outgoing = Outgoing { head, body, responder, no_store: true };
    let reply = caller.bridge.origin(&outgoing, Some(time), Some(SMALL)).await;
    if reply.status != 200 {
        return None;
    }
    let mut response = OriginResponse::new(reply);
    match response.read_body(SMALL as usize, &caller.room).await {
        Ok(OriginBody::Whole(body)) => Some(body),
        _ => None,
    }
}

/// The URLs by which a link in a response is resolved.
struct Links {
    /// The URL of the request to the origin.
    asked: String,
    /// The URL of the caller's request.
    came: String,
    gateway: String,
}

impl Links {
    /// Returns a link to the origin as a link to the gateway. The original would lead the caller past
    /// the gateway, with key and credential. Returns `None` for a link that may stay as it is.
    fn at_gateway(&self, bridge: &Bridge, link: &str, base: &str) -> Option<String> {
        // A replacement character means that bytes of the link were lost.
        if link.contains('\u{fffd}') {
            return None;
        }
        let at_origin = bridge.href(link, &self.asked)?;
        let target = format!("{}{}", self.gateway, path_below_origin(&at_origin, base)?);
        let as_it_is = bridge.href(link, &self.came)?;
        (as_it_is != bridge.href(&target, &self.came)?).then_some(target)
    }
}

impl OriginResponse {
    fn new(reply: Reply) -> Self {
        let mut headers = headers::read(reply.text.split('\n'));
        headers.drop_connection_headers();
        headers.retain(|name, _| !is_own_header(name));
        // An id that cannot be stored or replayed is dropped.
        headers.retain(|name, value| name != "x-request-id" || is_request_id(value));
        let source = reply.object.is_object().then(|| reply.object.unchecked_into());
        Self { status: reply.status, headers, whole: reply.bytes, source }
    }

    /// Returns the id that the origin gave the request, if it sent one.
    pub(crate) fn request_id(&self) -> Option<&str> {
        self.headers.get("x-request-id")
    }

    /// Returns the headers as the platform's own object, if values are not ASCII.
    pub(crate) fn came(&self) -> Option<web_sys::Headers> {
        let source = self.source.as_ref().filter(|_| headers::needs_copy(&self.headers));
        source.map(Source::headers)
    }

    /// Reads the decoded body, up to `limit` bytes and as far as `reservation` has room. A larger body,
    /// or a body that never ends, stays a stream.
    pub(crate) async fn read_body(
        &mut self,
        limit: usize,
        reservation: &Reservation,
    ) -> Result<OriginBody, OriginError> {
        if let Some(whole) = self.whole.take() {
            return Ok(OriginBody::Whole(whole));
        }
        let Some(source) = self.source.as_ref() else {
            return Ok(OriginBody::Whole(Vec::new()));
        };
        if self.never_ends() {
            return Ok(OriginBody::Part(Vec::new()));
        }
        let mut body = Vec::new();
        let mut counted = 0;
        loop {
            let reply = source.read(None).await;
            let piece = match (reply.status, reply.bytes) {
                (DONE, Some(piece)) => piece,
                (DONE, None) => return Ok(OriginBody::Whole(body)),
                (LATE, _) => return Err(OriginError::TimedOut),
                // The body ended properly, with a coding in its headers and without bytes, so there
                // is nothing to decode. A broken connection is another error.
                _ if body.is_empty()
                    && self.headers.get("content-length").is_none()
                    && is_short_of_coding(&reply.text) =>
                {
                    return Ok(OriginBody::Whole(body));
                }
                _ => return Err(OriginError::CutOff),
            };
            body.extend_from_slice(&piece);
            // A small response is always kept, because it is in memory already.
            let size = body.len() as u64;
            let has_room = size <= SMALL || reservation.fits_response(size - counted);
            if has_room && size > SMALL {
                counted = size;
            }
            if body.len() > limit || !has_room {
                return Ok(OriginBody::Part(body));
            }
        }
    }

    /// Returns the headers that describe the body as it was read: without the codings that the platform
    /// removed, and without digests of the coded bytes. Any other coding stays, unless the body is empty.
    pub(crate) fn headers_of_read_body(&self, body: &OriginBody) -> HeaderList {
        let is_empty = matches!(body, OriginBody::Whole(bytes) if bytes.is_empty());
        let is_coded =
            matches!(self.headers.get("content-encoding").map(str::trim), Some("gzip" | "br"));
        let is_decoded = is_coded && self.headers.get("content-length") != Some("0");
        let mut headers = self.headers.clone();
        headers.retain(|name, value| match name {
            "content-length" => false,
            "content-encoding" => !is_empty && !is_taken_off(value),
            name => !is_decoded || !is_digest(name),
        });
        headers
    }

    /// Returns the response with a body that was read.
    pub(crate) fn with_body(self, body: OriginBody) -> HttpResponse {
        let (headers, came) = (self.headers_of_read_body(&body), self.came());
        let body = match (body, self.source) {
            (OriginBody::Part(read), Some(source)) if read.is_empty() => {
                Body::Stream(source.rest())
            }
            (OriginBody::Part(read), Some(source)) => Body::Joined(read, source.rest()),
            (OriginBody::Whole(bytes) | OriginBody::Part(bytes), _) => Body::Bytes(bytes),
        };
        HttpResponse { came, ..HttpResponse::new(self.status, headers, body) }
    }

    /// Returns the response with its body as it arrives, codings included.
    pub(crate) fn pass_on(self) -> HttpResponse {
        let came = self.came();
        let body = match (self.whole, self.source) {
            (None, Some(source)) => Body::Stream(source.rest()),
            (whole, _) => Body::Bytes(whole.unwrap_or_default()),
        };
        HttpResponse { came, ..HttpResponse::new(self.status, self.headers, body) }
    }

    fn never_ends(&self) -> bool {
        self.headers.get("content-type").is_some_and(|value| {
            value.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
        })
    }
}

/// Returns whether the platform says that a body ended before its coding did.
fn is_short_of_coding(error: &str) -> bool {
    error.contains("compressed stream ended prematurely")
}
