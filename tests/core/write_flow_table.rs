//! One write through a gateway, step by step: every row of the table in `src/write_flow/mod.rs`.

use crate::support::write_flow::{
    EXECUTION, LEASE, Walk, answer, begun, begun_as, ended, execute, number, of_number, recorded,
    rejected, settle, settled, status,
};
use oncekey::exchange::{After, Answer, NamedBy, Of, OriginFailure, Step, Told};
use oncekey::{
    Completion, Decision, FailCause, KeyState, Millis, Recourse, Rejection, Settling,
    UnknownOutcome,
};

#[test]
fn a_key_alone_is_begun_sent_recorded_and_answered() {
    let mut walk = Walk::begin(NamedBy::Key, None);
    walk.expects(Step::Begin(Of::First));
    walk.hears(begun(execute()));
    walk.expects(Step::CallOrigin(EXECUTION));
    walk.hears(Told::Called(Ok(answer(201))));
    walk.expects(Step::Complete(Of::First, answer(201)));
    walk.hears(recorded(KeyState::Completed));
    walk.ends(Answer::Own, Some(KeyState::Completed), &[After::Copy(answer(201))]);
}

#[test]
fn who_is_not_told_to_execute_never_calls_the_origin() {
    let not_replayable = Decision::NotReplayable { http_status: Some(200), resource: None };
    for (decision, expected) in [
        (Decision::Replay(answer(201)), Answer::Replay(answer(201))),
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
            let mut walk = Walk::begin(NamedBy::Key, number);
            walk.hears(begun_as(decision.clone(), KeyState::Completed));
            walk.ends(expected.clone(), Some(KeyState::Completed), &[]);
        }
    }
}

#[test]
fn a_replica_answers_in_the_place_of_a_slow_or_silent_authority() {
    let copied = Told::Copied(Some((Decision::Replay(answer(201)), status(KeyState::Completed))));
    let given_up = [After::Fail(Of::First, FailCause::NotDispatched)];
    for slow in [true, false] {
        let mut walk = Walk::begin(NamedBy::Key, Some(number()));
        if !slow {
            walk.hears(Told::Begun(Err(Rejection::StoreUnavailable)));
            walk.expects(Step::AskReplica);
        }
        walk.hears(copied.clone());
        walk.ends(Answer::Replay(answer(201)), Some(KeyState::Completed), &given_up);
    }
}

#[test]
fn a_replica_that_has_nothing_proves_nothing() {
    for why in [Rejection::StoreUnavailable, Rejection::RecordUnreadable] {
        let mut walk = Walk::begin(NamedBy::Key, None);
        walk.hears(Told::Begun(Err(why.clone())));
        walk.expects(Step::AskReplica);
        walk.hears(Told::Copied(None));
        // Its `begin` may still arrive: the record must not wait for this attempt.
        let given_up = [After::Fail(Of::First, FailCause::NotDispatched)];
        walk.ends(rejected(why), None, &given_up);
    }
}

#[test]
fn who_has_waited_for_half_a_lease_does_not_execute() {
    for waited in [LEASE.half(), LEASE] {
        let mut walk = Walk::begin(NamedBy::Key, None);
        walk.waits(waited);
        walk.hears(begun(execute()));
        walk.expects(Step::Fail(Of::First, FailCause::NotDispatched));
        walk.hears(recorded(KeyState::Released));
        walk.ends(rejected(Rejection::TooLateToDispatch), Some(KeyState::Released), &[]);
    }
    let mut walk = Walk::begin(NamedBy::Key, None);
    walk.waits(Millis::new(LEASE.half().as_u64() - 1));
    walk.hears(begun(execute()));
    walk.expects(Step::CallOrigin(EXECUTION));
}

#[test]
fn the_wait_counts_from_the_first_begin_and_both_records_are_given_back() {
    let mut walk = Walk::begin(NamedBy::Key, Some(number()));
    walk.waits(Millis::from_seconds(3));
    walk.hears(begun(execute()));
    walk.expects(Step::Begin(Of::Number));
    walk.waits(Millis::from_seconds(3));
    walk.hears(begun(execute()));
    walk.expects(Step::Fail(Of::Number, FailCause::NotDispatched));
    walk.hears(Told::Ended(None));
    walk.expects(Step::Fail(Of::First, FailCause::NotDispatched));
    walk.hears(Told::Ended(None));
    let later = [Of::Number, Of::First].map(|of| After::Fail(of, FailCause::NotDispatched));
    walk.ends(rejected(Rejection::TooLateToDispatch), None, &later);
}

