//! Which records a replica may contain, and when its copies count.

use crate::support::lifecycle::requests::{request, response, token};
use oncekey::replica::{HEAD_START, copy, verify};
use oncekey::{
    Attempt, Decision, ExpiredKey, Fingerprints, KeyStatus, Millis, Policy, Record, RecordUpdate,
    StoredResponse, Transition, UnixMillis, UnknownOutcome, lifecycle,
};

const NOW: UnixMillis = UnixMillis::new(1_764_000_000_000);
const SHORTEST: Millis = Millis::from_seconds(60);
const POLICY: Policy = Policy {
    retention: Millis::from_days(1),
    lease: Millis::from_seconds(15),
    unknown_outcome: UnknownOutcome::Retry,
    expired_key: ExpiredKey::Refuse,
};

fn attempt(fingerprints: &Fingerprints) -> Attempt<'_> {
    Attempt { fingerprints, token: token(1), minted_at: None, policy: &POLICY }
}

/// Returns the record and the status after a response of this attempt.
fn after(fingerprints: &Fingerprints, response: StoredResponse) -> (Record, KeyStatus) {
    let written = |step: RecordUpdate| match step {
        RecordUpdate::Write(record) => *record,
        _ => panic!("nothing is written"),
    };
    let begun = written(lifecycle::begin(None, &attempt(fingerprints), NOW).next);
    let Transition { next, status, .. } = lifecycle::complete(Some(begun), token(1), response, NOW);
    (written(next), status.expect("a status"))
}

/// Returns a copy of a response to the request `this`, fingerprinted with these secrets.
fn copied(secrets: &str) -> (Record, Millis) {
    let (fingerprints, response) = (request("this", secrets), response(201, "stored"));
    let (_, status) = after(&fingerprints, response.clone());
    copy(&fingerprints.signing(), &response, &status, SHORTEST, NOW).expect("a copy")
}

fn decision(request: &Fingerprints, now: UnixMillis) -> Option<Decision> {
    verify(copied("a:1").0, &attempt(request), now).map(|step| step.decision)
}

#[test]
fn a_copy_expires_a_minute_before_the_response() {
    let (_, left) = copied("");
    assert_eq!(left.plus(HEAD_START), POLICY.retention);
    let last = NOW.plus(left).minus(Millis::new(1));
    assert!(matches!(decision(&request("this", "a:1"), last), Some(Decision::Replay(_))));
    assert_eq!(decision(&request("this", "a:1"), NOW.plus(left)), None);
}

#[test]
fn a_response_with_a_retention_too_short_for_the_replica_is_not_copied() {
    let (fingerprints, response) = (request("this", ""), response(201, ""));
    let (_, status) = after(&fingerprints, response.clone());
    let end = status.expires_at.expect("an end").minus(HEAD_START).minus(SHORTEST);
    let copy = |now| copy(&fingerprints.signing(), &response, &status, SHORTEST, now);
    assert_eq!(copy(end).map(|(_, left)| left), Some(SHORTEST));
    assert_eq!(copy(end.plus(Millis::new(1))), None);
}

#[test]
fn only_responses_that_can_be_replayed_are_copied() {
    let fingerprints = request("this", "");
    for response in [response(503, ""), response(429, ""), response(201, "").into_status_only()] {
        let (_, status) = after(&fingerprints, response.clone());
        assert_eq!(copy(&fingerprints.signing(), &response, &status, SHORTEST, NOW), None);
    }
}

#[test]
fn headers_that_a_record_cannot_hold_are_not_copied() {
    let fingerprints = request("this", "");
    let mut odd = response(201, "stored");
    odd.headers = [("x-name".to_owned(), "caf\u{fffd}".to_owned())].into_iter().collect();
    for (response, is_odd) in [(response(201, "stored"), false), (odd, true)] {
        let (record, status) = after(&fingerprints, response.clone());
        assert_eq!(record.has_odd_headers(), is_odd);
        let copied = copy(&fingerprints.signing(), &response, &status, SHORTEST, NOW);
        assert_eq!(copied.is_none(), is_odd);
    }
}

#[test]
fn a_record_without_a_response_is_not_copied() {
    let fingerprints = request("this", "");
    let (_, status) = after(&fingerprints, response(201, "stored"));
    for other in [response(429, "stored"), response(201, "other")] {
        assert_eq!(copy(&fingerprints.signing(), &other, &status, SHORTEST, NOW), None);
    }
}

#[test]
fn a_copy_leads_to_the_same_decision_as_the_record() {
    let response = response(201, "stored");
    for (sent, recorded) in [("this", "this"), ("this", "that")] {
        let (sent, recorded) = (request(sent, ""), request(recorded, ""));
        let (record, status) = after(&recorded, response.clone());
        let copied =
            copy(&recorded.signing(), &response, &status, SHORTEST, NOW).expect("a copy").0;
        let of_record = lifecycle::begin(Some(record), &attempt(&sent), NOW);
        assert_eq!(verify(copied, &attempt(&sent), NOW), Some(of_record));
    }
}

#[test]
fn a_copy_that_cannot_be_compared_does_not_count() {
    assert_eq!(decision(&request("this", "b:2"), NOW), None);
    assert_eq!(decision(&request("this", ""), NOW), None);
    assert!(decision(&request("this", "b:2,a:1"), NOW).is_some());
}

#[test]
fn a_copy_without_a_response_does_not_count() {
    let fingerprints = request("this", "");
    let (record, _) = after(&fingerprints, response(429, ""));
    assert_eq!(verify(record, &attempt(&fingerprints), NOW), None);
}
