//! The calls of an attempt about one record: its key's, or its business key's.

use crate::gateway::outcome::Work;
use crate::metrics::Measure;
use crate::shard::client::{NoReply, Patience, ShardClient};
use crate::shard::protocol::{
    AnyOperation, Begin, Decided, End, Fail, Operation, Peek, Renew, Settle,
};
use oncekey::{
    AttemptToken, Completion, Decision, FailCause, Fingerprints, Policy, Rejection, Renewal,
    ScopedKey, Settlement, Settling, UnixMillis,
};
use platform::{clock, random};
use std::rc::Rc;

/// The handle by which an attempt calls one record.
pub(crate) struct RecordHandle {
    pub(crate) name: ScopedKey,
    pub(crate) token: AttemptToken,
    /// When the key was made; `None` if the key does not contain the time.
    pub(crate) minted_at: Option<UnixMillis>,
    /// The current policy, for a new record.
    pub(crate) policy: Policy,
    shard: Rc<ShardClient>,
    measure: Rc<Measure>,
}

impl RecordHandle {
    pub(crate) fn new(
        shard: ShardClient,
        minted_at: Option<UnixMillis>,
        policy: Policy,
        measure: &Rc<Measure>,
    ) -> Self {
        let (name, shard, measure) = (shard.name, Rc::new(shard), Rc::clone(measure));
        Self { name, token: random::token(), minted_at, policy, shard, measure }
    }

    /// Calls `begin`: asks whether the attempt may execute.
    pub(crate) async fn begin(
        &self,
        fingerprints: &Fingerprints,
    ) -> Result<Decided<Decision>, Rejection> {
        let Self { token, minted_at, policy, .. } = *self;
        let begin = Begin { fingerprints: fingerprints.clone(), token, minted_at, policy };
        let decided = self.ask(begin).await?;
        // The record numbers the attempts. Later calls send the number.
        if let Decision::Execute(execution) = &decided.0 {
            self.shard.attempt.set(Some(execution.attempt));
        }
        Ok(decided)
    }

    /// Returns what `begin` would decide.
    pub(crate) async fn peek(
        &self,
        fingerprints: &Fingerprints,
    ) -> Result<Option<Decision>, Rejection> {
        Ok(self.ask(Peek(fingerprints.clone())).await?.0)
    }

    /// Settles an unknown outcome by the result of a look-up at the origin.
    pub(crate) async fn settle(
        &self,
        settlement: Settlement,
    ) -> Result<Decided<Settling>, Rejection> {
        self.ask(Settle { settlement, by_operator: false }).await
    }

    /// Sets the headers that are not UTF-8. They are stored with the origin's response.
    pub(crate) fn bring(&self, odd: Option<web_sys::Headers>) {
        self.shard.odd_sent.replace(odd);
    }

    /// Returns the headers that are not UTF-8 of the response that the record replayed.
    pub(crate) fn came(&self) -> Option<web_sys::Headers> {
        self.shard.odd_received.borrow().clone()
    }

    /// Ends the attempt.
    pub(crate) async fn end(&self, end: AnyOperation) -> Result<Decided<Completion>, NoReply> {
        self.measured(End(end), Patience::after_execution()).await
    }

    /// Renews the lease. A lost lease changes nothing here: the origin is already working, and the
    /// call that ends the attempt decides what happens to its response.
    pub(crate) async fn renew(&self, patience: Patience) -> Result<Decided<Renewal>, NoReply> {
        self.shard.call(Renew(self.token), patience).await
    }

    /// Returns the work that records a failed attempt in the background.
    pub(crate) fn fail_later(&self, cause: FailCause) -> Work {
        let (shard, fail) = (Rc::clone(&self.shard), End(Fail(self.token, cause).into()));
        Box::pin(async move {
            let _ = shard.call(fail, Patience::in_background()).await;
        })
    }

    /// Makes a call before anything is executed. It waits for at most half the lease, because nothing
    /// may be dispatched after that.
    async fn ask<O: Operation>(&self, operation: O) -> Result<Decided<O::Decision>, Rejection> {
        let patience = Patience::within(self.policy.lease.half());
        Ok(self.measured(operation, patience).await?)
    }

    /// Makes a call and measures how long the caller waits for it.
    async fn measured<O: Operation>(
        &self,
        operation: O,
        patience: Patience,
    ) -> Result<Decided<O::Decision>, NoReply> {
        let began_at = clock::now();
        let reply = self.shard.call(operation, patience).await;
        self.measure.waited_for_object(clock::now().since(began_at));
        reply
    }
}
