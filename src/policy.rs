//! The settings of an operator: how long a response is kept, how long an attempt owns a key, and what
//! a retry does while an outcome is unknown. A record keeps the policy that it was begun under.

mod outcomes;

pub use outcomes::{OutcomeError, OutcomeRules, ResponseRules};

use crate::codec::cbor::{record_fields, record_numbers};
use crate::time::{Millis, UnixMillis};
use crate::{message_fields, message_variants};
use minicbor::{Decode, Encode};

/// The settings for one record.
///
/// ```
/// # use oncekey::{Millis, Policy, UnknownOutcome};
/// let policy = Policy {
///     retention: Millis::from_days(7),
///     // The handler itself recognizes a repeated key.
///     unknown_outcome: UnknownOutcome::Retry,
///     ..Policy::default()
/// };
/// assert_eq!(policy.lease, Millis::from_seconds(15));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Policy {
    /// How long a response is kept, from its completion. A released key expires after the same time.
    #[n(0)]
    pub retention: Millis,
    /// How long an attempt owns the key without renewing its lease.
    #[n(1)]
    pub lease: Millis,
    /// What a retry does when an earlier attempt may have been executed.
    #[n(2)]
    pub unknown_outcome: UnknownOutcome,
    /// What happens to a key whose response has expired.
    #[n(3)]
    pub expired_key: ExpiredKey,
}

message_fields!(Policy { retention, lease, unknown_outcome, expired_key });
record_fields!(Policy { retention, lease, unknown_outcome, expired_key });

/// What a retry does when an earlier attempt may have been executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
#[cbor(index_only)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum UnknownOutcome {
    /// The retry is executed. This is right if the origin itself deduplicates by the forwarded key.
    #[n(0)]
    Retry,
    /// The retry is refused until the outcome is settled. This is right for every other origin.
    #[n(1)]
    Hold,
}

message_variants!(UnknownOutcome { 0: Retry, 1: Hold });
record_numbers!(UnknownOutcome { 0: Retry, 1: Hold });

/// What happens to a key whose response has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
#[cbor(index_only)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum ExpiredKey {
    /// The key counts as new.
    #[n(0)]
    Forget,
    /// The key is refused until its tombstone is removed.
    #[n(1)]
    Refuse,
    /// The key is never forgotten, like a business key: the status of its response, the id of the
    /// resource and the fingerprint stay. In return, only a success binds the key.
    #[n(2)]
    Remember,
}

message_variants!(ExpiredKey { 0: Forget, 1: Refuse, 2: Remember });
record_numbers!(ExpiredKey { 0: Forget, 1: Refuse, 2: Remember });

impl Default for Policy {
    /// Returns the policy of the gateway without settings: a response is kept for a day, a lease takes 15
    /// seconds, a key whose outcome is unknown is on hold, and an expired key counts as new.
    fn default() -> Self {
        Self {
            retention: Millis::from_days(1),
            lease: Millis::from_seconds(15),
            unknown_outcome: UnknownOutcome::Hold,
            expired_key: ExpiredKey::Forget,
        }
    }
}

impl Policy {
    /// The shortest time for which everything but a response is kept: 30 days.
    pub const LONG_RETENTION: Millis = Millis::from_days(30);
    /// How far the clock that made a UUIDv7 (RFC 9562 §5.7) may differ from the gateway's clock: one
    /// hour.
    pub const CLOCK_TOLERANCE: Millis = Millis::from_seconds(3600);

    /// Returns how long an unknown outcome, a voided key and the tombstone of an expired key are kept:
    /// 30 days, or the retention if that is longer. The guarantees about them have this limit.
    pub fn long_retention(&self) -> Millis {
        self.retention.max(Self::LONG_RETENTION)
    }

    /// Returns the policy of business keys, given the policy of idempotency keys.
    pub fn of_business_keys(self) -> Self {
        Self { expired_key: ExpiredKey::Remember, ..self }
    }

    /// Returns the policy of a webhook's events, given the policy of idempotency keys.
    ///
    /// An event is remembered for good and bound only by a 2xx, like a business key. If the outcome is
    /// unknown, the sender's next delivery is executed: an event on hold would be lost when its
    /// sender gives up, and a receiver of webhooks has to recognize an event by its id anyway.
    pub fn of_events(self) -> Self {
        Self { unknown_outcome: UnknownOutcome::Retry, expired_key: ExpiredKey::Remember, ..self }
    }

    /// Returns the policy of a call that voids a key. The call does not name the route of the key, so
    /// retentions from `shortest` to `longest` are possible. A key is gone as soon as the shortest is
    /// over, and must stay void for the longest.
    pub fn of_void(
        self,
        shortest: Millis,
        longest: Millis,
        minted_at: Option<UnixMillis>,
        now: UnixMillis,
    ) -> Self {
        let short = Self { retention: shortest, ..self };
        if short.may_have_forgotten(minted_at, now) {
            short
        } else {
            Self { retention: longest, ..self }
        }
    }

