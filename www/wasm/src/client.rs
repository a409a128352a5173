//! The client of a page: its settings, its storage, and the calls that it starts.

use crate::call::{CallHandle, Shared, status_of};
use crate::convert::{Members, credential, pointers, range_error};
use crate::storage::EntryStore;
use crate::{host, tab_lease};
use oncekey::client::intent::{AfterAbort, CallSettings, Cookies, Goal, Payload, Stored, TabToken};
use oncekey::client::retry::{Jitter, RetryPolicy, RetrySettings, is_final_status};
use oncekey::fingerprint::RequestParts;
use oncekey::key::IdempotencyKey;
use oncekey::time::{Millis, UnixMillis};
use std::cell::OnceCell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// The start of the name that an entry is stored under. The name of its intent follows.
const ENTRY: &str = "i:";

/// How many names of the storage are checked, and how many entries are removed at most, after a
/// call of the page.
const LOOKED_AT: u32 = 32;
const REMOVED_AT_ONCE: usize = 8;

#[wasm_bindgen]
extern "C" {
    /// The settings of a client, all of them given. Lengths are in milliseconds.
    pub type JsSettings;
    #[wasm_bindgen(method, getter)]
    fn retention(this: &JsSettings) -> f64;
    #[wasm_bindgen(method, getter)]
    fn storage(this: &JsSettings) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn namespace(this: &JsSettings) -> String;
    #[wasm_bindgen(method, getter, js_name = keyCalls)]
    fn key_calls(this: &JsSettings) -> bool;
    #[wasm_bindgen(method, getter, js_name = finalStatuses)]
    fn final_statuses(this: &JsSettings) -> Vec<f64>;
    #[wasm_bindgen(method, getter)]
    fn limit(this: &JsSettings) -> f64;
    #[wasm_bindgen(method, getter)]
    fn delays(this: &JsSettings) -> Vec<f64>;
    #[wasm_bindgen(method, getter, js_name = fullJitter)]
    fn full_jitter(this: &JsSettings) -> bool;
    #[wasm_bindgen(method, getter, js_name = attemptTimeout)]
    fn attempt_timeout(this: &JsSettings) -> f64;
    #[wasm_bindgen(method, getter, js_name = totalTime)]
    fn total_time(this: &JsSettings) -> f64;
    #[wasm_bindgen(method, getter, js_name = maxRetryAfter)]
    fn max_retry_after(this: &JsSettings) -> f64;

    /// A request of an intent.
    pub type JsSubmit;
    #[wasm_bindgen(method, getter)]
    fn method(this: &JsSubmit) -> String;
    #[wasm_bindgen(method, getter)]
    fn origin(this: &JsSubmit) -> String;
    #[wasm_bindgen(method, getter)]
    fn path(this: &JsSubmit) -> String;
    #[wasm_bindgen(method, getter)]
    fn query(this: &JsSubmit) -> Option<String>;
    #[wasm_bindgen(method, getter, js_name = contentType)]
    fn content_type(this: &JsSubmit) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    fn body(this: &JsSubmit) -> Vec<u8>;
    #[wasm_bindgen(method, getter)]
    fn ignore(this: &JsSubmit) -> Option<js_sys::Array>;
    #[wasm_bindgen(method, getter)]
    fn expects(this: &JsSubmit) -> String;
    #[wasm_bindgen(method, getter, js_name = ownKey)]
    fn own_key(this: &JsSubmit) -> Option<String>;
    #[wasm_bindgen(method, getter, js_name = offeredKey)]
    fn offered_key(this: &JsSubmit) -> Option<String>;
    #[wasm_bindgen(method, getter, js_name = waitedSince)]
    fn waited_since(this: &JsSubmit) -> Option<f64>;
    /// Name, value, name, value …
    #[wasm_bindgen(method, getter)]
    fn headers(this: &JsSubmit) -> js_sys::Array;
    /// "none", "same" or "elsewhere".
    #[wasm_bindgen(method, getter)]
    fn cookies(this: &JsSubmit) -> String;
}

/// The intents of a page.
#[wasm_bindgen]
pub struct Client {
    shared: Rc<Shared>,
    /// The token of this page. It is made when it is needed, because a Worker has no random numbers
    /// before its first request.
    tab: OnceCell<TabToken>,
}

