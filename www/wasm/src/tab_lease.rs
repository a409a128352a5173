//! The lease in storage that makes one tab the only sender, for browsers without Web Locks.

use crate::convert::command;
use crate::host;
use crate::storage::EntryStore;
use oncekey::client::intent::{Acquisition, TabLease, TabToken};
use oncekey::time::Millis;
use wasm_bindgen::JsValue;

pub(crate) const RENEWAL: Millis = TabLease::RENEW_AFTER;

pub(crate) fn acquire(store: &EntryStore, intent: &str, tab: TabToken) -> JsValue {
    match TabLease::acquire(found(store, intent).as_ref(), tab, host::now()) {
        Acquisition::Held => command("send").done(),
        Acquisition::Wait(after) => {
            command("wait").with_number("after", after.as_u64() as f64).done()
        }
        Acquisition::Write(lease) => {
            store.write(&name(intent), &lease.encode());
            let after = TabLease::CONFIRM_AFTER.as_u64() as f64;
            command("confirm").with_number("after", after).done()
        }
    }
}

pub(crate) fn is_held(store: &EntryStore, intent: &str, tab: TabToken) -> bool {
    TabLease::is_held(found(store, intent).as_ref(), tab, host::now())
}

pub(crate) fn renew(store: &EntryStore, intent: &str, tab: TabToken) -> bool {
    let renewed = TabLease::renew(found(store, intent).as_ref(), tab, host::now());
    if let Some(lease) = &renewed {
        store.write(&name(intent), &lease.encode());
    }
    renewed.is_some()
}

pub(crate) fn release(store: &EntryStore, intent: &str, tab: TabToken) {
    if TabLease::is_of(found(store, intent).as_ref(), tab) {
        store.remove(&name(intent));
    }
}

fn found(store: &EntryStore, intent: &str) -> Option<TabLease> {
    TabLease::decode(&store.read(&name(intent))?)
}

fn name(intent: &str) -> String {
    ["c:", intent].concat()
}