    /// Returns whether a key that is absent at `now` may have had a response that has expired. This adds
    /// the tolerance to the age, because the clock that made the key may have been ahead of this one.
    pub(crate) fn may_have_forgotten(
        &self,
        minted_at: Option<UnixMillis>,
        now: UnixMillis,
    ) -> bool {
        let tolerance = Self::CLOCK_TOLERANCE.min(self.retention.half());
        minted_at.is_some_and(|minted_at| now.since(minted_at).plus(tolerance) >= self.retention)
    }

    /// Returns what an origin's status proves, under this policy.
    ///
    /// ```
    /// # use oncekey::{Policy, ResponseClass};
    /// let policy = Policy::default();
    /// assert_eq!(policy.class_of(402), ResponseClass::Final);
    /// assert_eq!(policy.class_of(429), ResponseClass::NotExecuted);
    /// assert_eq!(policy.class_of(503), ResponseClass::Unknown);
    /// // A refusal does not use an order number up.
    /// assert_eq!(policy.of_business_keys().class_of(402), ResponseClass::NotExecuted);
    /// ```
    pub fn class_of(&self, status: u16) -> ResponseClass {
        self.class_under(ResponseClass::of_status(status), status)
    }

    /// Returns what a response of this class and status proves, under this policy. Only a 2xx binds a
    /// business key, so a request that was refused with 400 does not use the business key up.
    pub(crate) fn class_under(&self, class: ResponseClass, status: u16) -> ResponseClass {
        match class {
            ResponseClass::Final
                if self.expired_key == ExpiredKey::Remember && !(200..300).contains(&status) =>
            {
                ResponseClass::NotExecuted
            }
            class => class,
        }
    }
}

/// What the status of an origin's response proves about the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum ResponseClass {
    /// The request has its final response, which is kept and replayed.
    Final,
    /// The request was not executed. The same key may try again.
    NotExecuted,
    /// The request may have been executed.
    Unknown,
    /// The caller has to send the same request to another URL, so there is no final response yet.
    RepeatElsewhere,
}

message_variants!(ResponseClass { 0: Final, 1: NotExecuted, 2: Unknown, 3: RepeatElsewhere });

impl ResponseClass {
    /// Returns what a status proves.
    ///
    /// | status | class | why |
    /// |---|---|---|
    /// | 307, 308 | repeat elsewhere | the client sends the method and body again (RFC 9110 §15.4) |
    /// | 401, 403, 407 | not executed | the credentials were refused; the next attempt may carry others |
    /// | 417, 421, 423, 425, 429 | not executed | the request was refused for how, when or where it was sent |
    /// | 408, 409, 5xx | unknown | the origin may have executed the request before it failed |
    /// | all others | final | |
    pub fn of_status(status: u16) -> Self {
        match status {
            307 | 308 => Self::RepeatElsewhere,
            401 | 403 | 407 | 417 | 421 | 423 | 425 | 429 => Self::NotExecuted,
            408 | 409 | 500.. => Self::Unknown,
            _ => Self::Final,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_outcome_is_kept_at_least_as_long_as_a_response() {
        let policy = |days| Policy {
            retention: Millis::from_days(days),
            lease: Millis::from_seconds(15),
            unknown_outcome: UnknownOutcome::Hold,
            expired_key: ExpiredKey::Forget,
        };
        assert_eq!(policy(1).long_retention(), Millis::from_days(30));
        assert_eq!(policy(90).long_retention(), Millis::from_days(90));
    }

    #[test]
    fn a_key_of_an_unknown_route_is_void_for_the_longest_retention() {
        let policy = Policy {
            retention: Millis::from_days(1),
            lease: Millis::from_seconds(15),
            unknown_outcome: UnknownOutcome::Hold,
            expired_key: ExpiredKey::Forget,
        };
        let (short, long) = (Millis::from_days(1), Millis::from_days(60));
        let minted_at = UnixMillis::new(1_764_000_000_000);
        let of = |minted_at, later: u64| {
            policy.of_void(short, long, minted_at, UnixMillis::new(1_764_000_000_000 + later))
        };
        assert_eq!(of(Some(minted_at), 1000).retention, long);
        assert_eq!(of(None, 1000).retention, long);
        // After the shortest retention, the response may be gone.
        let late = of(Some(minted_at), 90_000_000);
        assert_eq!(late.retention, short);
        assert!(late.may_have_forgotten(Some(minted_at), UnixMillis::new(1_764_090_000_000)));
    }

    #[test]
    fn every_status_has_its_class() {
        for status in 200..=999 {
            let expected = match status {
                307 | 308 => ResponseClass::RepeatElsewhere,
                401 | 403 | 407 | 417 | 421 | 423 | 425 | 429 => ResponseClass::NotExecuted,
                408 | 409 => ResponseClass::Unknown,
                500.. => ResponseClass::Unknown,
                _ => ResponseClass::Final,
            };
            assert_eq!(ResponseClass::of_status(status), expected, "{status}");
        }
    }
}
