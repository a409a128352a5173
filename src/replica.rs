//! A replica: which responses are copied to it, and when a copy counts.
//!
//! A replica is eventually consistent: for a while it may lack a record that the shard has. A missing
//! copy therefore never counts as a new key. A copy is final, because only responses are copied and
//! the response of a key never changes: no call voids, settles or completes a completed record. A copy
//! expires one minute before the record, so that a replica never replays a response whose record the
//! shard has forgotten.
//!
//! A [`Memory`] is a replica in the gateway's own process. The same rules apply to it.

mod memory;

pub use memory::Memory;

use crate::decision::{Decision, Transition};
use crate::fingerprint::Fingerprint;
use crate::lifecycle::{Attempt, begin};
use crate::policy::{ExpiredKey, Policy, UnknownOutcome};
use crate::record::{EarlierAttempts, KeyState, KeyStatus, Record, RecordState};
use crate::response::StoredResponse;
use crate::time::{Millis, UnixMillis};

/// How long a replica's copy expires before the record in the shard.
pub const HEAD_START: Millis = Millis::from_seconds(60);

/// Returns the copy for a replica after a response was stored, and how long the replica may keep it.
///
/// Returns `None` if the key has no response or another response, if the body was not kept, or if the
/// copy would expire within `shortest`, the shortest life of an entry in the replica (60 s in Workers
/// KV).
pub fn copy(
    fingerprint: &Fingerprint,
    response: &StoredResponse,
    status: &KeyStatus,
    shortest: Millis,
    now: UnixMillis,
) -> Option<(Record, Millis)> {
    let (completed_at, expires_at) = (status.completed_at?, status.expires_at?);
    let is_its_response = status.http_status == Some(response.status)
        && status.request_id.as_ref() == Some(&response.request_id);
    // Only the shard has the original bytes of headers that are not UTF-8.
    let is_whole = response.body().is_some() && !response.has_odd_headers();
    if status.state != KeyState::Completed || !is_its_response || !is_whole {
        return None;
    }
    let left = expires_at.minus(HEAD_START).since(now);
    if left < shortest {
        return None;
    }
    let record = Record {
        fingerprint: Some(fingerprint.clone()),
        // Of the policy in a copy, only the retention is read.
        policy: Policy {
            retention: expires_at.since(completed_at),
            lease: Millis::new(0),
            unknown_outcome: UnknownOutcome::Hold,
            expired_key: ExpiredKey::Forget,
        },
        state: RecordState::Completed { response: response.clone(), completed_at },
        attempts: status.attempts,
        maybe_executed: true,
        earlier: EarlierAttempts::default(),
        created_at: status.created_at,
    };
    Some((record, left))
}

/// Decides about an attempt from a replica's copy. Returns `None` if the copy has expired or does not
/// allow a decision; then only the shard can decide.
pub fn verify(
    copy: Record,
    attempt: &Attempt<'_>,
    now: UnixMillis,
) -> Option<Transition<Decision>> {
    let fresh = copy.expires_at().is_some_and(|expires_at| now.plus(HEAD_START) < expires_at);
    if !fresh || !matches!(copy.state, RecordState::Completed { .. }) {
        return None;
    }
    let step = begin(Some(copy), attempt, now);
    // A fingerprint that cannot be checked may have been made with a newer secret than this
    // deployment has, so the shard decides.
    let counts = matches!(step.decision, Decision::Replay(_) | Decision::Mismatch);
    counts.then_some(step)
}
