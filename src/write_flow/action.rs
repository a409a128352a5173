//! What an exchange is told, and what it says to do.

use crate::business_key::Number;
use crate::decision::{Completion, Decision, Execution, FailCause, Settlement, Settling};
use crate::error::Rejection;
use crate::policy::UnknownOutcome;
use crate::record::KeyStatus;
use crate::response::StoredResponse;
use crate::time::Millis;

/// A write that is executed once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Write {
    /// What names it.
    pub named_by: NamedBy,
    /// The business number in it, where there is one.
    pub number: Option<Number>,
    /// How long a lease is today. Who has waited for half of one may be overtaken.
    pub lease: Millis,
    /// What it means that the origin could not be reached: that the outcome is unknown, or, where
    /// that is known to be safe, that nothing was dispatched.
    pub unreachable: FailCause,
    /// What a retry finds today once the outcome is unknown. It decides what the caller is told to do.
    pub unknown_outcome: UnknownOutcome,
}

/// What tells one intent from another, and so whose record comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NamedBy {
    /// The idempotency key; a number in it has a record beside the key's.
    Key,
    /// The business number alone.
    Number,
    /// The id of a webhook's event. There is no answer to keep, no copy, and no number.
    Event,
}

/// Which of the write's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Of {
    /// The one that decides first: of the key, the event, or the number where there is no key.
    First,
    /// The number's, beside a key's.
    Number,
}

/// What to do next. All but the last are answered by [`Exchange::tell`](super::Exchange::tell).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Ask for the right to execute; tell [`Told::Begun`]. Where the first record is slow, its replica may
    /// be asked as well, and what that knows be told instead: [`Told::Copied`].
    Begin(Of),
    /// Ask the first record's replica; tell [`Told::Copied`].
    AskReplica,
    /// Ask what the number's `begin` would be told; tell [`Told::Recalled`].
    RecallNumber,
    /// Call the origin, and keep the leases of both records from now until the answer; tell
    /// [`Told::Called`].
    CallOrigin(Execution),
    /// Ask the origin what became of a request that is told this; tell [`Told::LookedUp`].
    LookUp(Decision),
    /// Bring an answer; tell [`Told::Ended`].
    Complete(Of, StoredResponse),
    /// End without an answer; tell [`Told::Ended`].
    Fail(Of, FailCause),
    /// Settle what is unknown; tell [`Told::Settled`].
    Settle(Of, Settlement),
    /// Answer the caller. It is the last step.
    Answer(Answered),
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Told {
    /// What a record's `begin` decided, and how it stands; or why nobody could say.
    Begun(Result<(Decision, Option<KeyStatus>), Rejection>),
    /// What the replica knows for sure; `None` means nothing at all.
    Copied(Option<(Decision, Option<KeyStatus>)>),
    /// What the number's `begin` would be told; `None` if it would execute.
    Recalled(Result<Option<Decision>, Rejection>),
    /// The origin's answer as it is kept, or why there is none.
    Called(Result<StoredResponse, OriginFailure>),
    /// What the origin has found, where that proves an execution.
    LookedUp(Option<StoredResponse>),
    /// What became of an attempt's end; `None` where nothing was recorded, or nobody could say.
    Ended(Option<(Completion, Option<KeyStatus>)>),
    /// What became of a settlement, or why nobody could say.
    Settled(Result<(Settling, Option<KeyStatus>), Rejection>),
}

/// Why the origin gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OriginFailure {
    /// Not in time.
    TimedOut,
    /// There was none at all.
    Unreachable,
    /// It broke off.
    CutOff,
}

/// What the caller gets, and what is left to do when it is out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Answered {
    /// The answer.
    pub answer: Answer,
    /// How the first record stands, for the answer's headers.
    pub status: Option<KeyStatus>,
    /// In this order.
    pub after: Vec<After>,
}

/// What the caller gets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The origin's answer, as it came.
    Own,
    /// The origin's answer, marked as not stored.
    NotStored,
    /// A stored answer, marked as a replay.
    Replay(StoredResponse),
    /// The event was done before.
    Duplicate,
    /// An error that says why.
    Rejected(Rejection),
}

/// Work for after the answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum After {
    /// Tell the record, more patiently, how the attempt ended.
    ///
    /// `NotDispatched`: it does not execute, should its `begin` still arrive or have arrived;
    /// otherwise the record would count as dispatched once the lease dies. So too where the origin
    /// has said, and it could not be recorded, that it executed nothing. `NotStored`: the caller has
    /// an answer that is not stored, so no retry may make another one.
    Fail(Of, FailCause),
    /// Copy the answer, which the first record has, to the replica.
    Copy(StoredResponse),
}
