//! Attempts that report their end again because the reply was lost, after another request has taken over their record.
//! Such an attempt must not get the response of the other request. The simulation found this fault
//! (`docs/proof/simulation.md`).

use oncekey::fingerprint::RequestParts;
use oncekey::{
    Attempt, AttemptToken, Completion, Decision, ExpiredKey, FailCause, FingerprintSecrets,
    Fingerprints, Millis, Policy, Record, RecordUpdate, StoredResponse, Transition, UnixMillis,
    UnknownOutcome, lifecycle,
};

const NOW: UnixMillis = UnixMillis::new(1_764_000_000_000);
const FIRST: AttemptToken = AttemptToken::new([1; 16]);
const OTHER: AttemptToken = AttemptToken::new([2; 16]);

fn policy() -> Policy {
    Policy {
        retention: Millis::from_days(1),
        lease: Millis::from_seconds(15),
        unknown_outcome: UnknownOutcome::Hold,
        expired_key: ExpiredKey::Forget,
    }
}

fn request(amount: u32) -> Fingerprints {
    let body = format!("{{\"out_trade_no\":\"A1\",\"amount\":{amount}}}");
    let parts = RequestParts {
        method: "POST",
        path: "/v1/orders",
        query: None,
        content_encoding: None,
        content_type: Some("application/json"),
        body: body.as_bytes(),
        ignore: &[],
    };
    Fingerprints::compute(&parts, &FingerprintSecrets::none())
}

fn response(status: u16, id: &str) -> StoredResponse {
    StoredResponse::keep(status, [], b"{}".to_vec(), id, 1000).0
}

fn stored<D>(record: Option<Record>, step: Transition<D>) -> (D, Option<Record>) {
    let record = match step.next {
        RecordUpdate::Keep => record,
        RecordUpdate::Write(record) => Some(*record),
        RecordUpdate::Remove => None,
    };
    (step.decision, record)
}

fn begin(
    record: Option<Record>,
    token: AttemptToken,
    amount: u32,
    policy: Policy,
) -> Option<Record> {
    let fingerprints = request(amount);
    let attempt = Attempt { fingerprints: &fingerprints, token, minted_at: None, policy: &policy };
    let (decision, record) = stored(record.clone(), lifecycle::begin(record, &attempt, NOW));
    assert!(matches!(decision, Decision::Execute(_)), "{decision:?}");
    record
}

fn complete(
    record: Option<Record>,
    token: AttemptToken,
    response: StoredResponse,
) -> (Completion, Option<Record>) {
    stored(record.clone(), lifecycle::complete(record, token, response, NOW))
}

/// Returns the record after the first request ended with `status`, its reply was lost, and another request got the
/// record and succeeded.
fn given_to_another(policy: Policy, status: u16) -> Option<Record> {
    let record = begin(None, FIRST, 100, policy);
    let (ended, record) = complete(record, FIRST, response(status, "first"));
    assert_eq!(ended, Completion::Recorded);
    let record = begin(record, OTHER, 101, policy);
    let (ended, record) = complete(record, OTHER, response(201, "other"));
    assert_eq!(ended, Completion::Recorded);
    record
}

fn gives_another_response(completion: &Completion) -> bool {
    let Completion::LeaseLost(decision) = completion else { return false };
    matches!(&**decision, Decision::Replay(response) if response.request_id == "other")
}

#[test]
fn an_attempt_for_a_business_key_does_not_get_the_response_of_another_order() {
    let record = given_to_another(policy().of_business_keys(), 402);
    let (again, _) = complete(record, FIRST, response(402, "first"));
    assert!(!gives_another_response(&again), "{again:?}");
}

#[test]
fn an_attempt_that_failed_does_not_get_the_response_of_another_request() {
    let record = begin(None, FIRST, 100, policy().of_business_keys());
    let fail = |record: Option<Record>| {
        stored(record.clone(), lifecycle::fail(record, FIRST, FailCause::NotDispatched, NOW))
    };
    let (_, record) = fail(record);
    let record = begin(record, OTHER, 101, policy().of_business_keys());
    let (_, record) = complete(record, OTHER, response(201, "other"));
    let (again, _) = fail(record);
    assert!(!gives_another_response(&again), "{again:?}");
}

#[test]
fn an_attempt_whose_record_was_removed_does_not_get_the_next_response() {
    let record = given_to_another(policy(), 307);
    let (again, _) = complete(record, FIRST, response(307, "first"));
    assert!(!gives_another_response(&again), "{again:?}");
}

#[test]
fn an_owner_gets_a_late_success_that_was_recorded_before_its_own_end() {
    let policy = Policy { unknown_outcome: UnknownOutcome::Retry, ..policy() };
    let later = NOW.plus(policy.lease);
    let record = begin(None, FIRST, 100, policy);
    let request = request(100);
    let attempt =
        Attempt { fingerprints: &request, token: OTHER, minted_at: None, policy: &policy };
    let (_, record) = stored(record.clone(), lifecycle::begin(record, &attempt, later));
    let (ended, record) = complete(record, FIRST, response(201, "first"));
    assert_eq!(ended, Completion::Recorded);
    for status in [201, 402, 503] {
        let (ended, _) = complete(record.clone(), OTHER, response(status, "other"));
        let Completion::LeaseLost(decision) = ended else { panic!("{ended:?}") };
        assert_eq!(*decision, Decision::Replay(response(201, "first")));
    }
}
