//! How many bytes of bodies are in memory at once, and which body is dropped when there is no room.
//!
//! All requests of an isolate share its memory, and an isolate that runs out of memory ends them all.
//! Each body in memory therefore has a slot in a [`Budget`], which counts its bytes and refuses more
//! than fit. A sender that stops sending, or a reader that stops reading, could keep a slot as long as
//! its connection lives. So the budget owns the bytes of bodies that wait for a sender or a reader,
//! and drops the bodies that have waited longest when other bodies need the room.
//!
//! # The rules
//!
//! 1. A larger body has a lower ceiling: large bodies leave room for small bodies, and small bodies
//!    for tiny bodies. A payment fits while uploads fill the isolate.
//! 2. Above its ceiling, a body takes the room of bodies that have waited for the budget's patience. A
//!    small body also takes the room of other small bodies that have waited for less. The body that
//!    has waited longest is dropped first.
//! 3. A wait ends when [`PROGRESS`] bytes have arrived or were read; fewer bytes do not end it.
//! 4. A body that waits for neither end, because the origin is processing it, keeps its slot. After
//!    [`FORGOTTEN`] it may be dropped too, because the platform can end a request without giving its
//!    slot back.
//! 5. If dropping every body that may be dropped does not make enough room, none is dropped and the new
//!    body is refused.

use crate::time::{Millis, UnixMillis};

/// The largest small body, in bytes.
pub const SMALL: u64 = 64 << 10;

/// The largest tiny body, in bytes. A payment in JSON has a few hundred.
pub const TINY: u64 = 4 << 10;

/// How many bytes have to arrive or to be read until a wait starts again.
pub const PROGRESS: u64 = 4 << 10;

/// How long a slot is kept for a body that waits for neither end.
pub const FORGOTTEN: Millis = Millis::from_seconds(300);

/// How many bytes of all bodies may be in memory when one body grows, by the new size of that body.
///
/// With ceilings of 40, 46 and 48 MiB, an upload may grow while all bodies together have at most 40 MiB.
/// Then 6 MiB are left for bodies of up to [`SMALL`] bytes, and after them 2 MiB for bodies of up to
/// [`TINY`] bytes. So uploads can never take the last room from payments. The ceiling of a smaller size
/// must not be lower than that of a larger one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceilings {
    /// For a body of more than [`SMALL`] bytes.
    pub large: u64,
    /// For a body of more than [`TINY`] bytes.
    pub small: u64,
    /// For any other body.
    pub tiny: u64,
}

/// The slot of one body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(u64);

/// There is no room for more bytes, or the body was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

/// The bodies in memory, and how many bytes they have.
#[derive(Debug)]
pub struct Budget {
    patience: Millis,
    held: u64,
    /// The bodies, in the order of their slots.
    bodies: Vec<HeldBody>,
    last: u64,
}

#[derive(Debug)]
struct HeldBody {
    slot: Slot,
    /// How many bytes are counted for the body, here or elsewhere in the isolate.
    counted: u64,
    bytes: Vec<u8>,
    /// Whether the body waits for its sender or its reader, so that it may be dropped.
    waits: bool,
    /// When the wait began.
    since: UnixMillis,
    /// How many bytes have moved in this wait.
    moved: u64,
}

impl Budget {
    /// Makes a budget whose bodies may wait for `patience` before large bodies take their room.
    pub const fn new(patience: Millis) -> Self {
        Self { patience, held: 0, bodies: Vec::new(), last: 0 }
    }

    /// Opens a slot without bytes.
    pub fn open(&mut self, now: UnixMillis) -> Slot {
        self.last += 1;
        let slot = Slot(self.last);
        self.bodies.push(HeldBody::new(slot, now));
        slot
    }

    /// Adds bytes from the sender. The body then waits for its sender.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no room, or the body was dropped.
    pub fn append(
        &mut self,
        slot: Slot,
        piece: &[u8],
        ceilings: Ceilings,
        now: UnixMillis,
    ) -> Result<(), NoRoom> {
        let more = piece.len() as u64;
        self.count(slot, more, ceilings, now)?;
        let body = self.body(slot).ok_or(NoRoom)?;
        body.bytes.extend_from_slice(piece);
        body.waits = true;
        body.moves(more, now);
        Ok(())
    }

    /// Notes that the sender has sent the whole body, which then waits for neither end.
    pub fn is_whole(&mut self, slot: Slot) {
        if let Some(body) = self.body(slot) {
            body.waits = false;
        }
    }

    /// Takes the bytes out of a whole body; `None` if the body was dropped. The bytes are counted until
    /// the slot is closed, and the body waits for neither end.
    pub fn take(&mut self, slot: Slot) -> Option<Vec<u8>> {
        let body = self.body(slot)?;
        body.waits = false;
        Some(core::mem::take(&mut body.bytes))
    }

