//! Worlds with business keys, and with events.

use super::{NOTHING_WRONG, PLAIN};
use crate::config::{Bounds, Caller, Config, Fate, Gateway, Recognizes};

/// Two keys and one business key, with `hold` and an origin that charges each time.
pub(super) fn business_keys_held(large: u8) -> Config {
    Config {
        name: "business keys, hold",
        callers: vec![
            Caller::with_key(0, 1, 0, 1).with_business_key(0),
            Caller::with_key(0, 2, 0, 1).with_business_key(0),
        ],
        gateways: vec![Gateway::HOLD],
        fates: &[Fate::ErrorAfter, Fate::Refused, Fate::Busy],
        bounds: Bounds {
            losses: large,
            doubles: large,
            lates: 1,
            crashes: 1,
            fates: 1,
            leases: 1,
            ..NOTHING_WRONG
        },
        ..PLAIN
    }
}

/// The same with `retry`, and an origin that recognizes the business key.
pub(super) fn business_keys_retried(large: u8) -> Config {
    Config {
        name: "business keys, retry",
        callers: vec![
            Caller::with_key(0, 1, 0, 1 + large).with_business_key(0),
            Caller::with_key(0, 2, 0, 1).with_business_key(0),
        ],
        gateways: vec![Gateway::RETRY],
        recognizes: Recognizes::BusinessKey,
        fates: &[Fate::ErrorAfter, Fate::Refused],
        bounds: Bounds { losses: large, crashes: 1, fates: 1, leases: 1, ..NOTHING_WRONG },
        ..PLAIN
    }
}

/// Business keys that are looked up, also after the retention; other content under the same business key.
pub(super) fn business_keys_looked_up(large: u8) -> Config {
    Config {
        name: "business keys, looked up",
        callers: vec![
            Caller::with_key(0, 1, 0, 1 + large).with_business_key(0),
            Caller::with_key(0, 2, 0, 1).with_business_key(0),
            Caller::with_key(0, 3, 1, large).with_business_key(0),
        ],
        gateways: vec![Gateway::HOLD],
        fates: &[Fate::ErrorAfter],
        looks_up: true,
        bounds: Bounds {
            crashes: 1,
            fates: 1,
            lates: 1,
            retentions: 1,
            sweeps: 1,
            settlements: 1,
            ..NOTHING_WRONG
        },
        ..PLAIN
    }
}

/// A request with only a business key beside a request with both keys.
pub(super) fn business_key_alone(large: u8) -> Config {
    Config {
        name: "a business key alone",
        callers: vec![
            Caller::business_key_alone(0, 0, 1 + large),
            Caller::with_key(0, 1, 0, 1).with_business_key(0),
        ],
        gateways: vec![Gateway::HOLD],
        fates: &[Fate::ErrorAfter, Fate::Refused],
        replica: true,
        bounds: Bounds {
            losses: 1,
            crashes: 1,
            fates: 1,
            retentions: 1,
            leases: large,
            ..NOTHING_WRONG
        },
        ..PLAIN
    }
}

/// A memory with business keys: a request with only a business key beside a request with both keys, before and after
/// the retention.
pub(super) fn business_keys_remembered(large: u8) -> Config {
    Config {
        name: "business keys, remembered",
        callers: vec![
            Caller::business_key_alone(0, 0, 2 + large),
            Caller::with_key(0, 1, 0, 1 + large).with_business_key(0),
        ],
        gateways: vec![Gateway::HOLD],
        fates: &[Fate::ErrorAfter, Fate::Refused],
        looks_up: true,
        memory: true,
        bounds: Bounds { losses: large, crashes: 1, fates: 1, retentions: 1, ..NOTHING_WRONG },
        ..PLAIN
    }
}

/// An event of a webhook, whose record is permanent.
pub(super) fn events(large: u8) -> Config {
    Config {
        name: "events",
        callers: vec![Caller::event(1, 2 + large)],
        gateways: vec![Gateway::HOLD],
        recognizes: Recognizes::Key,
        fates: &[Fate::ErrorAfter, Fate::ErrorBefore, Fate::Refused],
        wire: true,
        bounds: Bounds {
            losses: 1,
            doubles: 1,
            crashes: 1,
            fates: 1,
            leases: 1,
            retentions: 1,
            months: 1,
            sweeps: 1,
            ..NOTHING_WRONG
        },
        ..PLAIN
    }
}
