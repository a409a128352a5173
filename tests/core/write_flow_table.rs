//! One write through a gateway, step by step: every row of the table in `src/write_flow/mod.rs`.

use crate::support::write_flow::{
    EXECUTION, LEASE, Walk, begun, begun_as, business_key, ended, execute, of_business_key,
    recorded, rejected, response, settle, settled, status,
};
use oncekey::write_flow::{
    Action, CallerResponse, Event, FollowUp, Identity, OriginFailure, Target,
};
use oncekey::{
    Completion, Decision, FailCause, KeyState, Millis, Recourse, Rejection, Settling,
    UnknownOutcome,
};

#[test]
fn a_key_alone_is_begun_sent_recorded_and_gets_its_response() {
    let mut walk = Walk::begin(Identity::Key, None);
    walk.expects(Action::Begin(Target::First));
    walk.gets(begun(execute()));
    walk.expects(Action::CallOrigin(EXECUTION));
    walk.gets(Event::Called(Ok(response(201))));
    walk.expects(Action::Complete(Target::First, response(201)));
    walk.gets(recorded(KeyState::Completed));
    walk.ends(CallerResponse::Own, Some(KeyState::Completed), &[FollowUp::Copy(response(201))]);
}

#[test]
fn an_attempt_without_execute_never_calls_the_origin() {
    let not_replayable = Decision::NotReplayable { http_status: Some(200), resource: None };
    for (decision, expected) in [
        (Decision::Replay(response(201)), CallerResponse::Replay(response(201))),
        (
            not_replayable,
            rejected(Rejection::NotReplayable { http_status: Some(200), resource: None }),
        ),
        (Decision::InProgress, rejected(Rejection::InProgress)),
        (Decision::Mismatch, rejected(Rejection::Mismatch)),
        (Decision::KeyVoided, rejected(Rejection::KeyVoided)),
        (Decision::KeyExpired, rejected(Rejection::KeyExpired)),
    ] {
        for business_key in [None, Some(business_key())] {
            let mut walk = Walk::begin(Identity::Key, business_key);
            walk.gets(begun_as(decision.clone(), KeyState::Completed));
            walk.ends(expected.clone(), Some(KeyState::Completed), &[]);
        }
    }
}

#[test]
fn a_replica_responds_in_place_of_a_slow_or_silent_shard() {
    let copied =
        Event::Copied(Some((Decision::Replay(response(201)), status(KeyState::Completed))));
    let given_up = [FollowUp::Fail(Target::First, FailCause::NotDispatched)];
    for slow in [true, false] {
        let mut walk = Walk::begin(Identity::Key, Some(business_key()));
        if !slow {
            walk.gets(Event::Begun(Err(Rejection::StoreUnavailable)));
            walk.expects(Action::AskReplica);
        }
        walk.gets(copied.clone());
        walk.ends(CallerResponse::Replay(response(201)), Some(KeyState::Completed), &given_up);
    }
}

#[test]
fn a_copy_in_memory_responds_and_leaves_nothing_to_end() {
    for business_key in [None, Some(business_key())] {
        let mut walk = Walk::begin(Identity::Key, business_key);
        walk.gets(Event::Recalled(Decision::Replay(response(201)), status(KeyState::Completed)));
        walk.ends(CallerResponse::Replay(response(201)), Some(KeyState::Completed), &[]);
    }
    let mut walk = Walk::begin(Identity::BusinessKey, Some(business_key()));
    walk.gets(Event::Recalled(Decision::Mismatch, status(KeyState::Completed)));
    let mismatch = rejected(of_business_key(Rejection::Mismatch));
    walk.ends(mismatch, Some(KeyState::Completed), &[]);
}

#[test]
fn a_copy_in_memory_counts_only_before_the_shard_is_called() {
    let mut walk = Walk::begin(Identity::Key, None);
    walk.gets(begun(execute()));
    walk.gets(Event::Recalled(Decision::Replay(response(201)), status(KeyState::Completed)));
    walk.ends(rejected(Rejection::Internal), None, &[]);
}

#[test]
fn a_missing_copy_proves_nothing() {
    for why in [Rejection::StoreUnavailable, Rejection::RecordUnreadable] {
        let mut walk = Walk::begin(Identity::Key, None);
        walk.gets(Event::Begun(Err(why.clone())));
        walk.expects(Action::AskReplica);
        walk.gets(Event::Copied(None));
        // Its `begin` may still arrive, so the attempt is ended in advance.
        let given_up = [FollowUp::Fail(Target::First, FailCause::NotDispatched)];
        walk.ends(rejected(why), None, &given_up);
    }
}

