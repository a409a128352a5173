//! An attempt that may execute: the origin is called once, and what came of it is stored before
//! anybody is told.

use crate::answer::{Answer, Caller};
use crate::authority::{Authority, Patience, Unavailable};
use crate::budget::Reservation;
use crate::clock;
use crate::gateway::{KeyedWrite, Outcome, answer_to};
use crate::incoming::Incoming;
use crate::panic;
use crate::protocol::{Operation, Reply};
use crate::replica;
use crate::upstream::{self, Deadline, OriginAnswer, OriginBody, OriginError, Outgoing};
use futures_util::future::{Either, LocalBoxFuture, select};
use oncekey::{Completion, Execution, FailCause, KeyStatus, Rejection, StoredResponse, Token};
use std::pin::pin;
use std::rc::Rc;
use worker::Env;

/// An attempt that owns its key.
pub(crate) struct Attempting<'a> {
    pub(crate) env: &'a Env,
    pub(crate) caller: &'a Caller,
    pub(crate) incoming: &'a Incoming,
    pub(crate) body: Vec<u8>,
    pub(crate) answers: Reservation,
    pub(crate) write: KeyedWrite,
    pub(crate) execution: Execution,
}

/// What became of the attempt's end.
enum End {
    /// It is recorded: the caller gets what this attempt brought.
    Recorded(Option<KeyStatus>),
    /// The caller gets this instead: what stands.
    Overtaken(Answer),
    /// It is not recorded, and nobody will get this answer again.
    NotStored,
}

impl Attempting<'_> {
    pub(crate) async fn run(self) -> Outcome {
        if !self.execution.may_dispatch(self.write.sent_at, clock::now()) {
            return self
                .end_without_answer(FailCause::NotDispatched, &Rejection::TooLateToDispatch)
                .await;
        }
        // The lease is kept until the end is recorded, not only until the origin has answered.
        match select(pin!(self.execute()), pin!(self.keep_lease())).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right((never, _)) => match never {},
        }
    }

    async fn execute(&self) -> Outcome {
        let deadline = Deadline::after(self.caller.config.origin_timeout);
        let called = self.call_origin(&deadline).await;
        panic::point("task");
        let (cause, rejection) = match called {
            Ok((answer, body)) => return self.end_with_answer(answer, body).await,
            Err(OriginError::TimedOut) => {
                deadline.abort();
                (FailCause::TimedOut, Rejection::OriginTimedOut)
            }
            Err(OriginError::NoAnswer) if self.caller.config.connect_failure_releases => {
                (FailCause::NotDispatched, Rejection::OriginUnreachable)
            }
            Err(OriginError::NoAnswer | OriginError::CutOff) => {
                (FailCause::ConnectionLost, Rejection::OriginUnreachable)
            }
        };
        self.end_without_answer(cause, &rejection).await
    }

    async fn call_origin(
        &self,
        deadline: &Deadline,
    ) -> Result<(OriginAnswer, OriginBody), OriginError> {
        let (key, attempt) = (self.write.key.as_str(), self.execution.attempt);
        let outgoing =
            Outgoing::keyed(self.incoming, &self.body, key, attempt, &self.caller.request_id);
        let config = &self.caller.config;
        let answer = upstream::call(self.env, config, outgoing, deadline).await?;
        let body = answer.read_body(config.max_replay, &self.answers, deadline).await?;
        Ok((answer, body))
    }

    /// Renews the lease for as long as it is polled. That it was lost changes nothing here: the
    /// origin is at work already, and the end of the attempt tells what becomes of its answer.
    async fn keep_lease(&self) -> std::convert::Infallible {
        let patience = Patience::within(self.execution.renew_after());
        loop {
            clock::sleep(self.execution.renew_after()).await;
            let _ = self
                .write
                .authority
                .call(Operation::Renew { token: self.write.token }, patience)
                .await;
        }
    }

    async fn end_with_answer(&self, answer: OriginAnswer, body: OriginBody) -> Outcome {
        let request_id = answer.request_id().unwrap_or(&self.caller.request_id).to_owned();
        let (status, headers) = (answer.status, answer.headers_of_read_body());
        let stored = match &body {
            OriginBody::Whole(bytes) => {
                let limit = self.caller.config.max_replay;
                StoredResponse::keep(status, headers, bytes.clone(), &request_id, limit).0
            }
            // Recorded before the first byte is passed on: once it is out, nobody may try again.
            OriginBody::Stream { .. } => StoredResponse::without_body(status, headers, &request_id),
        };
        let operation = Operation::Complete { token: self.write.token, response: stored.clone() };
        match self.end(operation).await {
            End::Recorded(key_status) => Outcome {
                after: key_status.as_ref().and_then(|status| self.copy_to_replica(&stored, status)),
                answer: answer.with_body(body).with_key_status(key_status.as_ref()),
            },
            End::Overtaken(standing) => standing.into(),
            End::NotStored => Outcome {
                answer: answer.with_body(body).not_stored(),
                after: Some(hold(Rc::clone(&self.write.authority), self.write.token)),
            },
        }
    }

    async fn end_without_answer(&self, cause: FailCause, rejection: &Rejection) -> Outcome {
        let operation = || Operation::Fail { token: self.write.token, cause };
        let answer = self.caller.reject(rejection);
        match self.end(operation()).await {
            End::Recorded(status) => answer.with_key_status(status.as_ref()).into(),
            End::Overtaken(standing) => standing.into(),
            End::NotStored => {
                let (authority, operation) = (Rc::clone(&self.write.authority), operation());
                let after = async move {
                    let _ = authority.call(operation, Patience::in_background()).await;
                };
                Outcome { answer, after: Some(Box::pin(after)) }
            }
        }
    }

    async fn end(&self, operation: Operation) -> End {
        let patience = Patience::with_answer_in_hand();
        match self.write.authority.call(operation, patience).await {
            Ok(Reply::Ended { completion: Completion::Recorded, status }) => End::Recorded(status),
            Ok(Reply::Ended { completion: Completion::LeaseLost(decision), status }) => {
                End::Overtaken(answer_to(self.caller, *decision, status.as_ref()))
            }
            Ok(_) | Err(Unavailable) => End::NotStored,
        }
    }

    fn copy_to_replica(
        &self,
        stored: &StoredResponse,
        status: &KeyStatus,
    ) -> Option<LocalBoxFuture<'static, ()>> {
        let fingerprint = self.write.fingerprints.signing();
        let (record, left) =
            oncekey::replica::copy(fingerprint, stored, status, replica::shortest(), clock::now())?;
        let (env, name) = (self.env.clone(), self.write.name);
        Some(Box::pin(async move { replica::put(&env, name, &record, left).await }))
    }
}

/// The caller has an answer that is not stored: no retry may make another one.
fn hold(authority: Rc<Authority>, token: Token) -> LocalBoxFuture<'static, ()> {
    let operation = Operation::Fail { token, cause: FailCause::NotStored };
    Box::pin(async move {
        let _ = authority.call(operation, Patience::in_background()).await;
    })
}
