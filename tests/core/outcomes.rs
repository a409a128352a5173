//! Rules of an operator (`OUTCOMES`) in the lifecycle and in the flow of a write: a response ends its attempt by what the
//! rules say, and not by its status.

use crate::support::lifecycle::requests::{request, response as unlike, token};
use crate::support::write_flow::{
    LEASE, Walk, begun, business_key, ended, execute, recorded, response,
};
use oncekey::policy::OutcomeRules;
use oncekey::write_flow::{Action, CallerResponse, Event, FollowUp, Identity, Target, Write};
use oncekey::{
    Attempt, Completion, Decision, ExpiredKey, FailCause, KeyState, Millis, Policy, Record,
    RecordUpdate, ResponseClass, StoredResponse, Transition, UnixMillis, UnknownOutcome, lifecycle,
};

const NOW: UnixMillis = UnixMillis::new(1_764_000_000_000);

fn policy(expired_key: ExpiredKey) -> Policy {
    Policy {
        retention: Millis::from_days(1),
        lease: Millis::from_seconds(15),
        unknown_outcome: UnknownOutcome::Retry,
        expired_key,
    }
}

fn written<D>(step: Transition<D>) -> Record {
    match step.next {
        RecordUpdate::Write(record) => *record,
        next => panic!("{next:?}"),
    }
}

/// Returns the record of a key that this attempt has just begun.
fn begin(record: Option<Record>, number: u8, policy: Policy, now: UnixMillis) -> Record {
    let fingerprints = request("a", "");
    let attempt = Attempt {
        fingerprints: &fingerprints,
        token: token(number),
        minted_at: None,
        policy: &policy,
    };
    written(lifecycle::begin(record, &attempt, now))
}

#[test]
fn a_response_ends_its_attempt_by_its_class() {
    use ResponseClass::{Final, NotExecuted, Unknown};
    for (status, class, expired_key, state) in [
        (200, Unknown, ExpiredKey::Forget, KeyState::Unknown),
        (200, Unknown, ExpiredKey::Remember, KeyState::Unknown),
        (302, NotExecuted, ExpiredKey::Forget, KeyState::Released),
        (409, Final, ExpiredKey::Forget, KeyState::Completed),
        (503, Final, ExpiredKey::Forget, KeyState::Completed),
        // Only a success binds a business key.
        (409, Final, ExpiredKey::Remember, KeyState::Released),
    ] {
        let record = begin(None, 1, policy(expired_key), NOW);
        let step = lifecycle::complete_as(Some(record), token(1), unlike(status, "a"), class, NOW);
        assert_eq!(step.decision, Completion::Recorded);
        let shown = step.status.expect("a state");
        assert_eq!(shown.state, state, "{status} {class:?} {expired_key:?}");
    }
}

#[test]
fn a_released_class_does_not_free_a_key_that_may_have_been_executed() {
    let policy = policy(ExpiredKey::Forget);
    let record = begin(None, 1, policy, NOW);
    let failed = lifecycle::fail(Some(record), token(1), FailCause::TimedOut, NOW);
    let record = begin(Some(written(failed)), 2, policy, NOW);
    let class = ResponseClass::NotExecuted;
    let step = lifecycle::complete_as(Some(record), token(2), unlike(302, "a"), class, NOW);
    assert_eq!(step.status.expect("a state").state, KeyState::Unknown);
}

#[test]
fn a_late_2xx_that_is_unknown_by_a_rule_is_no_success() {
    let policy = policy(ExpiredKey::Forget);
    let later = NOW.plus(Millis::from_seconds(60));
    for (class, is_success) in [(ResponseClass::Unknown, false), (ResponseClass::Final, true)] {
        let record = begin(None, 1, policy, NOW);
        let record = begin(Some(record), 2, policy, later);
        let step = lifecycle::complete_as(Some(record), token(1), unlike(200, "a"), class, later);
        assert_eq!(step.decision == Completion::Recorded, is_success, "{class:?}");
    }
}

/// Walks to the origin's response, under rules.
fn responded(rules: &str, has_business_key: bool, own: &StoredResponse) -> Walk {
    let write = Write {
        identity: Identity::Key,
        business_key: has_business_key.then(business_key),
        lease: LEASE,
        unreachable: FailCause::ConnectionLost,
        unknown_outcome: UnknownOutcome::Hold,
        rules: OutcomeRules::parse(rules).expect("rules").of("POST", "/v1/orders"),
    };
    let mut walk = Walk::begin_write(write);
    while matches!(walk.action, Action::Begin(_)) {
        walk.gets(begun(execute()));
    }
    walk.gets(Event::Called(Ok(own.clone())));
    walk
}

#[test]
fn every_record_gets_the_class_of_the_response() {
    for (rules, status, class) in [
        ("POST:/v1/orders:201=unknown", 201, Some(ResponseClass::Unknown)),
        ("POST:/v1/orders:409=final", 409, Some(ResponseClass::Final)),
        ("422=released", 422, Some(ResponseClass::NotExecuted)),
        ("422=released", 402, None),
    ] {
        let own = response(status);
        let complete = |of| match class {
            None => Action::Complete(of, own.clone()),
            Some(class) => Action::CompleteAs(of, own.clone(), class),
        };
        let mut walk = responded(rules, true, &own);
        walk.expects(complete(Target::BusinessKey));
        walk.gets(recorded(KeyState::Completed));
        walk.expects(complete(Target::First));
        walk.gets(recorded(KeyState::Completed));
        let copied = [FollowUp::Copy(own.clone())];
        walk.ends(CallerResponse::Own, Some(KeyState::Completed), &copied);
    }
}

#[test]
fn a_response_that_could_not_be_stored_leaves_what_its_class_says() {
    for (rules, status, cause) in [
        ("409=final", 409, FailCause::NotStored),
        ("200=unknown", 200, FailCause::ConnectionLost),
        ("422=released", 422, FailCause::NotDispatched),
    ] {
        let mut walk = responded(rules, false, &response(status));
        walk.gets(Event::Ended(None));
        walk.ends(CallerResponse::NotStored, None, &[FollowUp::Fail(Target::First, cause)]);
    }
    // The business key does not have the response, although it is a 2xx and was recorded.
    let mut walk = responded("200=unknown", true, &response(200));
    walk.gets(recorded(KeyState::Unknown));
    walk.gets(Event::Ended(None));
    let held = [FollowUp::Fail(Target::First, FailCause::ConnectionLost)];
    walk.ends(CallerResponse::NotStored, None, &held);
}

#[test]
fn an_overtaken_business_key_and_a_response_that_is_not_final() {
    let lost = ended(Completion::LeaseLost(Box::new(Decision::InProgress)));
    let mut walk = responded("200=unknown", true, &response(200));
    walk.gets(lost.clone());
    walk.expects(Action::CompleteAs(Target::First, response(200), ResponseClass::Unknown));
    let mut walk = responded("409=final", true, &response(409));
    walk.gets(lost);
    walk.expects(Action::Fail(Target::First, FailCause::ConnectionLost));
}