#[test]
fn who_is_refused_after_a_long_wait_says_that_it_does_not_execute() {
    // Its first call may have got the record, and the reply been lost.
    let late = [After::Fail(Of::First, FailCause::NotDispatched)];
    for (waited, after) in [(LEASE.half(), &late[..]), (Millis::new(4999), &[])] {
        let mut walk = Walk::begin(NamedBy::Key, None);
        walk.waits(waited);
        walk.hears(begun_as(Decision::InProgress, KeyState::InProgress));
        walk.ends(rejected(Rejection::InProgress), Some(KeyState::InProgress), after);
    }
    // And so for the number, from when that was asked.
    let mut walk = Walk::begin(NamedBy::Key, Some(number()));
    walk.waits(Millis::from_seconds(4));
    walk.hears(begun(execute()));
    walk.waits(LEASE.half());
    walk.hears(begun(Decision::InProgress));
    walk.hears(recorded(KeyState::Released));
    let late = [After::Fail(Of::Number, FailCause::NotDispatched)];
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
        let mut walk = Walk::begin_with(NamedBy::Key, Some(number()), unreachable);
        walk.hears(begun(execute()));
        walk.hears(begun(execute()));
        walk.hears(Told::Called(Err(failure)));
        walk.expects(Step::Fail(Of::Number, cause));
        walk.hears(recorded(KeyState::Unknown));
        walk.expects(Step::Fail(Of::First, cause));
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
        (ConnectionLost, Hold, Recourse::AskWithKey),
        (NotDispatched, Hold, Recourse::NotExecuted),
        (NotDispatched, Retry, Recourse::NotExecuted),
    ] {
        let why = Rejection::OriginUnreachable(recourse);
        for (named_by, number, why) in [
            (NamedBy::Key, None, why.clone()),
            (NamedBy::Event, None, why.clone()),
            (NamedBy::Number, Some(number()), of_number(why)),
        ] {
            let mut walk = Walk::begin_under(named_by, number, unreachable, policy);
            walk.hears(begun(execute()));
            walk.hears(Told::Called(Err(OriginFailure::Unreachable)));
            walk.expects(Step::Fail(Of::First, unreachable));
            walk.hears(recorded(KeyState::Unknown));
            walk.ends(rejected(why), Some(KeyState::Unknown), &[]);
        }
    }
}

#[test]
fn an_overtaken_attempt_gives_what_stands_never_its_own_answer() {
    let lost = || ended(Completion::LeaseLost(Box::new(Decision::Replay(answer(200)))));
    let mut walk = Walk::at_origin(NamedBy::Key, None);
    walk.hears(Told::Called(Ok(answer(201))));
    walk.hears(lost());
    walk.ends(Answer::Replay(answer(200)), Some(KeyState::Completed), &[]);

    let mut walk = Walk::at_origin(NamedBy::Key, None);
    walk.hears(Told::Called(Err(OriginFailure::TimedOut)));
    walk.hears(lost());
    walk.ends(Answer::Replay(answer(200)), Some(KeyState::Completed), &[]);
}

#[test]
fn an_answer_that_nothing_could_record_says_so_and_holds_the_key() {
    for ended in [Told::Ended(None), ended(Completion::RecordGone)] {
        let mut walk = Walk::at_origin(NamedBy::Key, None);
        walk.hears(Told::Called(Ok(answer(201))));
        walk.hears(ended);
        let held = [After::Fail(Of::First, FailCause::NotStored)];
        walk.ends(Answer::NotStored, None, &held);
    }
}

#[test]
fn an_answer_that_is_none_yet_holds_nothing_when_it_could_not_be_recorded() {
    use FailCause::{ConnectionLost, NotDispatched, NotStored};
    for (named_by, status, cause) in [
        (NamedBy::Key, 201, NotStored),
        (NamedBy::Key, 402, NotStored),
        (NamedBy::Key, 503, ConnectionLost),
        (NamedBy::Key, 429, NotDispatched),
        (NamedBy::Key, 307, NotDispatched),
        // Only a success binds a number or an event, and an event is sent again.
        (NamedBy::Number, 201, NotStored),
        (NamedBy::Number, 402, NotDispatched),
        (NamedBy::Event, 200, ConnectionLost),
        (NamedBy::Event, 400, NotDispatched),
        (NamedBy::Event, 500, ConnectionLost),
    ] {
        let number = Some(number()).filter(|_| named_by == NamedBy::Number);
        let mut walk = Walk::at_origin(named_by, number);
        walk.hears(Told::Called(Ok(answer(status))));
        walk.hears(Told::Ended(None));
        walk.ends(Answer::NotStored, None, &[After::Fail(Of::First, cause)]);
    }
    // The number beside a key, by its own rule.
    let mut walk = Walk::at_origin(NamedBy::Key, Some(number()));
    walk.hears(Told::Called(Ok(answer(402))));
    walk.hears(Told::Ended(None));
    walk.hears(Told::Ended(None));
    let after = [After::Fail(Of::First, NotStored), After::Fail(Of::Number, NotDispatched)];
    walk.ends(Answer::NotStored, None, &after);
}

