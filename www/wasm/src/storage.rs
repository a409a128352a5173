//! Where a page keeps what is to survive it: `localStorage`, or anything with its methods.
//!
//! Storage fails in many ways: a sandboxed frame may not touch it, a full one takes nothing, and
//! one of a private window forgets. Whatever it does not take is kept in memory, and then counts
//! more than what storage still holds under that name: it is newer. That the page may lose it is
//! said once, by [`Store::take_loss`]. One that works, but not for this name in this moment, may hold
//! anything there: that is read as an entry that cannot be read.
//!
//! What is kept for an intent is removed once it [is over](Stored::is_over): see [`Store::over`].

use crate::host;
use oncekey::client::intent::Stored;
use oncekey::time::{Millis, UnixMillis};
use std::cell::Cell;
use wasm_bindgen::prelude::*;
use web_sys::Storage;

/// What is kept under names that begin with a prefix.
pub(crate) struct Store {
    prefix: String,
    storage: Option<Storage>,
    /// What storage did not take; null for what it did not remove. The host's map brings no code
    /// along.
    memory: js_sys::Map,
    /// What storage took from this page: should it break meanwhile, that still counts.
    taken: js_sys::Map,
    loss: Cell<Option<Loss>>,
    told: Cell<bool>,
    /// Where [`Store::over`] looks next: anywhere at first, since many a page makes one call.
    looked_up_to: Cell<Option<u32>>,
    /// Texts of entries whose outcome is known, by their full names: see [`Store::open_ones`].
    settled: js_sys::Map,
}

#[wasm_bindgen]
extern "C" {
    /// A storage, asked for texts that stay on the host's side.
    type Texts;
    #[wasm_bindgen(method, catch, js_name = key)]
    fn name_at(this: &Texts, index: u32) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch, js_name = getItem)]
    fn text_of(this: &Texts, name: &JsValue) -> Result<JsValue, JsValue>;
}

/// Why something would not survive a reload.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Storage may not be used here.
    Denied,
    /// It is full.
    Quota,
    /// There is none, or it does not keep what it takes.
    Unavailable,
}

impl Store {
    /// `given`: what the caller wants; undefined stands for `localStorage`, null for memory only.
    ///
    /// Colons of the namespace are doubled: `a` with the intent `b:i:c` is not `a:i:b` with `c`.
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
            told: Cell::new(false),
            looked_up_to: Cell::new(None),
            settled: js_sys::Map::new(),
        }
    }

    /// Whether other tabs may see what is kept.
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
        // It may hold an outcome that is unknown: what it does not tell counts as one.
        if taken.is_undefined() && self.is_usable() {
            return storage.get_item(&name).unwrap_or_else(|_| Some(String::new()));
        }
        self.note_loss(loss_of(&error));
        taken.as_string()
    }

    /// Whether storage takes and tells anything at all.
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

    /// The names in use that begin with `start`, without it.
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

    /// The entries under `start` that are not settled, each with its name without `start`.
    ///
    /// A page asks for them often, and most entries of a busy till are settled. The text of one is
    /// read once; while storage holds that very text, it is not looked into again.
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
        // Before any is read, since a look may write.
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

    /// Entries under `start` that [are over](Stored::is_over), by their names without `start`: those
    /// among the next `count` names of the storage, or all of them.
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

    /// That something would not survive the page; told once.
    pub(crate) fn take_loss(&self) -> Option<Loss> {
        let loss = self.loss.take().filter(|_| !self.told.get());
        self.told.set(self.told.get() || loss.is_some());
        loss
    }

    fn try_write(&self, name: &str, text: &str) -> Result<(), Loss> {
        let storage = self.storage.as_ref().ok_or(Loss::Unavailable)?;
        storage.set_item(name, text).map_err(|error| loss_of(&error))?;
        // Some take everything and keep nothing.
        match storage.get_item(name) {
            Ok(Some(kept)) if kept == text => Ok(()),
            _ => Err(Loss::Unavailable),
        }
    }

    /// Removes what leads to nothing but a new start. Whether there was any.
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

/// A sandboxed frame throws at the mere name.
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
        // The second is Firefox's own.
        Some("QuotaExceededError" | "NS_ERROR_DOM_QUOTA_REACHED") => Loss::Quota,
        Some("SecurityError") => Loss::Denied,
        _ => Loss::Unavailable,
    }
}
