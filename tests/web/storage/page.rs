//! The clients of a page, and their entries in `localStorage`.

use js_sys::{Function, Object, Reflect};
use oncekey_web::{CallHandle, Client};
use std::cell::Cell;
use wasm_bindgen::prelude::*;
use web_sys::Storage;

thread_local! {
    static NAMESPACES: Cell<u32> = const { Cell::new(0) };
}

/// A part of the browser's storage that no other test uses.
pub(crate) struct Page {
    pub(crate) namespace: String,
    /// The storage of the clients. Undefined means `localStorage`.
    pub(crate) storage: JsValue,
}

impl Page {
    pub(crate) fn new() -> Self {
        Self::with(JsValue::UNDEFINED)
    }

    pub(crate) fn with(storage: JsValue) -> Self {
        let number = NAMESPACES.get();
        NAMESPACES.set(number + 1);
        Self { namespace: format!("test-{number}"), storage }
    }

    /// Returns a page with a storage that a script creates.
    pub(crate) fn with_storage(script: &str) -> Self {
        Self::with(run(&[], script))
    }

    /// Returns the client of another page of the same browser: a tab, or a reload.
    pub(crate) fn client(&self) -> Client {
        let settings = run(
            &[("storage", &self.storage), ("namespace", &self.namespace.as_str().into())],
            "return {
                storage, namespace, retention: 86400000, keyCalls: false, limit: 4,
                finalStatuses: new Float64Array(),
                delays: new Float64Array([1000, 2000]), fullJitter: true,
                attemptTimeout: 30000, totalTime: 180000, maxRetryAfter: 60000,
            }",
        );
        Client::new(settings.unchecked_ref()).expect("good settings")
    }

    /// Returns the name of an intent's entry.
    pub(crate) fn entry(&self, intent: &str) -> String {
        format!("{}:i:{intent}", self.namespace)
    }

    /// Returns what the browser has stored for an intent.
    pub(crate) fn stored(&self, intent: &str) -> Option<String> {
        local_storage().get_item(&self.entry(intent)).expect("storage")
    }

    pub(crate) fn store(&self, intent: &str, text: &str) {
        local_storage().set_item(&self.entry(intent), text).expect("storage");
    }

    /// Returns everything that the browser has stored under the names of this page, with the names.
    pub(crate) fn all(&self) -> String {
        let storage = local_storage();
        let names = (0..storage.length().expect("storage"))
            .filter_map(|index| storage.key(index).expect("storage"));
        names
            .filter(|name| name.starts_with(&self.namespace))
            .map(|name| format!("{name}={:?}\n", storage.get_item(&name)))
            .collect()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // The storage is small, so each test removes its entries.
        local_storage().clear().expect("storage");
    }
}

pub(crate) fn local_storage() -> Storage {
    web_sys::window().expect("a page").local_storage().expect("storage").expect("storage")
}

/// A call that is about to send, and its key.
pub(crate) struct Sent {
    pub(crate) call: CallHandle,
    pub(crate) key: String,
    pub(crate) attempt: u32,
}

/// Begins a call, which must send.
pub(crate) fn send(client: &Client, intent: &str, body: &str) -> Sent {
    let (call, command) = begin(client, intent, body);
    assert_eq!(text(&command, "do"), "send", "{command:?}");
    let attempt = get(&command, "attempt").as_f64().expect("a number") as u32;
    Sent { call, key: text(&command, "key"), attempt }
}

/// Begins a call, which must end without sending. Returns the name of the end and its reason.
pub(crate) fn refused(client: &Client, intent: &str, body: &str) -> (String, String) {
    let (_, command) = begin(client, intent, body);
    assert_eq!(text(&command, "do"), "end", "{command:?}");
    (text(&command, "end"), text(&command, "why"))
}

fn begin(client: &Client, intent: &str, body: &str) -> (CallHandle, JsValue) {
    let request = run(
        &[("body", &body.into())],
        "return {
            method: 'POST', origin: 'https://shop.example', path: '/v1/orders', contentType: 'application/json',
            body: new TextEncoder().encode(body), expects: 'application/json',
            headers: [], cookies: 'none',
        }",
    );
    let mut call = client.submit(intent, request.unchecked_ref(), None).expect("a call");
    let command = call.begin().expect("a command");
    (call, command)
}

impl Sent {
    /// Delivers the response. Returns the next command.
    pub(crate) fn gets(&mut self, status: u16) -> JsValue {
        let response = run(
            &[("status", &status.into())],
            "return {
                status, body: 'whole', redirected: false,
                headers: new Headers({ 'content-type': 'application/json' }),
            }",
        );
        self.call.responded(response.unchecked_ref()).expect("a command")
    }

    /// Reports that no response arrived.
    pub(crate) fn failed(&mut self) -> JsValue {
        self.call.failed("network").expect("a command")
    }
}

/// Returns the state of an intent.
pub(crate) fn state(client: &Client, intent: &str) -> String {
    text(&client.status(intent), "state")
}

pub(crate) fn get(object: &JsValue, member: &str) -> JsValue {
    Reflect::get(object, &member.into()).expect("an object")
}

/// Returns a member that is a text, or an empty text.
pub(crate) fn text(object: &JsValue, member: &str) -> String {
    get(object, member).as_string().unwrap_or_default()
}

/// Runs a script with named values.
pub(crate) fn run(scope: &[(&str, &JsValue)], script: &str) -> JsValue {
    let values = Object::new();
    let mut names = String::new();
    for (name, value) in scope {
        Reflect::set(&values, &(*name).into(), value).expect("a plain object");
        names.push_str(name);
        names.push(',');
    }
    let function =
        Function::new_with_args("scope", &format!("const {{{names}}} = scope;\n{script}"));
    function.call1(&JsValue::UNDEFINED, &values).expect("the script runs")
}