#[test]
fn the_number_is_completed_before_its_key() {
    let mut walk = Walk::at_origin(NamedBy::Key, Some(number()));
    walk.hears(Told::Called(Ok(answer(201))));
    walk.expects(Step::Complete(Of::Number, answer(201)));
    walk.hears(recorded(KeyState::Completed));
    walk.expects(Step::Complete(Of::First, answer(201)));
    walk.hears(recorded(KeyState::Completed));
    walk.ends(Answer::Own, Some(KeyState::Completed), &[After::Copy(answer(201))]);
}

#[test]
fn what_a_number_has_is_not_lost_when_its_key_could_not_be_stored() {
    for (status, expected) in [(201, Answer::Own), (402, Answer::NotStored)] {
        let mut walk = Walk::at_origin(NamedBy::Key, Some(number()));
        walk.hears(Told::Called(Ok(answer(status))));
        walk.hears(recorded(KeyState::Completed));
        walk.hears(Told::Ended(None));
        let held = [After::Fail(Of::First, FailCause::NotStored)];
        walk.ends(expected, None, &held);
    }
    // The number could not be stored: the key has the answer, and the number is held.
    let mut walk = Walk::at_origin(NamedBy::Key, Some(number()));
    walk.hears(Told::Called(Ok(answer(201))));
    walk.hears(Told::Ended(None));
    walk.expects(Step::Complete(Of::First, answer(201)));
    walk.hears(recorded(KeyState::Completed));
    let after = [After::Copy(answer(201)), After::Fail(Of::Number, FailCause::NotStored)];
    walk.ends(Answer::Own, Some(KeyState::Completed), &after);
    // Neither: both are held.
    let mut walk = Walk::at_origin(NamedBy::Key, Some(number()));
    walk.hears(Told::Called(Ok(answer(201))));
    walk.hears(Told::Ended(None));
    walk.hears(Told::Ended(None));
    walk.ends(
        Answer::NotStored,
        None,
        &[Of::First, Of::Number].map(|of| After::Fail(of, FailCause::NotStored)),
    );
}

#[test]
fn a_number_that_was_overtaken_says_what_becomes_of_the_key() {
    let lost = |stands| ended(Completion::LeaseLost(Box::new(stands)));
    let mut walk = Walk::at_origin(NamedBy::Key, Some(number()));
    walk.hears(Told::Called(Ok(answer(201))));
    walk.hears(lost(Decision::Replay(answer(200))));
    walk.expects(Step::Complete(Of::First, answer(200)));
    walk.hears(recorded(KeyState::Completed));
    let copied = [After::Copy(answer(200))];
    walk.ends(Answer::Replay(answer(200)), Some(KeyState::Completed), &copied);

    let mut walk = Walk::at_origin(NamedBy::Key, Some(number()));
    walk.hears(Told::Called(Ok(answer(402))));
    walk.hears(lost(Decision::InProgress));
    walk.expects(Step::Fail(Of::First, FailCause::ConnectionLost));
    walk.hears(recorded(KeyState::Unknown));
    walk.ends(rejected(of_number(Rejection::InProgress)), Some(KeyState::Unknown), &[]);

    let mut walk = Walk::at_origin(NamedBy::Key, Some(number()));
    walk.hears(Told::Called(Ok(answer(500))));
    walk.hears(lost(Decision::InProgress));
    walk.expects(Step::Complete(Of::First, answer(500)));
}

