//! The origin: an API at an URL, or the sandbox in this Worker.

use crate::config::Upstream;
use crate::gateway::origin_request::OriginRequest;
use crate::http::body_budget::Reservation;
use crate::http::context::Caller;
use crate::http::delivery;
use crate::http::headers::{self, is_taken_off};
use crate::http::response::{Answer, Body};
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

/// In the place of the origin's URL, where the sandbox is the origin.
const SANDBOX: &str = "https://sandbox";

/// An origin's answer whose body was not read.
pub(crate) struct OriginAnswer {
    pub(crate) status: u16,
    /// Without what belongs to the connection or to this project.
    headers: HeaderList,
    response: web_sys::Response,
}

/// An origin's body, or as much as was to be kept of it.
pub(crate) enum OriginBody {
    Whole(Vec<u8>),
    /// It is larger than what is kept, or has no end. `read` was taken from the stream already.
    Stream {
        read: Vec<u8>,
        rest: Option<ByteStream>,
    },
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OriginError {
    TimedOut,
    /// The connection broke before an answer began; the platform does not tell whether it was ever
    /// made.
    NoAnswer,
    /// The connection broke inside the answer.
    CutOff,
}

/// Calls the origin and waits for the head of its answer, as long as the settings allow in all:
/// what is left of that time is for the body.
pub(crate) async fn call(
    caller: &Caller,
    request: OriginRequest,
    deadline: &Deadline,
) -> Result<OriginAnswer, OriginError> {
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
            let mut answer = OriginAnswer::new(response);
            let status = answer.status;
            for (name, value) in answer.headers.iter_mut() {
                if is_link(name, status)
                    && let Some(link) = links.at_gateway(value, base)
                {
                    *value = link;
                }
            }
            Ok(answer)
        }
        Some(Err(_)) => Err(OriginError::NoAnswer),
    }
}

/// What a link in a response is read by.
struct Links {
    /// The URL that was asked at the origin.
    asked: String,
    /// The URL that the caller asked for.
    came: String,
    gateway: String,
}

impl Links {
    /// A link to the origin as one to the gateway, where its caller would else be led elsewhere: past
    /// the gateway, with key and credential.
    fn at_gateway(&self, link: &str, base: &str) -> Option<String> {
        // A replacement character stands for bytes that nobody knows any more.
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

/// The platform's fetch. The `worker` crate's own makes a new response of what it gets, and panics
/// where an origin's status is one that responses cannot be made with.
async fn fetch(request: web_sys::Request) -> worker::Result<web_sys::Response> {
    let scope: web_sys::WorkerGlobalScope = js_sys::global().unchecked_into();
    let response = JsFuture::from(scope.fetch_with_request(&request)).await?;
    Ok(response.dyn_into()?)
}

/// The end of an origin's time, which begins when the request's body has gone out. Past it, the call
/// is aborted.
pub(crate) struct Deadline {
    abort: AbortController,
    /// `None` for one that never comes.
    length: Option<Millis>,
    /// When the call was made, or the latest piece of its body went out.
    from: Rc<Cell<UnixMillis>>,
}

impl Deadline {
    pub(crate) fn after(length: Millis) -> Self {
        Self { length: Some(length), ..Self::never() }
    }

    /// For what an origin may take its time with: reports, long polls, events.
    pub(crate) fn never() -> Self {
        let from = Rc::new(Cell::new(clock::now()));
        Self { abort: AbortController::default(), length: None, from }
    }

    /// Waits for `work` until the deadline; `None` past it.
    async fn bound<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let Some(length) = self.length else {
            return Some(work.await);
        };
        let mut work = pin!(work);
        loop {
            let from = self.from.get();
            let left = from.plus(length).since(clock::now());
            let done = clock::within(left, work.as_mut()).await;
            // Past that time, more of the request's body may have gone out meanwhile.
            if done.is_some() || self.from.get() == from {
                return done;
            }
        }
    }

    /// Ends the call, if it is still under way.
    pub(crate) fn abort(self) {
        self.abort.abort();
    }
}

impl OriginAnswer {
    fn new(response: web_sys::Response) -> Self {
        let status = response.status();
        let mut headers: HeaderList = Headers(response.headers()).entries().collect();
        headers.drop_connection_headers();
        headers.retain(|name, _| !is_own_header(name));
        // An id that could not be told again, in the journal or to the next caller, is none.
        headers.retain(|name, value| name != "x-request-id" || is_request_id(value));
        Self { status, headers, response }
    }

    /// The id by which the origin knows the request, where it says one.
    pub(crate) fn request_id(&self) -> Option<&str> {
        self.headers.get("x-request-id")
    }

    /// Those of its headers whose bytes are no UTF-8, as the platform has them.
    pub(crate) fn odd_headers(&self, kept: &HeaderList) -> Option<web_sys::Headers> {
        headers::odd(kept, &self.response.headers())
    }

    /// Reads the body, decoded, up to `limit` bytes and what `reservation` can hold. One that is
    /// larger, and one that never ends, stays a stream.
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
                // It ended as it should, with a coding in its headers and no bytes: there is nothing
                // to decode. A connection that broke is another error.
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
                    // A small answer is kept whatever else is in memory: it is here already.
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

    /// The headers of the body as it was read: without the codings that the platform takes off it,
    /// and without digests of the coded bytes. Any other coding stays on the body, and is told; no
    /// bytes have none.
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

    /// The answer with a body that was read.
    pub(crate) fn with_body(self, body: OriginBody, room: &Rc<Reservation>) -> Answer {
        let headers = self.headers_of_read_body(&body);
        let body = match body {
            OriginBody::Whole(bytes) => Body::Bytes(bytes),
            OriginBody::Stream { read, rest } => rejoin(read, rest, Rc::clone(room)),
        };
        let came = Some(self.response.headers());
        Answer { came, ..Answer::new(self.status, headers, body) }
    }

    /// The answer with its body as it comes, coding and all.
    pub(crate) fn pass_on(self) -> Answer {
        let body = match self.response.body() {
            None => Body::Bytes(Vec::new()),
            Some(stream) => Body::Stream(stream),
        };
        let came = Some(self.response.headers());
        Answer { came, ..Answer::new(self.status, self.headers, body) }
    }

    fn never_ends(&self) -> bool {
        self.headers.get("content-type").is_some_and(|value| {
            value.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
        })
    }
}

/// Whether a body ended before its coding did, in the platform's words.
fn is_short_of_coding(error: &worker::Error) -> bool {
    error.to_string().contains("compressed stream ended prematurely")
}

/// A stream of what was read of a body and what was not.
/// What was read leaves in pieces and keeps its room until it is out.
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
