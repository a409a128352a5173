//! Calls to Durable Objects: a call sends bytes, and its reply is a status and bytes.
//!
//! The `worker` crate's own `fetch` is not used: it builds a full public request and reads the
//! response piece by piece.

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

/// A Durable Object. Calls through one value arrive in the order in which they were made.
pub struct DurableObject(Stub);

impl DurableObject {
    /// Returns the object `name` in the namespace `binding`.
    pub fn named(env: &Env, binding: &str, name: &str) -> Result<Self> {
        Ok(Self(env.durable_object(binding)?.get_by_name(name)?.into_rpc()))
    }

    /// Makes a call, with headers whose values never become text, and waits for the head of the reply.
    pub async fn post(&self, body: &[u8], headers: Option<&Headers>) -> Result<Reply> {
        let init = RequestInit::new();
        init.set_method("POST");
        if let Some(headers) = headers {
            init.set_headers(headers);
        }
        init.set_body(&Uint8Array::from(body));
        let request = Request::new_with_str_and_init("https://object/", &init)?;
        Ok(Reply(JsFuture::from(self.0.fetch(&request)?).await?.dyn_into()?))
    }
}

/// The header in which an object announces the length of a large reply before its bytes are read.
pub const LENGTH: &str = "oncekey-length";

/// The reply of an object. Its body was not read.
pub struct Reply(Response);

impl Reply {
    /// Returns the status.
    pub fn status(&self) -> u16 {
        self.0.status()
    }

    /// Returns the headers as the platform's own object, which keeps values that are no text.
    pub fn headers(&self) -> Headers {
        self.0.headers()
    }

    /// Returns the length of the body if the object announced it.
    pub fn length(&self) -> Option<u64> {
        self.0.headers().get(LENGTH).ok()??.parse().ok()
    }

    /// Reads the body.
    pub async fn bytes(self) -> Result<Vec<u8>> {
        let body = JsFuture::from(self.0.array_buffer()?).await?;
        Ok(Uint8Array::new(&body).to_vec())
    }

    /// Cancels the body unread.
    pub fn discard(self) {
        if let Some(body) = self.0.body() {
            let _ = body.cancel();
        }
    }
}
