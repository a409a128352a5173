//! One write through a gateway, step by step: every row of the table in `src/write_flow/mod.rs`.

use crate::support::write_flow::{
    EXECUTION, LEASE, Walk, answer, begun, begun_as, ended, execute, number, of_number, recorded,
    rejected, settle, settled, status,
};
use oncekey::write_flow::{
    Action, CallerResponse, Event, FollowUp, Identity, OriginFailure, Target,
};
use oncekey::{
    Completion, Decision, FailCause, KeyState, Millis, Recourse, Rejection, Settling,
    UnknownOutcome,
};

#[test]
fn a_key_alone_is_begun_sent_recorded_and_answered() {
    let mut walk = Walk::begin(Identity::Key, None);
    walk.expects(Action::Begin(Target::First));
    walk.hears(begun(execute()));
    walk.expects(Action::CallOrigin(EXECUTION));
    walk.hears(Event::Called(Ok(answer(201))));
    walk.expects(Action::Complete(Target::First, answer(201)));
    walk.hears(recorded(KeyState::Completed));
    walk.ends(CallerResponse::Own, Some(KeyState::Completed), &[FollowUp::Copy(answer(201))]);
}

#[test]
fn who_is_not_told_to_execute_never_calls_the_origin() {
    let not_replayable = Decision::NotReplayable { http_status: Some(200), resource: None };
    for (decision, expected) in [
        (Decision::Replay(answer(201)), CallerResponse::Replay(answer(201))),
        (
            not_replayable,
            rejected(Rejection::NotReplayable { http_status: Some(200), resource: None }),
        ),
        (Decision::InProgress, rejected(Rejection::InProgress)),
        (Decision::Mismatch, rejected(Rejection::Mismatch)),
        (Decision::KeyVoided, rejected(Rejection::KeyVoided)),
        (Decision::KeyExpired, rejected(Rejection::KeyExpired)),
    ] {
        for number in [None, Some(number())] {
            let mut walk = Walk::begin(Identity::Key, number);
            walk.hears(begun_as(decision.clone(), KeyState::Completed));
            walk.ends(expected.clone(), Some(KeyState::Completed), &[]);
        }
    }
}

#[test]
fn a_replica_answers_in_the_place_of_a_slow_or_silent_authority() {
    let copied = Event::Copied(Some((Decision::Replay(answer(201)), status(KeyState::Completed))));
    let given_up = [FollowUp::Fail(Target::First, FailCause::NotDispatched)];
    for slow in [true, false] {
        let mut walk = Walk::begin(Identity::Key, Some(number()));
        if !slow {
            walk.hears(Event::Begun(Err(Rejection::StoreUnavailable)));
            walk.expects(Action::AskReplica);
        }
        walk.hears(copied.clone());
        walk.ends(CallerResponse::Replay(answer(201)), Some(KeyState::Completed), &given_up);
    }
}

#[test]
fn a_replica_that_has_nothing_proves_nothing() {
    for why in [Rejection::StoreUnavailable, Rejection::RecordUnreadable] {
        let mut walk = Walk::begin(Identity::Key, None);
        walk.hears(Event::Begun(Err(why.clone())));
        walk.expects(Action::AskReplica);
        walk.hears(Event::Copied(None));
        // Its `begin` may still arrive: the record must not wait for this attempt.
        let given_up = [FollowUp::Fail(Target::First, FailCause::NotDispatched)];
        walk.ends(rejected(why), None, &given_up);
    }
}

#[test]
fn who_has_waited_for_half_a_lease_does_not_execute() {
    for waited in [LEASE.half(), LEASE] {
        let mut walk = Walk::begin(Identity::Key, None);
        walk.waits(waited);
        walk.hears(begun(execute()));
        walk.expects(Action::Fail(Target::First, FailCause::NotDispatched));
        walk.hears(recorded(KeyState::Released));
        walk.ends(rejected(Rejection::TooLateToDispatch), Some(KeyState::Released), &[]);
    }
    let mut walk = Walk::begin(Identity::Key, None);
    walk.waits(Millis::new(LEASE.half().as_u64() - 1));
    walk.hears(begun(execute()));
    walk.expects(Action::CallOrigin(EXECUTION));
}

