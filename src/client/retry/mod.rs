//! When a request is sent again: the only place with such rules.
//!
//! Everything here is about requests that carry an idempotency key. A write without one is never
//! sent again, and [`classify`] has no way to say so because no such request comes here.
//!
//! One attempt after the other:
//!
//! 1. The shell sends the bytes, for at most [`attempt_timeout`].
//! 2. [`classify`] says what the attempt's end means: an [`Outcome`].
//! 3. [`next`] says whether to ask again, and after how long; [`retry_after`] reads what the server
//!    wants.
//!
//! | outcome | what is known | asked again |
//! |---|---|---|
//! | [`Succeeded`](Outcome::Succeeded), [`Refused`](Outcome::Refused) | the key has its answer | no |
//! | [`NotExecuted`](Outcome::NotExecuted) | this attempt surely was not executed | 425, 429 and a server's `released`: yes; 401, 403 and the like: no |
//! | [`InProgress`](Outcome::InProgress) | an attempt is under way | every 1 to 2 s, which uses up no retries |
//! | [`Ambiguous`](Outcome::Ambiguous) | it may have been executed | yes |
//! | [`Unsettled`](Outcome::Unsettled) | it may have been executed, and asking again will not tell | no: the key's state is to be asked |
//! | [`KeyReused`](Outcome::KeyReused), [`KeyVoided`](Outcome::KeyVoided) | the key cannot be used for this request, and nothing was executed | no |
//! | [`KeyExpired`](Outcome::KeyExpired) | the clock that made the key is wrong | at once, with a key without time |

mod classify;
mod delay;
mod policy;
mod retry_after;

pub use crate::codec::http_date::parse_http_date;
pub use classify::{Answer, Body, Context, Doubt, Heard, Outcome, classify, is_final_status};
pub use delay::{Next, Progress, Stop, attempt_timeout, next};
pub use policy::{Jitter, MAX_TIMER, RetryPolicy, RetryPolicyError, RetrySettings};
pub use retry_after::{expires_at, retry_after};
