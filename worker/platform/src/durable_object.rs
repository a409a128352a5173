//! Calls to Durable Objects: bytes there, a status and bytes back.
//!
//! Not by the `worker` crate's own `fetch`, which takes a whole public request with all that the
//! platform could tell of it, and reads the answer piece by piece.

use worker::js_sys::{Promise, Uint8Array};
use worker::wasm_bindgen::{self, JsCast, JsValue, prelude::wasm_bindgen};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{Headers, Request, RequestInit, Response};
use worker::{Env, Result};

#[wasm_bindgen]
extern "C" {
    type Stub;

    #[wasm_bindgen(method, catch)]
    fn fetch(this: &Stub, request: &Request) -> std::result::Result<Promise, JsValue>;
}

/// A way to one object. Calls through it arrive in the order in which they were made.
pub(crate) struct Object(Stub);

impl Object {
    pub(crate) fn named(env: &Env, binding: &str, name: &str) -> Result<Self> {
        Ok(Self(env.durable_object(binding)?.get_by_name(name)?.into_rpc()))
    }

    pub(crate) async fn post(&self, body: &[u8]) -> Result<(u16, Vec<u8>)> {
        received(self.send(body)?).await
    }

    /// Makes a call with headers, whose values never become text, and waits for the head of its
    /// answer.
    pub(crate) async fn ask(&self, body: &[u8], headers: Option<&Headers>) -> Result<Answered> {
        Ok(Answered(self.call(body, headers)?.await?.dyn_into()?))
    }

    /// Sends a call at once, and does not wait for its answer.
    pub(crate) fn send(&self, body: &[u8]) -> Result<JsFuture> {
        self.call(body, None)
    }

    fn call(&self, body: &[u8], headers: Option<&Headers>) -> Result<JsFuture> {
        let init = RequestInit::new();
        init.set_method("POST");
        if let Some(headers) = headers {
            init.set_headers(headers);
        }
        init.set_body(&Uint8Array::from(body));
        let request = Request::new_with_str_and_init("https://object/", &init)?;
        Ok(JsFuture::from(self.0.fetch(&request)?))
    }
}

/// The answer to a call that was sent.
pub(crate) async fn received(sent: JsFuture) -> Result<(u16, Vec<u8>)> {
    let answered = Answered(sent.await?.dyn_into()?);
    Ok((answered.status(), answered.bytes().await?))
}

/// The header by which an object says how long a large answer is, before its bytes are read.
pub(crate) const LENGTH: &str = "oncekey-length";

/// An answer of an object whose body was not read.
pub(crate) struct Answered(Response);

impl Answered {
    pub(crate) fn status(&self) -> u16 {
        self.0.status()
    }

    /// The headers, as the platform has them.
    pub(crate) fn headers(&self) -> Headers {
        self.0.headers()
    }

    /// How long the body is, where the object says so.
    pub(crate) fn length(&self) -> Option<u64> {
        self.0.headers().get(LENGTH).ok()??.parse().ok()
    }

    pub(crate) async fn bytes(self) -> Result<Vec<u8>> {
        let body = JsFuture::from(self.0.array_buffer()?).await?;
        Ok(Uint8Array::new(&body).to_vec())
    }

    /// Lets the body go unread.
    pub(crate) fn discard(self) {
        if let Some(body) = self.0.body() {
            let _ = body.cancel();
        }
    }
}