#[test]
fn the_wait_counts_from_the_first_begin_and_both_records_are_given_back() {
    let mut walk = Walk::begin(Identity::Key, Some(number()));
    walk.waits(Millis::from_seconds(3));
    walk.hears(begun(execute()));
    walk.expects(Action::Begin(Target::BusinessKey));
    walk.waits(Millis::from_seconds(3));
    walk.hears(begun(execute()));
    walk.expects(Action::Fail(Target::BusinessKey, FailCause::NotDispatched));
    walk.hears(Event::Ended(None));
    walk.expects(Action::Fail(Target::First, FailCause::NotDispatched));
    walk.hears(Event::Ended(None));
    let later =
        [Target::BusinessKey, Target::First].map(|of| FollowUp::Fail(of, FailCause::NotDispatched));
    walk.ends(rejected(Rejection::TooLateToDispatch), None, &later);
}

#[test]
fn who_is_refused_after_a_long_wait_says_that_it_does_not_execute() {
    // Its first call may have got the record, and the reply been lost.
    let late = [FollowUp::Fail(Target::First, FailCause::NotDispatched)];
    for (waited, after) in [(LEASE.half(), &late[..]), (Millis::new(4999), &[])] {
        let mut walk = Walk::begin(Identity::Key, None);
        walk.waits(waited);
        walk.hears(begun_as(Decision::InProgress, KeyState::InProgress));
        walk.ends(rejected(Rejection::InProgress), Some(KeyState::InProgress), after);
    }
    // And so for the number, from when that was asked.
    let mut walk = Walk::begin(Identity::Key, Some(number()));
    walk.waits(Millis::from_seconds(4));
    walk.hears(begun(execute()));
    walk.waits(LEASE.half());
    walk.hears(begun(Decision::InProgress));
    walk.hears(recorded(KeyState::Released));
    let late = [FollowUp::Fail(Target::BusinessKey, FailCause::NotDispatched)];
    walk.ends(rejected(of_number(Rejection::InProgress)), Some(KeyState::Released), &late);
}

#[test]
fn an_origin_that_gives_no_answer_leaves_what_is_known_of_it() {
    use FailCause::{ConnectionLost, NotDispatched, TimedOut};
    let (again, broke) = (Recourse::RetryWithKey, Rejection::OriginUnreachable);
    for (failure, unreachable, cause, why) in [
        (OriginFailure::TimedOut, ConnectionLost, TimedOut, Rejection::OriginTimedOut(again)),
        (OriginFailure::CutOff, NotDispatched, ConnectionLost, broke(again)),
        (OriginFailure::Unreachable, ConnectionLost, ConnectionLost, broke(again)),
        (OriginFailure::Unreachable, NotDispatched, NotDispatched, broke(Recourse::NotExecuted)),
    ] {
        let mut walk = Walk::begin_with(Identity::Key, Some(number()), unreachable);
        walk.hears(begun(execute()));
        walk.hears(begun(execute()));
        walk.hears(Event::Called(Err(failure)));
        walk.expects(Action::Fail(Target::BusinessKey, cause));
        walk.hears(recorded(KeyState::Unknown));
        walk.expects(Action::Fail(Target::First, cause));
        walk.hears(recorded(KeyState::Unknown));
        walk.ends(rejected(why), Some(KeyState::Unknown), &[]);
    }
}

#[test]
fn what_the_caller_can_do_is_said_in_its_own_case() {
    use FailCause::{ConnectionLost, NotDispatched};
    use UnknownOutcome::{Hold, Retry};
    for (unreachable, policy, recourse) in [
        (ConnectionLost, Retry, Recourse::RetryWithKey),
        (ConnectionLost, Hold, Recourse::OnHold),
        (NotDispatched, Hold, Recourse::NotExecuted),
        (NotDispatched, Retry, Recourse::NotExecuted),
    ] {
        let why = Rejection::OriginUnreachable(recourse);
        for (identity, number, why) in [
            (Identity::Key, None, why.clone()),
            (Identity::Event, None, why.clone()),
            (Identity::BusinessKey, Some(number()), of_number(why)),
        ] {
            let mut walk = Walk::begin_under(identity, number, unreachable, policy);
            walk.hears(begun(execute()));
            walk.hears(Event::Called(Err(OriginFailure::Unreachable)));
            walk.expects(Action::Fail(Target::First, unreachable));
            walk.hears(recorded(KeyState::Unknown));
            walk.ends(rejected(why), Some(KeyState::Unknown), &[]);
        }
    }
}

