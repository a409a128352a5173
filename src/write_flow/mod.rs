//! One write on its way through a gateway: what is asked of its records and of the origin, in which
//! order, and what its caller gets.
//!
//! A gateway does what the [`Step`] says, [tells](Exchange::tell) what came of it, and so on until the
//! step is an answer. Sending, waiting and asking again are the gateway's; what was lost or late is
//! told like everything else.
//!
//! # The rules
//!
//! 1. The origin is called by who was told `Execute` by every record of the write, and has not
//!    waited for half a lease: somebody else may own the key by then.
//! 2. The answer is recorded before anybody gets it, the number's record first: a death between the
//!    two leaves the number with the answer, and the key finds it there.
//! 3. An attempt that does not execute says so, at once or after the answer, wherever a `begin` of
//!    its may have arrived.
//! 4. A caller gets the attempt's own answer where that was recorded, and else what stands.
//!    An answer that nothing could record goes out marked as that, and the key is held: a retry must
//!    not make another answer. An answer that is none yet, a 503 or a 429, holds nothing, and an
//!    event's sender has no answer that could differ.
//! 5. A replica is asked where the authority is slow or silent; that it has nothing means nothing.
//!
//! # The order
//!
//! | step | told | next |
//! |---|---|---|
//! | begin first | Execute | begin number, where there is one; else the origin |
//! | | OutcomeUnknown | recall the number, where there is one; else look it up |
//! | | anything else | it is answered |
//! | | silence | ask the replica |
//! | begin number | Execute | the origin |
//! | | anything else | [`business_key::pair`] says what becomes of the key |
//! | recall number | | [`business_key::held`] says what becomes of the key |
//! | call origin | an answer | complete number, complete first, answer |
//! | | none | fail number, fail first, answer |
//! | look up | found | settle what is unknown, complete what is owned, answer |
//! | | not found | fail what is owned, answer |

mod action;

pub use action::{After, Answer, Answered, NamedBy, Of, OriginFailure, Step, Told, Write};

use crate::business_key::{self, KeyEnd, Pairing};
use crate::decision::{Completion, Decision, Execution, FailCause, Settlement, Settling};
use crate::error::{Recourse, Rejection};
use crate::policy::{AnswerClass, UnknownOutcome};
use crate::record::KeyStatus;
use crate::response::StoredResponse;
use crate::time::UnixMillis;

/// A write on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Exchange {
    write: Write,
    /// When the first `begin` was first sent, by the gateway's clock.
    sent_at: UnixMillis,
    phase: Phase,
    after: Vec<After>,
}

/// What is being waited for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    BeginFirst,
    /// The replica, and what to say where it knows nothing.
    Replica(Rejection),
    /// The number's `begin`, sent at that time, by an attempt that owns its key.
    BeginNumber(Execution, UnixMillis),
    Recall(Stands),
    LookUp(Decision, Stands),
    Settle(Settle),
    Origin,
    /// The end of the number's part, with the origin's answer in hand.
    CompleteNumber(StoredResponse),
    /// The end of the first record's part, with the origin's answer. The number may have it already.
    CompleteFirst {
        own: StoredResponse,
        is_bound: bool,
    },
    /// The end of the first record's part, with an answer that was stored elsewhere.
    Adopt(StoredResponse),
    FailNumber(FailCause, Rejection),
    FailFirst(FailCause, Rejection),
    Answered,
}

/// How a write stands that does not call the origin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Stands {
    /// It owns its key, whose part has to end.
    owns_key: bool,
    /// Its key is held.
    is_held: bool,
    /// The first record's outcome is unknown, and so is the number's beside it.
    first_is_unknown: bool,
    number_is_unknown: bool,
    /// How the first record was told.
    status: Option<KeyStatus>,
}

/// What was found becomes the answer of what is unknown, one record after the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Settle {
    found: StoredResponse,
    left: Vec<Of>,
    settled: Option<Option<KeyStatus>>,
    stands: Stands,
}

