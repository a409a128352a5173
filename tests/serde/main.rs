//! The forms of the public types with the feature `serde`. Programs store them and send them, so they stay as
//! `tests/vectors/serde.json` has them. `cargo test --features serde --test serde` runs this file.

#![cfg(not(target_arch = "wasm32"))]

use oncekey::*;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::fmt::Debug;

/// Compares a value with its vector, in both directions.
fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(name: &str, value: T) {
    let vector = vector(name);
    assert_eq!(serde_json::to_value(&value).expect("JSON"), vector, "{name}");
    assert_eq!(serde_json::from_value::<T>(vector).expect("a value"), value, "{name}");
}

fn vector(name: &str) -> Value {
    let vectors: Value = serde_json::from_str(include_str!("../vectors/serde.json")).expect("JSON");
    vectors[name].clone()
}

fn response() -> StoredResponse {
    let headers = [("content-type".to_owned(), "text/plain".to_owned())];
    StoredResponse::keep(201, headers, b"\x00hello".to_vec(), "req_1", 1000).0
}

#[test]
fn statuses_and_policies_have_the_forms_of_the_vectors() {
    let at = UnixMillis::new(1_764_000_000_000);
    let status = KeyStatus {
        state: KeyState::InProgress,
        attempts: 2,
        http_status: None,
        request_id: None,
        created_at: at,
        completed_at: None,
        expires_at: None,
    };
    check("key_status_in_progress", status.clone());
    let completed = KeyStatus {
        state: KeyState::Completed,
        http_status: Some(201),
        request_id: Some("req_1".to_owned()),
        completed_at: Some(at),
        expires_at: Some(at.plus(Millis::from_days(1))),
        ..status
    };
    check("key_status_completed", completed);
    check("policy", Policy::default());
    let other = Policy {
        retention: Millis::from_seconds(1),
        unknown_outcome: UnknownOutcome::Retry,
        expired_key: ExpiredKey::Remember,
        ..Policy::default()
    };
    check("policy_of_events", other);
    for state in ["in_progress", "completed", "unknown", "released", "voided", "expired"] {
        let parsed = KeyState::parse(state).expect("a state");
        assert_eq!(serde_json::to_value(parsed).expect("JSON"), state);
    }
}

#[test]
fn decisions_have_the_forms_of_the_vectors() {
    let execution = Execution { attempt: 1, lease: Millis::from_seconds(15) };
    check("decision_execute", Decision::Execute(execution));
    check("decision_replay", Decision::Replay(response()));
    let resource = Some("ord_1".to_owned());
    check("decision_not_replayable", Decision::NotReplayable { http_status: Some(201), resource });
    check("decision_in_progress", Decision::InProgress);
    check("decision_mismatch", Decision::Mismatch);
    check("completion_recorded", Completion::Recorded);
    check("completion_lease_lost", Completion::LeaseLost(Box::new(Decision::OutcomeUnknown)));
    check("completion_record_gone", Completion::RecordGone);
    check("settlement_executed", Settlement::Executed(response().into_status_only()));
    check("settlement_not_executed", Settlement::NotExecuted);
    check("renewal", Renewal::Lost);
    check("settling", Settling::NotUnknown);
    check("fail_cause", FailCause::ConnectionLost);
    check("response_class", ResponseClass::RepeatElsewhere);
}

#[test]
fn a_problem_can_be_written_and_a_broken_body_is_refused() {
    let error =
        Rejection::InProgress.to_response(Dialect::Ietf, None, "req_1", RequestKind::KeyedWrite);
    let written = serde_json::to_value(&error).expect("JSON");
    assert_eq!((&written["status"], &written["retry_after"]), (&409.into(), &1.into()));
    let mut broken = vector("decision_replay");
    broken["body"] = "not Base64!".into();
    let error = serde_json::from_value::<Decision>(broken).expect_err("no body");
    assert!(error.to_string().contains("Base64"), "{error}");
    // Names of headers are in lower case, as everywhere.
    let mut upper = vector("decision_replay");
    upper["headers"][0][0] = "Content-Type".into();
    assert_eq!(
        serde_json::from_value::<Decision>(upper).expect("a value"),
        Decision::Replay(response())
    );
}
