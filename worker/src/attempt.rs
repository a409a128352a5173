//! An attempt that may execute: the origin is called once, and what came of it is stored before
//! anybody is told.

use crate::answer::{Answer, Caller};
use crate::authority::{Patience, Unavailable};
use crate::budget::Reservation;
use crate::claim::{After, Ended, both};
use crate::clock;
use crate::gateway::{Outcome, Write, replay};
use crate::incoming::Incoming;
use crate::number::{Bound, Pair};
use crate::panic;
use crate::replica;
use crate::upstream::{self, Deadline, OriginAnswer, OriginBody, OriginError, Outgoing};
use futures_util::future::{Either, OptionFuture, join, select};
use oncekey::business::KeyEnd;
use oncekey::{Completion, Execution, FailCause, KeyStatus, Rejection, StoredResponse};
use std::pin::pin;
use worker::Env;

/// An attempt at a write.
pub(crate) struct Attempting<'a> {
    pub(crate) env: &'a Env,
    pub(crate) caller: &'a Caller,
    pub(crate) incoming: &'a Incoming,
    pub(crate) body: Vec<u8>,
    pub(crate) answers: Reservation,
    pub(crate) write: Write,
}

/// What became of the end of the first record's part.
enum End {
    /// It is recorded: the caller gets what this attempt brought.
    Recorded(Option<KeyStatus>),
    /// The caller gets this instead: what stands.
    Overtaken(Answer),
    /// It is not recorded.
    NotStored,
}

