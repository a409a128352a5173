//! The properties of the lifecycle, checked in random histories of a world with all kinds of faults.
//!
//! The properties are in `docs/protocol.md`; `support/lifecycle/witness.rs` checks them, and
//! `support/lifecycle/world.rs` is the world.

use crate::support::histories::{play_all, reached};
use crate::support::lifecycle::world::{Op, World};
use oncekey::{BusinessKeys, ExpiredKey, IdempotencyKey, Scope, ScopedKey, UnknownOutcome};
use proptest::collection::vec;
use proptest::prelude::*;

fn unknown_outcome() -> impl Strategy<Value = UnknownOutcome> {
    prop_oneof![Just(UnknownOutcome::Retry), Just(UnknownOutcome::Hold)]
}

fn expired_key() -> impl Strategy<Value = ExpiredKey> {
    prop_oneof![Just(ExpiredKey::Forget), Just(ExpiredKey::Refuse), Just(ExpiredKey::Remember)]
}

/// One of a hundred events, distinguished by `what`, because a union of strategies takes much longer.
fn op() -> impl Strategy<Value = Op> {
    (0..100_u8, 0..1000_usize, 0..1000_usize).prop_map(|(what, pick, choice)| match what {
        0..48 => Op::Deliver { pick, fate: choice },
        48..60 => Op::Send { other: choice.is_multiple_of(20) },
        60..66 => Op::Duplicate { pick },
        66..69 => Op::Lose { pick },
        69..72 => Op::Repeat { pick },
        72..75 => Op::Renew { pick },
        75..78 => Op::GiveUp { pick, lost: choice.is_multiple_of(2) },
        78..80 => Op::Crash { pick },
        80..81 => Op::Void,
        81..84 => Op::Settle,
        84..88 => Op::Wait { time: 3 },
        88..92 => Op::Wait { time: pick },
        92..93 => Op::Step { seconds: choice as i64 % 51 - 25 },
        93..95 => Op::Sweep,
        95..96 => Op::Redeploy {
            unknown: if pick.is_multiple_of(2) {
                UnknownOutcome::Retry
            } else {
                UnknownOutcome::Hold
            },
            expired: if choice.is_multiple_of(2) { ExpiredKey::Forget } else { ExpiredKey::Refuse },
        },
        96..97 => Op::Abandon { pick },
        _ => Op::AskReplica { pick, other: choice.is_multiple_of(5) },
    })
}

/// A policy, the time in the key, and the events.
fn history() -> impl Strategy<Value = (UnknownOutcome, ExpiredKey, Option<i64>, Vec<Op>)> {
    (unknown_outcome(), expired_key(), prop::option::of(-55..=55_i64), vec(op(), 1..90))
}

fn run(
    (unknown, expired, minted, ops): (UnknownOutcome, ExpiredKey, Option<i64>, Vec<Op>),
) -> World {
    let mut world = World::new(unknown, expired, minted);
    for op in ops {
        world.step(op);
    }
    world.come_to_rest();
    world
}

#[test]
fn an_intent_is_executed_as_promised_and_gets_one_response_in_random_histories() {
    play_all(&history(), 2500, |history| drop(run(history)));
}

/// The histories must reach these milestones. If nothing happened in them, the properties would prove nothing.
#[test]
fn the_histories_reach_all_milestones() {
    let reached = reached(&history(), 1000, |history| run(history).witness.milestones().clone());
    for milestone in [
        "a key gets its response",
        "a business key outlives its response",
        "a business key that was not bound is begun anew",
        "a response cannot be given again",
        "a key is in progress",
        "a key is released",
        "a key is voided",
        "a replay",
        "a replica responds",
        "a voided key is refused",
        "a response expires",
        "a response is not stored",
        "an attempt is overtaken",
        "an end is unknown",
        "an expired key is refused",
        "an overtaken attempt brings the first success",
        "an unknown outcome is on hold",
        "another request is refused",
        "settled as executed",
        "settled as not executed",
    ] {
        assert!(
            reached.get(milestone).is_some_and(|times| *times >= 5),
            "{milestone}: {reached:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn keys_of_two_scopes_never_share_a_record(
        one in ("[!#-+\\--~]{1,6}", "[ -~]{0,6}"),
        other in ("[!#-+\\--~]{1,6}", "[ -~]{0,6}"),
    ) {
        let name = |(key, tenant): &(String, String)| {
            let key = IdempotencyKey::parse_bare(key).expect("visible ASCII");
            ScopedKey::new(&Scope::of_tenant(tenant), &key)
        };
        prop_assert_eq!(one == other, name(&one) == name(&other));
        let shifted = (format!("{}{}", one.0, one.1.replace([' ', '"', ','], "-")), String::new());
        prop_assert_eq!(shifted == one, name(&shifted) == name(&one));
    }

    #[test]
    fn a_business_key_never_shares_a_record_with_another_key(
        one in ("[!#-+\\--~]{1,6}", "[ -~]{0,6}", "[ab]{0,2}"),
        other in ("[!#-+\\--~]{1,6}", "[ -~]{0,6}", "[ab]{0,2}"),
    ) {
        let business_keys = BusinessKeys::parse("POST:/*:/no").expect("a list");
        let name = |(value, tenant, path): &(String, String, String)| {
            let path = format!("/v1/{path}x");
            let business_key = business_keys.with_value("POST", &path, value).expect("a business key");
            ScopedKey::of_business_key(&Scope::of_tenant(tenant), &business_key)
        };
        prop_assert_eq!(one == other, name(&one) == name(&other));
        let key = IdempotencyKey::parse_bare(&one.0).expect("visible ASCII");
        prop_assert_ne!(name(&one), ScopedKey::new(&Scope::of_tenant(&one.1), &key));
    }
}