impl Exchange {
    /// A write sets out at `now`, by the gateway's clock: the exchange, and its first step.
    pub fn begin(write: Write, now: UnixMillis) -> (Self, Step) {
        let exchange = Self { write, sent_at: now, phase: Phase::BeginFirst, after: Vec::new() };
        (exchange, Step::Begin(Of::First))
    }

    /// What came of the step, at `now` by the gateway's clock. What does not belong to the step is
    /// a fault of the gateway, and answered as one: nothing more is executed.
    pub fn tell(&mut self, told: Told, now: UnixMillis) -> Step {
        let phase = core::mem::replace(&mut self.phase, Phase::Answered);
        match (phase, told) {
            (Phase::BeginFirst, Told::Begun(begun)) => self.first_begun(begun, now),
            // Final, so nothing that the authority could still say counts for more.
            (Phase::BeginFirst | Phase::Replica(_), Told::Copied(Some((decision, status)))) => {
                self.after.push(After::Fail(Of::First, FailCause::NotDispatched));
                self.answer_by(decision, status)
            }
            (Phase::Replica(rejection), Told::Copied(None)) => {
                self.after.push(After::Fail(Of::First, FailCause::NotDispatched));
                self.reject(rejection, None)
            }
            (Phase::BeginNumber(key, sent_at), Told::Begun(begun)) => {
                self.number_begun(key, begun.map(|(decision, _)| decision), sent_at, now)
            }
            (Phase::Recall(stands), Told::Recalled(recalled)) => self.recalled(recalled, stands),
            (Phase::LookUp(_, stands), Told::LookedUp(Some(found))) => {
                self.settle_with(found, stands)
            }
            (Phase::LookUp(decision, stands), Told::LookedUp(None)) => self.end(decision, stands),
            (Phase::Settle(settle), Told::Settled(settled)) => self.settled(settle, settled),
            (Phase::Origin, Told::Called(Ok(own))) => self.origin_answered(own),
            (Phase::Origin, Told::Called(Err(failure))) => self.origin_failed(failure),
            (Phase::CompleteNumber(own), Told::Ended(ended)) => self.number_ended(own, ended),
            (Phase::CompleteFirst { own, is_bound }, Told::Ended(ended)) => {
                self.first_ended(own, is_bound, ended)
            }
            (Phase::Adopt(response), Told::Ended(ended)) => self.adopted(response, ended),
            (Phase::FailNumber(cause, rejection), Told::Ended(ended)) => {
                if ended.is_none() {
                    self.after.push(After::Fail(Of::Number, cause));
                }
                self.fail_first(cause, rejection)
            }
            (Phase::FailFirst(cause, rejection), Told::Ended(ended)) => match ended {
                Some((Completion::Recorded, status)) => self.reject(rejection, status),
                Some((Completion::LeaseLost(stands), status)) => self.answer_by(*stands, status),
                Some((Completion::RecordGone, _)) | None => {
                    self.after.push(After::Fail(Of::First, cause));
                    self.reject(rejection, None)
                }
            },
            _ => self.reject(Rejection::Internal, None),
        }
    }

    fn first_begun(
        &mut self,
        begun: Result<(Decision, Option<KeyStatus>), Rejection>,
        now: UnixMillis,
    ) -> Step {
        match begun {
            Ok((Decision::Execute(execution), _)) if self.has_second() => {
                self.phase = Phase::BeginNumber(execution, now);
                Step::Begin(Of::Number)
            }
            Ok((Decision::Execute(execution), _)) => self.dispatch(execution, now),
            Ok((decision, status)) => self.first_stands(decision, status, now),
            // There are no copies of events.
            Err(rejection) if self.write.named_by == NamedBy::Event => {
                self.after.push(After::Fail(Of::First, FailCause::NotDispatched));
                self.reject(rejection, None)
            }
            Err(rejection) => {
                self.phase = Phase::Replica(rejection);
                Step::AskReplica
            }
        }
    }

