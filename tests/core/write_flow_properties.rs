//! The properties of a write flow with any events in any order.

use crate::support::write_flow::{
    LEASE, START, Walk, begun, business_key, ended, execute, recorded, response, settled, status,
};
use oncekey::write_flow::{
    Action, CallerResponse, Event, FollowUp, Identity, OriginFailure, Target,
};
use oncekey::{Completion, Decision, FailCause, KeyState, Millis, Rejection, Settling};
use proptest::prelude::*;

#[test]
fn every_record_that_returned_execute_gets_an_end_after_any_events() {
    let replies = proptest::collection::vec((any::<u8>(), 0u64..12_000), 1..24);
    let writes = (0usize..4, any::<bool>());
    proptest!(ProptestConfig::with_cases(4000), |((kind, releases) in writes, replies in replies)| {
        let (identity, business_key) = [
            (Identity::Key, None),
            (Identity::Key, Some(business_key())),
            (Identity::BusinessKey, Some(business_key())),
            (Identity::Event, None),
        ][kind].clone();
        let unreachable =
            if releases { FailCause::NotDispatched } else { FailCause::ConnectionLost };
        let mut walk = Walk::begin_with(identity, business_key.clone(), unreachable);
        let mut owned: Vec<Target> = vec![];
        let mut calls = 0;
        for (pick, wait) in replies {
            let step = walk.action.clone();
            match &step {
                Action::CallOrigin(_) => {
                    calls += 1;
                    let of_business_key = identity == Identity::Key && business_key.is_some();
                    prop_assert_eq!(owned.len(), 1 + usize::from(of_business_key));
                    prop_assert!(walk.now.since(START) < LEASE.half());
                }
                Action::Respond(_) => break,
                _ => {}
            }
            let event = reply(&step, pick);
            if let (Action::Begin(of), Event::Begun(Ok((Decision::Execute(_), _)))) = (&step, &event) {
                owned.push(*of);
            }
            if let (
                Action::Complete(of, _) | Action::CompleteAs(of, ..) | Action::Fail(of, _),
                Event::Ended(Some(_)),
            ) =
                (&step, &event)
            {
                owned.retain(|owned| owned != of);
            }
            walk.waits(Millis::new(if pick % 3 == 0 { wait } else { wait / 100 }));
            walk.gets(event);
        }
        prop_assert!(calls <= 1);
        let Action::Respond(outcome) = &walk.action else {
            return Err(TestCaseError::reject("the replies were too few"));
        };
        for of in owned {
            let ends = |after: &FollowUp| matches!(after, FollowUp::Fail(ended, _) if *ended == of);
            prop_assert!(outcome.follow_ups.iter().any(ends), "{:?} is left: {:?}", of, outcome);
        }
        let own = matches!(outcome.response, CallerResponse::Own | CallerResponse::NotStored);
        prop_assert!(!own || calls == 1);
    });
}

/// Returns one of the possible events of a step.
fn reply(step: &Action, pick: u8) -> Event {
    let decisions = [
        execute(),
        execute(),
        execute(),
        Decision::Replay(response(201)),
        Decision::NotReplayable { http_status: Some(201), resource: None },
        Decision::InProgress,
        Decision::OutcomeUnknown,
        Decision::Mismatch,
    ];
    let decision = decisions[usize::from(pick) % decisions.len()].clone();
    let is_silent = pick > 230;
    match step {
        Action::Begin(Target::First) if pick == 230 => {
            Event::Recalled(Decision::Replay(response(201)), status(KeyState::Completed))
        }
        Action::Begin(_) if is_silent => Event::Begun(Err(Rejection::StoreUnavailable)),
        Action::Begin(_) => begun(decision),
        Action::AskReplica => Event::Copied(
            pick.is_multiple_of(2)
                .then(|| (Decision::Replay(response(201)), status(KeyState::Completed))),
        ),
        Action::PeekBusinessKey if is_silent => Event::Peeked(Err(Rejection::StoreUnavailable)),
        Action::PeekBusinessKey => {
            Event::Peeked(Ok(Some(decision).filter(|decision| *decision != execute())))
        }
        Action::CallOrigin(_) => Event::Called(match pick % 8 {
            0 => Err(OriginFailure::TimedOut),
            1 => Err(OriginFailure::Unreachable),
            2 => Err(OriginFailure::CutOff),
            3 => Ok(response(500)),
            4 => Ok(response(402)),
            _ => Ok(response(201)),
        }),
        Action::LookUp(_) => Event::LookedUp(pick.is_multiple_of(2).then(|| response(200))),
        Action::Complete(..) | Action::CompleteAs(..) | Action::Fail(..) => match pick % 4 {
            0 => ended(Completion::LeaseLost(Box::new(
                Some(decision).filter(|d| *d != execute()).unwrap_or(Decision::InProgress),
            ))),
            1 => Event::Ended(None),
            _ => recorded(KeyState::Completed),
        },
        Action::Settle(..) if is_silent => Event::Settled(Err(Rejection::StoreUnavailable)),
        Action::Settle(..) if pick.is_multiple_of(3) => settled(Settling::NotUnknown),
        Action::Settle(..) => settled(Settling::Settled),
        Action::Respond(_) => unreachable!("it has ended"),
    }
}