#[test]
fn an_attempt_that_waited_for_half_a_lease_does_not_call_the_origin() {
    for waited in [LEASE.half(), LEASE] {
        let mut walk = Walk::begin(Identity::Key, None);
        walk.waits(waited);
        walk.gets(begun(execute()));
        walk.expects(Action::Fail(Target::First, FailCause::NotDispatched));
        walk.gets(recorded(KeyState::Released));
        walk.ends(rejected(Rejection::TooLateToDispatch), Some(KeyState::Released), &[]);
    }
    let mut walk = Walk::begin(Identity::Key, None);
    walk.waits(Millis::new(LEASE.half().as_u64() - 1));
    walk.gets(begun(execute()));
    walk.expects(Action::CallOrigin(EXECUTION));
}

#[test]
fn the_wait_counts_from_the_first_begin_and_both_records_are_released() {
    let mut walk = Walk::begin(Identity::Key, Some(business_key()));
    walk.waits(Millis::from_seconds(3));
    walk.gets(begun(execute()));
    walk.expects(Action::Begin(Target::BusinessKey));
    walk.waits(Millis::from_seconds(3));
    walk.gets(begun(execute()));
    walk.expects(Action::Fail(Target::BusinessKey, FailCause::NotDispatched));
    walk.gets(Event::Ended(None));
    walk.expects(Action::Fail(Target::First, FailCause::NotDispatched));
    walk.gets(Event::Ended(None));
    let later =
        [Target::BusinessKey, Target::First].map(|of| FollowUp::Fail(of, FailCause::NotDispatched));
    walk.ends(rejected(Rejection::TooLateToDispatch), None, &later);
}

#[test]
fn an_attempt_that_is_refused_after_a_long_wait_releases_its_records() {
    // The first call may have got the record although its reply was lost.
    let late = [FollowUp::Fail(Target::First, FailCause::NotDispatched)];
    for (waited, after) in [(LEASE.half(), &late[..]), (Millis::new(4999), &[])] {
        let mut walk = Walk::begin(Identity::Key, None);
        walk.waits(waited);
        walk.gets(begun_as(Decision::InProgress, KeyState::InProgress));
        walk.ends(rejected(Rejection::InProgress), Some(KeyState::InProgress), after);
    }
    // The same holds for the business key, from the time of its first call.
    let mut walk = Walk::begin(Identity::Key, Some(business_key()));
    walk.waits(Millis::from_seconds(4));
    walk.gets(begun(execute()));
    walk.waits(LEASE.half());
    walk.gets(begun(Decision::InProgress));
    walk.gets(recorded(KeyState::Released));
    let late = [FollowUp::Fail(Target::BusinessKey, FailCause::NotDispatched)];
    walk.ends(rejected(of_business_key(Rejection::InProgress)), Some(KeyState::Released), &late);
}

#[test]
fn a_failed_origin_call_ends_with_its_cause() {
    use FailCause::{ConnectionLost, NotDispatched, TimedOut};
    let (again, broke) = (Recourse::RetryWithKey, Rejection::OriginUnreachable);
    for (failure, unreachable, cause, why) in [
        (OriginFailure::TimedOut, ConnectionLost, TimedOut, Rejection::OriginTimedOut(again)),
        (OriginFailure::CutOff, NotDispatched, ConnectionLost, broke(again)),
        (OriginFailure::Unreachable, ConnectionLost, ConnectionLost, broke(again)),
        (OriginFailure::Unreachable, NotDispatched, NotDispatched, broke(Recourse::NotExecuted)),
    ] {
        let mut walk = Walk::begin_with(Identity::Key, Some(business_key()), unreachable);
        walk.gets(begun(execute()));
        walk.gets(begun(execute()));
        walk.gets(Event::Called(Err(failure)));
        walk.expects(Action::Fail(Target::BusinessKey, cause));
        walk.gets(recorded(KeyState::Unknown));
        walk.expects(Action::Fail(Target::First, cause));
        walk.gets(recorded(KeyState::Unknown));
        walk.ends(rejected(why), Some(KeyState::Unknown), &[]);
    }
}