#[wasm_bindgen]
impl Client {
    /// Returns a client. The package has checked the settings (`www/src/client/settings.ts`).
    #[wasm_bindgen(constructor)]
    pub fn new(settings: &JsSettings) -> Result<Client, JsValue> {
        let settings_of_calls = CallSettings {
            retry: retry_policy(settings)?,
            retention: millis(settings.retention()),
            key_calls: settings.key_calls(),
            sends_proof: settings.key_calls(),
            final_statuses: final_statuses(settings),
            expects: String::new(),
        };
        Ok(Self {
            shared: Rc::new(Shared {
                store: EntryStore::open(&settings.storage(), &settings.namespace()),
                settings: settings_of_calls,
            }),
            tab: OnceCell::new(),
        })
    }

    /// Returns a call that sends a request. `in_memory` is the key whose request the page can send
    /// again.
    pub fn submit(
        &self,
        intent: &str,
        request: &JsSubmit,
        in_memory: Option<String>,
    ) -> Result<CallHandle, JsValue> {
        let (body, query, content_type) = (request.body(), request.query(), request.content_type());
        let parts = RequestParts {
            method: &request.method(),
            path: &request.path(),
            query: query.as_deref(),
            content_encoding: None,
            content_type: content_type.as_deref(),
            body: &body,
            ignore: &pointers(request.ignore())?,
        };
        let key = |text: Option<String>| {
            let key = text.map(|text| IdempotencyKey::parse_header(&text)).transpose();
            key.map_err(|error| range_error(&error.to_string()))
        };
        let offered = key(request.offered_key())?;
        let goal = Goal::Submit {
            payload: Payload::of(&request.origin(), &parts),
            own_key: key(request.own_key())?,
            waited_since: request.waited_since().map(|since| UnixMillis::new(since as u64)),
        };
        let in_memory = in_memory.and_then(|key| IdempotencyKey::parse_bare(&key).ok());
        let cookies = match request.cookies().as_str() {
            "none" => Cookies::None,
            "same" => Cookies::Same,
            _ => Cookies::Elsewhere,
        };
        let credential = credential(cookies, &request.headers());
        let call = self.call(intent, goal, request.expects(), in_memory);
        Ok(call.offering(offered).under(credential))
    }

    /// Returns a call that resolves an intent.
    pub fn resolve(&self, intent: &str, look_up: bool) -> CallHandle {
        self.call(intent, Goal::Resolve { look_up }, String::new(), None)
    }

    /// Returns a call that abandons an intent if nothing was executed.
    pub fn abandon(&self, intent: &str) -> CallHandle {
        self.call(intent, Goal::Abandon, String::new(), None)
    }

    /// Returns what is known about an intent.
    pub fn status(&self, intent: &str) -> JsValue {
        status_of(&self.stored(intent), Members::new())
    }

    /// Returns the intents whose outcome is unknown, each with its name and what is known.
    pub fn pending(&self) -> js_sys::Array {
        let open = self.shared.store.open_ones(ENTRY).into_iter();
        open.map(|(intent, stored)| status_of(&stored, Members::new().with_text("intent", &intent)))
            .collect()
    }

    /// Returns settled intents that are older than the retention: all of them, or those among the
    /// next few names of the storage. [`remove_over`](Self::remove_over) removes them, each in its
    /// own turn.
    pub fn over(&self, all: bool) -> Vec<String> {
        let count = (!all).then_some(LOOKED_AT);
        let Shared { store, settings, .. } = &*self.shared;
        let mut over = store.over(ENTRY, count, settings.retention, host::now());
        if !all {
            over.truncate(REMOVED_AT_ONCE);
        }
        over
    }

    /// Removes the entry of an intent if it is still settled and older than the retention. Returns
    /// whether it was.
    #[wasm_bindgen(js_name = removeOver)]
    pub fn remove_over(&self, intent: &str) -> bool {
        let is_over = self.stored(intent).is_over(self.shared.settings.retention, host::now());
        if is_over {
            self.forget(intent);
        }
        is_over
    }

