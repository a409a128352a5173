//! What a write flow asks its gateway to do, and what the gateway reports back.

use crate::business_key::BusinessKey;
use crate::decision::{Completion, Decision, Execution, FailCause, Settlement, Settling};
use crate::error::Rejection;
use crate::policy::{ResponseClass, ResponseRules, UnknownOutcome};
use crate::record::KeyStatus;
use crate::response::StoredResponse;
use crate::time::Millis;

/// A write request, with the settings that apply to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Write {
    /// What identifies the write.
    pub identity: Identity,
    /// The business key in the request, where there is one.
    pub business_key: Option<BusinessKey>,
    /// The current length of a lease. An attempt that has waited for half a lease may be overtaken.
    pub lease: Millis,
    /// How an attempt ends if the origin is unreachable: [`FailCause::ConnectionLost`], or
    /// [`FailCause::NotDispatched`] if the operator's settings say that nothing was sent then.
    pub unreachable: FailCause,
    /// The current policy for an unknown outcome. It decides which advice the caller gets.
    pub unknown_outcome: UnknownOutcome,
    /// What the origin's response proves, where that differs from what its status proves.
    pub rules: ResponseRules,
}

/// What identifies a write, and so which record decides first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// The idempotency key. A business key in the request has a second record.
    Key,
    /// The business key alone.
    BusinessKey,
    /// The id of a webhook's event. It has no response to keep, no copy and no business key.
    Event,
}

/// Which of the write's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The record that decides first: of the key, of the event, or of the business key where the
    /// request has no key.
    First,
    /// The record of the business key in a request that has a key too.
    BusinessKey,
}

/// What the gateway does next. It reports the result of every action but the last to
/// [`WriteFlow::advance`](super::WriteFlow::advance).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Call `begin`; report [`Event::Begun`]. Before it calls the first record, the gateway may read its
    /// own memory, and report that copy instead: [`Event::Recalled`]. While the first record is slow, the
    /// gateway may also read its replica, and report the copy instead: [`Event::Copied`].
    Begin(Target),
    /// Read the first record's replica; report [`Event::Copied`].
    AskReplica,
    /// Ask what the business key's `begin` would return; report [`Event::Peeked`].
    PeekBusinessKey,
    /// Call the origin, and renew the leases of both records from now until the end is recorded;
    /// report [`Event::Called`].
    CallOrigin(Execution),
    /// Ask the origin for the outcome of a request that got this decision; report
    /// [`Event::LookedUp`].
    LookUp(Decision),
    /// Record a response; report [`Event::Ended`].
    Complete(Target, StoredResponse),
    /// Record a response that proves this by a rule of the operator; report [`Event::Ended`].
    CompleteAs(Target, StoredResponse, ResponseClass),
    /// End the attempt without a response; report [`Event::Ended`].
    Fail(Target, FailCause),
    /// Settle an unknown outcome; report [`Event::Settled`].
    Settle(Target, Settlement),
    /// Respond to the caller. This is the last action.
    Respond(WriteOutcome),
}

/// The result of an action.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// What a record's `begin` decided and the state of its key, or why there was no decision.
    Begun(Result<(Decision, Option<KeyStatus>), Rejection>),
    /// The final decision of a copy in the gateway's memory. The first record was not called.
    Recalled(Decision, Option<KeyStatus>),
    /// The replica's final decision. `None` proves nothing.
    Copied(Option<(Decision, Option<KeyStatus>)>),
    /// What the business key's `begin` would return; `None` if the attempt would execute.
    Peeked(Result<Option<Decision>, Rejection>),
    /// The origin's response as it is kept, or why there is none.
    Called(Result<StoredResponse, OriginFailure>),
    /// The response that the origin found, where it proves an execution.
    LookedUp(Option<StoredResponse>),
    /// How the end of an attempt was recorded; `None` if it was not recorded or there was no reply.
    Ended(Option<(Completion, Option<KeyStatus>)>),
    /// Whether a settlement was recorded, or why there is no result.
    Settled(Result<(Settling, Option<KeyStatus>), Rejection>),
}

/// Why the origin gave no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OriginFailure {
    /// The origin did not respond in time.
    TimedOut,
    /// The origin did not respond at all.
    Unreachable,
    /// The response broke off.
    CutOff,
}

/// What the caller gets, and what the gateway does afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WriteOutcome {
    /// The response.
    pub response: CallerResponse,
    /// The state of the first record's key, for the response's headers.
    pub status: Option<KeyStatus>,
    /// The work for after the response, in this order.
    pub follow_ups: Vec<FollowUp>,
}

/// The response that the caller gets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CallerResponse {
    /// The origin's response, as it came.
    Own,
    /// The origin's response, marked as not stored.
    NotStored,
    /// A stored response, marked as a replay.
    Replay(StoredResponse),
    /// A success without content: the event was delivered before.
    Duplicate,
    /// An error that says why.
    Rejected(Rejection),
}

impl CallerResponse {
    /// Returns whether the response tells what an earlier request got. The origin has not seen the
    /// credential of this request then.
    pub fn tells_of_an_earlier_request(&self) -> bool {
        match self {
            Self::Replay(_) => true,
            Self::Rejected(Rejection::OfBusinessKey { why, .. }) => {
                matches!(**why, Rejection::NotReplayable { .. })
            }
            Self::Rejected(rejection) => matches!(rejection, Rejection::NotReplayable { .. }),
            Self::Own | Self::NotStored | Self::Duplicate => false,
        }
    }
}

/// Work for after the response.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FollowUp {
    /// Report the end of the attempt to the record, with more tries than a waiting caller allows.
    ///
    /// With `NotDispatched`, the attempt does not execute, even if its `begin` has arrived or still
    /// arrives. Without this call, the attempt would count as dispatched once the lease expires. The
    /// same cause is used if the origin executed nothing and that could not be recorded. With
    /// `NotStored`, the caller has a response that is not stored, so no retry may execute.
    Fail(Target, FailCause),
    /// Copy the response of the first record to the replica, and to the gateway's memory.
    Copy(StoredResponse),
}
