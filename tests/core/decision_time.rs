//! The time of a decision never goes back: what a store has to keep for that.

use crate::support::lifecycle::requests::{request, response, token};
use oncekey::{
    Attempt, ExpiredKey, FailCause, Millis, Policy, Record, RecordUpdate, Settlement, UnixMillis,
    UnknownOutcome, lifecycle,
};

const START: UnixMillis = UnixMillis::new(1_764_000_000_000);
const POLICY: Policy = Policy {
    retention: Millis::from_days(1),
    lease: Millis::from_seconds(10),
    unknown_outcome: UnknownOutcome::Hold,
    expired_key: ExpiredKey::Forget,
};

fn later(seconds: u64) -> UnixMillis {
    START.plus(Millis::from_seconds(seconds))
}

fn written(next: RecordUpdate) -> Record {
    match next {
        RecordUpdate::Write(record) => *record,
        other => panic!("{other:?}"),
    }
}

fn begun(policy: Policy, now: UnixMillis) -> Record {
    let fingerprints = request("one", "");
    let attempt =
        Attempt { fingerprints: &fingerprints, token: token(1), minted_at: None, policy: &policy };
    written(lifecycle::begin(None, &attempt, now).next)
}

#[test]
fn a_decision_is_no_earlier_than_what_the_store_knows_and_what_the_record_shows() {
    let record = begun(POLICY, later(60));
    let at = |clock, seen, record| lifecycle::decision_time(later(clock), later(seen), record);
    assert_eq!(at(10, 5, None), later(10));
    assert_eq!(at(10, 20, None), later(20));
    assert_eq!(at(10, 20, Some(&record)), later(60));
    assert_eq!(at(10, 70, Some(&record)), later(70));
    assert_eq!(at(80, 70, Some(&record)), later(80));
}

#[test]
fn a_record_shows_when_a_call_changed_it() {
    let owner = token(1);
    let now = later(5);
    let record = begun(POLICY, START);
    for next in [
        RecordUpdate::Write(Box::new(record.clone())),
        lifecycle::renew(Some(record.clone()), owner, now).next,
        lifecycle::complete(Some(record.clone()), owner, response(201, "{}"), now).next,
        lifecycle::complete(Some(record.clone()), owner, response(500, "{}"), now).next,
        lifecycle::complete(Some(record.clone()), owner, response(429, "{}"), now).next,
        lifecycle::fail(Some(record.clone()), owner, FailCause::TimedOut, now).next,
        lifecycle::void(None, None, &POLICY, now).next,
        lifecycle::settle(Some(record.clone()), Settlement::NotExecuted, later(60)).next,
    ] {
        let at = written(next.clone()).changed_at();
        assert!(next.shows_time(at), "{next:?}");
        assert!(!next.shows_time(at.plus(Millis::new(1))), "{next:?}");
    }
}

#[test]
fn a_removed_record_does_not_show_when_it_was_removed() {
    assert!(RecordUpdate::Keep.shows_time(START), "nothing was changed");
    assert!(!RecordUpdate::Remove.shows_time(START));
    // A business key keeps its record, and loses the content of the response.
    let policy = POLICY.of_business_keys();
    let done =
        lifecycle::complete(Some(begun(policy, START)), token(1), response(201, "{}"), START);
    let end = START.plus(policy.retention);
    let swept = lifecycle::expire(written(done.next), end).next;
    assert!(matches!(swept, RecordUpdate::Write(_)), "{swept:?}");
    assert!(!swept.shows_time(end));
}
