//! The bounded worlds that `make proof` searches.

mod business_keys;
mod pages;

pub use pages::limits;

use crate::config::{Bounds, Caller, Clock, Config, Fate, Gateway, LEASE, Recognizes, Secrets};
use oncekey::Millis;

/// Returns the worlds of the default run.
pub fn all(large: bool) -> Vec<Config> {
    let large = u8::from(large);
    vec![
        hold(large),
        hold_and_time(large),
        retry(large),
        retry_thrice(large),
        two_settings(large),
        replica(large),
        replica_over_time(large),
        memory(large),
        memory_over_time(large),
        refused_when_expired(large),
        two_requests(large),
        lives(large),
        clocks(large),
        restarts(large),
        secrets(large),
        tenants(large),
        voids(large),
        business_keys::business_keys_held(large),
        business_keys::business_keys_retried(large),
        business_keys::business_keys_looked_up(large),
        business_keys::business_key_alone(large),
        business_keys::business_keys_remembered(large),
        business_keys::events(large),
        pages::page(large),
        pages::page_without_proof(large),
        pages::page_and_others(large),
        pages::page_gives_up(large),
        pages::page_comes_back(large),
    ]
}

const PLAIN: Config = Config {
    name: "",
    callers: Vec::new(),
    page: None,
    gateways: Vec::new(),
    secrets: &[],
    recognizes: Recognizes::Nothing,
    fates: &[],
    looks_up: false,
    replica: false,
    memory: false,
    wire: false,
    jumps: &[],
    bounds: NOTHING_WRONG,
};

const NOTHING_WRONG: Bounds = Bounds {
    losses: 0,
    doubles: 0,
    lates: 0,
    crashes: 0,
    evictions: 0,
    fates: 0,
    half_leases: 0,
    leases: 0,
    retentions: 0,
    months: 0,
    jumps: 0,
    rotations: 0,
    settlements: 0,
    voids: 0,
    sweeps: 0,
    stale_reads: 0,
    reloads: 0,
    interceptions: 0,
};

const FAULTY: &[Fate] = &[Fate::ErrorAfter, Fate::ErrorBefore, Fate::Denied, Fate::Refused];

/// One key, an origin that charges each time, and `hold`: nothing is charged twice, whatever the origin does.
fn hold(large: u8) -> Config {
    Config {
        name: "hold",
        callers: vec![Caller::with_key(0, 1, 0, 2), Caller::with_key(0, 1, 1, large)],
        gateways: vec![Gateway::HOLD],
        fates: &[Fate::ErrorAfter, Fate::Denied, Fate::Refused, Fate::Moved],
        bounds: Bounds { losses: 1, doubles: 1, crashes: 1, fates: 1, leases: 1, ..NOTHING_WRONG },
        ..PLAIN
    }
}

/// The same with more time, and an operator. Each record is read and written in its stored form.
fn hold_and_time(large: u8) -> Config {
    Config {
        name: "hold, and time",
        callers: vec![Caller::with_key(0, 1, 0, 2)],
        gateways: vec![Gateway::HOLD],
        fates: FAULTY,
        wire: true,
        bounds: Bounds {
            lates: 1 + large,
            evictions: 1,
            fates: 1,
            half_leases: 1 + large,
            leases: 1,
            settlements: 1,
            ..NOTHING_WRONG
        },
        ..PLAIN
    }
}

/// One key, an origin that recognizes it, and `retry`.
fn retry(large: u8) -> Config {
    Config {
        name: "retry",
        callers: vec![Caller::with_key(0, 1, 0, 2), Caller::with_key(0, 1, 1, large)],
        gateways: vec![Gateway::RETRY],
        recognizes: Recognizes::Key,
        fates: FAULTY,
        bounds: Bounds { losses: 1, doubles: 1, crashes: 1, fates: 1, leases: 1, ..NOTHING_WRONG },
        ..PLAIN
    }
}

/// Three attempts of one key; each of them may be overtaken.
fn retry_thrice(large: u8) -> Config {
    Config {
        name: "retry, three times",
        callers: vec![Caller::with_key(0, 1, 0, 3)],
        gateways: vec![Gateway::RETRY],
        recognizes: Recognizes::Key,
        fates: &[Fate::ErrorAfter, Fate::Refused, Fate::Busy],
        bounds: Bounds {
            doubles: large,
            fates: 1,
            half_leases: 1,
            leases: 1 + large,
            ..NOTHING_WRONG
        },
        ..PLAIN
    }
}