#[test]
fn a_key_whose_number_has_the_answer_adopts_it() {
    let mut walk = Walk::begin(NamedBy::Key, Some(number()));
    walk.hears(begun(execute()));
    walk.hears(begun(Decision::Replay(answer(201))));
    walk.expects(Step::Complete(Of::First, answer(201)));
    walk.hears(recorded(KeyState::Completed));
    let copied = [After::Copy(answer(201))];
    walk.ends(Answer::Replay(answer(201)), Some(KeyState::Completed), &copied);
    // It cannot be stored: the number still has it, and nothing was dispatched.
    let mut walk = Walk::begin(NamedBy::Key, Some(number()));
    walk.hears(begun(execute()));
    walk.hears(begun(Decision::Replay(answer(201))));
    walk.hears(Told::Ended(None));
    let given_up = [After::Fail(Of::First, FailCause::NotDispatched)];
    walk.ends(Answer::Replay(answer(201)), None, &given_up);
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
        let mut walk = Walk::begin(NamedBy::Key, Some(number()));
        walk.hears(begun(execute()));
        walk.hears(begun(decision));
        walk.expects(Step::Fail(Of::First, FailCause::NotDispatched));
        walk.hears(recorded(KeyState::Released));
        walk.ends(rejected(of_number(why)), Some(KeyState::Released), &[]);
    }
    // Silence: its `begin` may still arrive.
    let mut walk = Walk::begin(NamedBy::Key, Some(number()));
    walk.hears(begun(execute()));
    walk.hears(Told::Begun(Err(Rejection::StoreUnavailable)));
    walk.expects(Step::Fail(Of::First, FailCause::NotDispatched));
    walk.hears(recorded(KeyState::Released));
    let given_up = [After::Fail(Of::Number, FailCause::NotDispatched)];
    walk.ends(rejected(Rejection::StoreUnavailable), Some(KeyState::Released), &given_up);
}

#[test]
fn a_number_whose_outcome_is_unknown_is_looked_up_and_settled_before_the_key() {
    let unknown = Decision::OutcomeUnknown;
    let mut walk = Walk::begin(NamedBy::Key, Some(number()));
    walk.hears(begun(execute()));
    walk.hears(begun(unknown.clone()));
    walk.expects(Step::LookUp(unknown.clone()));
    walk.hears(Told::LookedUp(Some(answer(200))));
    walk.expects(settle(Of::Number));
    walk.hears(settled(Settling::Settled));
    walk.expects(Step::Complete(Of::First, answer(200)));
    walk.hears(recorded(KeyState::Completed));
    let copied = [After::Copy(answer(200))];
    walk.ends(Answer::Replay(answer(200)), Some(KeyState::Completed), &copied);
    // Nothing was found, or somebody else found out: the key is given back.
    for (told, why) in [
        (vec![Told::LookedUp(None)], of_number(Rejection::OutcomeUnknown)),
        (
            vec![Told::LookedUp(Some(answer(200))), settled(Settling::NotUnknown)],
            Rejection::InProgress,
        ),
        (
            vec![
                Told::LookedUp(Some(answer(200))),
                Told::Settled(Err(Rejection::StoreUnavailable)),
            ],
            Rejection::StoreUnavailable,
        ),
    ] {
        let mut walk = Walk::begin(NamedBy::Key, Some(number()));
        walk.hears(begun(execute()));
        walk.hears(begun(unknown.clone()));
        for told in told {
            walk.hears(told);
        }
        walk.expects(Step::Fail(Of::First, FailCause::NotDispatched));
        walk.hears(recorded(KeyState::Released));
        walk.ends(rejected(why), Some(KeyState::Released), &[]);
    }
    // Its content is gone and the status tells: nothing is to be settled.
    let gone = Decision::NotReplayable { http_status: Some(201), resource: None };
    let mut walk = Walk::begin(NamedBy::Key, Some(number()));
    walk.hears(begun(execute()));
    walk.hears(begun(gone.clone()));
    walk.expects(Step::LookUp(gone));
    walk.hears(Told::LookedUp(Some(answer(200))));
    walk.expects(Step::Complete(Of::First, answer(200)));
}

#[test]
fn a_held_key_learns_from_its_number_or_from_a_look_up() {
    let held = || begun_as(Decision::OutcomeUnknown, KeyState::Unknown);
    // The number has the answer: the key is settled with it.
    let mut walk = Walk::begin(NamedBy::Key, Some(number()));
    walk.hears(held());
    walk.expects(Step::RecallNumber);
    walk.hears(Told::Recalled(Ok(Some(Decision::Replay(answer(200))))));
    walk.expects(settle(Of::First));
    walk.hears(settled(Settling::Settled));
    let copied = [After::Copy(answer(200))];
    walk.ends(Answer::Replay(answer(200)), Some(KeyState::Completed), &copied);
    // Both are unknown: looked up, and the number first.
    let mut walk = Walk::begin(NamedBy::Key, Some(number()));
    walk.hears(held());
    walk.hears(Told::Recalled(Ok(Some(Decision::OutcomeUnknown))));
    walk.expects(Step::LookUp(Decision::OutcomeUnknown));
    walk.hears(Told::LookedUp(Some(answer(200))));
    walk.expects(settle(Of::Number));
    walk.hears(settled(Settling::Settled));
    walk.expects(settle(Of::First));
    walk.hears(settled(Settling::Settled));
    walk.ends(Answer::Replay(answer(200)), Some(KeyState::Completed), &copied);
    // The number would execute: only the key is settled. Without a number it is the same.
    for number in [Some(number()), None] {
        let mut walk = Walk::begin(NamedBy::Key, number.clone());
        walk.hears(held());
        if number.is_some() {
            walk.hears(Told::Recalled(Ok(None)));
        }
        walk.expects(Step::LookUp(Decision::OutcomeUnknown));
        walk.hears(Told::LookedUp(Some(answer(200))));
        walk.expects(settle(Of::First));
    }
}

