//! Values that cross the boundary.

use oncekey::canonical::JsonPointer;
use oncekey::client::intent::{Cookies, Credential};
use oncekey::time::Millis;
use wasm_bindgen::prelude::*;

/// A plain object with these members; those that are undefined are left out.
pub(crate) fn object(members: &[(&str, JsValue)]) -> JsValue {
    let object = js_sys::Object::new();
    for (name, value) in members.iter().filter(|(_, value)| !value.is_undefined()) {
        // Setting a member of a fresh object does not fail.
        let _ = js_sys::Reflect::set(&object, &JsValue::from_str(name), value);
    }
    object.into()
}

/// What JavaScript is to do next.
pub(crate) fn command(name: &str, members: &[(&str, JsValue)]) -> JsValue {
    let mut all = vec![("do", JsValue::from_str(name))];
    all.extend_from_slice(members);
    object(&all)
}

/// A length in milliseconds.
pub(crate) fn millis(name: &str, value: f64) -> Result<Millis, JsValue> {
    if value.is_finite() && value >= 0.0 {
        Ok(Millis::new(value as u64))
    } else {
        Err(range_error(&[name, " must be a number of milliseconds, 0 or more"].concat()))
    }
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

/// `headers`: name, value, name, value …
pub(crate) fn credential(cookies: Cookies, headers: &js_sys::Array) -> Credential {
    let texts: Vec<_> = headers.iter().map(|text| text.as_string().unwrap_or_default()).collect();
    let pairs = texts.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str()));
    Credential::new(cookies, pairs)
}

pub(crate) fn range_error(message: &str) -> JsValue {
    js_sys::RangeError::new(message).into()
}

pub(crate) fn number(number: impl Into<f64>) -> JsValue {
    JsValue::from_f64(number.into())
}
