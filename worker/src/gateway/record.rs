//! The calls of an attempt about one record: its key's, or its business key's.

use crate::gateway::outcome::Work;
use crate::metrics::Measure;
use crate::shard::client::{NoReply, Patience, ShardClient};
use crate::shard::protocol::{Begin, Complete, Decided, Fail, Operation, Peek, Renew, Settle};
use oncekey::{
    Completion, Decision, FailCause, Fingerprints, Policy, Rejection, Renewal, ScopedKey,
    Settlement, Settling, StoredResponse, Token, UnixMillis,
};
use platform::{clock, random};
use std::rc::Rc;
use worker::web_sys;

/// An attempt at one record.
pub(crate) struct RecordHandle {
    pub(crate) name: ScopedKey,
    pub(crate) token: Token,
    /// When the key was made, where it tells.
    pub(crate) minted_at: Option<UnixMillis>,
    /// Today's policy, for a record that is new.
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

    /// Asks for the right to execute.
    pub(crate) async fn begin(
        &self,
        fingerprints: &Fingerprints,
    ) -> Result<Decided<Decision>, Rejection> {
        let Self { token, minted_at, policy, .. } = *self;
        let begin = Begin { fingerprints: fingerprints.clone(), token, minted_at, policy };
        let decided = self.ask(begin).await?;
        // The record numbers the attempts; what follows says which of them it is.
        if let Decision::Execute(execution) = &decided.0 {
            self.shard.attempt.set(Some(execution.attempt));
        }
        Ok(decided)
    }

    /// Asks what `begin` would decide.
    pub(crate) async fn peek(
        &self,
        fingerprints: &Fingerprints,
    ) -> Result<Option<Decision>, Rejection> {
        Ok(self.ask(Peek(fingerprints.clone())).await?.0)
    }

    /// Brings what the origin's look-up found out about an unknown outcome.
    pub(crate) async fn settle(
        &self,
        settlement: Settlement,
    ) -> Result<Decided<Settling>, Rejection> {
        self.ask(Settle { settlement, by_operator: false }).await
    }

    /// Has headers that are no text stored with the origin's answer.
    pub(crate) fn bring(&self, odd: Option<web_sys::Headers>) {
        self.shard.odd_sent.replace(odd);
    }

    /// The headers that are no text of the answer that the record has replayed.
    pub(crate) fn came(&self) -> Option<web_sys::Headers> {
        self.shard.odd_received.borrow().clone()
    }

    /// Brings the origin's answer.
    pub(crate) async fn complete(
        &self,
        response: StoredResponse,
    ) -> Result<Decided<Completion>, NoReply> {
        let complete = Complete(self.token, response);
        self.measured(complete, Patience::with_answer_in_hand()).await
    }

    /// Ends the attempt without an answer.
    pub(crate) async fn fail(&self, cause: FailCause) -> Result<Decided<Completion>, NoReply> {
        let fail = Fail(self.token, cause);
        self.measured(fail, Patience::with_answer_in_hand()).await
    }

    /// Renews the lease. That it was lost changes nothing: the origin is at work already, and the
    /// end of the attempt tells what becomes of its answer.
    pub(crate) async fn renew(&self, patience: Patience) -> Result<Decided<Renewal>, NoReply> {
        self.shard.call(Renew(self.token), patience).await
    }

    /// Tells the record in the background how the attempt ended.
    pub(crate) fn fail_later(&self, cause: FailCause) -> Work {
        let (shard, fail) = (Rc::clone(&self.shard), Fail(self.token, cause));
        Box::pin(async move {
            let _ = shard.call(fail, Patience::in_background()).await;
        })
    }

    /// Asks before anything is executed. Past half the lease nothing may be dispatched, so there is
    /// no use in waiting for longer.
    async fn ask<O: Operation>(&self, operation: O) -> Result<Decided<O::Decision>, Rejection> {
        let patience = Patience::within(self.policy.lease.half());
        Ok(self.measured(operation, patience).await?)
    }

    /// Makes a call that the caller waits for.
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