#[test]
fn a_held_key_that_nobody_can_tell_of_says_so() {
    let held = || begun_as(Decision::OutcomeUnknown, KeyState::Unknown);
    for (told, why) in [
        (vec![Told::Recalled(Ok(Some(Decision::InProgress)))], of_number(Rejection::InProgress)),
        (vec![Told::Recalled(Ok(Some(Decision::Mismatch)))], Rejection::OutcomeUnknown),
        (vec![Told::Recalled(Err(Rejection::StoreUnavailable))], Rejection::StoreUnavailable),
        (vec![Told::Recalled(Ok(None)), Told::LookedUp(None)], Rejection::OutcomeUnknown),
    ] {
        let mut walk = Walk::begin(NamedBy::Key, Some(number()));
        walk.hears(held());
        for told in told {
            walk.hears(told);
        }
        walk.ends(rejected(why), Some(KeyState::Unknown), &[]);
    }
}

#[test]
fn a_number_alone_is_told_of_by_its_name() {
    let mut walk = Walk::at_origin(NamedBy::Number, Some(number()));
    walk.hears(Told::Called(Ok(answer(201))));
    walk.expects(Step::Complete(Of::First, answer(201)));
    walk.hears(recorded(KeyState::Completed));
    walk.ends(Answer::Own, Some(KeyState::Completed), &[After::Copy(answer(201))]);

    let mut walk = Walk::begin(NamedBy::Number, Some(number()));
    walk.hears(begun_as(Decision::Mismatch, KeyState::Completed));
    walk.ends(rejected(of_number(Rejection::Mismatch)), Some(KeyState::Completed), &[]);

    let mut walk = Walk::begin(NamedBy::Number, Some(number()));
    walk.hears(begun_as(Decision::OutcomeUnknown, KeyState::Unknown));
    walk.expects(Step::LookUp(Decision::OutcomeUnknown));
    walk.hears(Told::LookedUp(Some(answer(200))));
    walk.expects(settle(Of::First));
    walk.hears(settled(Settling::Settled));
    let copied = [After::Copy(answer(200))];
    walk.ends(Answer::Replay(answer(200)), Some(KeyState::Completed), &copied);
}

#[test]
fn an_event_has_no_copy_and_no_answer_but_that_it_is_done() {
    let mut walk = Walk::at_origin(NamedBy::Event, None);
    walk.hears(Told::Called(Ok(answer(200))));
    walk.hears(recorded(KeyState::Completed));
    walk.ends(Answer::Own, Some(KeyState::Completed), &[]);

    let gone = Decision::NotReplayable { http_status: Some(200), resource: None };
    for done in [Decision::Replay(answer(200)), gone] {
        let mut walk = Walk::begin(NamedBy::Event, None);
        walk.hears(begun_as(done, KeyState::Completed));
        walk.ends(Answer::Duplicate, Some(KeyState::Completed), &[]);
    }
    let mut walk = Walk::begin(NamedBy::Event, None);
    walk.hears(Told::Begun(Err(Rejection::StoreUnavailable)));
    let given_up = [After::Fail(Of::First, FailCause::NotDispatched)];
    walk.ends(rejected(Rejection::StoreUnavailable), None, &given_up);
}

#[test]
fn what_does_not_belong_to_the_step_executes_nothing() {
    for told in [
        Told::Called(Ok(answer(201))),
        Told::Ended(None),
        Told::Recalled(Ok(None)),
        Told::LookedUp(None),
        Told::Copied(None),
    ] {
        let mut walk = Walk::begin(NamedBy::Key, Some(number()));
        walk.hears(told.clone());
        walk.ends(rejected(Rejection::Internal), None, &[]);
        walk.hears(told);
        walk.ends(rejected(Rejection::Internal), None, &[]);
    }
}