#[test]
fn an_overtaken_attempt_gives_what_stands_never_its_own_answer() {
    let lost = || ended(Completion::LeaseLost(Box::new(Decision::Replay(answer(200)))));
    let mut walk = Walk::at_origin(Identity::Key, None);
    walk.hears(Event::Called(Ok(answer(201))));
    walk.hears(lost());
    walk.ends(CallerResponse::Replay(answer(200)), Some(KeyState::Completed), &[]);

    let mut walk = Walk::at_origin(Identity::Key, None);
    walk.hears(Event::Called(Err(OriginFailure::TimedOut)));
    walk.hears(lost());
    walk.ends(CallerResponse::Replay(answer(200)), Some(KeyState::Completed), &[]);
}

#[test]
fn an_answer_that_nothing_could_record_says_so_and_holds_the_key() {
    for ended in [Event::Ended(None), ended(Completion::RecordGone)] {
        let mut walk = Walk::at_origin(Identity::Key, None);
        walk.hears(Event::Called(Ok(answer(201))));
        walk.hears(ended);
        let held = [FollowUp::Fail(Target::First, FailCause::NotStored)];
        walk.ends(CallerResponse::NotStored, None, &held);
    }
}

#[test]
fn an_answer_that_is_none_yet_holds_nothing_when_it_could_not_be_recorded() {
    use FailCause::{ConnectionLost, NotDispatched, NotStored};
    for (identity, status, cause) in [
        (Identity::Key, 201, NotStored),
        (Identity::Key, 402, NotStored),
        (Identity::Key, 503, ConnectionLost),
        (Identity::Key, 429, NotDispatched),
        (Identity::Key, 307, NotDispatched),
        // Only a success binds a number or an event, and an event is sent again.
        (Identity::BusinessKey, 201, NotStored),
        (Identity::BusinessKey, 402, NotDispatched),
        (Identity::Event, 200, ConnectionLost),
        (Identity::Event, 400, NotDispatched),
        (Identity::Event, 500, ConnectionLost),
    ] {
        let number = Some(number()).filter(|_| identity == Identity::BusinessKey);
        let mut walk = Walk::at_origin(identity, number);
        walk.hears(Event::Called(Ok(answer(status))));
        walk.hears(Event::Ended(None));
        walk.ends(CallerResponse::NotStored, None, &[FollowUp::Fail(Target::First, cause)]);
    }
    // The number beside a key, by its own rule.
    let mut walk = Walk::at_origin(Identity::Key, Some(number()));
    walk.hears(Event::Called(Ok(answer(402))));
    walk.hears(Event::Ended(None));
    walk.hears(Event::Ended(None));
    let after = [
        FollowUp::Fail(Target::First, NotStored),
        FollowUp::Fail(Target::BusinessKey, NotDispatched),
    ];
    walk.ends(CallerResponse::NotStored, None, &after);
}

#[test]
fn the_number_is_completed_before_its_key() {
    let mut walk = Walk::at_origin(Identity::Key, Some(number()));
    walk.hears(Event::Called(Ok(answer(201))));
    walk.expects(Action::Complete(Target::BusinessKey, answer(201)));
    walk.hears(recorded(KeyState::Completed));
    walk.expects(Action::Complete(Target::First, answer(201)));
    walk.hears(recorded(KeyState::Completed));
    walk.ends(CallerResponse::Own, Some(KeyState::Completed), &[FollowUp::Copy(answer(201))]);
}

