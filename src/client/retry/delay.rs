//! Whether and when a request is sent again.

use super::classify::Outcome;
use super::policy::{Jitter, MAX_TIMER, RetryPolicy};
use crate::time::Millis;

/// The shortest wait before a request that is in progress is asked for again. What is drawn comes
/// on top of it, up to as much again.
const POLL: Millis = Millis::new(1000);

/// How far a call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Progress {
    /// The retries that were used up: as many as [`Next::Again`] said to count.
    pub retries: u32,
    /// The time since the first attempt of this call, by a clock that nobody can set
    /// (`performance.now`).
    pub elapsed: Millis,
    /// The time for which the server surely still knows the key
    /// ([`Entry::time_left`](crate::client::intent::Entry::time_left)).
    pub left: Millis,
}

/// What to do after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Next {
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

/// Why a request is not sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stop {
    /// The outcome is settled, or asking again would not help.
    Outcome,
    /// There are no retries left.
    RetriesUsedUp,
    /// The total time would be over by then.
    TimeUsedUp,
    /// The server may have forgotten the key by then and would execute it anew.
    RetentionOver,
}

/// What to do after an attempt that ended like this.
///
/// | outcome | wait | uses up a retry |
/// |---|---|---|
/// | `Ambiguous`, `NotExecuted { again: true }` | `Retry-After`, else drawn from the policy's delays | yes |
/// | `InProgress` | `Retry-After`, at least 1 s; else 1 to 2 s | no |
/// | `KeyExpired` | none | no |
/// | any other | does not come again | |
///
/// `retry_after` is what [`retry_after`](super::retry_after()) read; `random` are 32 random bits,
/// which need not be secret.
pub fn next(
    policy: &RetryPolicy,
    outcome: &Outcome,
    progress: Progress,
    retry_after: Option<Millis>,
    random: u32,
) -> Next {
    let (after, counts) = match outcome {
        Outcome::Ambiguous(_) | Outcome::NotExecuted { again: true, .. } => {
            if progress.retries >= policy.settings().limit {
                return Next::Stop(Stop::RetriesUsedUp);
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
        | Outcome::KeyVoided => return Next::Stop(Stop::Outcome),
    };
    let after = after.min(MAX_TIMER);
    if progress.elapsed.plus(after) >= policy.settings().total_time {
        Next::Stop(Stop::TimeUsedUp)
    } else if after >= progress.left {
        Next::Stop(Stop::RetentionOver)
    } else {
        Next::Again { after, counts }
    }
}

/// How long the attempt that begins now may take: as long as every other, within what is left of
/// the total time and of the retention.
pub fn attempt_timeout(policy: &RetryPolicy, progress: Progress) -> Millis {
    let settings = policy.settings();
    let total = settings.total_time.as_u64().saturating_sub(progress.elapsed.as_u64());
    settings.attempt_timeout.min(Millis::new(total)).min(progress.left)
}

/// A length from nothing to `limit`, both included, each as likely as any other.
fn draw(limit: Millis, random: u32) -> Millis {
    let limit = limit.min(MAX_TIMER).as_u64();
    Millis::new((u64::from(random) * (limit + 1)) >> 32)
}