    /// The first record says that it does not execute.
    fn first_stands(
        &mut self,
        decision: Decision,
        status: Option<KeyStatus>,
        now: UnixMillis,
    ) -> Step {
        self.give_up_if_late(Of::First, self.sent_at, now);
        let is_unknown = decision == Decision::OutcomeUnknown;
        let is_held = is_unknown && self.write.named_by != NamedBy::Number;
        let stands = Stands { is_held, first_is_unknown: is_unknown, status, ..Stands::default() };
        if self.write.named_by == NamedBy::Number {
            self.carry_out(business_key::alone(decision), stands)
        } else if is_held && self.has_second() {
            // Its number may know, or the origin.
            self.phase = Phase::Recall(stands);
            Step::RecallNumber
        } else if is_held {
            self.carry_out(business_key::held(None), stands)
        } else {
            self.end(decision, stands)
        }
    }

    fn number_begun(
        &mut self,
        key: Execution,
        begun: Result<Decision, Rejection>,
        sent_at: UnixMillis,
        now: UnixMillis,
    ) -> Step {
        let owns_key = Stands { owns_key: true, ..Stands::default() };
        match begun.map(|decision| business_key::pair(key, decision)) {
            Ok(Pairing::Dispatch(execution)) => self.dispatch(execution, now),
            Ok(pairing) => {
                self.give_up_if_late(Of::Number, sent_at, now);
                let number_is_unknown = pairing == Pairing::LookUp(Decision::OutcomeUnknown);
                self.carry_out(pairing, Stands { number_is_unknown, ..owns_key })
            }
            Err(rejection) => {
                self.after.push(After::Fail(Of::Number, FailCause::NotDispatched));
                self.refuse(rejection, owns_key)
            }
        }
    }

    fn recalled(&mut self, recalled: Result<Option<Decision>, Rejection>, stands: Stands) -> Step {
        match recalled {
            Ok(number) => {
                let number_is_unknown = number == Some(Decision::OutcomeUnknown);
                self.carry_out(business_key::held(number), Stands { number_is_unknown, ..stands })
            }
            Err(rejection) => self.refuse(rejection, stands),
        }
    }

    fn carry_out(&mut self, pairing: Pairing, stands: Stands) -> Step {
        match pairing {
            Pairing::Adopt(response) => self.settle_with(response, stands),
            Pairing::LookUp(decision) => {
                self.phase = Phase::LookUp(decision.clone(), stands);
                Step::LookUp(decision)
            }
            Pairing::End(decision) => self.end(decision, stands),
            // Who may execute is not here.
            Pairing::Dispatch(_) => self.end(Decision::InProgress, stands),
        }
    }

    fn settle_with(&mut self, found: StoredResponse, stands: Stands) -> Step {
        let first = stands.first_is_unknown.then_some(Of::First);
        let number = stands.number_is_unknown.then_some(Of::Number);
        // Taken from the end: the number before the key.
        let left = first.into_iter().chain(number).collect();
        self.settle_next(Settle { found, left, settled: None, stands })
    }

    fn settle_next(&mut self, mut settle: Settle) -> Step {
        if let Some(of) = settle.left.pop() {
            let settlement = Settlement::Executed(settle.found.clone());
            self.phase = Phase::Settle(settle);
            return Step::Settle(of, settlement);
        }
        let Settle { found, settled, stands, .. } = settle;
        match settled {
            _ if stands.owns_key => self.adopt(found),
            Some(status) => self.replay_copied(found, status),
            None => self.answer(Answer::Replay(found), stands.status),
        }
    }

    fn settled(
        &mut self,
        settle: Settle,
        settled: Result<(Settling, Option<KeyStatus>), Rejection>,
    ) -> Step {
        match settled {
            Ok((Settling::Settled, status)) => {
                self.settle_next(Settle { settled: Some(status), ..settle })
            }
            // Somebody else has found out: the caller comes again.
            Ok((Settling::NotUnknown, _)) => self.refuse(Rejection::InProgress, settle.stands),
            Err(rejection) => self.refuse(rejection, settle.stands),
        }
    }

    /// It ends by what stands.
    fn end(&mut self, decision: Decision, stands: Stands) -> Step {
        let is_of_number = stands.is_held && decision != Decision::OutcomeUnknown;
        if !stands.owns_key && !is_of_number {
            return self.answer_by(decision, stands.status);
        }
        let why = decision.rejection().unwrap_or(Rejection::Internal);
        self.refuse(self.of_number(why), stands)
    }