/// Two settings at once: one gateway has `hold` and other times, the other gateway executes again.
fn two_settings(large: u8) -> Config {
    Config {
        name: "two settings",
        callers: vec![Caller::with_key(0, 1, 0, 2)],
        gateways: vec![
            Gateway::RETRY,
            Gateway::HOLD.with_times(Millis::from_seconds(20), Millis::from_days(2)),
        ],
        recognizes: Recognizes::Key,
        fates: FAULTY,
        bounds: Bounds {
            losses: large,
            lates: 1,
            crashes: 1,
            fates: 1,
            leases: 1 + large,
            ..NOTHING_WRONG
        },
        ..PLAIN
    }
}

/// A replica that is out of date, has nothing, or is asked because the object does not reply.
fn replica(_: u8) -> Config {
    Config {
        name: "replica",
        callers: vec![Caller::with_key(0, 1, 0, 2), Caller::with_key(0, 1, 1, 1)],
        gateways: vec![Gateway::RETRY],
        recognizes: Recognizes::Key,
        fates: &[Fate::Refused],
        replica: true,
        bounds: Bounds { losses: 2, lates: 1, fates: 1, stale_reads: 1, ..NOTHING_WRONG },
        ..PLAIN
    }
}

/// The replica when responses expire, and keys have more than one life.
fn replica_over_time(_: u8) -> Config {
    Config {
        name: "replica, over time",
        callers: vec![Caller::with_key(0, 1, 0, 3)],
        gateways: vec![Gateway::HOLD],
        replica: true,
        bounds: Bounds {
            losses: 1,
            lates: 1,
            retentions: 2,
            sweeps: 1,
            stale_reads: 2,
            ..NOTHING_WRONG
        },
        ..PLAIN
    }
}

/// Two gateways with memories; one may lack what the other has. The same key of another tenant; outcomes that are
/// unknown or settled before a response is final.
fn memory(large: u8) -> Config {
    Config {
        name: "memory",
        callers: vec![
            Caller::with_key(0, 1, 0, 2),
            Caller::with_key(1, 1, 0, 1),
            Caller::with_key(0, 1, 1, large),
        ],
        gateways: vec![Gateway::HOLD, Gateway::HOLD],
        fates: &[Fate::ErrorAfter, Fate::Refused],
        memory: true,
        bounds: Bounds { losses: large, crashes: 1, fates: 1, settlements: 1, ..NOTHING_WRONG },
        ..PLAIN
    }
}

/// A memory when responses expire and keys have more than one life, also of another request; beside a replica.
fn memory_over_time(large: u8) -> Config {
    Config {
        name: "memory, over time",
        callers: vec![Caller::with_key(0, 1, 0, 2 + large), Caller::with_key(0, 1, 1, 1)],
        gateways: vec![Gateway::HOLD],
        fates: &[Fate::Refused],
        replica: true,
        memory: true,
        bounds: Bounds {
            losses: large,
            crashes: 1,
            fates: 1,
            retentions: 2,
            sweeps: 1,
            stale_reads: 1,
            ..NOTHING_WRONG
        },
        ..PLAIN
    }
}

/// Expired keys are refused: by tombstones, and by the time in the keys.
fn refused_when_expired(large: u8) -> Config {
    Config {
        name: "refused when expired",
        callers: vec![Caller::with_key(0, 1, 0, 2).timed(), Caller::with_key(0, 2, 0, large)],
        gateways: vec![Gateway::HOLD.refusing()],
        fates: &[Fate::Refused, Fate::ErrorAfter],
        wire: true,
        bounds: Bounds {
            losses: large,
            crashes: 1,
            fates: 1,
            retentions: 2,
            months: 1 + large,
            voids: 1,
            sweeps: 2,
            ..NOTHING_WRONG
        },
        ..PLAIN
    }
}

/// Two requests with one key. The first may be released, and its record removed.
fn two_requests(large: u8) -> Config {
    Config {
        name: "two requests",
        callers: vec![Caller::with_key(0, 1, 0, 1 + large), Caller::with_key(0, 1, 1, 1)],
        gateways: vec![Gateway::HOLD],
        fates: &[Fate::ErrorAfter, Fate::Denied, Fate::Moved],
        replica: true,
        bounds: Bounds { losses: 1, crashes: 1, lates: 1, fates: 1, leases: 1, ..NOTHING_WRONG },
        ..PLAIN
    }
}

