//! A replica in the gateway's own memory. A response that is here is replayed without a call to the
//! shard.
//!
//! What may be copied, and when a copy counts, are the rules of every [replica](super). A memory adds
//! four rules of its own:
//!
//! 1. It is bounded: the bytes of all copies, and what each copy takes besides its bytes, fit into the
//!    bound. The copy that was kept first leaves first, even if it was read since. If it is wanted again,
//!    the next replay of the shard brings it back.
//! 2. A copy has at most [`SMALL`] bytes. The [budget](crate::budget) of bodies counts larger responses
//!    until their callers have read them. Smaller ones are not counted, from the shard or from here.
//! 3. Its time never goes back. No other clock ends a copy, as a replica's own clock would.
//! 4. A missing copy proves nothing: the shard decides.

use crate::budget::SMALL;
use crate::decision::{Decision, Transition};
use crate::fingerprint::Fingerprint;
use crate::lifecycle::Attempt;
use crate::record::{KeyStatus, Record};
use crate::response::StoredResponse;
use crate::scope::ScopedKey;
use crate::time::{Millis, UnixMillis};
use core::fmt;
use std::collections::VecDeque;

/// What a copy takes besides its bytes: its name twice, and the free places of both lists.
const OVERHEAD: usize = 200;

/// Copies of stored responses in a gateway's memory.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Memory {
    /// In the order of their names. A `Vec` is less code than a tree, and is searched more often than
    /// changed.
    copies: Vec<KeptCopy>,
    /// The names of all copies, the first kept first.
    order: VecDeque<ScopedKey>,
    held: usize,
    last_seen: UnixMillis,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct KeptCopy {
    name: ScopedKey,
    /// The copy in the form in which it is stored anywhere, because its length is known exactly.
    bytes: Box<[u8]>,
    /// When the record expires. Its copy expires earlier.
    expires_at: UnixMillis,
}

impl Memory {
    /// Makes an empty memory.
    pub const fn new() -> Self {
        Self { copies: Vec::new(), order: VecDeque::new(), held: 0, last_seen: UnixMillis::new(0) }
    }

    /// Keeps a copy of the response that a shard has recorded or replayed, with the key's status from the
    /// same reply. The shard has found the request's `fingerprint` to be that of the record. `bound` is
    /// in bytes; with zero, nothing is kept.
    pub fn keep(
        &mut self,
        name: ScopedKey,
        fingerprint: &Fingerprint,
        response: &StoredResponse,
        status: &KeyStatus,
        bound: usize,
        now: UnixMillis,
    ) {
        let now = self.time(now);
        let Some(expires_at) = status.expires_at else { return };
        // A copy is final. Another life of the key has another end.
        let is_kept = self.copy_of(name).is_some_and(|copy| copy.expires_at == expires_at);
        let is_small = response.body().is_some_and(|body| body.len() as u64 <= SMALL);
        if bound == 0 || is_kept || !is_small {
            return;
        }
        let copy = super::copy(fingerprint, response, status, Millis::new(1), now);
        let Some((record, _)) = copy else { return };
        let copy = KeptCopy { name, bytes: record.encode().into(), expires_at };
        if copy.bytes.len() as u64 > SMALL || copy.size() > bound {
            return;
        }
        self.make_room(copy.size(), bound, now);
        self.held += copy.size();
        match self.position(name) {
            Ok(at) => self.held -= std::mem::replace(&mut self.copies[at], copy).size(),
            Err(at) => {
                self.copies.insert(at, copy);
                self.order.push_back(name);
            }
        }
    }

    /// Decides about an attempt from its copy. Returns `None` if there is no copy, or if the copy has
    /// expired or does not allow a decision; then only the shard can decide.
    pub fn recall(
        &mut self,
        name: ScopedKey,
        attempt: &Attempt<'_>,
        now: UnixMillis,
    ) -> Option<Transition<Decision>> {
        let now = self.time(now);
        let copy = self.copy_of(name)?;
        super::verify(Record::decode(&copy.bytes).ok()?, attempt, now)
    }

    /// Returns how many bytes all copies take.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Drops copies, the first kept first, until `size` more bytes fit. Expired copies leave too once they
    /// are first.
    fn make_room(&mut self, size: usize, bound: usize, now: UnixMillis) {
        while let Some(first) = self.order.front() {
            if let Ok(at) = self.position(*first) {
                let has_expired = self.copies[at].expires_at <= now.plus(super::HEAD_START);
                if !has_expired && self.held + size <= bound {
                    return;
                }
                self.held -= self.copies.remove(at).size();
            }
            self.order.pop_front();
        }
    }

    fn copy_of(&self, name: ScopedKey) -> Option<&KeptCopy> {
        self.position(name).ok().map(|at| &self.copies[at])
    }

    /// Returns the index of a record's copy, or else the index to insert it at.
    fn position(&self, name: ScopedKey) -> Result<usize, usize> {
        self.copies.binary_search_by_key(&name, |copy| copy.name)
    }

    fn time(&mut self, now: UnixMillis) -> UnixMillis {
        self.last_seen = now.never_before(self.last_seen);
        self.last_seen
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

/// Responses are in no log.
impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({} copies, {} bytes)", self.copies.len(), self.held)
    }
}

impl KeptCopy {
    fn size(&self) -> usize {
        self.bytes.len() + OVERHEAD
    }
}