#[test]
fn an_unreachable_origin_tells_the_caller_what_to_do() {
    use FailCause::{ConnectionLost, NotDispatched};
    use UnknownOutcome::{Hold, Retry};
    for (unreachable, policy, recourse) in [
        (ConnectionLost, Retry, Recourse::RetryWithKey),
        (ConnectionLost, Hold, Recourse::OnHold),
        (NotDispatched, Hold, Recourse::NotExecuted),
        (NotDispatched, Retry, Recourse::NotExecuted),
    ] {
        let why = Rejection::OriginUnreachable(recourse);
        for (identity, business_key, why) in [
            (Identity::Key, None, why.clone()),
            (Identity::Event, None, why.clone()),
            (Identity::BusinessKey, Some(business_key()), of_business_key(why)),
        ] {
            let mut walk = Walk::begin_under(identity, business_key, unreachable, policy);
            walk.gets(begun(execute()));
            walk.gets(Event::Called(Err(OriginFailure::Unreachable)));
            walk.expects(Action::Fail(Target::First, unreachable));
            walk.gets(recorded(KeyState::Unknown));
            walk.ends(rejected(why), Some(KeyState::Unknown), &[]);
        }
    }
}

#[test]
fn an_overtaken_attempt_sends_the_current_decision_and_never_its_own_response() {
    let lost = || ended(Completion::LeaseLost(Box::new(Decision::Replay(response(200)))));
    let mut walk = Walk::at_origin(Identity::Key, None);
    walk.gets(Event::Called(Ok(response(201))));
    walk.gets(lost());
    walk.ends(CallerResponse::Replay(response(200)), Some(KeyState::Completed), &[]);

    let mut walk = Walk::at_origin(Identity::Key, None);
    walk.gets(Event::Called(Err(OriginFailure::TimedOut)));
    walk.gets(lost());
    walk.ends(CallerResponse::Replay(response(200)), Some(KeyState::Completed), &[]);
}

#[test]
fn a_response_that_could_not_be_recorded_is_marked_and_the_key_is_on_hold() {
    for ended in [Event::Ended(None), ended(Completion::RecordGone)] {
        let mut walk = Walk::at_origin(Identity::Key, None);
        walk.gets(Event::Called(Ok(response(201))));
        walk.gets(ended);
        let held = [FollowUp::Fail(Target::First, FailCause::NotStored)];
        walk.ends(CallerResponse::NotStored, None, &held);
    }
}

#[test]
fn a_response_that_releases_the_key_puts_nothing_on_hold_if_it_could_not_be_recorded() {
    use FailCause::{ConnectionLost, NotDispatched, NotStored};
    for (identity, status, cause) in [
        (Identity::Key, 201, NotStored),
        (Identity::Key, 402, NotStored),
        (Identity::Key, 503, ConnectionLost),
        (Identity::Key, 429, NotDispatched),
        (Identity::Key, 307, NotDispatched),
        // Only a success counts for a business key or an event, and an event is sent again.
        (Identity::BusinessKey, 201, NotStored),
        (Identity::BusinessKey, 402, NotDispatched),
        (Identity::Event, 200, ConnectionLost),
        (Identity::Event, 400, NotDispatched),
        (Identity::Event, 500, ConnectionLost),
    ] {
        let business_key = Some(business_key()).filter(|_| identity == Identity::BusinessKey);
        let mut walk = Walk::at_origin(identity, business_key);
        walk.gets(Event::Called(Ok(response(status))));
        walk.gets(Event::Ended(None));
        walk.ends(CallerResponse::NotStored, None, &[FollowUp::Fail(Target::First, cause)]);
    }
    // The business key beside a key has its own rule.
    let mut walk = Walk::at_origin(Identity::Key, Some(business_key()));
    walk.gets(Event::Called(Ok(response(402))));
    walk.gets(Event::Ended(None));
    walk.gets(Event::Ended(None));
    let after = [
        FollowUp::Fail(Target::First, NotStored),
        FollowUp::Fail(Target::BusinessKey, NotDispatched),
    ];
    walk.ends(CallerResponse::NotStored, None, &after);
}

#[test]
fn the_business_key_is_completed_before_its_key() {
    let mut walk = Walk::at_origin(Identity::Key, Some(business_key()));
    walk.gets(Event::Called(Ok(response(201))));
    walk.expects(Action::Complete(Target::BusinessKey, response(201)));
    walk.gets(recorded(KeyState::Completed));
    walk.expects(Action::Complete(Target::First, response(201)));
    walk.gets(recorded(KeyState::Completed));
    walk.ends(CallerResponse::Own, Some(KeyState::Completed), &[FollowUp::Copy(response(201))]);
}

