//! What a replica may hold and when it is believed.
//!
//! A replica is eventually consistent: it may not have what the authority has, for a while. So its
//! "nothing" is never believed. What it has is final, because only answers are copied, and an
//! answer never changes; the copy goes some time before the authority's, so that a key that the
//! authority has forgotten is not answered from a copy.

use crate::decision::{Decision, Step};
use crate::fingerprint::Fingerprint;
use crate::lifecycle::{Attempt, begin};
use crate::policy::{ExpiredKey, Policy, UnknownOutcome};
use crate::record::{EarlierAttempts, KeyState, KeyStatus, Record, State};
use crate::response::StoredResponse;
use crate::time::{Millis, UnixMillis};

/// How long before the authority's copy a replica's copy goes.
pub const HEAD_START: Millis = Millis::from_seconds(60);

/// The copy to hand to a replica after an answer was stored, and how long it may be kept there.
///
/// `None` for a key that has no answer or another one, for one whose body was not kept, and for one
/// that expires too soon for `shortest`, the shortest time that the replica can keep a thing (60 s in Workers KV).
pub fn copy(
    fingerprint: &Fingerprint,
    response: &StoredResponse,
    status: &KeyStatus,
    shortest: Millis,
    now: UnixMillis,
) -> Option<(Record, Millis)> {
    let (completed_at, expires_at) = (status.completed_at?, status.expires_at?);
    let is_the_answer = status.http_status == Some(response.status)
        && status.request_id.as_ref() == Some(&response.request_id);
    // Headers whose bytes only the authority has are no text that could be copied.
    let is_whole = response.body().is_some() && !response.has_odd_headers();
    if status.state != KeyState::Completed || !is_the_answer || !is_whole {
        return None;
    }
    let left = expires_at.minus(HEAD_START).since(now);
    if left < shortest {
        return None;
    }
    let record = Record {
        fingerprint: Some(fingerprint.clone()),
        // Only the retention is read of a copy.
        policy: Policy {
            retention: expires_at.since(completed_at),
            lease: Millis::new(0),
            unknown_outcome: UnknownOutcome::Hold,
            expired_key: ExpiredKey::Forget,
        },
        state: State::Completed { response: response.clone(), completed_at },
        attempts: status.attempts,
        maybe_executed: true,
        earlier: EarlierAttempts::default(),
        created_at: status.created_at,
    };
    Some((record, left))
}

/// What an attempt is told from a replica's copy, or `None` when the copy says nothing that counts:
/// then only the authority can tell.
pub fn verify(copy: Record, attempt: &Attempt<'_>, now: UnixMillis) -> Option<Step<Decision>> {
    let fresh = copy.expires_at().is_some_and(|expires_at| now.plus(HEAD_START) < expires_at);
    if !fresh || !matches!(copy.state, State::Completed { .. }) {
        return None;
    }
    let step = begin(Some(copy), attempt, now);
    // A copy that cannot be compared may be newer than this deploy's secrets: the authority decides.
    let counts = matches!(step.decision, Decision::Replay(_) | Decision::Mismatch);
    counts.then_some(step)
}