    fn refuse(&mut self, rejection: Rejection, stands: Stands) -> Step {
        if stands.owns_key {
            self.fail_first(FailCause::NotDispatched, rejection)
        } else {
            self.reject(rejection, stands.status)
        }
    }

    fn dispatch(&mut self, execution: Execution, now: UnixMillis) -> Step {
        if execution.may_dispatch(self.sent_at, now) {
            self.phase = Phase::Origin;
            Step::CallOrigin(execution)
        } else {
            self.fail(FailCause::NotDispatched, Rejection::TooLateToDispatch)
        }
    }

    fn origin_answered(&mut self, own: StoredResponse) -> Step {
        if self.has_second() {
            self.phase = Phase::CompleteNumber(own.clone());
            Step::Complete(Of::Number, own)
        } else {
            self.complete_first(own, false)
        }
    }

    fn origin_failed(&mut self, failure: OriginFailure) -> Step {
        let (cause, why): (_, fn(Recourse) -> Rejection) = match failure {
            OriginFailure::TimedOut => (FailCause::TimedOut, Rejection::OriginTimedOut),
            OriginFailure::Unreachable => (self.write.unreachable, Rejection::OriginUnreachable),
            OriginFailure::CutOff => (FailCause::ConnectionLost, Rejection::OriginUnreachable),
        };
        let why = why(match (cause, self.write.unknown_outcome) {
            (FailCause::NotDispatched, _) => Recourse::NotExecuted,
            (_, UnknownOutcome::Retry) => Recourse::RetryWithKey,
            (_, UnknownOutcome::Hold) => Recourse::AskWithKey,
        });
        let is_of_number = self.write.named_by == NamedBy::Number;
        self.fail(cause, if is_of_number { self.of_number(why) } else { why })
    }

    fn number_ended(
        &mut self,
        own: StoredResponse,
        ended: Option<(Completion, Option<KeyStatus>)>,
    ) -> Step {
        let Some((completion, _)) = ended else {
            self.after.push(After::Fail(Of::Number, self.cause_of_unstored(Of::Number, &own)));
            return self.complete_first(own, false);
        };
        let is_bound = completion == Completion::Recorded && own.is_success();
        match business_key::end_of_key(completion, &own) {
            KeyEnd::Own => self.complete_first(own, is_bound),
            KeyEnd::Adopt(response) => self.adopt(response),
            KeyEnd::Unknown(stands) => {
                let why = stands.rejection().unwrap_or(Rejection::Internal);
                self.fail_first(FailCause::ConnectionLost, self.of_number(why))
            }
        }
    }

    fn complete_first(&mut self, own: StoredResponse, is_bound: bool) -> Step {
        self.phase = Phase::CompleteFirst { own: own.clone(), is_bound };
        Step::Complete(Of::First, own)
    }

    fn first_ended(
        &mut self,
        own: StoredResponse,
        is_bound: bool,
        ended: Option<(Completion, Option<KeyStatus>)>,
    ) -> Step {
        match ended {
            Some((Completion::Recorded, status)) => {
                self.copy(own);
                self.answer(Answer::Own, status)
            }
            Some((Completion::LeaseLost(stands), status)) => self.answer_by(*stands, status),
            Some((Completion::RecordGone, _)) | None => {
                let cause = self.cause_of_unstored(Of::First, &own);
                self.after.insert(0, After::Fail(Of::First, cause));
                // What the number has is not lost: it becomes the key's when that comes again.
                self.answer(if is_bound { Answer::Own } else { Answer::NotStored }, None)
            }
        }
    }

