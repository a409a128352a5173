//! How many bytes of bodies are held at once, and which body goes when there is no room.
//!
//! An isolate has one memory for everything, and one that runs out of it takes every request in it
//! along. So each body that is held has a slot in a [`Budget`], which counts its bytes and refuses
//! what is too much. A sender who stops sending, or a reader who does not read, could keep a slot
//! for as long as the connection lives. The budget therefore owns the bytes of the bodies that wait
//! for their other end, and drops those that have waited longest when others need the room.
//!
//! # The rules
//!
//! 1. The more a body needs, the lower its ceiling: large bodies leave room for small ones, and
//!    small ones leave room for tiny ones. A payment fits while uploads fill the isolate.
//! 2. Above its ceiling, a body takes the room of bodies that have waited for the budget's patience.
//!    A small body also takes the room of other small ones that have waited for less. The longest
//!    wait ends first.
//! 3. Only [`PROGRESS`] bytes end a wait: a trickle does not.
//! 4. A body that does not wait for its other end, since the origin is at work on it, keeps its
//!    slot. After [`FORGOTTEN`] it may go as well: the platform can end a request in a way that
//!    gives nothing back.
//! 5. No body goes in vain. Where all that may go is not enough, all stay and the new body is refused.

use crate::time::{Millis, UnixMillis};

/// The largest small body, in bytes.
pub const SMALL: u64 = 64 << 10;

/// The largest tiny body, in bytes. A payment as JSON has a few hundred.
pub const TINY: u64 = 4 << 10;

/// How many bytes have to come, or to be read, for a wait to begin anew.
pub const PROGRESS: u64 = 4 << 10;

/// How long a slot is kept for a body that does not wait for its other end.
pub const FORGOTTEN: Millis = Millis::from_seconds(300);

/// How many bytes may be held in all when one body grows, by the size that the body then has.
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

/// There is no room for more bytes, or the body has lost its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

/// The bytes that are held, and the bodies that they belong to.
#[derive(Debug)]
pub struct Budget {
    patience: Millis,
    held: u64,
    /// In the order of their slots.
    bodies: Vec<HeldBody>,
    last: u64,
}

#[derive(Debug)]
struct HeldBody {
    slot: Slot,
    /// How many bytes are counted for it, here or elsewhere in the isolate.
    counted: u64,
    bytes: Vec<u8>,
    /// Its sender has to send, or its reader to read, and it may go.
    waits: bool,
    /// When the wait began.
    since: UnixMillis,
    /// How many bytes have moved in this wait.
    moved: u64,
}

impl Budget {
    /// A budget whose bodies may wait for `patience` before they give way to large ones.
    pub const fn new(patience: Millis) -> Self {
        Self { patience, held: 0, bodies: Vec::new(), last: 0 }
    }

    /// A slot, with no bytes yet.
    pub fn open(&mut self, now: UnixMillis) -> Slot {
        self.last += 1;
        let slot = Slot(self.last);
        self.bodies.push(HeldBody::new(slot, now));
        slot
    }

    /// Adds bytes that a sender has sent. From then on the body waits for its sender.
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

    /// Tells that a sender has sent all that it announced, so that the body waits for nobody.
    pub fn is_whole(&mut self, slot: Slot) {
        if let Some(body) = self.body(slot) {
            body.waits = false;
        }
    }

    /// Takes the bytes out of a body that is whole. They are counted until the slot is closed, and
    /// the body waits for nobody. `None` for a body that had to go.
    pub fn take(&mut self, slot: Slot) -> Option<Vec<u8>> {
        let body = self.body(slot)?;
        body.waits = false;
        Some(core::mem::take(&mut body.bytes))
    }

    /// Counts bytes for a body, if they fit or other bodies can make room for them. The caller holds them.
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

    /// Counts bytes that are held elsewhere whether or not there is room: what an execution has
    /// brought about is not refused. Others are refused until there is room again.
    pub fn count_anyway(&mut self, slot: Slot, more: u64, ceilings: Ceilings, now: UnixMillis) {
        if self.count(slot, more, ceilings, now).is_err() {
            self.reopened(slot, now).counted += more;
            self.held += more;
        }
    }

    /// Puts in a whole body that its reader has to read. Its bytes are counted if they were not
    /// already. It may go only if its reader `can_ask_again`.
    pub fn put(&mut self, slot: Slot, bytes: Vec<u8>, can_ask_again: bool, now: UnixMillis) {
        let length = bytes.len() as u64;
        let body = self.reopened(slot, now);
        let more = length.saturating_sub(body.counted);
        body.counted += more;
        body.bytes = bytes;
        body.waits = can_ask_again;
        self.held += more;
    }

    /// Up to `most` bytes of a body, from `at` on. `None` for a body that had to go.
    pub fn piece(&self, slot: Slot, at: usize, most: usize) -> Option<&[u8]> {
        let body = &self.bodies[self.position(slot).ok()?];
        let end = at.saturating_add(most).min(body.bytes.len());
        body.bytes.get(at..end)
    }

    /// The reader of a body has read so many bytes more.
    pub fn has_read(&mut self, slot: Slot, more: u64, now: UnixMillis) {
        if let Some(body) = self.body(slot) {
            body.moves(more, now);
        }
    }

    /// Gives a slot back.
    pub fn close(&mut self, slot: Slot) {
        if let Ok(at) = self.position(slot) {
            self.held -= self.bodies.remove(at).counted;
        }
    }

    /// Whether a body still has its slot.
    pub fn has(&self, slot: Slot) -> bool {
        self.position(slot).is_ok()
    }

    /// How many bytes are held.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// The bodies that may go for one of this size, the longest wait first.
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

    /// The body at a slot, which is its slot again if it was forgotten.
    fn reopened(&mut self, slot: Slot, now: UnixMillis) -> &mut HeldBody {
        let at = self.position(slot).unwrap_or_else(|at| {
            self.bodies.insert(at, HeldBody::new(slot, now));
            at
        });
        &mut self.bodies[at]
    }

    /// Where the body of a slot is, or would be.
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
