//! How many bytes of bodies an isolate holds at once. An isolate has 128 MB for everything; one
//! that runs out of memory takes every request in it along, so large ones are turned away first.

use std::cell::Cell;

/// Bytes of bodies that may be held at once: a body stands in memory up to twice, here and on its
/// way to the origin.
const LIMIT: u64 = 40 << 20;

/// Beyond that, bytes for small bodies only: uploads must not keep a checkout from paying.
const RESERVE: u64 = 8 << 20;

/// How large a small body is, in bytes.
const SMALL: u64 = 64 << 10;

/// Bytes of answers, apart from the rest: who fills the isolate with requests must not keep the
/// answers of others from being kept.
const ANSWERS: u64 = 16 << 20;

thread_local! {
    static HELD: Cell<u64> = const { Cell::new(0) };
    static ANSWERS_HELD: Cell<u64> = const { Cell::new(0) };
}

/// Bytes of an answer that one request holds; given back when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct AnswerReservation {
    bytes: Cell<u64>,
}

impl AnswerReservation {
    /// Holds `more` bytes, unless that would be too many for the isolate.
    pub(crate) fn grow(&self, more: u64) -> bool {
        let held = ANSWERS_HELD.get().saturating_add(more);
        let fits = held <= ANSWERS;
        if fits {
            ANSWERS_HELD.set(held);
            self.bytes.set(self.bytes.get() + more);
        }
        fits
    }
}

impl Drop for AnswerReservation {
    fn drop(&mut self) {
        ANSWERS_HELD.set(ANSWERS_HELD.get().saturating_sub(self.bytes.get()));
    }
}

/// Bytes that one request holds; given back when it is dropped. (A panic drops nothing, but the
/// wasm instance that counted them takes no new requests after one.)
#[derive(Debug, Default)]
pub(crate) struct Reservation {
    bytes: Cell<u64>,
}

impl Reservation {
    /// Holds `more` bytes, unless that would be too many for the isolate.
    pub(crate) fn grow(&self, more: u64) -> bool {
        let is_small = self.bytes.get() + more <= SMALL;
        let limit = if is_small { LIMIT + RESERVE } else { LIMIT };
        let held = HELD.get().saturating_add(more);
        if held > limit {
            return false;
        }
        HELD.set(held);
        self.bytes.set(self.bytes.get() + more);
        true
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        HELD.set(HELD.get().saturating_sub(self.bytes.get()));
    }
}
