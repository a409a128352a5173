//! The isolate's memory for bodies. An isolate has 128 MB for everything. The core (`oncekey::budget`)
//! decides which body gets room, and which body loses its room when memory is short.

use oncekey::budget::{Budget, Ceilings, NoRoom, Slot};
use oncekey::{Millis, UnixMillis};
use platform::clock;
use std::cell::RefCell;
use std::thread::LocalKey;

const MIB: u64 = 1 << 20;

/// For the bodies of requests. Each may be in memory twice: here and on its way to the origin.
const REQUEST: Ceilings = Ceilings { large: 40 * MIB, small: 46 * MIB, tiny: 48 * MIB };

/// For responses of the origin. They have a budget of their own, so that many requests cannot prevent
/// the responses of others from being stored.
const RESPONSE: Ceilings = Ceilings { large: 16 * MIB, small: 18 * MIB, tiny: 18 * MIB };

/// For stored responses. They leave room for the origin's responses, which arrive only once.
const REPLAY: Ceilings = Ceilings { large: 10 * MIB, small: 12 * MIB, tiny: 12 * MIB };

thread_local! {
    static REQUESTS: RefCell<Budget> =
        const { RefCell::new(Budget::new(Millis::from_seconds(2))) };
    static RESPONSES: RefCell<Budget> =
        const { RefCell::new(Budget::new(Millis::from_seconds(5))) };
}

/// Returns how many bytes the requests and the responses hold.
pub(crate) fn held() -> [(&'static str, u64); 2] {
    let of = |budget: &'static LocalKey<RefCell<Budget>>| budget.with_borrow(Budget::held);
    [("requests", of(&REQUESTS)), ("responses", of(&RESPONSES))]
}

/// The memory that is reserved for one body. Dropping the reservation frees it. (A panic drops nothing,
/// but afterwards the wasm instance that counted the bytes takes no new requests.)
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: &'static LocalKey<RefCell<Budget>>,
    slot: Slot,
}

impl Reservation {
    /// Opens a reservation for the body of a request.
    pub(crate) fn of_request() -> Self {
        Self::open(&REQUESTS)
    }

    /// Opens a reservation for the body of a response.
    pub(crate) fn of_response() -> Self {
        Self::open(&RESPONSES)
    }

    fn open(budget: &'static LocalKey<RefCell<Budget>>) -> Self {
        let now = clock::now();
        Self { budget, slot: budget.with_borrow_mut(|budget| budget.open(now)) }
    }

    /// Counts the bytes of a request's body that have not arrived yet. The body waits for its sender.
    pub(crate) fn announce(&self, bytes: u64) -> Result<(), NoRoom> {
        self.with(|budget, slot, now| {
            budget.count(slot, bytes, REQUEST, now)?;
            budget.append(slot, &[], REQUEST, now)
        })
    }

    /// Adds a piece of a request's body.
    pub(crate) fn append(&self, piece: &[u8]) -> Result<(), NoRoom> {
        self.with(|budget, slot, now| budget.append(slot, piece, REQUEST, now))
    }

    /// Notes that a request's body has arrived as announced.
    pub(crate) fn is_whole(&self) {
        self.with(|budget, slot, _| budget.is_whole(slot));
    }

    /// Takes a request's whole body. Its bytes are counted until the reservation is dropped.
    pub(crate) fn take(&self) -> Result<Vec<u8>, NoRoom> {
        self.with(|budget, slot, _| budget.take(slot)).ok_or(NoRoom)
    }

    /// Returns whether the body still has its room.
    pub(crate) fn is_kept(&self) -> bool {
        self.with(|budget, slot, _| budget.has(slot))
    }

    /// Counts bytes of an origin's response if there is room for them. Returns whether there was.
    pub(crate) fn fits_response(&self, bytes: u64) -> bool {
        self.with(|budget, slot, now| budget.count(slot, bytes, RESPONSE, now)).is_ok()
    }

    /// Counts bytes of a stored response if there is room for them. Returns whether there was.
    pub(crate) fn fits_replay(&self, bytes: u64) -> bool {
        self.with(|budget, slot, now| budget.count(slot, bytes, REPLAY, now)).is_ok()
    }

    /// Counts bytes of a stored response even if there is no room, for a caller whose write was
    /// executed.
    pub(crate) fn takes_in(&self, bytes: u64) {
        self.with(|budget, slot, now| budget.count_anyway(slot, bytes, RESPONSE, now));
    }

    /// Keeps a response until its caller has read it. If the caller `can_ask_again`, the response may
    /// lose its room to others.
    pub(crate) fn put(&self, bytes: Vec<u8>, can_ask_again: bool) {
        self.with(|budget, slot, now| budget.put(slot, bytes, can_ask_again, now));
    }

    /// Gives up to `most` bytes of a response, from `at` on, to `write`. Returns `None` if the response lost its room.
    pub(crate) fn piece(&self, at: usize, most: usize, write: impl FnOnce(&[u8])) -> Option<()> {
        self.with(|budget, slot, _| budget.piece(slot, at, most).map(write))
    }

    /// Notes that the caller has read `bytes` more of a response.
    pub(crate) fn has_read(&self, bytes: usize) {
        self.with(|budget, slot, now| budget.has_read(slot, bytes as u64, now));
    }

    /// Frees the memory.
    pub(crate) fn close(&self) {
        self.with(|budget, slot, _| budget.close(slot));
    }

    fn with<T>(&self, work: impl FnOnce(&mut Budget, Slot, UnixMillis) -> T) -> T {
        self.budget.with_borrow_mut(|budget| work(budget, self.slot, clock::now()))
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.close();
    }
}