    /// Returns what an aborted call leaves behind: "unknown", "succeeded" or "not_sent".
    #[wasm_bindgen(js_name = afterAbort)]
    pub fn after_abort(&self, intent: &str) -> JsValue {
        JsValue::from_str(match self.stored(intent).after_abort() {
            AfterAbort::Unknown => "unknown",
            AfterAbort::Succeeded => "succeeded",
            AfterAbort::NotSent => "not_sent",
        })
    }

    /// Removes the entry of an intent.
    pub fn forget(&self, intent: &str) {
        self.shared.store.remove(&entry_name(intent));
    }

    /// Returns whether other tabs may see the entries.
    #[wasm_bindgen(getter, js_name = isShared)]
    pub fn is_shared(&self) -> bool {
        self.shared.store.is_shared()
    }

    /// Returns why an entry would not survive the page: "denied", "quota" or "unavailable". Returns
    /// it once.
    #[wasm_bindgen(js_name = takeLoss)]
    pub fn take_loss(&self) -> Option<String> {
        self.shared.store.take_loss().map(|loss| loss.as_str().to_owned())
    }

    /// Tries to become the only sender of an intent, without Web Locks. Returns
    /// `{do: "wait" | "confirm", after}` or `{do: "send"}`.
    #[wasm_bindgen(js_name = acquireLease)]
    pub fn acquire_lease(&self, intent: &str) -> Result<JsValue, JsValue> {
        let tab = match self.tab.get() {
            Some(&tab) => tab,
            None => {
                let [a, b, c, d, e, f, g, h, ..] = host::random()?;
                let drawn = TabToken::new(u64::from_be_bytes([a, b, c, d, e, f, g, h]));
                *self.tab.get_or_init(|| drawn)
            }
        };
        Ok(tab_lease::acquire(&self.shared.store, intent, tab))
    }

    /// Returns whether this page is the sender.
    #[wasm_bindgen(js_name = holdsLease)]
    pub fn holds_lease(&self, intent: &str) -> bool {
        self.tab.get().is_some_and(|&tab| tab_lease::is_held(&self.shared.store, intent, tab))
    }

    /// Renews the lease. Called every `leaseRenewal` milliseconds. Returns false if the lease is
    /// lost.
    #[wasm_bindgen(js_name = renewLease)]
    pub fn renew_lease(&self, intent: &str) -> bool {
        self.tab.get().is_some_and(|&tab| tab_lease::renew(&self.shared.store, intent, tab))
    }

    /// Lets other tabs send.
    #[wasm_bindgen(js_name = releaseLease)]
    pub fn release_lease(&self, intent: &str) {
        if let Some(&tab) = self.tab.get() {
            tab_lease::release(&self.shared.store, intent, tab);
        }
    }

    /// How often the page renews a lease, in milliseconds.
    #[wasm_bindgen(getter, js_name = leaseRenewal)]
    pub fn lease_renewal(&self) -> f64 {
        tab_lease::RENEWAL.as_u64() as f64
    }

    fn call(
        &self,
        intent: &str,
        goal: Goal,
        expects: String,
        in_memory: Option<IdempotencyKey>,
    ) -> CallHandle {
        let settings = CallSettings { expects, ..self.shared.settings.clone() };
        CallHandle::new(Rc::clone(&self.shared), entry_name(intent), goal, settings, in_memory)
    }

    fn stored(&self, intent: &str) -> Stored {
        Stored::read(self.shared.store.read(&entry_name(intent)).as_deref())
    }
}

fn entry_name(intent: &str) -> String {
    [ENTRY, intent].concat()
}

fn final_statuses(settings: &JsSettings) -> Vec<u16> {
    let statuses = settings.final_statuses().into_iter().map(|status| status as u16);
    statuses.filter(|status| is_final_status(*status)).collect()
}

fn retry_policy(settings: &JsSettings) -> Result<RetryPolicy, JsValue> {
    RetryPolicy::new(RetrySettings {
        limit: settings.limit() as u32,
        delays: settings.delays().into_iter().map(millis).collect(),
        jitter: if settings.full_jitter() { Jitter::Full } else { Jitter::None },
        attempt_timeout: millis(settings.attempt_timeout()),
        total_time: millis(settings.total_time()),
        max_retry_after: millis(settings.max_retry_after()),
    })
    .map_err(|_| range_error("retry: an option is out of range."))
}

fn millis(length: f64) -> Millis {
    Millis::new(length as u64)
}
