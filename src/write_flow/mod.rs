//! The flow of one write through a gateway: which calls it makes to records and the origin, in which
//! order, and what its caller gets.
//!
//! A gateway carries out an [`Action`], reports the result to [`WriteFlow::advance`], and repeats this
//! until the action is [`Action::Respond`]. The gateway sends, waits for and repeats calls, and reports
//! a lost or late reply like any other result.
//!
//! # The rules
//!
//! 1. The origin is called only after every record returned `Execute`, and within half a lease of
//!    the first `begin`. Later, another attempt may own the key.
//! 2. The response is recorded before the caller gets it, in the business key's record first. If the
//!    gateway dies between the two, the key finds the response in the business key's record.
//! 3. If an attempt does not execute, the gateway ends the attempt (`fail`) in every record that its
//!    `begin` may have reached, either before or after the response.
//! 4. A caller gets the attempt's own response if it was recorded, and otherwise the current
//!    decision. If a response could not be recorded anywhere, the caller gets it marked as not stored,
//!    and the key goes on hold, because a retry must not execute. A 503 or a 429 is not a final response
//!    and puts nothing on hold. Neither does an event, because its sender does not use the response.
//! 5. The gateway reads the replica when the shard is slow or does not reply. A missing copy proves
//!    nothing. A copy in the gateway's own memory is read before the shard is called; then there is no
//!    attempt to end.
//!
//! # The order
//!
//! | action | event | next |
//! |---|---|---|
//! | begin first | Execute | begin the business key, where there is one; else the origin |
//! | | OutcomeUnknown | peek at the business key, where there is one; else look the outcome up |
//! | | anything else | respond |
//! | | a copy in memory | respond |
//! | | no reply | read the replica |
//! | begin business key | Execute | the origin |
//! | | anything else | [`business_key::pair`] decides what happens to the key |
//! | peek at business key | | [`business_key::on_hold`] decides what happens to the key |
//! | call origin | a response | complete the business key, complete first, respond |
//! | | none | fail the business key, fail first, respond |
//! | look up | found | settle each record whose outcome is unknown, complete the record that the attempt owns, respond |
//! | | not found | fail the record that the attempt owns, respond |

mod action;
mod dispatched;
mod undispatched;

pub use action::{
    Action, CallerResponse, Event, FollowUp, Identity, OriginFailure, Target, Write, WriteOutcome,
};

use crate::business_key::{self, Pairing};
use crate::decision::{Completion, Decision, Execution, FailCause};
use crate::error::Rejection;
use crate::record::KeyStatus;
use crate::response::StoredResponse;
use crate::time::UnixMillis;

/// A write on its way through a gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WriteFlow {
    write: Write,
    /// When the first `begin` was first sent, by the gateway's clock.
    sent_at: UnixMillis,
    awaiting: Awaiting,
    follow_ups: Vec<FollowUp>,
}

/// The result that the flow waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Awaiting {
    BeginFirst,
    /// The replica, and the rejection that the caller gets if the copy is missing.
    Replica(Rejection),
    /// The business key's `begin`, sent at that time, by an attempt that owns its key.
    BeginBusinessKey(Execution, UnixMillis),
    Peek(Undispatched),
    LookUp(Decision, Undispatched),
    Settle(PendingSettlement),
    Origin,
    /// The end of the business key's attempt, with the origin's response.
    CompleteBusinessKey(StoredResponse),
    /// The end of the first record's attempt, with the origin's response. The business key may have
    /// it already (`is_bound`).
    CompleteFirst {
        own: StoredResponse,
        is_bound: bool,
    },
    /// The end of the first record's attempt, with a response that was stored elsewhere.
    Adopt(StoredResponse),
    FailBusinessKey(FailCause, Rejection),
    FailFirst(FailCause, Rejection),
    /// Nothing: the flow is over.
    Done,
}

/// The state of a write that does not call the origin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Undispatched {
    /// The attempt owns its key, and has to end there.
    owns_key: bool,
    /// The key is on hold.
    is_held: bool,
    /// The outcome in the first record is unknown.
    first_is_unknown: bool,
    /// The outcome in the business key's record, beside the key's, is unknown.
    business_key_is_unknown: bool,
    /// The state of the first record's key.
    status: Option<KeyStatus>,
}

/// A response that was found. The records whose outcome is unknown are settled with it, one by one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PendingSettlement {
    found: StoredResponse,
    left: Vec<Target>,
    settled: Option<Option<KeyStatus>>,
    undispatched: Undispatched,
}

