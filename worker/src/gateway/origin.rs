//! The origin: an API at a URL, or the sandbox in this Worker.

use crate::config::Upstream;
use crate::gateway::origin_request::OriginRequest;
use crate::http::body_budget::Reservation;
use crate::http::context::Caller;
use crate::http::delivery;
use crate::http::headers::{self, is_taken_off};
use crate::http::response::{Body, HttpResponse};
use crate::sandbox;
use futures_util::StreamExt;
use oncekey::budget::SMALL;
use oncekey::request::forward::{is_link, path_below_origin};
use oncekey::response::{is_digest, is_own_header, is_request_id};
use oncekey::{HeaderList, Millis, UnixMillis};
use platform::clock;
use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use web_sys::Url;
use worker::js_sys;
use worker::wasm_bindgen::JsCast;
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{self, ReadableStream};
use worker::{AbortController, ByteStream, Headers, Response};

/// The base of URLs if the origin is the sandbox.
const SANDBOX: &str = "https://sandbox";

/// An origin's response whose body was not read.
pub(crate) struct OriginResponse {
    pub(crate) status: u16,
    /// The origin's headers, except those of the connection and those that the gateway sets itself.
    headers: HeaderList,
    response: web_sys::Response,
}

/// An origin's body, or the part of it that was read.
pub(crate) enum OriginBody {
    Whole(Vec<u8>),
    /// The body is too large to keep, or never ends. `read` is the part that was already read.
    Stream {
        read: Vec<u8>,
        rest: Option<ByteStream>,
    },
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

/// Calls the origin and waits for the head of its response. The rest of the deadline is for the body.
pub(crate) async fn call(
    caller: &Caller,
    request: OriginRequest,
    deadline: &Deadline,
) -> Result<OriginResponse, OriginError> {
    let base = match &caller.config.upstream {
        Upstream::Sandbox => SANDBOX,
        Upstream::Url(base) => base,
    };
    let links = Links {
        asked: format!("{base}{}", request.target),
        came: format!("{}{}", request.gateway, request.target),
        gateway: request.gateway.clone(),
    };
    let sent = async {
        match &caller.config.upstream {
            Upstream::Sandbox => {
                let request = request.into_request(base, None, &deadline.from)?;
                sandbox::serve(&caller.env, request.into()).await.map(web_sys::Response::from)
            }
            Upstream::Url(_) => {
                let signal = deadline.abort.signal();
                fetch(request.into_request(base, Some(&signal), &deadline.from)?).await
            }
        }
    };
    match deadline.bound(sent).await {
        None => Err(OriginError::TimedOut),
        Some(Ok(response)) => {
            let mut response = OriginResponse::new(response);
            let status = response.status;
            for (name, value) in response.headers.iter_mut() {
                if is_link(name, status)
                    && let Some(link) = links.at_gateway(value, base)
                {
                    *value = link;
                }
            }
            Ok(response)
        }
        Some(Err(_)) => Err(OriginError::NoResponse),
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
    fn at_gateway(&self, link: &str, base: &str) -> Option<String> {
        // A replacement character means that bytes of the link were lost.
        if link.contains('\u{fffd}') {
            return None;
        }
        let at_origin = Url::new_with_base(link, &self.asked).ok()?;
        at_origin.set_username("");
        at_origin.set_password("");
        let target = format!("{}{}", self.gateway, path_below_origin(&at_origin.href(), base)?);
        let as_it_is = Url::new_with_base(link, &self.came).ok()?.href();
        (as_it_is != Url::new(&target).ok()?.href()).then_some(target)
    }
}

/// Calls the platform's `fetch`. The function of the `worker` crate copies the response, and panics if
/// the origin sends a status that the platform's constructor refuses.
async fn fetch(request: web_sys::Request) -> worker::Result<web_sys::Response> {
    let scope: web_sys::WorkerGlobalScope = js_sys::global().unchecked_into();
    let response = JsFuture::from(scope.fetch_with_request(&request)).await?;
    Ok(response.dyn_into()?)
}

/// The deadline of a call to the origin. It counts from when the request's body has gone out.
pub(crate) struct Deadline {
    abort: AbortController,
    /// `None` if there is no deadline.
    length: Option<Millis>,
    /// When the call was made, or when the latest piece of its body went out.
    from: Rc<Cell<UnixMillis>>,
}

impl Deadline {
    pub(crate) fn after(length: Millis) -> Self {
        Self { length: Some(length), ..Self::never() }
    }

    /// Returns a deadline that never ends, because reports, long polls and event streams may take long.
    pub(crate) fn never() -> Self {
        let from = Rc::new(Cell::new(clock::now()));
        Self { abort: AbortController::default(), length: None, from }
    }

    /// Waits for `work` until the deadline. Returns `None` if the deadline passes first.
    async fn bound<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let Some(length) = self.length else {
            return Some(work.await);
        };
        let mut work = pin!(work);
        loop {
            let from = self.from.get();
            let left = from.plus(length).since(clock::now());
            let done = clock::within(left, work.as_mut()).await;
            // If more of the request's body went out meanwhile, the deadline has moved.
            if done.is_some() || self.from.get() == from {
                return done;
            }
        }
    }

    /// Aborts the call if it is still under way.
    pub(crate) fn abort(self) {
        self.abort.abort();
    }
}

impl OriginResponse {
    fn new(response: web_sys::Response) -> Self {
        let status = response.status();
        let mut headers: HeaderList = Headers(response.headers()).entries().collect();
        headers.drop_connection_headers();
        headers.retain(|name, _| !is_own_header(name));
        // An id that cannot be stored or replayed is dropped.
        headers.retain(|name, value| name != "x-request-id" || is_request_id(value));
        Self { status, headers, response }
    }

