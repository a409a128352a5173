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

    /// The same with headers, there and back, whose values never become text.
    pub(crate) async fn exchange(
        &self,
        body: &[u8],
        headers: Option<&Headers>,
    ) -> Result<(u16, Vec<u8>, Headers)> {
        let response: Response = self.call(body, headers)?.await?.dyn_into()?;
        let bytes = JsFuture::from(response.array_buffer()?).await?;
        Ok((response.status(), Uint8Array::new(&bytes).to_vec(), response.headers()))
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
    let response: Response = sent.await?.dyn_into()?;
    let body = JsFuture::from(response.array_buffer()?).await?;
    Ok((response.status(), Uint8Array::new(&body).to_vec()))
}
