//! How often, how long and how fast to retry.

use crate::time::Millis;
use core::fmt;

/// The longest that a browser's timer can wait; beyond it `setTimeout` fires at once.
pub const MAX_TIMER: Millis = Millis::new(i32::MAX as u64);

/// The settings of a caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RetrySettings {
    /// How many retries follow the first attempt; 0 to 100.
    pub limit: u32,
    /// The longest wait before each retry, at most [`MAX_TIMER`] each. The last delay counts for all
    /// later retries. At least one is needed if `limit` is above 0.
    pub delays: Vec<Millis>,
    /// How a wait is drawn.
    pub jitter: Jitter,
    /// How long one attempt may take: 1 ms to [`MAX_TIMER`]. It should be longer than the 25 s that the
    /// gateway gives its origin. Otherwise each attempt would end just before its response arrives.
    pub attempt_timeout: Millis,
    /// How long all attempts and waits may take together: `attempt_timeout` to [`MAX_TIMER`].
    pub total_time: Millis,
    /// The longest `Retry-After` that is followed, at most [`MAX_TIMER`].
    pub max_retry_after: Millis,
}

/// How a wait is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Jitter {
    /// A random wait up to the limit, so that clients that failed together do not retry together.
    Full,
    /// The limit.
    None,
}

/// Settings that have been checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RetryPolicy(RetrySettings);

/// Why settings are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RetryPolicyError {
    /// The limit is above [`RetryPolicy::MAX_LIMIT`].
    LimitTooHigh,
    /// There are retries, and no delays.
    NoDelays,
    /// A delay is longer than a timer can wait.
    DelayTooLong,
    /// An attempt is given no time, or more than a timer can wait.
    AttemptTimeoutOutOfRange,
    /// All attempts together are given less time than one of them, or more than a timer can wait.
    TotalTimeOutOfRange,
    /// The longest `Retry-After` is longer than a timer can wait.
    MaxRetryAfterTooLong,
}

impl RetryPolicy {
    /// The most retries that can be asked for.
    pub const MAX_LIMIT: u32 = 100;

    /// Checks the settings. Returns the first error that it finds.
    ///
    /// ```
    /// # use oncekey::Millis;
    /// # use oncekey::client::retry::{RetryPolicy, RetryPolicyError, RetrySettings};
    /// let settings = RetrySettings { limit: 2, ..RetrySettings::default() };
    /// assert!(RetryPolicy::new(settings.clone()).is_ok());
    /// let settings = RetrySettings { attempt_timeout: Millis::new(0), ..settings };
    /// assert_eq!(RetryPolicy::new(settings), Err(RetryPolicyError::AttemptTimeoutOutOfRange));
    /// ```
    pub fn new(settings: RetrySettings) -> Result<Self, RetryPolicyError> {
        use RetryPolicyError as E;
        let s = &settings;
        for (is_wrong, error) in [
            (s.limit > Self::MAX_LIMIT, E::LimitTooHigh),
            (s.limit > 0 && s.delays.is_empty(), E::NoDelays),
            (s.delays.iter().any(|delay| *delay > MAX_TIMER), E::DelayTooLong),
            (is_no_time(s.attempt_timeout), E::AttemptTimeoutOutOfRange),
            (is_no_time(s.total_time) || s.total_time < s.attempt_timeout, E::TotalTimeOutOfRange),
            (s.max_retry_after > MAX_TIMER, E::MaxRetryAfterTooLong),
        ] {
            if is_wrong {
                return Err(error);
            }
        }
        Ok(Self(settings))
    }

    /// Returns the settings.
    pub fn settings(&self) -> &RetrySettings {
        &self.0
    }

    /// Returns the longest wait before the retry with this number. The first retry is number 0.
    pub(super) fn limit_of_delay(&self, retry: u32) -> Millis {
        let delays = &self.0.delays;
        let index = usize::try_from(retry).unwrap_or(usize::MAX).min(delays.len().wrapping_sub(1));
        delays.get(index).copied().unwrap_or(Millis::new(0))
    }
}

fn is_no_time(length: Millis) -> bool {
    length == Millis::new(0) || length > MAX_TIMER
}

impl Default for RetrySettings {
    /// Returns the defaults: four retries after at most 1, 2, 4 and 8 s, with 30 s for each attempt.
    /// All five attempts and the waits between them fit into the total time of three minutes.
    fn default() -> Self {
        Self {
            limit: 4,
            delays: [1, 2, 4, 8].map(Millis::from_seconds).to_vec(),
            jitter: Jitter::Full,
            attempt_timeout: Millis::from_seconds(30),
            total_time: Millis::from_seconds(180),
            max_retry_after: Millis::from_seconds(60),
        }
    }
}

impl fmt::Display for RetryPolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LimitTooHigh => "the retry limit is above 100; give a limit from 0 to 100",
            Self::NoDelays => "retries need delays, but none are given; give at least one delay in milliseconds",
            Self::DelayTooLong => "a retry delay is longer than 2147483647 ms; give a shorter delay",
            Self::AttemptTimeoutOutOfRange => {
                "the timeout of an attempt is out of range; give 1 to 2147483647 ms, and more than the server's own timeout of 25000 ms"
            }
            Self::TotalTimeOutOfRange => {
                "the total time is out of range; give at least the timeout of one attempt and at most 2147483647 ms"
            }
            Self::MaxRetryAfterTooLong => {
                "the longest Retry-After is longer than 2147483647 ms; give a shorter time"
            }
        })
    }
}

impl core::error::Error for RetryPolicyError {}
