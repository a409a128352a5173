//! The end of a write that does not call the origin: its records are settled or its attempts end.

use super::PendingSettlement;
use super::{
    Action, Awaiting, CallerResponse, FollowUp, Identity, Target, Undispatched, WriteFlow,
};
use crate::business_key::{self, Pairing};
use crate::decision::{Decision, FailCause, Settlement, Settling};
use crate::error::Rejection;
use crate::record::KeyStatus;
use crate::response::StoredResponse;
use crate::time::UnixMillis;

impl WriteFlow {
    /// Continues after the first record's `begin` returned anything but `Execute`.
    pub(super) fn first_refused(
        &mut self,
        decision: Decision,
        status: Option<KeyStatus>,
        now: UnixMillis,
    ) -> Action {
        self.give_up_if_late(Target::First, self.sent_at, now);
        let is_unknown = decision == Decision::OutcomeUnknown;
        let is_held = is_unknown && self.write.identity != Identity::BusinessKey;
        let undispatched = Undispatched {
            is_held,
            first_is_unknown: is_unknown,
            status,
            ..Undispatched::default()
        };
        if self.write.identity == Identity::BusinessKey {
            self.pair(business_key::alone(decision), undispatched)
        } else if is_held && self.has_second() {
            // The business key's record, or the origin, may have the response.
            self.awaiting = Awaiting::Peek(undispatched);
            Action::PeekBusinessKey
        } else if is_held {
            self.pair(business_key::on_hold(None), undispatched)
        } else {
            self.end(decision, undispatched)
        }
    }

    pub(super) fn business_key_peeked(
        &mut self,
        peeked: Result<Option<Decision>, Rejection>,
        undispatched: Undispatched,
    ) -> Action {
        match peeked {
            Ok(decision) => {
                let business_key_is_unknown = decision == Some(Decision::OutcomeUnknown);
                self.pair(
                    business_key::on_hold(decision),
                    Undispatched { business_key_is_unknown, ..undispatched },
                )
            }
            Err(rejection) => self.refuse(rejection, undispatched),
        }
    }

    /// Does what the records of a key and its business key together require.
    pub(super) fn pair(&mut self, pairing: Pairing, undispatched: Undispatched) -> Action {
        match pairing {
            Pairing::Adopt(response) => self.settle_with(response, undispatched),
            Pairing::LookUp(decision) => {
                self.awaiting = Awaiting::LookUp(decision.clone(), undispatched);
                Action::LookUp(decision)
            }
            Pairing::End(decision) => self.end(decision, undispatched),
            // An attempt that may execute does not get here.
            Pairing::Dispatch(_) => self.end(Decision::InProgress, undispatched),
        }
    }

    /// Makes a response that was found the response of every record whose outcome is unknown.
    pub(super) fn settle_with(
        &mut self,
        found: StoredResponse,
        undispatched: Undispatched,
    ) -> Action {
        let first = undispatched.first_is_unknown.then_some(Target::First);
        let second = undispatched.business_key_is_unknown.then_some(Target::BusinessKey);
        // `settle_next` takes from the end, so the business key is settled before the key.
        let left = first.into_iter().chain(second).collect();
        self.settle_next(PendingSettlement { found, left, settled: None, undispatched })
    }

    fn settle_next(&mut self, mut settle: PendingSettlement) -> Action {
        if let Some(target) = settle.left.pop() {
            let settlement = Settlement::Executed(settle.found.clone());
            self.awaiting = Awaiting::Settle(settle);
            return Action::Settle(target, settlement);
        }
        let PendingSettlement { found, settled, undispatched, .. } = settle;
        match settled {
            _ if undispatched.owns_key => self.adopt(found),
            Some(status) => self.replay_copied(found, status),
            None => self.respond(CallerResponse::Replay(found), undispatched.status),
        }
    }

    pub(super) fn settled(
        &mut self,
        settle: PendingSettlement,
        settled: Result<(Settling, Option<KeyStatus>), Rejection>,
    ) -> Action {
        match settled {
            Ok((Settling::Settled, status)) => {
                self.settle_next(PendingSettlement { settled: Some(status), ..settle })
            }
            // Another call has settled it meanwhile, so the caller must retry.
            Ok((Settling::NotUnknown, _)) => {
                self.refuse(Rejection::InProgress, settle.undispatched)
            }
            Err(rejection) => self.refuse(rejection, settle.undispatched),
        }
    }

    /// Ends a write whose decision is not to execute.
    pub(super) fn end(&mut self, decision: Decision, undispatched: Undispatched) -> Action {
        let is_of_business_key = undispatched.is_held && decision != Decision::OutcomeUnknown;
        if !undispatched.owns_key && !is_of_business_key {
            return self.respond_by(decision, undispatched.status);
        }
        let why = decision.rejection().unwrap_or(Rejection::Internal);
        self.refuse(self.of_business_key(why), undispatched)
    }

    /// Rejects a write, and first ends the attempt at the key if it owns one.
    pub(super) fn refuse(&mut self, rejection: Rejection, undispatched: Undispatched) -> Action {
        if undispatched.owns_key {
            self.fail_first(FailCause::NotDispatched, rejection)
        } else {
            self.reject(rejection, undispatched.status)
        }
    }

    /// Makes sure that an attempt that does not execute owns no record. If `begin` took half a lease or
    /// longer, an earlier copy of the call may have got the record while its reply was lost.
    pub(super) fn give_up_if_late(&mut self, target: Target, sent_at: UnixMillis, now: UnixMillis) {
        if now.since(sent_at) >= self.write.lease.half() {
            self.follow_ups.push(FollowUp::Fail(target, FailCause::NotDispatched));
        }
    }
}