#[test]
fn a_response_counts_as_stored_if_only_the_business_key_stored_it() {
    for (status, expected) in [(201, CallerResponse::Own), (402, CallerResponse::NotStored)] {
        let mut walk = Walk::at_origin(Identity::Key, Some(business_key()));
        walk.gets(Event::Called(Ok(response(status))));
        walk.gets(recorded(KeyState::Completed));
        walk.gets(Event::Ended(None));
        let held = [FollowUp::Fail(Target::First, FailCause::NotStored)];
        walk.ends(expected, None, &held);
    }
    // The business key could not be stored: the key has the response, and the business key is on hold.
    let mut walk = Walk::at_origin(Identity::Key, Some(business_key()));
    walk.gets(Event::Called(Ok(response(201))));
    walk.gets(Event::Ended(None));
    walk.expects(Action::Complete(Target::First, response(201)));
    walk.gets(recorded(KeyState::Completed));
    let after =
        [FollowUp::Copy(response(201)), FollowUp::Fail(Target::BusinessKey, FailCause::NotStored)];
    walk.ends(CallerResponse::Own, Some(KeyState::Completed), &after);
    // Neither could be stored: both are on hold.
    let mut walk = Walk::at_origin(Identity::Key, Some(business_key()));
    walk.gets(Event::Called(Ok(response(201))));
    walk.gets(Event::Ended(None));
    walk.gets(Event::Ended(None));
    walk.ends(
        CallerResponse::NotStored,
        None,
        &[Target::First, Target::BusinessKey].map(|of| FollowUp::Fail(of, FailCause::NotStored)),
    );
}

#[test]
fn an_overtaken_business_key_decides_the_end_of_its_key() {
    let lost = |decision| ended(Completion::LeaseLost(Box::new(decision)));
    let mut walk = Walk::at_origin(Identity::Key, Some(business_key()));
    walk.gets(Event::Called(Ok(response(201))));
    walk.gets(lost(Decision::Replay(response(200))));
    walk.expects(Action::Complete(Target::First, response(200)));
    walk.gets(recorded(KeyState::Completed));
    let copied = [FollowUp::Copy(response(200))];
    walk.ends(CallerResponse::Replay(response(200)), Some(KeyState::Completed), &copied);

    let mut walk = Walk::at_origin(Identity::Key, Some(business_key()));
    walk.gets(Event::Called(Ok(response(402))));
    walk.gets(lost(Decision::InProgress));
    walk.expects(Action::Fail(Target::First, FailCause::ConnectionLost));
    walk.gets(recorded(KeyState::Unknown));
    walk.ends(rejected(of_business_key(Rejection::InProgress)), Some(KeyState::Unknown), &[]);

    let mut walk = Walk::at_origin(Identity::Key, Some(business_key()));
    walk.gets(Event::Called(Ok(response(500))));
    walk.gets(lost(Decision::InProgress));
    walk.expects(Action::Complete(Target::First, response(500)));
}

#[test]
fn a_key_adopts_the_response_of_its_business_key() {
    let mut walk = Walk::begin(Identity::Key, Some(business_key()));
    walk.gets(begun(execute()));
    walk.gets(begun(Decision::Replay(response(201))));
    walk.expects(Action::Complete(Target::First, response(201)));
    walk.gets(recorded(KeyState::Completed));
    let copied = [FollowUp::Copy(response(201))];
    walk.ends(CallerResponse::Replay(response(201)), Some(KeyState::Completed), &copied);
    // The key cannot store the response. The business key has it, and nothing was dispatched.
    let mut walk = Walk::begin(Identity::Key, Some(business_key()));
    walk.gets(begun(execute()));
    walk.gets(begun(Decision::Replay(response(201))));
    walk.gets(Event::Ended(None));
    let given_up = [FollowUp::Fail(Target::First, FailCause::NotDispatched)];
    walk.ends(CallerResponse::Replay(response(201)), None, &given_up);
}

