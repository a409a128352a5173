//! What holds of an exchange whatever it is told, in whatever order.

use crate::support::write_flow::{
    LEASE, START, Walk, answer, begun, ended, execute, number, recorded, settled, status,
};
use oncekey::exchange::{After, Answer, NamedBy, Of, OriginFailure, Step, Told};
use oncekey::{Completion, Decision, FailCause, KeyState, Millis, Rejection, Settling};
use proptest::prelude::*;

#[test]
fn whatever_is_told_each_record_that_said_execute_gets_an_end() {
    let replies = proptest::collection::vec((any::<u8>(), 0u64..12_000), 1..24);
    let writes = (0usize..4, any::<bool>());
    proptest!(ProptestConfig::with_cases(4000), |((kind, releases) in writes, replies in replies)| {
        let (named_by, number) = [
            (NamedBy::Key, None),
            (NamedBy::Key, Some(number())),
            (NamedBy::Number, Some(number())),
            (NamedBy::Event, None),
        ][kind].clone();
        let unreachable =
            if releases { FailCause::NotDispatched } else { FailCause::ConnectionLost };
        let mut walk = Walk::begin_with(named_by, number.clone(), unreachable);
        let mut owned: Vec<Of> = vec![];
        let mut calls = 0;
        for (pick, wait) in replies {
            let step = walk.step.clone();
            match &step {
                Step::CallOrigin(_) => {
                    calls += 1;
                    let of_number = named_by == NamedBy::Key && number.is_some();
                    prop_assert_eq!(owned.len(), 1 + usize::from(of_number));
                    prop_assert!(walk.now.since(START) < LEASE.half());
                }
                Step::Answer(_) => break,
                _ => {}
            }
            let told = reply(&step, pick);
            if let (Step::Begin(of), Told::Begun(Ok((Decision::Execute(_), _)))) = (&step, &told) {
                owned.push(*of);
            }
            if let (Step::Complete(of, _) | Step::Fail(of, _), Told::Ended(Some(_))) =
                (&step, &told)
            {
                owned.retain(|owned| owned != of);
            }
            walk.waits(Millis::new(if pick % 3 == 0 { wait } else { wait / 100 }));
            walk.hears(told);
        }
        prop_assert!(calls <= 1);
        let Step::Answer(answered) = &walk.step else {
            return Err(TestCaseError::reject("the replies were too few"));
        };
        for of in owned {
            let ends = |after: &After| matches!(after, After::Fail(ended, _) if *ended == of);
            prop_assert!(answered.after.iter().any(ends), "{:?} is left: {:?}", of, answered);
        }
        let own = matches!(answered.answer, Answer::Own | Answer::NotStored);
        prop_assert!(!own || calls == 1);
    });
}

/// One of the things that may come of a step.
fn reply(step: &Step, pick: u8) -> Told {
    let decisions = [
        execute(),
        execute(),
        execute(),
        Decision::Replay(answer(201)),
        Decision::NotReplayable { http_status: Some(201), resource: None },
        Decision::InProgress,
        Decision::OutcomeUnknown,
        Decision::Mismatch,
    ];
    let decision = decisions[usize::from(pick) % decisions.len()].clone();
    let is_silent = pick > 230;
    match step {
        Step::Begin(_) if is_silent => Told::Begun(Err(Rejection::StoreUnavailable)),
        Step::Begin(_) => begun(decision),
        Step::AskReplica => Told::Copied(
            pick.is_multiple_of(2)
                .then(|| (Decision::Replay(answer(201)), status(KeyState::Completed))),
        ),
        Step::RecallNumber if is_silent => Told::Recalled(Err(Rejection::StoreUnavailable)),
        Step::RecallNumber => {
            Told::Recalled(Ok(Some(decision).filter(|decision| *decision != execute())))
        }
        Step::CallOrigin(_) => Told::Called(match pick % 8 {
            0 => Err(OriginFailure::TimedOut),
            1 => Err(OriginFailure::Unreachable),
            2 => Err(OriginFailure::CutOff),
            3 => Ok(answer(500)),
            4 => Ok(answer(402)),
            _ => Ok(answer(201)),
        }),
        Step::LookUp(_) => Told::LookedUp(pick.is_multiple_of(2).then(|| answer(200))),
        Step::Complete(..) | Step::Fail(..) => match pick % 4 {
            0 => ended(Completion::LeaseLost(Box::new(
                Some(decision).filter(|d| *d != execute()).unwrap_or(Decision::InProgress),
            ))),
            1 => Told::Ended(None),
            _ => recorded(KeyState::Completed),
        },
        Step::Settle(..) if is_silent => Told::Settled(Err(Rejection::StoreUnavailable)),
        Step::Settle(..) if pick.is_multiple_of(3) => settled(Settling::NotUnknown),
        Step::Settle(..) => settled(Settling::Settled),
        Step::Answer(_) => unreachable!("it has ended"),
    }
}
