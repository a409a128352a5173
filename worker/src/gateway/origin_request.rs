//! A request to the origin, made from the caller's request.

use crate::http::headers;
use crate::http::request::HttpRequest;
use futures_util::stream;
use futures_util::{Stream, StreamExt};
use oncekey::request::forward::{forwarded_headers, is_forwarded, is_read, may_be_repeated};
use oncekey::request::override_headers::is_path_override;
use oncekey::{HeaderList, IdempotencyKey, ScopeSources, UnixMillis};
use platform::clock;
use std::cell::Cell;
use std::rc::Rc;
use worker::Response;
use worker::js_sys::Uint8Array;
use worker::wasm_bindgen::JsValue;
use worker::wasm_bindgen_futures::{JsFuture, spawn_local};
use worker::web_sys::{self, ReadableStream};
use worker::worker_sys::FixedLengthStream;

/// The size of the pieces of a large body, in bytes. A smaller body goes out as a whole.
const PIECE: u32 = 64 << 10;

/// A request as the origin gets it.
pub(crate) struct OriginRequest {
    method: String,
    /// Path and query.
    pub(super) target: String,
    /// The gateway's own scheme and host, as the caller knows them.
    pub(super) gateway: String,
    headers: HeaderList,
    /// The caller's headers, as the platform's own object.
    came: web_sys::Headers,
    body: Payload,
}

/// The body of a request to the origin.
enum Payload {
    None,
    /// An empty stream. The platform's `fetch` repeats a PUT or a DELETE without a body when a reused
    /// connection to the origin breaks, and the origin may then execute both. A stream can be read
    /// only once, so the platform cannot repeat the request. The origin gets a chunked body without a
    /// chunk.
    NoBytes,
    Bytes(Uint8Array),
    Stream(ReadableStream),
}

impl OriginRequest {
    /// Returns the caller's request with the body that was read, and with the headers by which the
    /// origin can deduplicate.
    pub(crate) fn once(
        request: &HttpRequest,
        body: &[u8],
        key: Option<&IdempotencyKey>,
        attempt: u32,
        request_id: &str,
    ) -> Self {
        let mut forwarded = Self::plain(request, request_id);
        forwarded.take_uncoded();
        if let Some(key) = key {
            forwarded.headers.set("idempotency-key", key.as_str());
        }
        forwarded.headers.set("idempotency-attempt", attempt.to_string());
        forwarded.body = match Payload::read(body) {
            Payload::None if may_be_repeated(&forwarded.method) => Payload::NoBytes,
            body => body,
        };
        forwarded
    }

    /// Returns a look-up: a read with the caller's credentials and no other header of the caller.
    pub(crate) fn look_up(
        request: &HttpRequest,
        target: String,
        scope: &ScopeSources,
        request_id: &str,
    ) -> Self {
        let is_credential =
            |name: &str| matches!(name, "authorization" | "cookie") || scope.has_header(name);
        let mut forwarded = Self::plain(request, request_id);
        forwarded.method = "GET".to_owned();
        forwarded.target = target;
        forwarded.headers.retain(|name, _| {
            is_credential(name)
                || matches!(name, "accept" | "x-request-id" | "forwarded")
                || name.starts_with("x-forwarded-")
        });
        forwarded.take_uncoded();
        forwarded
    }

    /// Returns the caller's request without a key. If the body was not `read`, it is passed on as a
    /// stream.
    pub(crate) fn keyless(request: &HttpRequest, read: Option<&[u8]>, request_id: &str) -> Self {
        let mut forwarded = Self::plain(request, request_id);
        if let Some(read) = read {
            forwarded.body = Payload::read(read);
        } else if !matches!(request.method.as_str(), "GET" | "HEAD")
            && let Some(stream) = request.body_stream()
        {
            // The platform refuses a GET or HEAD with a body, even an empty one.
            forwarded.body = Payload::Stream(stream);
        }
        forwarded
    }

