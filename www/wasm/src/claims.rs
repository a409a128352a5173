//! Who sends, where there are no Web Locks: a lease in storage.

use crate::convert::{command, number};
use crate::host;
use crate::storage::Store;
use oncekey::client::intent::{Claim, Claiming, TabToken};
use oncekey::time::Millis;
use wasm_bindgen::JsValue;

pub(crate) const RENEWAL: Millis = Claim::RENEW_AFTER;

pub(crate) fn claim(store: &Store, intent: &str, tab: TabToken) -> JsValue {
    match Claim::claim(found(store, intent).as_ref(), tab, host::now()) {
        Claiming::Mine => command("send", &[]),
        Claiming::Wait(after) => command("wait", &[("after", number(after.as_u64() as f64))]),
        Claiming::Write(claim) => {
            store.write(&name(intent), &claim.encode());
            let after = Claim::CONFIRM_AFTER.as_u64() as f64;
            command("confirm", &[("after", number(after))])
        }
    }
}

pub(crate) fn is_held(store: &Store, intent: &str, tab: TabToken) -> bool {
    Claim::is_held(found(store, intent).as_ref(), tab, host::now())
}

pub(crate) fn renew(store: &Store, intent: &str, tab: TabToken) -> bool {
    let renewed = Claim::renew(found(store, intent).as_ref(), tab, host::now());
    if let Some(claim) = &renewed {
        store.write(&name(intent), &claim.encode());
    }
    renewed.is_some()
}

pub(crate) fn unclaim(store: &Store, intent: &str, tab: TabToken) {
    if Claim::is_of(found(store, intent).as_ref(), tab) {
        store.remove(&name(intent));
    }
}

fn found(store: &Store, intent: &str) -> Option<Claim> {
    Claim::decode(&store.read(&name(intent))?)
}

fn name(intent: &str) -> String {
    ["c:", intent].concat()
}