#[test]
fn what_a_number_has_is_not_lost_when_its_key_could_not_be_stored() {
    for (status, expected) in [(201, CallerResponse::Own), (402, CallerResponse::NotStored)] {
        let mut walk = Walk::at_origin(Identity::Key, Some(number()));
        walk.hears(Event::Called(Ok(answer(status))));
        walk.hears(recorded(KeyState::Completed));
        walk.hears(Event::Ended(None));
        let held = [FollowUp::Fail(Target::First, FailCause::NotStored)];
        walk.ends(expected, None, &held);
    }
    // The number could not be stored: the key has the answer, and the number is held.
    let mut walk = Walk::at_origin(Identity::Key, Some(number()));
    walk.hears(Event::Called(Ok(answer(201))));
    walk.hears(Event::Ended(None));
    walk.expects(Action::Complete(Target::First, answer(201)));
    walk.hears(recorded(KeyState::Completed));
    let after =
        [FollowUp::Copy(answer(201)), FollowUp::Fail(Target::BusinessKey, FailCause::NotStored)];
    walk.ends(CallerResponse::Own, Some(KeyState::Completed), &after);
    // Neither: both are held.
    let mut walk = Walk::at_origin(Identity::Key, Some(number()));
    walk.hears(Event::Called(Ok(answer(201))));
    walk.hears(Event::Ended(None));
    walk.hears(Event::Ended(None));
    walk.ends(
        CallerResponse::NotStored,
        None,
        &[Target::First, Target::BusinessKey].map(|of| FollowUp::Fail(of, FailCause::NotStored)),
    );
}

#[test]
fn a_number_that_was_overtaken_says_what_becomes_of_the_key() {
    let lost = |stands| ended(Completion::LeaseLost(Box::new(stands)));
    let mut walk = Walk::at_origin(Identity::Key, Some(number()));
    walk.hears(Event::Called(Ok(answer(201))));
    walk.hears(lost(Decision::Replay(answer(200))));
    walk.expects(Action::Complete(Target::First, answer(200)));
    walk.hears(recorded(KeyState::Completed));
    let copied = [FollowUp::Copy(answer(200))];
    walk.ends(CallerResponse::Replay(answer(200)), Some(KeyState::Completed), &copied);

    let mut walk = Walk::at_origin(Identity::Key, Some(number()));
    walk.hears(Event::Called(Ok(answer(402))));
    walk.hears(lost(Decision::InProgress));
    walk.expects(Action::Fail(Target::First, FailCause::ConnectionLost));
    walk.hears(recorded(KeyState::Unknown));
    walk.ends(rejected(of_number(Rejection::InProgress)), Some(KeyState::Unknown), &[]);

    let mut walk = Walk::at_origin(Identity::Key, Some(number()));
    walk.hears(Event::Called(Ok(answer(500))));
    walk.hears(lost(Decision::InProgress));
    walk.expects(Action::Complete(Target::First, answer(500)));
}

#[test]
fn a_key_whose_number_has_the_answer_adopts_it() {
    let mut walk = Walk::begin(Identity::Key, Some(number()));
    walk.hears(begun(execute()));
    walk.hears(begun(Decision::Replay(answer(201))));
    walk.expects(Action::Complete(Target::First, answer(201)));
    walk.hears(recorded(KeyState::Completed));
    let copied = [FollowUp::Copy(answer(201))];
    walk.ends(CallerResponse::Replay(answer(201)), Some(KeyState::Completed), &copied);
    // It cannot be stored: the number still has it, and nothing was dispatched.
    let mut walk = Walk::begin(Identity::Key, Some(number()));
    walk.hears(begun(execute()));
    walk.hears(begun(Decision::Replay(answer(201))));
    walk.hears(Event::Ended(None));
    let given_up = [FollowUp::Fail(Target::First, FailCause::NotDispatched)];
    walk.ends(CallerResponse::Replay(answer(201)), None, &given_up);
}

#[test]
fn a_number_that_refuses_gives_the_key_back() {
    for (decision, why) in [
        (Decision::InProgress, Rejection::InProgress),
        (Decision::Mismatch, Rejection::Mismatch),
        (
            Decision::NotReplayable { http_status: None, resource: None },
            Rejection::NotReplayable { http_status: None, resource: None },
        ),
    ] {
        let mut walk = Walk::begin(Identity::Key, Some(number()));
        walk.hears(begun(execute()));
        walk.hears(begun(decision));
        walk.expects(Action::Fail(Target::First, FailCause::NotDispatched));
        walk.hears(recorded(KeyState::Released));
        walk.ends(rejected(of_number(why)), Some(KeyState::Released), &[]);
    }
    // Silence: its `begin` may still arrive.
    let mut walk = Walk::begin(Identity::Key, Some(number()));
    walk.hears(begun(execute()));
    walk.hears(Event::Begun(Err(Rejection::StoreUnavailable)));
    walk.expects(Action::Fail(Target::First, FailCause::NotDispatched));
    walk.hears(recorded(KeyState::Released));
    let given_up = [FollowUp::Fail(Target::BusinessKey, FailCause::NotDispatched)];
    walk.ends(rejected(Rejection::StoreUnavailable), Some(KeyState::Released), &given_up);
}

