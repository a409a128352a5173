//! What a gateway's own memory keeps, for how long, and what it gives.

use crate::support::cases;
use crate::support::lifecycle::requests::{request, response, token};
use oncekey::budget::SMALL;
use oncekey::replica::{HEAD_START, Memory, copy, verify};
use oncekey::{
    Attempt, Decision, ExpiredKey, Fingerprints, IdempotencyKey, KeyState, KeyStatus, Millis,
    Policy, Record, RecordUpdate, Scope, ScopedKey, StoredResponse, Transition, UnixMillis,
    UnknownOutcome, lifecycle,
};
use proptest::prelude::*;

const NOW: UnixMillis = UnixMillis::new(1_764_000_000_000);
const BOUND: usize = 1 << 20;
const POLICY: Policy = Policy {
    retention: Millis::from_days(1),
    lease: Millis::from_seconds(15),
    unknown_outcome: UnknownOutcome::Retry,
    expired_key: ExpiredKey::Forget,
};

fn name(key: &str) -> ScopedKey {
    let key = IdempotencyKey::parse_bare(key).expect("a key");
    ScopedKey::new(&Scope::anonymous(), &key)
}

fn attempt(fingerprints: &Fingerprints) -> Attempt<'_> {
    Attempt { fingerprints, token: token(9), minted_at: None, policy: &POLICY }
}

/// A shard's record of a request that got this response at that time, and the status in its reply.
fn completed(body: &str, response: StoredResponse, now: UnixMillis) -> (Record, KeyStatus) {
    let written = |next| match next {
        RecordUpdate::Write(record) => *record,
        _ => panic!("nothing is written"),
    };
    let request = request(body, "");
    let first = Attempt { token: token(1), ..attempt(&request) };
    let begun = written(lifecycle::begin(None, &first, now).next);
    let Transition { next, status, .. } = lifecycle::complete(Some(begun), token(1), response, now);
    (written(next), status.expect("a status"))
}

/// Keeps the response of a request that completed at that time.
fn keep(memory: &mut Memory, key: &str, kept: &StoredResponse, bound: usize, now: UnixMillis) {
    let (_, status) = completed("this", kept.clone(), now);
    memory.keep(name(key), &request("this", "").signing(), kept, &status, bound, now);
}

fn recalled(memory: &mut Memory, key: &str, now: UnixMillis) -> Option<Decision> {
    let this = request("this", "");
    memory.recall(name(key), &attempt(&this), now).map(|step| step.decision)
}

/// A response whose body has so many bytes.
fn sized(bytes: usize) -> StoredResponse {
    StoredResponse::keep(201, [], vec![7; bytes], "req", 1 << 20).0
}

#[test]
fn a_memory_decides_as_the_shard_does() {
    let kept = response(201, "stored");
    let (record, status) = completed("this", kept.clone(), NOW);
    let mut memory = Memory::new();
    memory.keep(name("k"), &request("this", "").signing(), &kept, &status, BOUND, NOW);
    for asked in ["this", "that"] {
        let asked = request(asked, "");
        let later = NOW.plus(Millis::from_seconds(3600));
        let shard = lifecycle::begin(Some(record.clone()), &attempt(&asked), later);
        assert_eq!(memory.recall(name("k"), &attempt(&asked), later), Some(shard));
    }
    // What the shard replays is kept like what it records.
    let this = request("this", "");
    let Transition { decision, status, .. } = lifecycle::begin(Some(record), &attempt(&this), NOW);
    let (Decision::Replay(replayed), Some(status)) = (decision, status) else { panic!() };
    let mut other = Memory::new();
    other.keep(name("k"), &this.signing(), &replayed, &status, BOUND, NOW);
    assert_eq!(
        other.recall(name("k"), &attempt(&this), NOW),
        memory.recall(name("k"), &attempt(&this), NOW)
    );
}

#[test]
fn another_name_has_no_copy() {
    let mut memory = Memory::new();
    keep(&mut memory, "k", &response(201, ""), BOUND, NOW);
    assert_eq!(recalled(&mut memory, "j", NOW), None);
    let of_another_tenant = {
        let key = IdempotencyKey::parse_bare("k").expect("a key");
        ScopedKey::new(&Scope::of_tenant("other"), &key)
    };
    let this = request("this", "");
    assert_eq!(memory.recall(of_another_tenant, &attempt(&this), NOW), None);
}

