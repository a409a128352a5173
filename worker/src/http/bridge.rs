//! The JavaScript side of one request (`worker/bridge.mjs`), as Rust calls it.
//!
//! Each function is one call. What takes time is an operation, which has begun when the function returns, and whose
//! result comes back with one call too (`platform::operation`). Headers travel as text, a line for each name and each
//! value, because neither may contain a line break.

use oncekey::Millis;
use oncekey::scope::jwt::SignatureCheck;
use platform::operation::Operation;
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};
use web_sys::{Headers, ReadableStream, Response};

#[wasm_bindgen]
extern "C" {
    /// One request.
    pub(crate) type Bridge;

    /// Returns the bindings of the Worker.
    #[wasm_bindgen(method, getter)]
    pub(crate) fn env(this: &Bridge) -> JsValue;

    #[wasm_bindgen(method, js_name = scope)]
    fn start_scope(this: &Bridge, operation: u32);

    #[wasm_bindgen(method, js_name = readWhole)]
    fn start_read_whole(this: &Bridge, operation: u32, limit: f64);

    /// Returns the body of the request, to be read in pieces; `None` if the request has no body.
    #[wasm_bindgen(method)]
    pub(crate) fn body(this: &Bridge) -> Option<Source>;

    #[wasm_bindgen(method, js_name = shard)]
    fn start_shard(
        this: &Bridge,
        operation: u32,
        name: &str,
        message: &[u8],
        headers: Option<&Headers>,
        limit: f64,
    );

    #[wasm_bindgen(method, js_name = readReply)]
    fn start_read_reply(this: &Bridge, operation: u32, reply: &Response, limit: f64);

    #[wasm_bindgen(method, js_name = origin)]
    fn start_origin(
        this: &Bridge,
        operation: u32,
        head: &str,
        bytes: &[u8],
        body: u8,
        responder: u8,
        no_store: bool,
        limit: f64,
        whole: f64,
    );

    #[wasm_bindgen(method, js_name = sha256)]
    fn start_sha256(this: &Bridge, operation: u32, bytes: &[u8]);

    #[wasm_bindgen(method, js_name = verify)]
    fn start_verify(
        this: &Bridge,
        operation: u32,
        algorithm: &str,
        key: &str,
        signature: &[u8],
        signed: &str,
    );

    #[wasm_bindgen(method, js_name = asset)]
    fn start_asset(this: &Bridge, operation: u32, file: &str, method: &str, known: Option<&str>);

    #[wasm_bindgen(method, js_name = putCopy)]
    fn start_put_copy(this: &Bridge, operation: u32, key: &str, bytes: &[u8], seconds: f64);

    #[wasm_bindgen(method, js_name = getCopy)]
    fn start_get_copy(this: &Bridge, operation: u32, key: &str, limit: f64);

    /// Writes a data point to Analytics Engine: its index, three blobs and three numbers.
    #[wasm_bindgen(method, js_name = writePoint)]
    pub(crate) fn write_point(this: &Bridge, blobs: &str, store: f64, origin: f64, total: f64);

    /// Returns the URL that a link names, without a user; `None` if it names none.
    #[wasm_bindgen(method)]
    pub(crate) fn href(this: &Bridge, link: &str, base: &str) -> Option<String>;

    /// Returns a copy of the headers that `names` lists; `None` if there are none of these.
    #[wasm_bindgen(method)]
    pub(crate) fn only(this: &Bridge, headers: &Headers, names: &str) -> Option<Headers>;

    /// Makes a body that Rust writes. `length` is -1 if it is not known.
    #[wasm_bindgen(method)]
    pub(crate) fn sink(this: &Bridge, length: f64) -> Sink;

    /// Sends the response. `came` is the object that its headers were read from.
    #[wasm_bindgen(method)]
    pub(crate) fn respond(
        this: &Bridge,
        status: u16,
        headers: &str,
        bytes: Option<&[u8]>,
        stream: Option<&ReadableStream>,
        is_coded: bool,
        came: Option<&Headers>,
    );

    /// Notes that all work for this request is done.
    #[wasm_bindgen(method)]
    pub(crate) fn end(this: &Bridge);

    /// A body that is read in pieces.
    pub(crate) type Source;

    #[wasm_bindgen(method, js_name = read)]
    fn start_read(this: &Source, operation: u32, limit: f64);

    /// Returns what was not read.
    #[wasm_bindgen(method)]
    pub(crate) fn rest(this: &Source) -> ReadableStream;

    /// Returns the headers that came with the body.
    #[wasm_bindgen(method, getter)]
    pub(crate) fn headers(this: &Source) -> Headers;

    /// A body that Rust writes.
    pub(crate) type Sink;

    /// Returns the body as the reader gets it.
    #[wasm_bindgen(method, getter)]
    pub(crate) fn readable(this: &Sink) -> ReadableStream;

    #[wasm_bindgen(method, js_name = write)]
    fn start_write(this: &Sink, bytes: &[u8]);

    #[wasm_bindgen(method, js_name = wait)]
    fn start_wait(this: &Sink, operation: u32, limit: f64);

    #[wasm_bindgen(method, js_name = finish)]
    fn start_finish(this: &Sink, operation: u32, rest: Option<&ReadableStream>);

    /// Ends the body before its length is reached.
    #[wasm_bindgen(method)]
    pub(crate) fn abort(this: &Sink);
}

/// A request to the origin, as the platform takes it.
pub(crate) struct Outgoing<'a> {
    /// The method, the URL and the headers, a line each.
    pub(crate) head: String,
    pub(crate) body: OutgoingBody<'a>,
    pub(crate) responder: Responder,
    /// Whether the platform's cache must not respond.
    pub(crate) no_store: bool,
}