#[test]
fn a_business_key_that_refuses_releases_the_key() {
    for (decision, why) in [
        (Decision::InProgress, Rejection::InProgress),
        (Decision::Mismatch, Rejection::Mismatch),
        (
            Decision::NotReplayable { http_status: None, resource: None },
            Rejection::NotReplayable { http_status: None, resource: None },
        ),
    ] {
        let mut walk = Walk::begin(Identity::Key, Some(business_key()));
        walk.gets(begun(execute()));
        walk.gets(begun(decision));
        walk.expects(Action::Fail(Target::First, FailCause::NotDispatched));
        walk.gets(recorded(KeyState::Released));
        walk.ends(rejected(of_business_key(why)), Some(KeyState::Released), &[]);
    }
    // No reply: the `begin` of the business key may still arrive.
    let mut walk = Walk::begin(Identity::Key, Some(business_key()));
    walk.gets(begun(execute()));
    walk.gets(Event::Begun(Err(Rejection::StoreUnavailable)));
    walk.expects(Action::Fail(Target::First, FailCause::NotDispatched));
    walk.gets(recorded(KeyState::Released));
    let given_up = [FollowUp::Fail(Target::BusinessKey, FailCause::NotDispatched)];
    walk.ends(rejected(Rejection::StoreUnavailable), Some(KeyState::Released), &given_up);
}

#[test]
fn a_business_key_with_an_unknown_outcome_is_looked_up_and_settled_before_the_key() {
    let unknown = Decision::OutcomeUnknown;
    let mut walk = Walk::begin(Identity::Key, Some(business_key()));
    walk.gets(begun(execute()));
    walk.gets(begun(unknown.clone()));
    walk.expects(Action::LookUp(unknown.clone()));
    walk.gets(Event::LookedUp(Some(response(200))));
    walk.expects(settle(Target::BusinessKey));
    walk.gets(settled(Settling::Settled));
    walk.expects(Action::Complete(Target::First, response(200)));
    walk.gets(recorded(KeyState::Completed));
    let copied = [FollowUp::Copy(response(200))];
    walk.ends(CallerResponse::Replay(response(200)), Some(KeyState::Completed), &copied);
    // The look-up found nothing, or another attempt resolved the outcome: the key is released.
    for (events, why) in [
        (vec![Event::LookedUp(None)], of_business_key(Rejection::OutcomeUnknown)),
        (
            vec![Event::LookedUp(Some(response(200))), settled(Settling::NotUnknown)],
            Rejection::InProgress,
        ),
        (
            vec![
                Event::LookedUp(Some(response(200))),
                Event::Settled(Err(Rejection::StoreUnavailable)),
            ],
            Rejection::StoreUnavailable,
        ),
    ] {
        let mut walk = Walk::begin(Identity::Key, Some(business_key()));
        walk.gets(begun(execute()));
        walk.gets(begun(unknown.clone()));
        for event in events {
            walk.gets(event);
        }
        walk.expects(Action::Fail(Target::First, FailCause::NotDispatched));
        walk.gets(recorded(KeyState::Released));
        walk.ends(rejected(why), Some(KeyState::Released), &[]);
    }
    // The content has expired, and the status alone decides. There is nothing to settle.
    let gone = Decision::NotReplayable { http_status: Some(201), resource: None };
    let mut walk = Walk::begin(Identity::Key, Some(business_key()));
    walk.gets(begun(execute()));
    walk.gets(begun(gone.clone()));
    walk.expects(Action::LookUp(gone));
    walk.gets(Event::LookedUp(Some(response(200))));
    walk.expects(Action::Complete(Target::First, response(200)));
}

#[test]
fn a_key_on_hold_gets_the_response_of_its_business_key_or_of_a_look_up() {
    let held = || begun_as(Decision::OutcomeUnknown, KeyState::Unknown);
    // The business key has the response, so the key is settled with it.
    let mut walk = Walk::begin(Identity::Key, Some(business_key()));
    walk.gets(held());
    walk.expects(Action::PeekBusinessKey);
    walk.gets(Event::Peeked(Ok(Some(Decision::Replay(response(200))))));
    walk.expects(settle(Target::First));
    walk.gets(settled(Settling::Settled));
    let copied = [FollowUp::Copy(response(200))];
    walk.ends(CallerResponse::Replay(response(200)), Some(KeyState::Completed), &copied);
    // Both are unknown: the outcome is looked up, and the business key is settled first.
    let mut walk = Walk::begin(Identity::Key, Some(business_key()));
    walk.gets(held());
    walk.gets(Event::Peeked(Ok(Some(Decision::OutcomeUnknown))));
    walk.expects(Action::LookUp(Decision::OutcomeUnknown));
    walk.gets(Event::LookedUp(Some(response(200))));
    walk.expects(settle(Target::BusinessKey));
    walk.gets(settled(Settling::Settled));
    walk.expects(settle(Target::First));
    walk.gets(settled(Settling::Settled));
    walk.ends(CallerResponse::Replay(response(200)), Some(KeyState::Completed), &copied);
    // The business key would execute, so only the key is settled. Without a business key the result is the same.
    for business_key in [Some(business_key()), None] {
        let mut walk = Walk::begin(Identity::Key, business_key.clone());
        walk.gets(held());
        if business_key.is_some() {
            walk.gets(Event::Peeked(Ok(None)));
        }
        walk.expects(Action::LookUp(Decision::OutcomeUnknown));
        walk.gets(Event::LookedUp(Some(response(200))));
        walk.expects(settle(Target::First));
    }
}

