//! Header values that are not UTF-8, in the platform's own objects.
//!
//! The platform shows header values to a Worker as text, decoded as UTF-8, so a record would lose the
//! bytes of a value in another charset. The platform's `Headers` keep them. The object therefore
//! stores `Headers` beside the record and returns them with it, so the values never become text.

use js_sys::Reflect;
use oncekey::codec::hex::hex;
use wasm_bindgen::{JsCast, JsValue, prelude::wasm_bindgen};
use web_sys::Headers;

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

/// The headers of this shard's records, by the name of the record.
pub(super) struct OddHeaders(Option<KeyValue>);

impl OddHeaders {
    pub(super) fn of(storage: &JsValue) -> Self {
        let part = Reflect::get(storage, &JsValue::from_str("kv"));
        Self(part.ok().filter(JsValue::is_object).map(JsCast::unchecked_into))
    }

    /// Stores headers beside a record. If this fails, a replay has the values as they were decoded.
    pub(super) fn put(&self, name: &[u8], headers: &Headers) {
        if self.0.as_ref().is_some_and(|storage| storage.put(&key(name), headers).is_err()) {
            platform::console_error!("headers not kept as they came");
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
    ["headers-1/", &hex(name)].concat()
}