#[test]
fn a_number_whose_outcome_is_unknown_is_looked_up_and_settled_before_the_key() {
    let unknown = Decision::OutcomeUnknown;
    let mut walk = Walk::begin(Identity::Key, Some(number()));
    walk.hears(begun(execute()));
    walk.hears(begun(unknown.clone()));
    walk.expects(Action::LookUp(unknown.clone()));
    walk.hears(Event::LookedUp(Some(answer(200))));
    walk.expects(settle(Target::BusinessKey));
    walk.hears(settled(Settling::Settled));
    walk.expects(Action::Complete(Target::First, answer(200)));
    walk.hears(recorded(KeyState::Completed));
    let copied = [FollowUp::Copy(answer(200))];
    walk.ends(CallerResponse::Replay(answer(200)), Some(KeyState::Completed), &copied);
    // Nothing was found, or somebody else found out: the key is given back.
    for (told, why) in [
        (vec![Event::LookedUp(None)], of_number(Rejection::OutcomeUnknown)),
        (
            vec![Event::LookedUp(Some(answer(200))), settled(Settling::NotUnknown)],
            Rejection::InProgress,
        ),
        (
            vec![
                Event::LookedUp(Some(answer(200))),
                Event::Settled(Err(Rejection::StoreUnavailable)),
            ],
            Rejection::StoreUnavailable,
        ),
    ] {
        let mut walk = Walk::begin(Identity::Key, Some(number()));
        walk.hears(begun(execute()));
        walk.hears(begun(unknown.clone()));
        for told in told {
            walk.hears(told);
        }
        walk.expects(Action::Fail(Target::First, FailCause::NotDispatched));
        walk.hears(recorded(KeyState::Released));
        walk.ends(rejected(why), Some(KeyState::Released), &[]);
    }
    // Its content is gone and the status tells: nothing is to be settled.
    let gone = Decision::NotReplayable { http_status: Some(201), resource: None };
    let mut walk = Walk::begin(Identity::Key, Some(number()));
    walk.hears(begun(execute()));
    walk.hears(begun(gone.clone()));
    walk.expects(Action::LookUp(gone));
    walk.hears(Event::LookedUp(Some(answer(200))));
    walk.expects(Action::Complete(Target::First, answer(200)));
}

#[test]
fn a_held_key_learns_from_its_number_or_from_a_look_up() {
    let held = || begun_as(Decision::OutcomeUnknown, KeyState::Unknown);
    // The number has the answer: the key is settled with it.
    let mut walk = Walk::begin(Identity::Key, Some(number()));
    walk.hears(held());
    walk.expects(Action::PeekBusinessKey);
    walk.hears(Event::Peeked(Ok(Some(Decision::Replay(answer(200))))));
    walk.expects(settle(Target::First));
    walk.hears(settled(Settling::Settled));
    let copied = [FollowUp::Copy(answer(200))];
    walk.ends(CallerResponse::Replay(answer(200)), Some(KeyState::Completed), &copied);
    // Both are unknown: looked up, and the number first.
    let mut walk = Walk::begin(Identity::Key, Some(number()));
    walk.hears(held());
    walk.hears(Event::Peeked(Ok(Some(Decision::OutcomeUnknown))));
    walk.expects(Action::LookUp(Decision::OutcomeUnknown));
    walk.hears(Event::LookedUp(Some(answer(200))));
    walk.expects(settle(Target::BusinessKey));
    walk.hears(settled(Settling::Settled));
    walk.expects(settle(Target::First));
    walk.hears(settled(Settling::Settled));
    walk.ends(CallerResponse::Replay(answer(200)), Some(KeyState::Completed), &copied);
    // The number would execute: only the key is settled. Without a number it is the same.
    for number in [Some(number()), None] {
        let mut walk = Walk::begin(Identity::Key, number.clone());
        walk.hears(held());
        if number.is_some() {
            walk.hears(Event::Peeked(Ok(None)));
        }
        walk.expects(Action::LookUp(Decision::OutcomeUnknown));
        walk.hears(Event::LookedUp(Some(answer(200))));
        walk.expects(settle(Target::First));
    }
}

