//! Whether and when to retry a request.

use super::classify::Outcome;
use super::policy::{Jitter, MAX_TIMER, RetryPolicy};
use crate::time::Millis;

/// The shortest wait before a retry while a request is in progress. A random wait of up to the same
/// length is added.
const POLL: Millis = Millis::new(1000);

/// The progress of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Progress {
    /// How many retries were used up: those that [`RetryDecision::Again`] counted.
    pub retries: u32,
    /// The time since the first attempt of this call, by a monotonic clock (`performance.now`).
    pub elapsed: Millis,
    /// For how long the server certainly still knows the key
    /// ([`Entry::time_left`](crate::client::intent::Entry::time_left)).
    pub left: Millis,
}

/// What to do after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RetryDecision {
    /// Send the same bytes again.
    Again {
        /// After this long.
        after: Millis,
        /// Whether it uses up a retry.
        counts: bool,
    },
    /// Do not send them again.
    Stop(Stop),
}

/// Why there is no retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stop {
    /// The outcome is settled, or a retry would not help.
    Outcome,
    /// There are no retries left.
    RetriesUsedUp,
    /// The total time would be over by then.
    TimeUsedUp,
    /// The server may have forgotten the key by then and would execute it again.
    RetentionOver,
}

/// Returns what to do after an attempt with this outcome.
///
/// | outcome | wait | uses up a retry |
/// |---|---|---|
/// | `Ambiguous`, `NotExecuted { again: true }` | `Retry-After`, else drawn from the policy's delays | yes |
/// | `InProgress` | `Retry-After`, at least 1 s; else 1 to 2 s | no |
/// | `KeyExpired` | none | no |
/// | any other | no retry | |
///
/// `retry_after` is what [`retry_after`](super::retry_after()) read; `random` are 32 random bits,
/// which need not be secret.
///
/// ```
/// # use oncekey::Millis;
/// # use oncekey::client::retry::*;
/// let progress = Progress {
///     retries: 0,
///     elapsed: Millis::from_seconds(1),
///     left: Millis::from_seconds(3600),
/// };
/// let outcome = Outcome::Ambiguous(UnknownReason::TimedOut);
/// let random = 0x8000_0000; // of any random generator
/// let decision = next(&RetryPolicy::default(), &outcome, progress, None, random);
/// assert!(matches!(decision, RetryDecision::Again { counts: true, .. }));
/// ```
pub fn next(
    policy: &RetryPolicy,
    outcome: &Outcome,
    progress: Progress,
    retry_after: Option<Millis>,
    random: u32,
) -> RetryDecision {
    let (after, counts) = match outcome {
        Outcome::Ambiguous(_) | Outcome::NotExecuted { again: true, .. } => {
            if progress.retries >= policy.settings().limit {
                return RetryDecision::Stop(Stop::RetriesUsedUp);
            }
            let limit = policy.limit_of_delay(progress.retries);
            let drawn = match policy.settings().jitter {
                Jitter::Full => draw(limit, random),
                Jitter::None => limit,
            };
            (retry_after.unwrap_or(drawn), true)
        }
        Outcome::InProgress => {
            let wait = retry_after.unwrap_or_else(|| POLL.plus(draw(POLL, random)));
            (wait.max(POLL), false)
        }
        Outcome::KeyExpired => (Millis::new(0), false),
        Outcome::Succeeded { .. }
        | Outcome::Refused { .. }
        | Outcome::NotExecuted { again: false, .. }
        | Outcome::Unsettled(_)
        | Outcome::KeyReused { .. }
        | Outcome::KeyVoided => return RetryDecision::Stop(Stop::Outcome),
    };
    let after = after.min(MAX_TIMER);
    if progress.elapsed.plus(after) >= policy.settings().total_time {
        RetryDecision::Stop(Stop::TimeUsedUp)
    } else if after >= progress.left {
        RetryDecision::Stop(Stop::RetentionOver)
    } else {
        RetryDecision::Again { after, counts }
    }
}

/// Returns how long the attempt that begins now may take, within the rest of the total time and of
/// the retention.
pub fn attempt_timeout(policy: &RetryPolicy, progress: Progress) -> Millis {
    let settings = policy.settings();
    let total = settings.total_time.as_u64().saturating_sub(progress.elapsed.as_u64());
    settings.attempt_timeout.min(Millis::new(total)).min(progress.left)
}

/// Returns a length from 0 to `limit`, both included, uniformly distributed.
fn draw(limit: Millis, random: u32) -> Millis {
    let limit = limit.min(MAX_TIMER).as_u64();
    Millis::new((u64::from(random) * (limit + 1)) >> 32)
}