    /// What it means for a record that the origin's answer could not be stored.
    fn cause_of_unstored(&self, of: Of, own: &StoredResponse) -> FailCause {
        let is_bound_by_success = of == Of::Number || self.write.named_by != NamedBy::Key;
        match AnswerClass::of_status(own.status) {
            AnswerClass::Final if is_bound_by_success && !own.is_success() => {
                FailCause::NotDispatched
            }
            // Nobody stands there who could find out; its receiver knows it by its id.
            AnswerClass::Final if self.write.named_by == NamedBy::Event => {
                FailCause::ConnectionLost
            }
            AnswerClass::Final => FailCause::NotStored,
            AnswerClass::Unknown => FailCause::ConnectionLost,
            AnswerClass::NotExecuted | AnswerClass::RepeatElsewhere => FailCause::NotDispatched,
        }
    }

    /// The first record gets an answer that is stored elsewhere already.
    fn adopt(&mut self, response: StoredResponse) -> Step {
        self.phase = Phase::Adopt(response.clone());
        Step::Complete(Of::First, response)
    }

    fn adopted(
        &mut self,
        response: StoredResponse,
        ended: Option<(Completion, Option<KeyStatus>)>,
    ) -> Step {
        match ended {
            Some((Completion::Recorded, status)) => self.replay_copied(response, status),
            Some((Completion::LeaseLost(stands), status)) => self.answer_by(*stands, status),
            Some((Completion::RecordGone, _)) | None => {
                self.after.push(After::Fail(Of::First, FailCause::NotDispatched));
                self.answer(Answer::Replay(response), None)
            }
        }
    }

    /// The attempt ends without an answer of the origin.
    fn fail(&mut self, cause: FailCause, rejection: Rejection) -> Step {
        if !self.has_second() {
            return self.fail_first(cause, rejection);
        }
        self.phase = Phase::FailNumber(cause, rejection);
        Step::Fail(Of::Number, cause)
    }

    fn fail_first(&mut self, cause: FailCause, rejection: Rejection) -> Step {
        self.phase = Phase::FailFirst(cause, rejection);
        Step::Fail(Of::First, cause)
    }

    /// An attempt that was told that it does not execute: after a wait of half a lease a first call
    /// may have got the record, and its reply be lost with the lease.
    fn give_up_if_late(&mut self, of: Of, sent_at: UnixMillis, now: UnixMillis) {
        if now.since(sent_at) >= self.write.lease.half() {
            self.after.push(After::Fail(of, FailCause::NotDispatched));
        }
    }

    /// What a caller is told who does not execute, by how the first record stands.
    fn answer_by(&mut self, decision: Decision, status: Option<KeyStatus>) -> Step {
        use Decision::{NotReplayable, Replay};
        let is_done = matches!(decision, Replay(_) | NotReplayable { http_status: Some(_), .. });
        if self.write.named_by == NamedBy::Event && is_done {
            return self.answer(Answer::Duplicate, status);
        }
        match (decision.rejection(), decision) {
            (Some(why), _) if self.write.named_by == NamedBy::Number => {
                self.reject(self.of_number(why), status)
            }
            (Some(why), _) => self.reject(why, status),
            (None, Replay(response)) => self.answer(Answer::Replay(response), status),
            (None, _) => self.reject(Rejection::Internal, status),
        }
    }

    fn replay_copied(&mut self, response: StoredResponse, status: Option<KeyStatus>) -> Step {
        self.copy(response.clone());
        self.answer(Answer::Replay(response), status)
    }

    fn copy(&mut self, response: StoredResponse) {
        if self.write.named_by != NamedBy::Event {
            self.after.insert(0, After::Copy(response));
        }
    }

    fn reject(&mut self, rejection: Rejection, status: Option<KeyStatus>) -> Step {
        self.answer(Answer::Rejected(rejection), status)
    }

    fn answer(&mut self, answer: Answer, status: Option<KeyStatus>) -> Step {
        Step::Answer(Answered { answer, status, after: core::mem::take(&mut self.after) })
    }

    fn has_second(&self) -> bool {
        self.write.named_by == NamedBy::Key && self.write.number.is_some()
    }

    /// A rejection that is about the number, not the key.
    fn of_number(&self, why: Rejection) -> Rejection {
        match &self.write.number {
            Some(number) => Rejection::OfNumber { why: Box::new(why), number: number.clone() },
            None => why,
        }
    }
}