    fn plain(request: &HttpRequest, request_id: &str) -> Self {
        let mut headers = request.headers.clone();
        headers.drop_connection_headers();
        headers.retain(|name, _| is_forwarded(name) && !is_path_override(name));
        let target = match &request.query {
            None => request.path.clone(),
            Some(query) => format!("{}?{query}", request.path),
        };
        let method = request.method.clone();
        let gateway = request.origin.clone();
        let body = Payload::None;
        let came = request.headers_as_they_came();
        let mut forwarded = Self { method, target, gateway, headers, came, body };
        forwarded.headers.set("x-request-id", request_id);
        if let Some((scheme, host)) = request.origin.split_once("://") {
            for (name, value) in forwarded_headers(scheme, host) {
                forwarded.headers.set(name, value);
            }
        }
        forwarded
    }

    /// Asks for a response without a coding. Responses are kept decoded, because later callers may
    /// accept other codings, and the digests in their headers must fit. The platform has replaced the
    /// caller's own `Accept-Encoding`.
    fn take_uncoded(&mut self) {
        self.headers.set("accept-encoding", "identity");
    }

    /// Returns the platform's request. Notes in `sent` when each piece of its body goes out.
    pub(super) fn into_request(
        self,
        base: &str,
        signal: Option<&web_sys::AbortSignal>,
        sent: &Rc<Cell<UnixMillis>>,
    ) -> worker::Result<web_sys::Request> {
        let headers = headers::of(&self.headers, Some(&self.came));
        let init = web_sys::RequestInit::new();
        init.set_method(&self.method);
        init.set_headers(headers.as_ref());
        init.set_body(&self.body.into_js(sent)?);
        init.set_signal(signal);
        if is_read(&self.method) {
            // The platform's cache looks only at the URL, so it may hold a response to another
            // credential. Only the origin knows which headers are credentials.
            init.set_cache(web_sys::RequestCache::NoStore);
        }
        // A redirect is a response. Following it would send the write somewhere else.
        init.set_redirect(web_sys::RequestRedirect::Manual);
        let url = format!("{base}{}", self.target);
        Ok(web_sys::Request::new_with_str_and_init(&url, &init)?)
    }
}

impl Payload {
    /// Returns the payload for bytes that were read.
    fn read(bytes: &[u8]) -> Self {
        if bytes.is_empty() { Self::None } else { Self::Bytes(Uint8Array::from(bytes)) }
    }

    /// Returns the body as the platform takes it. A large body goes out in pieces. The time of each is
    /// noted in `sent`, because the origin's deadline starts when the last piece has gone out.
    fn into_js(self, sent: &Rc<Cell<UnixMillis>>) -> worker::Result<JsValue> {
        Ok(match self {
            Self::None => JsValue::UNDEFINED,
            Self::NoBytes => {
                let empty = Response::from_stream(stream::empty::<worker::Result<Vec<u8>>>())?;
                web_sys::Response::from(empty).body().into()
            }
            Self::Bytes(bytes) if bytes.length() > PIECE => {
                let (length, sent) = (bytes.length(), Rc::clone(sent));
                let pieces = stream::iter((0..length).step_by(PIECE as usize));
                let pieces = pieces.map(move |at| {
                    sent.set(clock::now());
                    Ok(bytes.slice(at, at.saturating_add(PIECE).min(length)).to_vec())
                });
                in_pieces(pieces, length)?.into()
            }
            Self::Bytes(bytes) => bytes.into(),
            Self::Stream(stream) => stream.into(),
        })
    }
}

/// Returns a body of known length whose pieces are made when they are sent.
fn in_pieces(
    pieces: impl Stream<Item = worker::Result<Vec<u8>>> + 'static,
    length: u32,
) -> worker::Result<ReadableStream> {
    let pieces = web_sys::Response::from(Response::from_stream(pieces)?).body();
    let fixed = FixedLengthStream::new(length)?;
    if let Some(pieces) = pieces {
        let piped = pieces.pipe_to(&fixed.writable());
        // An origin that responds before it has read everything ends this with an error.
        spawn_local(async move { drop(JsFuture::from(piped).await) });
    }
    Ok(fixed.readable())
}
