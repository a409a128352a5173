//! What an attempt has to do with one record: its key's, or its number's.

use crate::authority::{Authority, Patience, Unavailable};
use crate::clock;
use crate::protocol::{Operation, Reply};
use crate::random;
use futures_util::future::LocalBoxFuture;
use oncekey::{
    Completion, Decision, FailCause, Fingerprints, KeyStatus, Policy, Rejection, ScopedKey,
    StoredResponse, Token, UnixMillis,
};
use std::rc::Rc;

/// Work for after the answer.
pub(crate) type After = LocalBoxFuture<'static, ()>;

/// What became of an attempt's end.
pub(crate) type Ended = Result<(Completion, Option<KeyStatus>), Unavailable>;

/// An attempt at one record.
pub(crate) struct Claim {
    pub(crate) name: ScopedKey,
    pub(crate) token: Token,
    /// When the key was made, where it tells.
    pub(crate) minted_at: Option<UnixMillis>,
    /// Today's policy, for a record that is new.
    pub(crate) policy: Policy,
    authority: Rc<Authority>,
}

impl Claim {
    pub(crate) fn new(authority: Authority, minted_at: Option<UnixMillis>, policy: Policy) -> Self {
        let (name, authority) = (authority.name, Rc::new(authority));
        Self { name, token: random::token(), minted_at, policy, authority }
    }

    /// Asks for the right to execute.
    pub(crate) async fn begin(
        &self,
        fingerprints: &Fingerprints,
    ) -> Result<(Decision, Option<KeyStatus>), Rejection> {
        let operation = Operation::Begin {
            fingerprints: fingerprints.clone(),
            token: self.token,
            minted_at: self.minted_at,
            policy: self.policy,
        };
        match self.ask(operation).await? {
            Reply::Begun { decision, status } => Ok((decision, status)),
            _ => Err(Rejection::StoreUnavailable),
        }
    }

    /// Brings the origin's answer.
    pub(crate) fn complete(&self, response: StoredResponse) -> impl Future<Output = Ended> {
        self.end(Operation::Complete { token: self.token, response })
    }

    /// Ends the attempt without an answer.
    pub(crate) fn fail(&self, cause: FailCause) -> impl Future<Output = Ended> {
        self.end(Operation::Fail { token: self.token, cause })
    }

    /// Renews the lease. That it was lost changes nothing: the origin is at work already, and the
    /// end of the attempt tells what becomes of its answer.
    pub(crate) fn renew(
        &self,
        patience: Patience,
    ) -> impl Future<Output = Result<Reply, Unavailable>> {
        self.authority.call(Operation::Renew { token: self.token }, patience)
    }

    /// Tells the authority in the background how the attempt ended.
    ///
    /// `NotDispatched`: it does not execute, should its `begin` still arrive or have arrived;
    /// otherwise the record would count as dispatched once the lease dies. `NotStored`: the caller
    /// has an answer that is not stored, so no retry may make another one.
    pub(crate) fn fail_later(&self, cause: FailCause) -> After {
        let authority = Rc::clone(&self.authority);
        let operation = Operation::Fail { token: self.token, cause };
        Box::pin(async move {
            let _ = authority.call(operation, Patience::in_background()).await;
        })
    }

    /// For an attempt that was told that it does not execute: after a wait of half a lease a first
    /// call may have got the record, and its reply be lost with the lease.
    pub(crate) fn give_up_if_late(&self, sent_at: UnixMillis) -> Option<After> {
        let is_late = clock::now().since(sent_at) >= self.policy.lease.half();
        is_late.then(|| self.fail_later(FailCause::NotDispatched))
    }

    /// Asks before anything is executed. Past half the lease nothing may be dispatched, so there is
    /// no use in waiting for longer.
    pub(crate) async fn ask(&self, operation: Operation) -> Result<Reply, Rejection> {
        let patience = Patience::within(self.policy.lease.half());
        match self.authority.call(operation, patience).await {
            Ok(Reply::Unreadable) => Err(Rejection::RecordUnreadable),
            Ok(reply) => Ok(reply),
            Err(Unavailable) => Err(Rejection::StoreUnavailable),
        }
    }

    async fn end(&self, operation: Operation) -> Ended {
        match self.authority.call(operation, Patience::with_answer_in_hand()).await {
            Ok(Reply::Ended { completion, status }) => Ok((completion, status)),
            Ok(_) | Err(Unavailable) => Err(Unavailable),
        }
    }
}

/// Both, one after the other.
pub(crate) fn both(first: Option<After>, second: Option<After>) -> Option<After> {
    match (first, second) {
        (Some(first), Some(second)) => Some(Box::pin(async move {
            first.await;
            second.await;
        })),
        (first, second) => first.or(second),
    }
}