impl WriteFlow {
    /// Starts a write at `now`, by the gateway's clock. Returns the flow and its first action.
    pub fn begin(write: Write, now: UnixMillis) -> (Self, Action) {
        let flow =
            Self { write, sent_at: now, awaiting: Awaiting::BeginFirst, follow_ups: Vec::new() };
        (flow, Action::Begin(Target::First))
    }

    /// Takes the result of the last action, at `now` by the gateway's clock, and returns the next
    /// action. An event that does not belong to the action is a bug in the gateway: the caller gets
    /// an internal error, and nothing more is executed.
    pub fn advance(&mut self, event: Event, now: UnixMillis) -> Action {
        let awaiting = core::mem::replace(&mut self.awaiting, Awaiting::Done);
        match (awaiting, event) {
            (Awaiting::BeginFirst, Event::Begun(begun)) => self.first_begun(begun, now),
            // The first record knows nothing of this attempt, so nothing has to end there.
            (Awaiting::BeginFirst, Event::Recalled(decision, status)) => {
                self.respond_by(decision, status)
            }
            // A copy is final, so the shard's late reply could not change it.
            (
                Awaiting::BeginFirst | Awaiting::Replica(_),
                Event::Copied(Some((decision, status))),
            ) => {
                self.follow_ups.push(FollowUp::Fail(Target::First, FailCause::NotDispatched));
                self.respond_by(decision, status)
            }
            (Awaiting::Replica(rejection), Event::Copied(None)) => {
                self.follow_ups.push(FollowUp::Fail(Target::First, FailCause::NotDispatched));
                self.reject(rejection, None)
            }
            (Awaiting::BeginBusinessKey(key, sent_at), Event::Begun(begun)) => {
                self.business_key_begun(key, begun.map(|(decision, _)| decision), sent_at, now)
            }
            (Awaiting::Peek(undispatched), Event::Peeked(peeked)) => {
                self.business_key_peeked(peeked, undispatched)
            }
            (Awaiting::LookUp(_, undispatched), Event::LookedUp(Some(found))) => {
                self.settle_with(found, undispatched)
            }
            (Awaiting::LookUp(decision, undispatched), Event::LookedUp(None)) => {
                self.end(decision, undispatched)
            }
            (Awaiting::Settle(settle), Event::Settled(settled)) => self.settled(settle, settled),
            (Awaiting::Origin, Event::Called(Ok(own))) => self.origin_responded(own),
            (Awaiting::Origin, Event::Called(Err(failure))) => self.origin_failed(failure),
            (Awaiting::CompleteBusinessKey(own), Event::Ended(ended)) => {
                self.business_key_ended(own, ended)
            }
            (Awaiting::CompleteFirst { own, is_bound }, Event::Ended(ended)) => {
                self.first_ended(own, is_bound, ended)
            }
            (Awaiting::Adopt(response), Event::Ended(ended)) => self.adopted(response, ended),
            (Awaiting::FailBusinessKey(cause, rejection), Event::Ended(ended)) => {
                if ended.is_none() {
                    self.follow_ups.push(FollowUp::Fail(Target::BusinessKey, cause));
                }
                self.fail_first(cause, rejection)
            }
            (Awaiting::FailFirst(cause, rejection), Event::Ended(ended)) => match ended {
                Some((Completion::Recorded, status)) => self.reject(rejection, status),
                Some((Completion::LeaseLost(decision), status)) => {
                    self.respond_by(*decision, status)
                }
                Some((Completion::RecordGone, _)) | None => {
                    self.follow_ups.push(FollowUp::Fail(Target::First, cause));
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
    ) -> Action {
        match begun {
            Ok((Decision::Execute(execution), _)) if self.has_second() => {
                self.awaiting = Awaiting::BeginBusinessKey(execution, now);
                Action::Begin(Target::BusinessKey)
            }
            Ok((Decision::Execute(execution), _)) => self.dispatch(execution, now),
            Ok((decision, status)) => self.first_refused(decision, status, now),
            // Events have no replica.
            Err(rejection) if self.write.identity == Identity::Event => {
                self.follow_ups.push(FollowUp::Fail(Target::First, FailCause::NotDispatched));
                self.reject(rejection, None)
            }
            Err(rejection) => {
                self.awaiting = Awaiting::Replica(rejection);
                Action::AskReplica
            }
        }
    }

    /// Continues after the business key's `begin`. The attempt already owns its idempotency key.
    fn business_key_begun(
        &mut self,
        key: Execution,
        begun: Result<Decision, Rejection>,
        sent_at: UnixMillis,
        now: UnixMillis,
    ) -> Action {
        let owns_key = Undispatched { owns_key: true, ..Undispatched::default() };
        match begun.map(|decision| business_key::pair(key, decision)) {
            Ok(Pairing::Dispatch(execution)) => self.dispatch(execution, now),
            Ok(pairing) => {
                self.give_up_if_late(Target::BusinessKey, sent_at, now);
                let business_key_is_unknown = pairing == Pairing::LookUp(Decision::OutcomeUnknown);
                self.pair(pairing, Undispatched { business_key_is_unknown, ..owns_key })
            }
            Err(rejection) => {
                self.follow_ups.push(FollowUp::Fail(Target::BusinessKey, FailCause::NotDispatched));
                self.refuse(rejection, owns_key)
            }
        }
    }

    /// Calls the origin, unless the attempt has waited too long for its records.
    fn dispatch(&mut self, execution: Execution, now: UnixMillis) -> Action {
        if execution.may_dispatch(self.sent_at, now) {
            self.awaiting = Awaiting::Origin;
            Action::CallOrigin(execution)
        } else {
            self.fail(FailCause::NotDispatched, Rejection::TooLateToDispatch)
        }
    }

    /// Completes the first record with a response that is stored elsewhere already.
    fn adopt(&mut self, response: StoredResponse) -> Action {
        self.awaiting = Awaiting::Adopt(response.clone());
        Action::Complete(Target::First, response)
    }

    fn adopted(
        &mut self,
        response: StoredResponse,
        ended: Option<(Completion, Option<KeyStatus>)>,
    ) -> Action {
        match ended {
            Some((Completion::Recorded, status)) => self.replay_copied(response, status),
            Some((Completion::LeaseLost(decision), status)) => self.respond_by(*decision, status),
            Some((Completion::RecordGone, _)) | None => {
                self.follow_ups.push(FollowUp::Fail(Target::First, FailCause::NotDispatched));
                self.respond(CallerResponse::Replay(response), None)
            }
        }
    }

    /// Ends the attempt without a response from the origin.
    fn fail(&mut self, cause: FailCause, rejection: Rejection) -> Action {
        if !self.has_second() {
            return self.fail_first(cause, rejection);
        }
        self.awaiting = Awaiting::FailBusinessKey(cause, rejection);
        Action::Fail(Target::BusinessKey, cause)
    }

    fn fail_first(&mut self, cause: FailCause, rejection: Rejection) -> Action {
        self.awaiting = Awaiting::FailFirst(cause, rejection);
        Action::Fail(Target::First, cause)
    }

    /// Responds to a caller whose attempt does not execute, by the first record's decision.
    fn respond_by(&mut self, decision: Decision, status: Option<KeyStatus>) -> Action {
        use Decision::{NotReplayable, Replay};
        let is_done = matches!(decision, Replay(_) | NotReplayable { http_status: Some(_), .. });
        if self.write.identity == Identity::Event && is_done {
            return self.respond(CallerResponse::Duplicate, status);
        }
        match (decision.rejection(), decision) {
            (Some(why), _) if self.write.identity == Identity::BusinessKey => {
                self.reject(self.of_business_key(why), status)
            }
            (Some(why), _) => self.reject(why, status),
            (None, Replay(response)) => self.respond(CallerResponse::Replay(response), status),
            (None, _) => self.reject(Rejection::Internal, status),
        }
    }

    fn replay_copied(&mut self, response: StoredResponse, status: Option<KeyStatus>) -> Action {
        self.copy(response.clone());
        self.respond(CallerResponse::Replay(response), status)
    }

    fn copy(&mut self, response: StoredResponse) {
        if self.write.identity != Identity::Event {
            self.follow_ups.insert(0, FollowUp::Copy(response));
        }
    }

    fn reject(&mut self, rejection: Rejection, status: Option<KeyStatus>) -> Action {
        self.respond(CallerResponse::Rejected(rejection), status)
    }

    fn respond(&mut self, response: CallerResponse, status: Option<KeyStatus>) -> Action {
        Action::Respond(WriteOutcome {
            response,
            status,
            follow_ups: core::mem::take(&mut self.follow_ups),
        })
    }

    fn has_second(&self) -> bool {
        self.write.identity == Identity::Key && self.write.business_key.is_some()
    }

    /// Turns a rejection into a rejection that is about the business key.
    fn of_business_key(&self, why: Rejection) -> Rejection {
        match &self.write.business_key {
            Some(key) => Rejection::OfBusinessKey { why: Box::new(why), business_key: key.clone() },
            None => why,
        }
    }
}