#[test]
fn a_key_on_hold_without_proof_stays_unknown() {
    let held = || begun_as(Decision::OutcomeUnknown, KeyState::Unknown);
    for (events, why) in [
        (
            vec![Event::Peeked(Ok(Some(Decision::InProgress)))],
            of_business_key(Rejection::InProgress),
        ),
        (vec![Event::Peeked(Ok(Some(Decision::Mismatch)))], Rejection::OutcomeUnknown),
        (vec![Event::Peeked(Err(Rejection::StoreUnavailable))], Rejection::StoreUnavailable),
        (vec![Event::Peeked(Ok(None)), Event::LookedUp(None)], Rejection::OutcomeUnknown),
    ] {
        let mut walk = Walk::begin(Identity::Key, Some(business_key()));
        walk.gets(held());
        for event in events {
            walk.gets(event);
        }
        walk.ends(rejected(why), Some(KeyState::Unknown), &[]);
    }
}

#[test]
fn an_error_without_a_key_names_the_business_key() {
    let mut walk = Walk::at_origin(Identity::BusinessKey, Some(business_key()));
    walk.gets(Event::Called(Ok(response(201))));
    walk.expects(Action::Complete(Target::First, response(201)));
    walk.gets(recorded(KeyState::Completed));
    walk.ends(CallerResponse::Own, Some(KeyState::Completed), &[FollowUp::Copy(response(201))]);

    let mut walk = Walk::begin(Identity::BusinessKey, Some(business_key()));
    walk.gets(begun_as(Decision::Mismatch, KeyState::Completed));
    walk.ends(rejected(of_business_key(Rejection::Mismatch)), Some(KeyState::Completed), &[]);

    let mut walk = Walk::begin(Identity::BusinessKey, Some(business_key()));
    walk.gets(begun_as(Decision::OutcomeUnknown, KeyState::Unknown));
    walk.expects(Action::LookUp(Decision::OutcomeUnknown));
    walk.gets(Event::LookedUp(Some(response(200))));
    walk.expects(settle(Target::First));
    walk.gets(settled(Settling::Settled));
    let copied = [FollowUp::Copy(response(200))];
    walk.ends(CallerResponse::Replay(response(200)), Some(KeyState::Completed), &copied);
}

#[test]
fn an_event_has_no_copy_and_a_repeated_event_is_a_duplicate() {
    let mut walk = Walk::at_origin(Identity::Event, None);
    walk.gets(Event::Called(Ok(response(200))));
    walk.gets(recorded(KeyState::Completed));
    walk.ends(CallerResponse::Own, Some(KeyState::Completed), &[]);

    let gone = Decision::NotReplayable { http_status: Some(200), resource: None };
    for done in [Decision::Replay(response(200)), gone] {
        let mut walk = Walk::begin(Identity::Event, None);
        walk.gets(begun_as(done, KeyState::Completed));
        walk.ends(CallerResponse::Duplicate, Some(KeyState::Completed), &[]);
    }
    let mut walk = Walk::begin(Identity::Event, None);
    walk.gets(Event::Begun(Err(Rejection::StoreUnavailable)));
    let given_up = [FollowUp::Fail(Target::First, FailCause::NotDispatched)];
    walk.ends(rejected(Rejection::StoreUnavailable), None, &given_up);
}

#[test]
fn an_event_of_another_step_executes_nothing() {
    for event in [
        Event::Called(Ok(response(201))),
        Event::Ended(None),
        Event::Peeked(Ok(None)),
        Event::LookedUp(None),
        Event::Copied(None),
    ] {
        let mut walk = Walk::begin(Identity::Key, Some(business_key()));
        walk.gets(event.clone());
        walk.ends(rejected(Rejection::Internal), None, &[]);
        walk.gets(event);
        walk.ends(rejected(Rejection::Internal), None, &[]);
    }
}
