//! The end of a write whose origin was called: the response is recorded, the business key first.

use super::{
    Action, Awaiting, CallerResponse, FollowUp, Identity, OriginFailure, Target, WriteFlow,
};
use crate::business_key::{self, KeyEnd};
use crate::decision::{Completion, FailCause};
use crate::error::{Recourse, Rejection};
use crate::policy::{ResponseClass, UnknownOutcome};
use crate::record::KeyStatus;
use crate::response::StoredResponse;

impl WriteFlow {
    pub(super) fn origin_responded(&mut self, own: StoredResponse) -> Action {
        if self.has_second() {
            self.awaiting = Awaiting::CompleteBusinessKey(own.clone());
            self.complete(Target::BusinessKey, own)
        } else {
            self.complete_first(own, false)
        }
    }

    pub(super) fn origin_failed(&mut self, failure: OriginFailure) -> Action {
        let (cause, why): (_, fn(Recourse) -> Rejection) = match failure {
            OriginFailure::TimedOut => (FailCause::TimedOut, Rejection::OriginTimedOut),
            OriginFailure::Unreachable => (self.write.unreachable, Rejection::OriginUnreachable),
            OriginFailure::CutOff => (FailCause::ConnectionLost, Rejection::OriginUnreachable),
        };
        let why = why(match (cause, self.write.unknown_outcome) {
            (FailCause::NotDispatched, _) => Recourse::NotExecuted,
            (_, UnknownOutcome::Retry) => Recourse::RetryWithKey,
            (_, UnknownOutcome::Hold) => Recourse::OnHold,
        });
        let is_of_business_key = self.write.identity == Identity::BusinessKey;
        self.fail(cause, if is_of_business_key { self.of_business_key(why) } else { why })
    }

    pub(super) fn business_key_ended(
        &mut self,
        own: StoredResponse,
        ended: Option<(Completion, Option<KeyStatus>)>,
    ) -> Action {
        let Some((completion, _)) = ended else {
            self.follow_ups.push(FollowUp::Fail(
                Target::BusinessKey,
                self.cause_of_unstored(Target::BusinessKey, &own),
            ));
            return self.complete_first(own, false);
        };
        let class = self.class_of(&own);
        let is_success = own.is_success() && class == ResponseClass::Final;
        let is_bound = completion == Completion::Recorded && is_success;
        match business_key::end_of_key(completion, class) {
            KeyEnd::Own => self.complete_first(own, is_bound),
            KeyEnd::Adopt(response) => self.adopt(response),
            KeyEnd::Unknown(decision) => {
                let why = decision.rejection().unwrap_or(Rejection::Internal);
                self.fail_first(FailCause::ConnectionLost, self.of_business_key(why))
            }
        }
    }

    fn complete_first(&mut self, own: StoredResponse, is_bound: bool) -> Action {
        self.awaiting = Awaiting::CompleteFirst { own: own.clone(), is_bound };
        self.complete(Target::First, own)
    }

    /// Records the attempt's own response.
    fn complete(&self, target: Target, own: StoredResponse) -> Action {
        match self.write.rules.class_of(&own) {
            None => Action::Complete(target, own),
            Some(class) => Action::CompleteAs(target, own, class),
        }
    }

    /// Returns what the attempt's own response proves.
    fn class_of(&self, own: &StoredResponse) -> ResponseClass {
        let by_rule = self.write.rules.class_of(own);
        by_rule.unwrap_or_else(|| ResponseClass::of_status(own.status))
    }

    pub(super) fn first_ended(
        &mut self,
        own: StoredResponse,
        is_bound: bool,
        ended: Option<(Completion, Option<KeyStatus>)>,
    ) -> Action {
        match ended {
            Some((Completion::Recorded, status)) => {
                self.copy(own);
                self.respond(CallerResponse::Own, status)
            }
            Some((Completion::LeaseLost(decision), status)) => self.respond_by(*decision, status),
            Some((Completion::RecordGone, _)) | None => {
                let cause = self.cause_of_unstored(Target::First, &own);
                self.follow_ups.insert(0, FollowUp::Fail(Target::First, cause));
                // The business key has the response, and a retry of the key finds it there.
                self.respond(
                    if is_bound { CallerResponse::Own } else { CallerResponse::NotStored },
                    None,
                )
            }
        }
    }

    /// Returns the cause that a record gets when the origin's response could not be stored.
    fn cause_of_unstored(&self, target: Target, own: &StoredResponse) -> FailCause {
        let is_bound_by_success =
            target == Target::BusinessKey || self.write.identity != Identity::Key;
        match self.class_of(own) {
            ResponseClass::Final if is_bound_by_success && !own.is_success() => {
                FailCause::NotDispatched
            }
            // An event is not put on hold: its sender delivers it again, and the receiver recognizes
            // it by its id.
            ResponseClass::Final if self.write.identity == Identity::Event => {
                FailCause::ConnectionLost
            }
            ResponseClass::Final => FailCause::NotStored,
            ResponseClass::Unknown => FailCause::ConnectionLost,
            ResponseClass::NotExecuted | ResponseClass::RepeatElsewhere => FailCause::NotDispatched,
        }
    }
}
