//! The storage of a page: `localStorage`, or any object with its methods.
//!
//! Storage fails in many ways: a sandboxed frame may not use it, full storage accepts nothing, and
//! the storage of a private window forgets. The page keeps in memory each text that storage does not
//! accept. The text in memory is newer, so it takes precedence over the stored text of the same name.
//! [`EntryStore::take_loss`] reports once that the page may lose texts. If storage works, but cannot read
//! one name, that name counts as an entry that cannot be read.
//!
//! The entry of an intent is removed when it [is over](Stored::is_over): see [`EntryStore::over`].

use crate::host;
use oncekey::client::intent::Stored;
use oncekey::time::{Millis, UnixMillis};
use std::cell::Cell;
use wasm_bindgen::prelude::*;
use web_sys::Storage;

/// The texts of a page, under names that begin with a prefix.
pub(crate) struct EntryStore {
    prefix: String,
    storage: Option<Storage>,
    /// The texts that storage did not accept; null for a text that it did not remove. This is a
    /// JavaScript map, because it adds no code to the wasm.
    memory: js_sys::Map,
    /// The texts of this page that storage accepted. They still count if storage breaks later.
    taken: js_sys::Map,
    loss: Cell<Option<Loss>>,
    reported: Cell<bool>,
    /// Where [`EntryStore::over`] continues. It starts at a random place, because many pages make only one
    /// call.
    looked_up_to: Cell<Option<u32>>,
    /// Texts of entries whose outcome is known, by their full names: see [`EntryStore::open_ones`].
    settled: js_sys::Map,
}

#[wasm_bindgen]
extern "C" {
    /// A storage whose texts stay JavaScript strings, without a copy into wasm.
    type Texts;
    #[wasm_bindgen(method, catch, js_name = key)]
    fn name_at(this: &Texts, index: u32) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch, js_name = getItem)]
    fn text_of(this: &Texts, name: &JsValue) -> Result<JsValue, JsValue>;
}

/// Why a text would not survive a reload.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The page may not use storage.
    Denied,
    /// Storage is full.
    Quota,
    /// There is no storage, or it does not keep what it takes.
    Unavailable,
}

impl EntryStore {
    /// Opens a store. `given` is undefined for `localStorage`, or null for memory only.
    ///
    /// Colons in the namespace are doubled, so that the namespace `a` with the intent `b:i:c` has
    /// other names than the namespace `a:i:b` with the intent `c`.
    pub(crate) fn open(given: &JsValue, namespace: &str) -> Self {
        let prefix = namespace.replace(':', "::");
        let (storage, loss) = match given {
            given if given.is_undefined() => local_storage(),
            given if given.is_null() => (None, None),
            given => (Some(given.clone().unchecked_into()), None),
        };
        Self {
            prefix,
            storage,
            memory: js_sys::Map::new(),
            taken: js_sys::Map::new(),
            loss: Cell::new(loss),
            reported: Cell::new(false),
            looked_up_to: Cell::new(None),
            settled: js_sys::Map::new(),
        }
    }

    /// Returns whether other tabs may see the texts.
    pub(crate) fn is_shared(&self) -> bool {
        self.storage.is_some()
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        let name = self.full(name);
        let kept = self.memory.get(&JsValue::from_str(&name));
        if !kept.is_undefined() {
            return kept.as_string();
        }
        let storage = self.storage.as_ref()?;
        let error = match storage.get_item(&name) {
            Ok(text) => return text,
            Err(error) => error,
        };
        let taken = self.taken.get(&JsValue::from_str(&name));
        // Storage may hold an unknown outcome under this name, so a text that cannot be read counts
        // as one.
        if taken.is_undefined() && self.is_usable() {
            return storage.get_item(&name).unwrap_or_else(|_| Some(String::new()));
        }
        self.note_loss(loss_of(&error));
        taken.as_string()
    }

    /// Returns whether storage accepts a text at all.
    fn is_usable(&self) -> bool {
        let name = self.full("probe");
        let is_usable = self.try_write(&name, "probe").is_ok();
        let _ = self.storage.as_ref().map(|storage| storage.remove_item(&name));
        is_usable
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let full = self.full(name);
        let kept = match self.try_write(&full, text) {
            Err(Loss::Quota) if self.make_room() => self.try_write(&full, text),
            kept => kept,
        };
        match kept {
            Ok(()) => {
                self.memory.delete(&JsValue::from_str(&full));
                self.taken.set(&JsValue::from_str(&full), &JsValue::from_str(text));
            }
            Err(loss) => {
                if self.is_shared() {
                    self.note_loss(loss);
                }
                self.memory.set(&JsValue::from_str(&full), &JsValue::from_str(text));
            }
        }
    }

    pub(crate) fn remove(&self, name: &str) {
        let name = self.full(name);
        let removed = self.storage.as_ref().map(|storage| storage.remove_item(&name));
        let name = JsValue::from_str(&name);
        self.memory.delete(&name);
        self.taken.delete(&name);
        if let Some(Err(error)) = removed {
            self.note_loss(loss_of(&error));
            self.memory.set(&name, &JsValue::NULL);
        }
    }

    /// Returns the names that begin with `start`, without it.
    pub(crate) fn names(&self, start: &str) -> Vec<String> {
        let start = self.full(start);
        let in_memory = js_sys::Array::from(&self.memory.keys());
        let mut names: Vec<_> = in_memory.iter().filter_map(|name| name.as_string()).collect();
        if let Some(storage) = &self.storage {
            let length = storage.length().unwrap_or(0);
            let stored = (0..length).filter_map(|index| storage.key(index).ok().flatten());
            names.extend(stored.filter(|name| !self.memory.has(&JsValue::from_str(name))));
        }
        names.iter().filter_map(|name| name.strip_prefix(&start)).map(str::to_owned).collect()
    }

