//! The properties of intents, checked in random histories: reloads at any step, two tabs,
//! requests and responses that are lost and doubled, wrong clocks, days that pass, and a server with
//! the real lifecycle. `support/client/world.rs` is the world; `support/client/reference.rs` is the
//! slow model with which every sent key is compared.

use crate::support::client::requests;
use crate::support::client::server::Fate;
use crate::support::client::world::{Gate, Op, World};
use crate::support::histories::{play_all, reached};
use oncekey::{ExpiredKey, Millis, Policy, UnknownOutcome};
use proptest::collection::vec;
use proptest::prelude::*;

fn op() -> impl Strategy<Value = Op> {
    (0..100_u8, 0..1000_usize, 0..1000_usize).prop_map(|(what, pick, choice)| match what {
        0..16 => Op::Submit {
            tab: pick % 2,
            payload: (choice % 5 == 4).into(),
            crash: choice % 8 < 2,
            waited: choice % 3 == 0,
        },
        16..30 => Op::Continue { tab: pick % 2 },
        30..33 => Op::Reload { tab: pick % 2 },
        33..38 => Op::TimeOut { tab: pick % 2 },
        38..56 => Op::Arrive { pick, gate: gate(choice) },
        56..58 => Op::LoseRequest { pick },
        58..72 => Op::Finish { pick, fate: fate(choice) },
        72..84 => Op::Deliver { pick, keep: choice % 4 == 0, cut: choice % 9 == 0 },
        84..87 => Op::LoseResponse { pick },
        87..90 => Op::Double { pick },
        90..93 => Op::FindOut { tab: pick % 2, gives_up: choice % 3 == 0, lost: choice % 4 == 0 },
        93..95 => Op::Wait { seconds: (choice % 20) as u64 },
        95..96 => Op::Wait { seconds: 301 },
        96..98 => Op::Wait { seconds: (choice as u64 % 72) * 3600 },
        98..99 => Op::Clock { minutes: choice as i64 % 50 - 25 },
        _ => Op::Ahead { days: choice as u64 % 3 },
    })
}

fn gate(choice: usize) -> Option<Gate> {
    match choice % 20 {
        0 => Some(Gate::SignIn),
        1 => Some(Gate::Down),
        2 => Some(Gate::Malformed),
        3 => Some(Gate::Portal),
        _ => None,
    }
}

fn fate(choice: usize) -> Fate {
    match choice % 12 {
        0..3 => Fate::Charge,
        3 => Fate::Decline,
        4 | 5 => Fate::Throttle,
        6 => Fate::SignIn,
        7 => Fate::FailBefore,
        8 => Fate::FailAfter,
        9 => Fate::TimeOutAfter,
        10 => Fate::Crash { charged: true },
        _ => Fate::Crash { charged: false },
    }
}

type Setting = (bool, bool, bool, bool, u64);

fn history() -> impl Strategy<Value = (Setting, Vec<Op>)> {
    let setting = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), 0..8_u64);
    (setting, vec(op(), 1..120))
}

fn run(((retry, refuse, sends_proof, key_calls, behind), ops): (Setting, Vec<Op>)) -> World {
    let policy = Policy {
        retention: requests::RETENTION,
        lease: Millis::from_seconds(15),
        unknown_outcome: if retry { UnknownOutcome::Retry } else { UnknownOutcome::Hold },
        expired_key: if refuse { ExpiredKey::Refuse } else { ExpiredKey::Forget },
    };
    // One clock in four is days behind from the beginning.
    let mut world = World::new(policy, sends_proof, key_calls, behind.saturating_sub(5));
    for op in ops {
        world.step(op);
    }
    world
}

#[test]
fn no_intent_is_paid_twice_in_random_histories() {
    play_all(&history(), 2000, |history| drop(run(history)));
}

/// The histories must reach these milestones. If nothing happened in them, the properties would prove nothing.
#[test]
fn the_histories_reach_all_milestones() {
    let reached = reached(&history(), 1000, |history| run(history).milestones.into_keys());
    for milestone in [
        "send_fresh",
        "send_same",
        "resolve_first",
        "payload_changed",
        "response_gone",
        "too_old",
        "succeeded",
        "refused",
        "not executed",
        "in progress",
        "ambiguous",
        "unsettled",
        "waits to retry",
        "waits for a response",
        "ends: response",
        "ends: unknown",
        "ends: payload changed",
        "ends: not resolved",
        "ends: response gone",
        "ends: key voided",
        "ends: found",
        "key expired",
        "a key without time",
        "a reload",
        "an attempt is not sent",
        "resolved",
        "the old payload again",
    ] {
        let times = reached.get(milestone).copied().unwrap_or(0);
        assert!(times >= 5, "{milestone}: {reached:?}");
    }
    // Histories beyond the stated limit are rare even here.
    let beyond = reached.get("the stated limit").copied().unwrap_or(0);
    assert!(beyond < 10, "{beyond} of 1000 histories are beyond the stated limit");
}