/// Responses expire, and the key begins anew.
fn lives(large: u8) -> Config {
    Config {
        name: "several lives",
        callers: vec![Caller::with_key(0, 1, 0, 2), Caller::with_key(0, 1, 1, large)],
        gateways: vec![Gateway::HOLD, Gateway::HOLD.with_times(LEASE, Millis::from_days(2))],
        fates: &[Fate::ErrorAfter, Fate::Refused, Fate::Denied],
        bounds: Bounds {
            crashes: 1,
            fates: 1,
            retentions: 2,
            months: 1,
            sweeps: 2,
            ..NOTHING_WRONG
        },
        ..PLAIN
    }
}

/// The clocks of the objects and of the gateway jump.
fn clocks(large: u8) -> Config {
    const HOURS: i64 = 2 * 3600 * 1000;
    Config {
        name: "clocks that jump",
        callers: vec![Caller::with_key(0, 1, 0, 2)],
        gateways: vec![Gateway::HOLD],
        fates: &[Fate::ErrorAfter, Fate::Denied],
        jumps: &[
            (Clock::Objects, HOURS),
            (Clock::Objects, -HOURS),
            (Clock::Gateway(0), HOURS),
            (Clock::Gateway(0), -HOURS),
        ],
        bounds: Bounds {
            losses: large,
            doubles: 1,
            fates: 1,
            leases: 1,
            jumps: 1 + large,
            ..NOTHING_WRONG
        },
        ..PLAIN
    }
}

/// An object restarts while its clock is behind the time of its last change.
fn restarts(large: u8) -> Config {
    const HOURS: i64 = 2 * 3600 * 1000;
    Config {
        name: "restarts behind the clock",
        callers: vec![Caller::with_key(0, 1, 0, 2)],
        gateways: vec![Gateway::RETRY],
        recognizes: Recognizes::Key,
        fates: &[Fate::Denied, Fate::Moved],
        jumps: &[(Clock::Objects, -HOURS)],
        bounds: Bounds {
            fates: 1,
            leases: 1,
            months: 1,
            evictions: 1 + large,
            sweeps: 1,
            jumps: 1 + large,
            ..NOTHING_WRONG
        },
        ..PLAIN
    }
}

/// Secrets are rotated, on one gateway before the other.
fn secrets(large: u8) -> Config {
    Config {
        name: "secrets that rotate",
        callers: vec![Caller::with_key(0, 1, 0, 2), Caller::with_key(0, 1, 1, large)],
        gateways: vec![Gateway::HOLD, Gateway::HOLD],
        secrets: &[Secrets::Old, Secrets::Both, Secrets::New],
        fates: &[Fate::ErrorAfter, Fate::Refused],
        bounds: Bounds { crashes: 1, fates: 1, leases: 1, rotations: 2 + large, ..NOTHING_WRONG },
        ..PLAIN
    }
}

/// Two tenants with the same key, with the same and with another request.
fn tenants(large: u8) -> Config {
    Config {
        name: "two tenants",
        callers: vec![
            Caller::with_key(0, 1, 0, 1),
            Caller::with_key(1, 1, 0, 1),
            Caller::with_key(1, 1, 1, large),
        ],
        gateways: vec![Gateway::HOLD],
        fates: &[Fate::ErrorAfter],
        replica: true,
        bounds: Bounds { losses: 1, crashes: 1, fates: 1, leases: 1, ..NOTHING_WRONG },
        ..PLAIN
    }
}

/// A key is voided at any time, before and after its request arrives.
fn voids(large: u8) -> Config {
    Config {
        name: "voids",
        callers: vec![Caller::with_key(0, 1, 0, 2)],
        gateways: vec![Gateway::RETRY],
        recognizes: Recognizes::Key,
        fates: &[Fate::ErrorAfter, Fate::Denied, Fate::Moved],
        bounds: Bounds {
            losses: 1,
            doubles: 1,
            lates: large,
            crashes: large,
            fates: 1 + large,
            leases: 1,
            voids: 1 + large,
            ..NOTHING_WRONG
        },
        ..PLAIN
    }
}