impl Attempting<'_> {
    /// The attempt owns the first record.
    pub(crate) async fn run(&self, execution: Execution) -> Outcome {
        let execution = match &self.write.second {
            None => execution,
            Some(number) => match self.pair(number, execution).await {
                Pair::Dispatch(execution) => execution,
                Pair::Answered(outcome) => return outcome,
            },
        };
        if !execution.may_dispatch(self.write.sent_at, clock::now()) {
            return self
                .end_without_answer(FailCause::NotDispatched, &Rejection::TooLateToDispatch)
                .await;
        }
        // The leases are kept until the end is recorded, not only until the origin has answered.
        match select(pin!(self.execute(execution)), pin!(self.keep_leases(execution))).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right((never, _)) => match never {},
        }
    }

    /// Renews the leases for as long as it is polled.
    async fn keep_leases(&self, execution: Execution) -> std::convert::Infallible {
        let patience = Patience::within(execution.renew_after());
        loop {
            clock::sleep(execution.renew_after()).await;
            let of_number = self.write.second.as_ref().map(|number| number.renew(patience));
            let _ = join(self.write.first.renew(patience), OptionFuture::from(of_number)).await;
        }
    }

    async fn execute(&self, execution: Execution) -> Outcome {
        let deadline = Deadline::after(self.caller.config.origin_timeout);
        let (key, attempt) = (self.write.key.as_ref(), execution.attempt);
        let request_id = &self.caller.request_id;
        let outgoing = Outgoing::once(self.incoming, &self.body, key, attempt, request_id);
        let called_at = clock::now();
        let called = self.ask_origin(outgoing, &deadline).await;
        self.caller.measure.executed(clock::now().since(called_at));
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

    /// Calls the origin and reads as much of its answer as is kept.
    pub(crate) async fn ask_origin(
        &self,
        outgoing: Outgoing,
        deadline: &Deadline,
    ) -> Result<(OriginAnswer, OriginBody), OriginError> {
        let config = &self.caller.config;
        let answer = upstream::call(self.env, config, outgoing, deadline).await?;
        let body = answer.read_body(config.max_replay, &self.answers, deadline).await?;
        Ok((answer, body))
    }

    async fn end_with_answer(&self, answer: OriginAnswer, body: OriginBody) -> Outcome {
        let stored = self.stored(&answer, &body);
        let Bound { end, is_bound, after } = self.bind(&stored).await;
        match end {
            KeyEnd::Own => {}
            KeyEnd::Adopt(response) => return self.adopt(response).await,
            KeyEnd::Unknown(stands) => {
                let why = stands.rejection().unwrap_or(Rejection::Internal);
                return self.end_first(FailCause::ConnectionLost, &self.write.of_number(why)).await;
            }
        }
        match self.complete_first(stored.clone()).await {
            End::Recorded(status) => Outcome {
                after: both(self.copy_to_replica(&stored, status.as_ref()), after),
                answer: answer.with_body(body).with_key_status(status.as_ref()),
            },
            End::Overtaken(standing) => Outcome { answer: standing, after },
            End::NotStored => {
                let answer = answer.with_body(body);
                let held = self.write.first.fail_later(FailCause::NotStored);
                Outcome {
                    // What the number has is not lost: it becomes the key's when that comes again.
                    answer: if is_bound { answer } else { answer.not_stored() },
                    after: both(Some(held), after),
                }
            }
        }
    }

    /// The answer as it is kept.
    pub(crate) fn stored(&self, answer: &OriginAnswer, body: &OriginBody) -> StoredResponse {
        let request_id = answer.request_id().unwrap_or(&self.caller.request_id);
        let (status, headers) = (answer.status, answer.headers_of_read_body());
        match body {
            _ if self.write.is_event => StoredResponse::without_body(status, [], request_id),
            OriginBody::Whole(bytes) => {
                let limit = self.caller.config.max_replay;
                StoredResponse::keep(status, headers, bytes.clone(), request_id, limit).0
            }
            // Recorded before the first byte is passed on: once it is out, nobody may try again.
            OriginBody::Stream { .. } => StoredResponse::without_body(status, headers, request_id),
        }
    }

    /// The attempt ends without an answer of the origin.
    async fn end_without_answer(&self, cause: FailCause, rejection: &Rejection) -> Outcome {
        let mut after = None;
        if let Some(number) = &self.write.second
            && number.fail(cause).await.is_err()
        {
            after = Some(number.fail_later(cause));
        }
        let outcome = self.end_first(cause, rejection).await;
        Outcome { after: both(outcome.after, after), ..outcome }
    }

    /// The first record's part ends without an answer.
    pub(crate) async fn end_first(&self, cause: FailCause, rejection: &Rejection) -> Outcome {
        let answer = self.caller.reject(rejection);
        match self.end(self.write.first.fail(cause).await) {
            End::Recorded(status) => answer.with_key_status(status.as_ref()).into(),
            End::Overtaken(standing) => standing.into(),
            End::NotStored => Outcome { answer, after: Some(self.write.first.fail_later(cause)) },
        }
    }

    /// The first record gets an answer that is stored elsewhere already, and the caller gets it as
    /// a replay.
    pub(crate) async fn adopt(&self, response: StoredResponse) -> Outcome {
        match self.complete_first(response.clone()).await {
            End::Recorded(status) => self.replayed(response, status),
            End::Overtaken(standing) => standing.into(),
            End::NotStored => Outcome {
                answer: replay(self.caller, response),
                after: Some(self.write.first.fail_later(FailCause::NotDispatched)),
            },
        }
    }

    /// An answer that has just become the first record's, as a replay.
    pub(crate) fn replayed(&self, response: StoredResponse, status: Option<KeyStatus>) -> Outcome {
        Outcome {
            after: self.copy_to_replica(&response, status.as_ref()),
            answer: replay(self.caller, response).with_key_status(status.as_ref()),
        }
    }

    async fn complete_first(&self, response: StoredResponse) -> End {
        self.end(self.write.first.complete(response).await)
    }

    fn end(&self, ended: Ended) -> End {
        match ended {
            Ok((Completion::Recorded, status)) => End::Recorded(status),
            Ok((Completion::LeaseLost(decision), status)) => {
                End::Overtaken(self.write.answer_to(self.caller, *decision, status.as_ref()))
            }
            Ok((Completion::RecordGone, _)) | Err(Unavailable) => End::NotStored,
        }
    }

    fn copy_to_replica(
        &self,
        stored: &StoredResponse,
        status: Option<&KeyStatus>,
    ) -> Option<After> {
        let (fingerprint, now) = (self.write.fingerprints.signing(), clock::now());
        let (record, left) =
            oncekey::replica::copy(fingerprint, stored, status?, replica::shortest(), now)?;
        let (env, name) = (self.env.clone(), self.write.first.name);
        Some(Box::pin(async move { replica::put(&env, name, &record, left).await }))
    }
}
