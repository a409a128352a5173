//! The rules for retries.
//!
//! They are only about requests that carry an idempotency key. A write without a key is never sent
//! again, and never comes here.
//!
//! For each attempt:
//!
//! 1. The shell sends the bytes, for at most [`attempt_timeout`].
//! 2. [`classify`] returns what the result of the attempt means: an [`Outcome`].
//! 3. [`next`] returns whether to retry, and after how long. [`retry_after`] reads what the server
//!    asks for.
//!
//! | outcome | what is known | retried |
//! |---|---|---|
//! | [`Succeeded`](Outcome::Succeeded), [`Refused`](Outcome::Refused) | the key has its response | no |
//! | [`NotExecuted`](Outcome::NotExecuted) | this attempt was not executed | 425, 429 and a server's `released`: yes; 401, 403 and the like: no |
//! | [`InProgress`](Outcome::InProgress) | an attempt is in progress | every 1 to 2 s, which uses up no retries |
//! | [`Ambiguous`](Outcome::Ambiguous) | it may have been executed | yes |
//! | [`Unsettled`](Outcome::Unsettled) | it may have been executed, and a retry would not help | no: ask for the state of the key |
//! | [`KeyReused`](Outcome::KeyReused), [`KeyVoided`](Outcome::KeyVoided) | the key cannot be used for this request, and nothing was executed | no |
//! | [`KeyExpired`](Outcome::KeyExpired) | the clock that made the key is wrong | at once, with a key without time |

mod classify;
mod delay;
mod policy;
mod retry_after;

pub use crate::canonical::is_json;
pub use crate::codec::http_date::parse_http_date;
pub use classify::{
    AttemptResult, BodyState, Context, Outcome, ResponseSummary, UnknownReason, classify,
    is_final_status, is_success,
};
pub use delay::{Progress, RetryDecision, Stop, attempt_timeout, next};
pub use policy::{Jitter, MAX_TIMER, RetryPolicy, RetryPolicyError, RetrySettings};
pub use retry_after::{expires_at, retry_after};