    /// Counts bytes that the caller keeps for a body, if they fit or other bodies can be dropped for them.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no room, or the body was dropped.
    pub fn count(
        &mut self,
        slot: Slot,
        more: u64,
        ceilings: Ceilings,
        now: UnixMillis,
    ) -> Result<(), NoRoom> {
        let size = self.body(slot).ok_or(NoRoom)?.counted.saturating_add(more);
        let ceiling = ceilings.of(size);
        let mut missing = self.held.saturating_add(more).saturating_sub(ceiling);
        if missing > 0 {
            let mut going = self.longest_waits(slot, size, now);
            going.retain(|(_, _, bytes)| {
                let is_needed = missing > 0;
                missing = missing.saturating_sub(*bytes);
                is_needed
            });
            if missing > 0 {
                return Err(NoRoom);
            }
            for (_, gone, _) in going {
                self.close(gone);
            }
        }
        self.body(slot).ok_or(NoRoom)?.counted = size;
        self.held += more;
        Ok(())
    }

    /// Counts bytes that the caller keeps, even if there is no room: the response of an execution is never
    /// refused. Other bodies are refused until there is room again.
    pub fn count_anyway(&mut self, slot: Slot, more: u64, ceilings: Ceilings, now: UnixMillis) {
        if self.count(slot, more, ceilings, now).is_err() {
            self.reopened(slot, now).counted += more;
            self.held += more;
        }
    }

    /// Stores a whole body for its reader, and counts its bytes unless they are counted already. The body
    /// may be dropped only if its reader `can_ask_again`.
    pub fn put(&mut self, slot: Slot, bytes: Vec<u8>, can_ask_again: bool, now: UnixMillis) {
        let length = bytes.len() as u64;
        let body = self.reopened(slot, now);
        let more = length.saturating_sub(body.counted);
        body.counted += more;
        body.bytes = bytes;
        body.waits = can_ask_again;
        self.held += more;
    }

    /// Returns up to `most` bytes of a body from offset `at`; `None` if the body was dropped.
    pub fn piece(&self, slot: Slot, at: usize, most: usize) -> Option<&[u8]> {
        let body = &self.bodies[self.position(slot).ok()?];
        let end = at.saturating_add(most).min(body.bytes.len());
        body.bytes.get(at..end)
    }

    /// Notes that the reader of a body has read `more` bytes.
    pub fn has_read(&mut self, slot: Slot, more: u64, now: UnixMillis) {
        if let Some(body) = self.body(slot) {
            body.moves(more, now);
        }
    }

    /// Closes a slot, which drops its body.
    pub fn close(&mut self, slot: Slot) {
        if let Ok(at) = self.position(slot) {
            self.held -= self.bodies.remove(at).counted;
        }
    }

    /// Returns whether a body still has its slot.
    pub fn has(&self, slot: Slot) -> bool {
        self.position(slot).is_ok()
    }

    /// Returns how many bytes are counted.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Returns the bodies that may be dropped for a body of this size, the longest wait first.
    fn longest_waits(
        &self,
        slot: Slot,
        size: u64,
        now: UnixMillis,
    ) -> Vec<(UnixMillis, Slot, u64)> {
        let may_go = |body: &&HeldBody| {
            let wait = now.since(body.since);
            let gives_way = size <= SMALL && body.counted <= SMALL || wait >= self.patience;
            body.counted > 0 && body.slot != slot && (body.waits && gives_way || wait >= FORGOTTEN)
        };
        let going = self.bodies.iter().filter(may_go);
        let mut going: Vec<_> = going.map(|body| (body.since, body.slot, body.counted)).collect();
        going.sort_unstable();
        going
    }

    fn body(&mut self, slot: Slot) -> Option<&mut HeldBody> {
        let at = self.position(slot).ok()?;
        self.bodies.get_mut(at)
    }

    /// Returns the body at a slot, and opens the slot again if it was forgotten.
    fn reopened(&mut self, slot: Slot, now: UnixMillis) -> &mut HeldBody {
        let at = self.position(slot).unwrap_or_else(|at| {
            self.bodies.insert(at, HeldBody::new(slot, now));
            at
        });
        &mut self.bodies[at]
    }

    /// Returns the index of a slot's body, or else the index to insert it at.
    fn position(&self, slot: Slot) -> Result<usize, usize> {
        self.bodies.binary_search_by_key(&slot, |body| body.slot)
    }
}

impl HeldBody {
    const fn new(slot: Slot, now: UnixMillis) -> Self {
        Self { slot, counted: 0, bytes: Vec::new(), waits: false, since: now, moved: 0 }
    }

    fn moves(&mut self, more: u64, now: UnixMillis) {
        self.moved += more;
        if self.moved >= PROGRESS {
            self.since = now;
            self.moved = 0;
        }
    }
}

impl Ceilings {
    const fn of(self, size: u64) -> u64 {
        if size > SMALL {
            self.large
        } else if size > TINY {
            self.small
        } else {
            self.tiny
        }
    }
}
