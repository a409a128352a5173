//! Converts values between Rust and JavaScript.

use oncekey::canonical::JsonPointer;
use oncekey::client::intent::{Cookies, Credential};
use wasm_bindgen::prelude::*;

/// A plain object that is being filled.
pub(crate) struct Members(js_sys::Object);

impl Members {
    pub(crate) fn new() -> Self {
        Self(js_sys::Object::new())
    }

    /// Returns the object with this member.
    pub(crate) fn with(self, name: &str, value: JsValue) -> Self {
        // Setting a member of a fresh object does not fail.
        let _ = js_sys::Reflect::set(&self.0, &JsValue::from_str(name), &value);
        self
    }

    pub(crate) fn with_text(self, name: &str, text: &str) -> Self {
        self.with(name, JsValue::from_str(text))
    }

    pub(crate) fn with_number(self, name: &str, number: f64) -> Self {
        self.with(name, JsValue::from_f64(number))
    }

    pub(crate) fn with_flag(self, name: &str, flag: bool) -> Self {
        self.with(name, JsValue::from_bool(flag))
    }

    pub(crate) fn done(self) -> JsValue {
        self.0.into()
    }
}

/// Returns a new command for JavaScript, without its members.
pub(crate) fn command(name: &str) -> Members {
    Members::new().with_text("do", name)
}

pub(crate) fn pointers(list: Option<js_sys::Array>) -> Result<Vec<JsonPointer>, JsValue> {
    let Some(list) = list else { return Ok(Vec::new()) };
    let pointers = list.iter().map(|pointer| {
        let text = pointer.as_string().unwrap_or_default();
        JsonPointer::parse(&text)
            .map_err(|error| range_error(&["ignore: ", &text, ": ", &error.to_string()].concat()))
    });
    pointers.collect()
}

/// Returns the credential of a request. `headers` lists name, value, name, value …
pub(crate) fn credential(cookies: Cookies, headers: &js_sys::Array) -> Credential {
    let texts: Vec<_> = headers.iter().map(|text| text.as_string().unwrap_or_default()).collect();
    let pairs = texts.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str()));
    Credential::new(cookies, pairs)
}

pub(crate) fn range_error(message: &str) -> JsValue {
    js_sys::RangeError::new(message).into()
}