#[test]
fn a_request_that_cannot_be_compared_goes_to_the_shard() {
    let (mut memory, kept) = (Memory::new(), response(201, ""));
    let (_, status) = completed("this", kept.clone(), NOW);
    memory.keep(name("k"), &request("this", "a:1").signing(), &kept, &status, BOUND, NOW);
    for (secrets, is_comparable) in [("b:2", false), ("", false), ("b:2,a:1", true)] {
        let asked = request("this", secrets);
        let recalled = memory.recall(name("k"), &attempt(&asked), NOW);
        assert_eq!(recalled.is_some(), is_comparable, "{secrets}");
    }
}

#[test]
fn a_copy_ends_a_minute_before_the_record() {
    let mut memory = Memory::new();
    keep(&mut memory, "k", &response(201, ""), BOUND, NOW);
    let end = NOW.plus(POLICY.retention).minus(HEAD_START);
    assert!(recalled(&mut memory, "k", end.minus(Millis::new(1))).is_some());
    assert_eq!(recalled(&mut memory, "k", end), None);
    // The clock is set back. The copy stays expired.
    assert_eq!(recalled(&mut memory, "k", NOW), None);
}

#[test]
fn a_response_that_expires_within_a_minute_is_not_kept() {
    let kept = response(201, "");
    let (_, status) = completed("this", kept.clone(), NOW);
    let end = NOW.plus(POLICY.retention).minus(HEAD_START);
    for (now, held) in [(end.minus(Millis::new(1)), true), (end, false)] {
        let mut memory = Memory::new();
        memory.keep(name("k"), &request("this", "").signing(), &kept, &status, BOUND, now);
        assert_eq!(memory.held() > 0, held);
    }
}

#[test]
fn only_final_complete_and_small_responses_are_kept() {
    let mut odd = response(201, "");
    odd.headers = [("x-name".to_owned(), "caf\u{fffd}".to_owned())].into_iter().collect();
    let small = SMALL as usize;
    for (kept, is_kept) in [
        (response(201, ""), true),
        (response(402, ""), true),
        (sized(small - 300), true),
        (sized(small), false),
        (sized(small + 1), false),
        (response(503, ""), false),
        (response(429, ""), false),
        (response(201, "").into_status_only(), false),
        (odd, false),
    ] {
        let mut memory = Memory::new();
        keep(&mut memory, "k", &kept, BOUND, NOW);
        assert_eq!(recalled(&mut memory, "k", NOW).is_some(), is_kept, "{kept:?}");
        assert_eq!(memory.held() > 0, is_kept);
    }
}

#[test]
fn a_copy_may_have_exactly_the_size_of_the_limits() {
    let length = |response: &StoredResponse| {
        let (_, status) = completed("this", response.clone(), NOW);
        let kept = copy(&request("this", "").signing(), response, &status, Millis::new(1), NOW);
        kept.expect("a copy").0.encode().len()
    };
    let held = |response: &StoredResponse, bound| {
        let mut memory = Memory::new();
        keep(&mut memory, "k", response, bound, NOW);
        memory.held()
    };
    let small = SMALL as usize;
    let body = small - (length(&sized(small - 300)) - (small - 300));
    assert_eq!(length(&sized(body)), small);
    let full = held(&sized(body), BOUND);
    assert!(full > small);
    assert_eq!(held(&sized(body), full), full);
    assert_eq!(held(&sized(body), full - 1), 0);
    assert_eq!(held(&sized(body + 1), BOUND), 0);
}

#[test]
fn a_response_that_is_kept_already_removes_no_other_copy() {
    let mut memory = Memory::new();
    keep(&mut memory, "a", &sized(1000), BOUND, NOW);
    let bound = 2 * memory.held();
    for _ in 0..2 {
        keep(&mut memory, "b", &sized(1000), bound, NOW);
    }
    assert_eq!(memory.held(), bound);
    assert!(recalled(&mut memory, "a", NOW).is_some());
}

#[test]
fn headers_count_as_bytes_of_a_copy() {
    let headers = [("x".to_owned(), "y".repeat(SMALL as usize))];
    let kept = StoredResponse::keep(201, headers, Vec::new(), "req", 1 << 20).0;
    let mut memory = Memory::new();
    keep(&mut memory, "k", &kept, BOUND, NOW);
    assert_eq!(memory.held(), 0);
}

#[test]
fn with_a_bound_of_zero_nothing_is_kept() {
    let mut memory = Memory::new();
    keep(&mut memory, "k", &response(201, ""), 0, NOW);
    assert_eq!((memory.held(), recalled(&mut memory, "k", NOW)), (0, None));
}