#[test]
fn a_held_key_that_nobody_can_tell_of_says_so() {
    let held = || begun_as(Decision::OutcomeUnknown, KeyState::Unknown);
    for (told, why) in [
        (vec![Event::Peeked(Ok(Some(Decision::InProgress)))], of_number(Rejection::InProgress)),
        (vec![Event::Peeked(Ok(Some(Decision::Mismatch)))], Rejection::OutcomeUnknown),
        (vec![Event::Peeked(Err(Rejection::StoreUnavailable))], Rejection::StoreUnavailable),
        (vec![Event::Peeked(Ok(None)), Event::LookedUp(None)], Rejection::OutcomeUnknown),
    ] {
        let mut walk = Walk::begin(Identity::Key, Some(number()));
        walk.hears(held());
        for told in told {
            walk.hears(told);
        }
        walk.ends(rejected(why), Some(KeyState::Unknown), &[]);
    }
}

#[test]
fn a_number_alone_is_told_of_by_its_name() {
    let mut walk = Walk::at_origin(Identity::BusinessKey, Some(number()));
    walk.hears(Event::Called(Ok(answer(201))));
    walk.expects(Action::Complete(Target::First, answer(201)));
    walk.hears(recorded(KeyState::Completed));
    walk.ends(CallerResponse::Own, Some(KeyState::Completed), &[FollowUp::Copy(answer(201))]);

    let mut walk = Walk::begin(Identity::BusinessKey, Some(number()));
    walk.hears(begun_as(Decision::Mismatch, KeyState::Completed));
    walk.ends(rejected(of_number(Rejection::Mismatch)), Some(KeyState::Completed), &[]);

    let mut walk = Walk::begin(Identity::BusinessKey, Some(number()));
    walk.hears(begun_as(Decision::OutcomeUnknown, KeyState::Unknown));
    walk.expects(Action::LookUp(Decision::OutcomeUnknown));
    walk.hears(Event::LookedUp(Some(answer(200))));
    walk.expects(settle(Target::First));
    walk.hears(settled(Settling::Settled));
    let copied = [FollowUp::Copy(answer(200))];
    walk.ends(CallerResponse::Replay(answer(200)), Some(KeyState::Completed), &copied);
}

#[test]
fn an_event_has_no_copy_and_no_answer_but_that_it_is_done() {
    let mut walk = Walk::at_origin(Identity::Event, None);
    walk.hears(Event::Called(Ok(answer(200))));
    walk.hears(recorded(KeyState::Completed));
    walk.ends(CallerResponse::Own, Some(KeyState::Completed), &[]);

    let gone = Decision::NotReplayable { http_status: Some(200), resource: None };
    for done in [Decision::Replay(answer(200)), gone] {
        let mut walk = Walk::begin(Identity::Event, None);
        walk.hears(begun_as(done, KeyState::Completed));
        walk.ends(CallerResponse::Duplicate, Some(KeyState::Completed), &[]);
    }
    let mut walk = Walk::begin(Identity::Event, None);
    walk.hears(Event::Begun(Err(Rejection::StoreUnavailable)));
    let given_up = [FollowUp::Fail(Target::First, FailCause::NotDispatched)];
    walk.ends(rejected(Rejection::StoreUnavailable), None, &given_up);
}

#[test]
fn what_does_not_belong_to_the_step_executes_nothing() {
    for told in [
        Event::Called(Ok(answer(201))),
        Event::Ended(None),
        Event::Peeked(Ok(None)),
        Event::LookedUp(None),
        Event::Copied(None),
    ] {
        let mut walk = Walk::begin(Identity::Key, Some(number()));
        walk.hears(told.clone());
        walk.ends(rejected(Rejection::Internal), None, &[]);
        walk.hears(told);
        walk.ends(rejected(Rejection::Internal), None, &[]);
    }
}
