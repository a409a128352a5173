//! The isolate's memory of stored responses, for replays without a call to a shard. The core
//! (`oncekey::replica`) decides what is kept, for how long, and what a copy says.

use oncekey::replica::Memory;
use oncekey::{Attempt, Decision, Fingerprints, KeyStatus, ScopedKey, StoredResponse, Transition};
use platform::clock;
use std::cell::RefCell;

thread_local! {
    static COPIES: RefCell<Memory> = const { RefCell::new(Memory::new()) };
}

/// Returns the decision that the copy of a record proves. `None` proves nothing about the key.
pub(crate) fn recall(name: ScopedKey, attempt: &Attempt<'_>) -> Option<Transition<Decision>> {
    COPIES.with_borrow_mut(|copies| copies.recall(name, attempt, clock::now()))
}

/// Keeps a copy of the response that a record has or replays, within `bound` bytes.
pub(crate) fn keep(
    name: ScopedKey,
    fingerprints: &Fingerprints,
    response: &StoredResponse,
    status: &KeyStatus,
    bound: usize,
) {
    let (fingerprint, now) = (fingerprints.signing(), clock::now());
    COPIES.with_borrow_mut(|copies| {
        copies.keep(name, &fingerprint, response, status, bound, now);
    });
}

/// Returns how many bytes the copies take.
pub(crate) fn held() -> u64 {
    COPIES.with_borrow(Memory::held) as u64
}