    /// Returns the entries under `start` that are not settled, each with its name without `start`.
    ///
    /// Pages ask for them often, and most entries of a busy till are settled. The text of a settled
    /// entry is read once, and not again while storage holds the same text.
    pub(crate) fn open_ones(&self, start: &str) -> Vec<(String, Stored)> {
        let full_start = self.full(start);
        let mut open = Vec::new();
        let mut look = |name: &str| {
            let stored = Stored::read(self.read(&[start, name].concat()).as_deref());
            let is_pending = stored.is_pending();
            if is_pending {
                open.push((name.to_owned(), stored));
            }
            is_pending
        };
        for name in js_sys::Array::from(&self.memory.keys()).iter() {
            if let Some(name) =
                name.as_string().as_deref().and_then(|n| n.strip_prefix(&full_start))
            {
                look(name);
            }
        }
        let Some(storage) = &self.storage else { return open };
        let texts: &Texts = storage.unchecked_ref();
        // The names are collected before any text is read, because reading may write to the storage.
        let length = storage.length().unwrap_or(0);
        let names: Vec<_> = (0..length).filter_map(|index| texts.name_at(index).ok()).collect();
        for full in names {
            let text = texts.text_of(&full).ok().filter(JsValue::is_string);
            if text.is_some() && text.as_ref() == Some(&self.settled.get(&full)) {
                continue;
            }
            let is_kept = self.memory.has(&full);
            let name = full.as_string().filter(|_| !is_kept);
            let Some(name) = name.as_deref().and_then(|name| name.strip_prefix(&full_start)) else {
                continue;
            };
            match text {
                Some(text) if !look(name) => drop(self.settled.set(&full, &text)),
                Some(_) => {}
                None => drop(look(name)),
            }
        }
        open
    }

    /// Returns the names without `start` of entries that [are over](Stored::is_over): those among
    /// the next `count` names of the storage, or all of them.
    pub(crate) fn over(
        &self,
        start: &str,
        count: Option<u32>,
        retention: Millis,
        now: UnixMillis,
    ) -> Vec<String> {
        let names = match (count, &self.storage) {
            (Some(count), Some(storage)) => {
                let length = storage.length().unwrap_or(0);
                let from = self.looked_up_to.get().unwrap_or_else(anywhere);
                let from = from.checked_rem(length).unwrap_or(0);
                let next = (from..from + length.min(count)).map(|index| index % length);
                self.looked_up_to.set(Some(from + count));
                let full_start = self.full(start);
                let names = next.filter_map(|index| storage.key(index).ok().flatten());
                names.filter_map(|name| name.strip_prefix(&full_start).map(str::to_owned)).collect()
            }
            _ => self.names(start),
        };
        let is_over = |name: &String| {
            Stored::read(self.read(&[start, name].concat()).as_deref()).is_over(retention, now)
        };
        names.into_iter().filter(is_over).collect()
    }

    /// Returns why a text would not survive the page. Returns it once.
    pub(crate) fn take_loss(&self) -> Option<Loss> {
        let loss = self.loss.take().filter(|_| !self.reported.get());
        self.reported.set(self.reported.get() || loss.is_some());
        loss
    }

    fn try_write(&self, name: &str, text: &str) -> Result<(), Loss> {
        let storage = self.storage.as_ref().ok_or(Loss::Unavailable)?;
        storage.set_item(name, text).map_err(|error| loss_of(&error))?;
        // Some storages accept every text and keep nothing.
        match storage.get_item(name) {
            Ok(Some(kept)) if kept == text => Ok(()),
            _ => Err(Loss::Unavailable),
        }
    }

    /// Removes entries whose next submit starts anew. Returns whether there were any.
    fn make_room(&self) -> bool {
        let Some(storage) = &self.storage else { return false };
        let mut removed = false;
        for name in self.names("") {
            let full = self.full(&name);
            let Ok(text) = storage.get_item(&full) else { continue };
            if Stored::read(text.as_deref()).is_spent() {
                removed |= storage.remove_item(&full).is_ok();
            }
        }
        removed
    }

    fn note_loss(&self, loss: Loss) {
        self.loss.set(Some(loss));
    }

    fn full(&self, name: &str) -> String {
        [&self.prefix, ":", name].concat()
    }
}

impl Loss {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Quota => "quota",
            Self::Unavailable => "unavailable",
        }
    }
}

fn anywhere() -> u32 {
    host::random().map_or(0, |[a, b, c, ..]| u32::from_be_bytes([0, a, b, c]))
}

/// Returns `localStorage`. A sandboxed frame throws when the name is read.
fn local_storage() -> (Option<Storage>, Option<Loss>) {
    match js_sys::Reflect::get(&js_sys::global(), &JsValue::from_str("localStorage")) {
        Ok(storage) if storage.is_object() => (Some(storage.unchecked_into()), None),
        Ok(_) => (None, Some(Loss::Unavailable)),
        Err(_) => (None, Some(Loss::Denied)),
    }
}

fn loss_of(error: &JsValue) -> Loss {
    let name = js_sys::Reflect::get(error, &JsValue::from_str("name")).ok();
    match name.and_then(|name| name.as_string()).as_deref() {
        // The second name is that of Firefox.
        Some("QuotaExceededError" | "NS_ERROR_DOM_QUOTA_REACHED") => Loss::Quota,
        Some("SecurityError") => Loss::Denied,
        _ => Loss::Unavailable,
    }
}