/// Who responds to a request to the origin: each is a function from a request to a response, and its number is its place
/// in `RESPONDERS` of `worker/bridge.mjs`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Responder {
    /// The API at the request's URL.
    Network,
    /// The sandbox in this Worker.
    Sandbox,
    /// The Worker that is bound as `ORIGIN`.
    Binding,
    /// The handler of the Worker in which the gateway is.
    Handler,
}

/// The body of a request to the origin.
pub(crate) enum OutgoingBody<'a> {
    None,
    /// Bytes. Many of them go out in pieces.
    Bytes(&'a [u8]),
    /// The body of the caller's request, unread.
    Caller,
    /// A stream without bytes. The platform's `fetch` repeats a PUT or a DELETE without a body when a reused
    /// connection to the origin breaks, and the origin may then execute both. A stream can be read
    /// only once, so the platform cannot repeat the request. The origin gets a chunked body without a
    /// chunk.
    NoBytes,
}

impl Bridge {
    /// Reads the whole body. If an earlier call was late, this call waits on.
    pub(crate) fn read_whole(&self, limit: Millis) -> Operation {
        Operation::start(|number| self.start_read_whole(number, millis(limit)))
    }

    /// Asks the Worker's own function who the caller is. The text is empty if it names nobody.
    pub(crate) fn scope(&self) -> Operation {
        Operation::start(|number| self.start_scope(number))
    }

    /// Sends a message to the shard of this name. The reply has a text and an object instead of bytes if the shard
    /// announced the length of its body.
    pub(crate) fn shard(
        &self,
        name: &str,
        message: &[u8],
        headers: Option<&Headers>,
        limit: Millis,
    ) -> Operation {
        let limit = millis(limit);
        Operation::start(|number| self.start_shard(number, name, message, headers, limit))
    }

    /// Reads the body of a shard's reply.
    pub(crate) fn read_reply(&self, reply: &Response, limit: Millis) -> Operation {
        Operation::start(|number| self.start_read_reply(number, reply, millis(limit)))
    }

    /// Calls the origin. The limit counts from when the body of the request has gone out. A response whose length is
    /// known, and is at most `whole`, comes with its body; any other comes with a [`Source`].
    pub(crate) fn origin(
        &self,
        request: &Outgoing<'_>,
        limit: Option<Millis>,
        whole: Option<u64>,
    ) -> Operation {
        let (body, bytes): (u8, &[u8]) = match request.body {
            OutgoingBody::None => (0, &[]),
            OutgoingBody::Bytes(bytes) => (1, bytes),
            OutgoingBody::Caller => (2, &[]),
            OutgoingBody::NoBytes => (3, &[]),
        };
        let limit = limit.map_or(0.0, millis);
        let whole = whole.map_or(-1.0, |whole| whole as f64);
        let (head, responder, no_store) =
            (&request.head, request.responder as u8, request.no_store);
        Operation::start(|number| {
            self.start_origin(number, head, bytes, body, responder, no_store, limit, whole);
        })
    }

    /// Returns the SHA-256 of some bytes, which are freed at once, because the platform has a copy. `None` if it fails.
    pub(crate) async fn sha256(&self, bytes: Vec<u8>) -> Option<[u8; 32]> {
        let hash = Operation::start(|number| self.start_sha256(number, &bytes));
        drop(bytes);
        hash.await.bytes?.try_into().ok()
    }

    /// Checks a signature. The reply's text is `valid` if it is valid.
    pub(crate) fn verify(&self, check: &SignatureCheck<'_>) -> Operation {
        let SignatureCheck { algorithm, key, signed, signature } = *check;
        Operation::start(|number| {
            self.start_verify(number, algorithm.name(), key, signature, signed);
        })
    }

    /// Fetches a file of the Worker's assets, unless the caller has the one with the ETag `known`. The reply's object is
    /// a stream, if the response has a body.
    pub(crate) fn asset(&self, file: &str, method: &str, known: Option<&str>) -> Operation {
        Operation::start(|number| self.start_asset(number, file, method, known))
    }

    /// Writes a value to Workers KV.
    pub(crate) fn put_copy(&self, key: &str, bytes: &[u8], left: Millis) -> Operation {
        let seconds = (left.as_u64() / 1000) as f64;
        Operation::start(|number| self.start_put_copy(number, key, bytes, seconds))
    }

    /// Finds a value in Workers KV. The reply's object is its [`Source`].
    pub(crate) fn get_copy(&self, key: &str, limit: Millis) -> Operation {
        Operation::start(|number| self.start_get_copy(number, key, millis(limit)))
    }
}

impl Source {
    /// Reads the next piece, for as long as the call to the origin may take if there is no other limit. If an earlier
    /// read was late, this one waits on for the same piece. The reply has no bytes if the body has ended.
    pub(crate) fn read(&self, limit: Option<Millis>) -> Operation {
        let limit = limit.map_or(0.0, millis);
        Operation::start(|number| self.start_read(number, limit))
    }
}

impl Sink {
    /// Writes a piece, without waiting until the reader has it.
    pub(crate) fn write(&self, bytes: &[u8]) {
        self.start_write(bytes);
    }

    /// Waits until the reader has taken the last piece.
    pub(crate) fn wait(&self, limit: Millis) -> Operation {
        Operation::start(|number| self.start_wait(number, millis(limit)))
    }

    /// Ends the body, after `rest` if there is more.
    pub(crate) fn finish(&self, rest: Option<&ReadableStream>) -> Operation {
        Operation::start(|number| self.start_finish(number, rest))
    }
}

fn millis(length: Millis) -> f64 {
    length.as_u64().min(i32::MAX as u64) as f64
}
