//! What an operator decides: how long answers live, how long an attempt owns a key, and what to do
//! when nobody knows whether an attempt was executed. A record keeps the policy it was begun under.

use crate::time::Millis;
use minicbor::{Decode, Encode};

/// The settings that a record is begun under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Policy {
    /// How long a kept answer lives, from its completion; a released key too, from its release.
    #[n(0)]
    pub retention: Millis,
    /// How long an attempt owns the key without renewing.
    #[n(1)]
    pub lease: Millis,
    /// What a retry finds when an earlier attempt may have been executed.
    #[n(2)]
    pub unknown_outcome: UnknownOutcome,
    /// What becomes of a key whose answer has expired.
    #[n(3)]
    pub expired_key: ExpiredKey,
}

/// What a retry finds when an earlier attempt may have been executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum UnknownOutcome {
    /// It is executed again: right where the origin itself deduplicates by the forwarded key.
    #[n(0)]
    Retry,
    /// It is refused until somebody has found out: right for every other origin.
    #[n(1)]
    Hold,
}

/// What becomes of a key whose answer has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum ExpiredKey {
    /// It is as new.
    #[n(0)]
    Forget,
    /// It is refused for as long as its tombstone stands.
    #[n(1)]
    Refuse,
    /// It is never forgotten, as a business number is not: of its answer, status and id of the
    /// resource stay, and the fingerprint. In return, only a success binds it.
    #[n(2)]
    Remember,
}

impl Policy {
    /// How long what is not an answer is kept at least: 30 days.
    pub const LONG_RETENTION: Millis = Millis::from_days(30);
    /// How far the clock that made a UUIDv7 may be behind ours before its key counts as older than
    /// it is: one hour.
    pub const CLOCK_TOLERANCE: Millis = Millis::from_seconds(3600);

    /// How long an unknown outcome, a voided key and the tombstone of an expired one are kept: 30
    /// days, or as long as answers where that is longer. The promises about them have this limit.
    pub fn long_retention(&self) -> Millis {
        self.retention.max(Self::LONG_RETENTION)
    }

    /// The policy of a business number, for which this is the policy of keys.
    pub fn of_business_keys(self) -> Self {
        Self { expired_key: ExpiredKey::Remember, ..self }
    }

    /// The policy of a webhook's event, for which this is the policy of keys. It is kept for good and
    /// bound only by a 2xx, as a number is. Where nobody knows whether the origin has taken it in,
    /// it is sent again when its sender comes again: nobody stands there who could find out, an
    /// event that is held would be lost when its sender gives up, and who receives webhooks has to
    /// know an event by its id anyway.
    pub fn of_events(self) -> Self {
        Self { unknown_outcome: UnknownOutcome::Retry, expired_key: ExpiredKey::Remember, ..self }
    }

    /// What an origin's status says about the operation, under this policy: a number is bound only
    /// by a 2xx, so that a request refused with 400 does not burn it.
    pub fn class_of(&self, status: u16) -> ResponseClass {
        match ResponseClass::of_status(status) {
            ResponseClass::Final
                if self.expired_key == ExpiredKey::Remember && !(200..300).contains(&status) =>
            {
                ResponseClass::NotExecuted
            }
            class => class,
        }
    }
}

/// What an origin's status says about the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResponseClass {
    /// The answer of the key: kept and replayed.
    Final,
    /// Surely not executed; the same key may try again.
    NotExecuted,
    /// It may have been executed.
    Unknown,
    /// The caller repeats the same request elsewhere with the same key, so this is no answer yet.
    RepeatElsewhere,
}

impl ResponseClass {
    /// Which answers are kept.
    ///
    /// | status | class | why |
    /// |---|---|---|
    /// | 307, 308 | repeat elsewhere | the method and body are sent again (RFC 9110 §15.4) |
    /// | 401, 403, 407 | not executed | refused for who asks; the next try may carry other credentials |
    /// | 417, 421, 423, 425, 429 | not executed | refused for how, when or where it was asked |
    /// | 408, 409, 5xx | unknown | the origin may have worked on it before it gave up |
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
    fn an_unknown_outcome_is_not_forgotten_before_an_answer_would_be() {
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
