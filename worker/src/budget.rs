//! How many bytes of bodies an isolate holds at once. An isolate has 128 MB for everything; one
//! that runs out of memory takes every request in it along, so large ones are turned away first.

use std::cell::Cell;
use std::thread::LocalKey;

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
    static REQUESTS_HELD: Cell<u64> = const { Cell::new(0) };
    static ANSWERS_HELD: Cell<u64> = const { Cell::new(0) };
}

/// Bytes that one request holds; given back when it is dropped. (A panic drops nothing, but the
/// wasm instance that counted them takes no new requests after one.)
#[derive(Debug)]
pub(crate) struct Reservation {
    held: &'static LocalKey<Cell<u64>>,
    limit: u64,
    /// More than the limit, for as long as this reservation is small.
    reserve: u64,
    bytes: Cell<u64>,
}

impl Reservation {
    /// For the body of a request.
    pub(crate) fn of_request() -> Self {
        Self { held: &REQUESTS_HELD, limit: LIMIT, reserve: RESERVE, bytes: Cell::new(0) }
    }

    /// For the body of an answer.
    pub(crate) fn of_answer() -> Self {
        Self { held: &ANSWERS_HELD, limit: ANSWERS, reserve: 0, bytes: Cell::new(0) }
    }

    /// Holds `more` bytes, unless that would be too many for the isolate.
    pub(crate) fn grow(&self, more: u64) -> bool {
        let bytes = self.bytes.get() + more;
        let reserve = if bytes <= SMALL { self.reserve } else { 0 };
        let held = self.held.get().saturating_add(more);
        let fits = held <= self.limit + reserve;
        if fits {
            self.held.set(held);
            self.bytes.set(bytes);
        }
        fits
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.held.set(self.held.get().saturating_sub(self.bytes.get()));
    }
}