#[test]
fn the_oldest_copy_is_removed_first() {
    let mut memory = Memory::new();
    keep(&mut memory, "a", &sized(1000), BOUND, NOW);
    let each = memory.held();
    for key in ["b", "c"] {
        keep(&mut memory, key, &sized(1000), 3 * each, NOW);
    }
    assert_eq!(memory.held(), 3 * each);
    assert!(recalled(&mut memory, "a", NOW).is_some());
    keep(&mut memory, "d", &sized(1000), 3 * each, NOW);
    assert_eq!(memory.held(), 3 * each);
    let is_there = ["a", "b", "c", "d"].map(|key| recalled(&mut memory, key, NOW).is_some());
    assert_eq!(is_there, [false, true, true, true]);
    // What fits nowhere drops nothing.
    keep(&mut memory, "e", &sized(4 * each), 3 * each, NOW);
    assert_eq!(memory.held(), 3 * each);
}

#[test]
fn a_key_has_at_most_one_copy() {
    let mut memory = Memory::new();
    let (first, second) = (response(201, "first"), response(201, "the second"));
    keep(&mut memory, "k", &first, BOUND, NOW);
    let held = memory.held();
    keep(&mut memory, "k", &first, BOUND, NOW);
    assert_eq!(memory.held(), held);
    // Something is kept before it, so it does not leave by itself.
    let later = NOW.plus(POLICY.retention);
    keep(&mut memory, "k", &second, BOUND, later);
    assert_eq!(recalled(&mut memory, "k", later), Some(Decision::Replay(second)));
    let more = "the second".len() - "first".len();
    assert!(memory.held() <= held + 2 * more + 8, "{} after {held}", memory.held());
}

#[test]
fn expired_copies_make_room() {
    let mut memory = Memory::new();
    for key in ["a", "b", "c"] {
        keep(&mut memory, key, &sized(1000), BOUND, NOW);
    }
    let each = memory.held() / 3;
    keep(&mut memory, "d", &sized(1000), BOUND, NOW.plus(POLICY.retention));
    assert_eq!(memory.held(), each);
}

#[test]
fn debug_output_contains_no_response() {
    let mut memory = Memory::default();
    keep(&mut memory, "k", &response(201, "secret"), BOUND, NOW);
    assert_eq!(format!("{memory:?}"), format!("Memory(1 copies, {} bytes)", memory.held()));
}

/// A memory with any history holds no more than its bound, and gives only what the newest record gives, if that
/// is alive. The reference keeps all records.
#[test]
fn a_memory_keeps_its_bound_and_returns_only_what_the_record_returns() {
    let calls = proptest::collection::vec(
        (0usize..5, any::<bool>(), 0usize..400, 0u64..10_000_000, 0u8..12),
        1..60,
    );
    proptest!(cases(500), |(calls in calls, bound in 0usize..2500)| {
        let mut memory = Memory::new();
        let mut records: [Option<(Record, KeyStatus)>; 5] = Default::default();
        let (mut now, mut seen) = (NOW, NOW);
        let this = request("this", "");
        for (number, (at, keeps, bytes, wait, asked)) in calls.into_iter().enumerate() {
            now = now.plus(Millis::new(wait));
            let name = name(["a", "b", "c", "d", "e"][at]);
            if keeps {
                let is_alive = |(record, _): &(Record, KeyStatus)| {
                    record.status(now).is_some_and(|status| status.state == KeyState::Completed)
                };
                if !records[at].as_ref().is_some_and(is_alive) {
                    let kept = response(201, &number.to_string().repeat(bytes));
                    records[at] = Some(completed("this", kept, now));
                }
                let (record, status) = records[at].as_ref().expect("a record");
                let oncekey::RecordState::Completed { response, .. } = &record.state else { panic!() };
                memory.keep(name, &this.signing(), response, status, bound, now);
                seen = now;
            }
            prop_assert!(memory.held() <= bound);
            // Clocks may also go back. A copy that has expired is not used again.
            let asked_at = if asked == 0 { NOW } else { now };
            seen = seen.max(asked_at);
            let that = request(if asked == 1 { "that" } else { "this" }, "");
            if let Some(step) = memory.recall(name, &attempt(&that), asked_at) {
                let (record, status) = records[at].clone().expect("a record");
                let oncekey::RecordState::Completed { response, .. } = &record.state else { panic!() };
                let copied = copy(&this.signing(), response, &status, Millis::new(0), seen);
                let verified = copied.and_then(|(copy, _)| verify(copy, &attempt(&that), seen));
                prop_assert_eq!(verified.as_ref(), Some(&step));
                prop_assert_eq!(lifecycle::begin(Some(record), &attempt(&that), seen), step);
            }
        }
    });
}
