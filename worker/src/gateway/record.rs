//! What an attempt has to do with one record: its key's, or its number's.

use crate::gateway::outcome::Work;
use crate::shard::client::{Authority, NoReply, Patience};
use crate::shard::protocol::{Operation, Reply};
use oncekey::{
    Completion, Decision, FailCause, Fingerprints, KeyStatus, Policy, Rejection, ScopedKey,
    Settlement, Settling, StoredResponse, Token, UnixMillis,
};
use platform::random;
use std::rc::Rc;
use worker::web_sys;

/// What became of an attempt's end.
pub(crate) type Ended = Result<(Completion, Option<KeyStatus>), NoReply>;

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

    /// Asks what `begin` would be told.
    pub(crate) async fn recall(
        &self,
        fingerprints: &Fingerprints,
    ) -> Result<Option<Decision>, Rejection> {
        match self.ask(Operation::Recall { fingerprints: fingerprints.clone() }).await? {
            Reply::Recalled { decision } => Ok(decision),
            _ => Err(Rejection::StoreUnavailable),
        }
    }

    /// Tells what became of an unknown outcome.
    pub(crate) async fn settle(
        &self,
        settlement: Settlement,
    ) -> Result<(Settling, Option<KeyStatus>), Rejection> {
        match self.ask(Operation::Settle { settlement }).await? {
            Reply::Settled { settling, status } => Ok((settling, status)),
            _ => Err(Rejection::StoreUnavailable),
        }
    }

    /// Has headers that are no text stored with the origin's answer.
    pub(crate) fn bring(&self, odd: Option<web_sys::Headers>) {
        self.authority.bring(odd);
    }

    /// The headers that are no text of the answer that the authority has replayed.
    pub(crate) fn came(&self) -> Option<web_sys::Headers> {
        self.authority.came()
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
    pub(crate) fn renew(&self, patience: Patience) -> impl Future<Output = Result<Reply, NoReply>> {
        self.authority.call(Operation::Renew { token: self.token }, patience)
    }

    /// Tells the authority in the background how the attempt ended.
    pub(crate) fn fail_later(&self, cause: FailCause) -> Work {
        let authority = Rc::clone(&self.authority);
        let operation = Operation::Fail { token: self.token, cause };
        Box::pin(async move {
            let _ = authority.call(operation, Patience::in_background()).await;
        })
    }

    /// Asks before anything is executed. Past half the lease nothing may be dispatched, so there is
    /// no use in waiting for longer.
    async fn ask(&self, operation: Operation) -> Result<Reply, Rejection> {
        let patience = Patience::within(self.policy.lease.half());
        match self.authority.call(operation, patience).await {
            Ok(Reply::Unreadable) => Err(Rejection::RecordUnreadable),
            Ok(reply) => Ok(reply),
            Err(NoReply::Unavailable) => Err(Rejection::StoreUnavailable),
            Err(NoReply::NoRoom) => Err(Rejection::Overloaded),
        }
    }

    async fn end(&self, operation: Operation) -> Ended {
        match self.authority.call(operation, Patience::with_answer_in_hand()).await {
            Ok(Reply::Ended { completion, status }) => Ok((completion, status)),
            Ok(_) | Err(_) => Err(NoReply::Unavailable),
        }
    }
}
