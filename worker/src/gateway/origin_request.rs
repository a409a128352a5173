//! A request to the origin, made of the caller's.

use crate::http::headers;
use crate::http::request::Incoming;
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

/// As much of a large body goes out at once, in bytes. A smaller body goes as a whole.
const PIECE: u32 = 64 << 10;

/// A request as the origin gets it.
pub(crate) struct OriginRequest {
    method: String,
    /// Path and query.
    pub(super) target: String,
    /// The gateway's own scheme and host, as the caller knows them.
    pub(super) gateway: String,
    headers: HeaderList,
    /// The caller's, of which these are made.
    came: web_sys::Headers,
    body: Payload,
}

/// The body of a request to the origin.
enum Payload {
    None,
    /// Empty, and the platform cannot send it again. Its fetch repeats a PUT or a DELETE without a
    /// body when a reused connection to the origin breaks, and the origin then executes both. A
    /// stream is read once, so a request that has one goes out once. The origin gets it chunked,
    /// without a chunk.
    NoBytes,
    Bytes(Uint8Array),
    Stream(ReadableStream),
}

impl OriginRequest {
    /// The request as it came, with a body that was read, and what the origin needs to deduplicate.
    pub(crate) fn once(
        incoming: &Incoming,
        body: &[u8],
        key: Option<&IdempotencyKey>,
        attempt: u32,
        request_id: &str,
    ) -> Self {
        let mut request = Self::plain(incoming, request_id);
        request.take_uncoded();
        if let Some(key) = key {
            request.headers.set("idempotency-key", key.as_str());
        }
        request.headers.set("idempotency-attempt", attempt.to_string());
        request.body = match Payload::read(body) {
            Payload::None if may_be_repeated(&request.method) => Payload::NoBytes,
            body => body,
        };
        request
    }

    /// A look-up: a read in the name of a caller, with its credentials and nothing else of it.
    pub(crate) fn look_up(
        incoming: &Incoming,
        target: String,
        scope: &ScopeSources,
        request_id: &str,
    ) -> Self {
        let is_credential =
            |name: &str| matches!(name, "authorization" | "cookie") || scope.has_header(name);
        let mut request = Self::plain(incoming, request_id);
        request.method = "GET".to_owned();
        request.target = target;
        request.headers.retain(|name, _| {
            is_credential(name)
                || matches!(name, "accept" | "x-request-id" | "forwarded")
                || name.starts_with("x-forwarded-")
        });
        request.take_uncoded();
        request
    }

    /// The request as it came. Its body is passed on as a stream, if it was not `read`.
    pub(crate) fn keyless(incoming: &Incoming, read: Option<&[u8]>, request_id: &str) -> Self {
        let mut request = Self::plain(incoming, request_id);
        if let Some(read) = read {
            request.body = Payload::read(read);
        } else if !matches!(incoming.method.as_str(), "GET" | "HEAD")
            && let Some(stream) = incoming.body_stream()
        {
            // The platform makes no request of those methods with a body, be it an empty one.
            request.body = Payload::Stream(stream);
        }
        request
    }

    fn plain(incoming: &Incoming, request_id: &str) -> Self {
        let mut headers = incoming.headers.clone();
        headers.drop_connection_headers();
        headers.retain(|name, _| is_forwarded(name) && !is_path_override(name));
        let target = match &incoming.query {
            None => incoming.path.clone(),
            Some(query) => format!("{}?{query}", incoming.path),
        };
        let method = incoming.method.clone();
        let gateway = incoming.origin.clone();
        let body = Payload::None;
        let came = incoming.headers_as_they_came();
        let mut request = Self { method, target, gateway, headers, came, body };
        request.headers.set("x-request-id", request_id);
        if let Some((scheme, host)) = incoming.origin.split_once("://") {
            for (name, value) in forwarded_headers(scheme, host) {
                request.headers.set(name, value);
            }
        }
        request
    }

    /// Asks for the bytes without a coding: a response is kept decoded, for later callers may take
    /// other codings, and digests in its headers are to fit. What the caller takes does not count: the
    /// platform has put its own list in the place of the caller's.
    fn take_uncoded(&mut self) {
        self.headers.set("accept-encoding", "identity");
    }

    /// The platform's request. When pieces of its body go out is noted in `sent`.
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
            // The platform's cache knows the URL alone and nothing of tenants: what it has may be the
            // response to another credential. Which header is one, only the origin knows.
            init.set_cache(web_sys::RequestCache::NoStore);
        }
        // A redirect is an answer: to follow it would send the write somewhere else.
        init.set_redirect(web_sys::RequestRedirect::Manual);
        let url = format!("{base}{}", self.target);
        Ok(web_sys::Request::new_with_str_and_init(&url, &init)?)
    }
}

impl Payload {
    /// Of bytes that were read.
    fn read(bytes: &[u8]) -> Self {
        if bytes.is_empty() { Self::None } else { Self::Bytes(Uint8Array::from(bytes)) }
    }

    /// As the platform takes it. What is `large` goes out piece by piece, each of which is noted in
    /// `sent`: an origin's time begins when it has the request.
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

/// A body of known length that is made as it goes out.
fn in_pieces(
    pieces: impl Stream<Item = worker::Result<Vec<u8>>> + 'static,
    length: u32,
) -> worker::Result<ReadableStream> {
    let pieces = web_sys::Response::from(Response::from_stream(pieces)?).body();
    let fixed = FixedLengthStream::new(length)?;
    if let Some(pieces) = pieces {
        let piped = pieces.pipe_to(&fixed.writable());
        // An origin that answers before it has read everything ends this with an error.
        spawn_local(async move { drop(JsFuture::from(piped).await) });
    }
    Ok(fixed.readable())
}