    /// Returns the id that the origin gave the request, if it sent one.
    pub(crate) fn request_id(&self) -> Option<&str> {
        self.headers.get("x-request-id")
    }

    /// Returns the headers whose bytes are not UTF-8, as the platform's own object.
    pub(crate) fn odd_headers(&self, kept: &HeaderList) -> Option<web_sys::Headers> {
        headers::odd(kept, &self.response.headers())
    }

    /// Reads the decoded body, up to `limit` bytes and as far as `reservation` has room. A larger body,
    /// or a body that never ends, stays a stream.
    pub(crate) async fn read_body(
        &self,
        limit: usize,
        reservation: &Reservation,
        deadline: &Deadline,
    ) -> Result<OriginBody, OriginError> {
        let Some(stream) = self.response.body() else {
            return Ok(OriginBody::Whole(Vec::new()));
        };
        if self.headers.get("content-length") == Some("0") {
            return Ok(OriginBody::Whole(Vec::new()));
        }
        let mut chunks = ByteStream::from(stream);
        if self.never_ends() {
            return Ok(OriginBody::Stream { read: Vec::new(), rest: Some(chunks) });
        }
        let mut body = Vec::new();
        let mut counted = 0;
        loop {
            match deadline.bound(chunks.next()).await {
                None => return Err(OriginError::TimedOut),
                Some(None) => return Ok(OriginBody::Whole(body)),
                // The body ended properly, with a coding in its headers and without bytes, so there
                // is nothing to decode. A broken connection is another error.
                Some(Some(Err(error)))
                    if body.is_empty()
                        && self.headers.get("content-length").is_none()
                        && is_short_of_coding(&error) =>
                {
                    return Ok(OriginBody::Whole(body));
                }
                Some(Some(Err(_))) => return Err(OriginError::CutOff),
                Some(Some(Ok(chunk))) => {
                    body.extend_from_slice(&chunk);
                    // A small response is always kept, because it is in memory already.
                    let size = body.len() as u64;
                    let has_room = size <= SMALL || reservation.fits_response(size - counted);
                    if has_room && size > SMALL {
                        counted = size;
                    }
                    if body.len() > limit || !has_room {
                        return Ok(OriginBody::Stream { read: body, rest: Some(chunks) });
                    }
                }
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
    pub(crate) fn with_body(self, body: OriginBody, room: &Rc<Reservation>) -> HttpResponse {
        let headers = self.headers_of_read_body(&body);
        let body = match body {
            OriginBody::Whole(bytes) => Body::Bytes(bytes),
            OriginBody::Stream { read, rest } => rejoin(read, rest, Rc::clone(room)),
        };
        let came = Some(self.response.headers());
        HttpResponse { came, ..HttpResponse::new(self.status, headers, body) }
    }

    /// Returns the response with its body as it arrives, codings included.
    pub(crate) fn pass_on(self) -> HttpResponse {
        let body = match self.response.body() {
            None => Body::Bytes(Vec::new()),
            Some(stream) => Body::Stream(stream),
        };
        let came = Some(self.response.headers());
        HttpResponse { came, ..HttpResponse::new(self.status, self.headers, body) }
    }

    fn never_ends(&self) -> bool {
        self.headers.get("content-type").is_some_and(|value| {
            value.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
        })
    }
}

/// Returns whether the platform says that a body ended before its coding did.
fn is_short_of_coding(error: &worker::Error) -> bool {
    error.to_string().contains("compressed stream ended prematurely")
}

/// Makes a stream of the part of a body that was read and the rest. The first part goes out in
/// pieces, and keeps its room until the last piece is out.
fn rejoin(read: Vec<u8>, rest: Option<ByteStream>, room: Rc<Reservation>) -> Body {
    let first = futures_util::stream::unfold((0, read, room), async |(at, read, room)| {
        let end = read.len().min(at + delivery::PIECE);
        let piece = read.get(at..end).filter(|piece| !piece.is_empty())?.to_vec();
        Some((Ok(piece), (end, read, room)))
    });
    let rest = futures_util::stream::iter(rest).flatten();
    let joined = Response::from_stream(first.chain(rest)).map(web_sys::Response::from);
    match joined.ok().and_then(|response| response.body()) {
        Some(stream) => Body::Stream(stream.unchecked_into::<ReadableStream>()),
        None => Body::Bytes(Vec::new()),
    }
}
