//! Header values that are no UTF-8, as the platform has them.
//!
//! The platform shows header values to a Worker as text, decoded as UTF-8, so the bytes of a value
//! in another charset are lost on the way into a record. `Headers` themselves keep them. The object
//! therefore stores the platform's own `Headers` beside the record, and hands them out with it: the
//! values never become text.

use worker::js_sys::Reflect;
use worker::wasm_bindgen::{self, JsCast, JsValue, prelude::wasm_bindgen};
use worker::web_sys::Headers;

#[wasm_bindgen]
extern "C" {
    /// The synchronous key-value part of an object's storage.
    type KeyValue;

    #[wasm_bindgen(method, catch)]
    fn get(this: &KeyValue, key: &str) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn put(this: &KeyValue, key: &str, value: &Headers) -> Result<(), JsValue>;

    #[wasm_bindgen(method, catch)]
    fn delete(this: &KeyValue, key: &str) -> Result<bool, JsValue>;
}

/// The headers of this shard's records, by the record's name.
pub(super) struct OddHeaders(Option<KeyValue>);

impl OddHeaders {
    pub(super) fn of(storage: &JsValue) -> Self {
        let part = Reflect::get(storage, &JsValue::from_str("kv"));
        Self(part.ok().filter(JsValue::is_object).map(JsCast::unchecked_into))
    }

    /// Keeps headers beside a record. Without them the record replays what it could read.
    pub(super) fn put(&self, name: &[u8], headers: &Headers) {
        if self.0.as_ref().is_some_and(|storage| storage.put(&key(name), headers).is_err()) {
            worker::console_error!("headers not kept as they came");
        }
    }

    pub(super) fn get(&self, name: &[u8]) -> Option<Headers> {
        self.0.as_ref()?.get(&key(name)).ok()?.dyn_into().ok()
    }

    pub(super) fn delete(&self, name: &[u8]) {
        let _ = self.0.as_ref().map(|storage| storage.delete(&key(name)));
    }
}

fn key(name: &[u8]) -> String {
    let digits: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
    ["headers-1/", &digits].concat()
}
