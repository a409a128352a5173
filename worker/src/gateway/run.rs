//! An attempt at a write. What is asked of the records and the origin, and in which order, is
//! decided by the core (`write_flow` there); here it is carried out.

use crate::gateway::origin::{self, Deadline, OriginAnswer, OriginBody, OriginError, Outgoing};
use crate::gateway::outcome::{Outcome, Work};
use crate::gateway::record::Claim;
use crate::gateway::replica;
use crate::http::body_budget::Reservation;
use crate::http::context::Caller;
use crate::http::headers;
use crate::http::request::Incoming;
use crate::http::response::Answer;
use crate::shard::client::Patience;
use futures_util::future::{Either, LocalBoxFuture, OptionFuture, join, pending, select};
use oncekey::budget::SMALL;
use oncekey::exchange::{
    After, Answer as Said, Answered, Exchange, NamedBy, Of, OriginFailure, Step, Told, Write,
};
use oncekey::{
    Attempt, Decision, Execution, Fingerprints, IdempotencyKey, KeyStatus, Millis, Rejection,
    StoredResponse,
};
use platform::clock;
use platform::panic;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::pin::pin;
use worker::Env;

/// How long the authority may take before the replica is asked as well.
const SLOW: Millis = Millis::new(50);

/// How long a look-up may take in all.
const LOOK_UP: Millis = Millis::from_seconds(10);

/// A write on its way through the gateway.
pub(crate) struct WriteRun<'a> {
    pub(crate) env: &'a Env,
    pub(crate) caller: &'a Caller,
    pub(crate) incoming: &'a Incoming,
    pub(crate) body: Vec<u8>,
    pub(crate) write: Write,
    pub(crate) fingerprints: Fingerprints,
    pub(crate) key: Option<IdempotencyKey>,
    /// The record that decides first: the key's, or the number's where there is no key.
    pub(crate) first: Claim,
    /// The number's record, where there is a key too.
    pub(crate) number: Option<Claim>,
}

/// The origin's response, as it came, and whether its body is kept.
struct Own {
    answer: OriginAnswer,
    body: OriginBody,
    is_kept: bool,
}

impl WriteRun<'_> {
    /// Executes the write, or finds out why not.
    pub(crate) async fn execute(&self) -> Outcome {
        let (mut exchange, mut step) = Exchange::begin(self.write.clone(), clock::now());
        let mut own = None;
        let mut leases: LocalBoxFuture<'_, Infallible> = Box::pin(pending());
        loop {
            // From here on the leases are kept until the end is recorded, not only until the origin
            // has answered.
            if let Step::CallOrigin(execution) = step {
                leases = Box::pin(self.keep_leases(execution));
            }
            let done = match select(pin!(self.carry_out(step, &mut own)), &mut leases).await {
                Either::Left((done, _)) => done,
                Either::Right((never, _)) => match never {},
            };
            match done {
                ControlFlow::Continue(told) => step = exchange.tell(told, clock::now()),
                ControlFlow::Break(answered) => return self.outcome(answered, own),
            }
        }
    }

    /// Carries a step out. Breaks with the answer, which is the last step.
    async fn carry_out(&self, step: Step, own: &mut Option<Own>) -> ControlFlow<Answered, Told> {
        ControlFlow::Continue(match step {
            Step::Begin(of) => self.begin(of).await,
            Step::AskReplica => Told::Copied(self.ask_replica().await),
            Step::RecallNumber => {
                Told::Recalled(self.claim(Of::Number).recall(&self.fingerprints).await)
            }
            Step::LookUp(told) => Told::LookedUp(self.look_up(&told).await),
            Step::CallOrigin(execution) => Told::Called(self.call_origin(execution, own).await),
            Step::Complete(of, response) => {
                Told::Ended(self.claim(of).complete(response).await.ok())
            }
            Step::Fail(of, cause) => Told::Ended(self.claim(of).fail(cause).await.ok()),
            Step::Settle(of, settlement) => Told::Settled(self.claim(of).settle(settlement).await),
            Step::Answer(answered) => return ControlFlow::Break(answered),
        })
    }

    /// Renews the leases for as long as it is polled.
    async fn keep_leases(&self, execution: Execution) -> Infallible {
        let patience = Patience::within(execution.renew_after());
        loop {
            clock::sleep(execution.renew_after()).await;
            let of_number = self.number.as_ref().map(|number| number.renew(patience));
            let _ = join(self.first.renew(patience), OptionFuture::from(of_number)).await;
        }
    }

    /// Asks for the right to execute. Where the first record's authority is slow, its replica is
    /// asked as well; events have none.
    async fn begin(&self, of: Of) -> Told {
        if of == Of::Number || self.write.named_by == NamedBy::Event {
            return Told::Begun(self.claim(of).begin(&self.fingerprints).await);
        }
        let asked = pin!(self.first.begin(&self.fingerprints));
        let copied = pin!(async {
            clock::sleep(SLOW).await;
            self.ask_replica().await
        });
        match select(asked, copied).await {
            Either::Left((begun, _)) => Told::Begun(begun),
            Either::Right((Some(copied), _)) => Told::Copied(Some(copied)),
            Either::Right((None, asked)) => Told::Begun(asked.await),
        }
    }

    async fn ask_replica(&self) -> Option<(Decision, Option<KeyStatus>)> {
        let attempt = Attempt {
            fingerprints: &self.fingerprints,
            token: self.first.token,
            minted_at: self.first.minted_at,
            policy: &self.first.policy,
        };
        let step = replica::ask(self.env, self.first.name, &attempt, &self.caller.room).await?;
        Some((step.decision, step.status))
    }

    /// Calls the origin. Returns its response as it is kept, and puts it as it came into `own`.
    async fn call_origin(
        &self,
        execution: Execution,
        own: &mut Option<Own>,
    ) -> Result<StoredResponse, OriginFailure> {
        let deadline = Deadline::after(self.caller.config.origin_timeout);
        let (key, attempt) = (self.key.as_ref(), execution.attempt);
        let request_id = &self.caller.request_id;
        let outgoing = Outgoing::once(self.incoming, &self.body, key, attempt, request_id);
        let called_at = clock::now();
        let called = self.ask_origin(outgoing, &deadline).await;
        self.caller.measure.executed(clock::now().since(called_at));
        panic::point("task");
        let (answer, body) = called.map_err(|error| match error {
            OriginError::TimedOut => {
                deadline.abort();
                OriginFailure::TimedOut
            }
            OriginError::NoAnswer => OriginFailure::Unreachable,
            OriginError::CutOff => OriginFailure::CutOff,
        })?;
        let stored = self.stored(&answer, &body);
        let odd = answer.odd_headers(&stored.headers);
        if let Some(number) = &self.number {
            number.bring(odd.clone());
        }
        self.first.bring(odd);
        *own = Some(Own { answer, body, is_kept: stored.body().is_some() });
        Ok(stored)
    }

    /// Asks the origin what became of a request that is told this; `None` where there is no look-up for
    /// it, or where the response proves nothing. The caller's own credential is the only one there is.
    async fn look_up(&self, told: &Decision) -> Option<StoredResponse> {
        let (config, incoming) = (&self.caller.config, self.incoming);
        let look_ups = match told {
            Decision::OutcomeUnknown => &config.resolve,
            _ => &config.resolve_numbers,
        };
        let (method, path) = (&incoming.method, &incoming.path);
        let content_type = incoming.header("content-type");
        let look_up = look_ups.find(method, path, content_type, &self.body)?;
        let request_id = &self.caller.request_id;
        let target = look_up.target.clone();
        let outgoing = Outgoing::look_up(incoming, target, &config.scope, request_id);
        let deadline = Deadline::after(LOOK_UP);
        match self.ask_origin(outgoing, &deadline).await {
            Ok((answer, body)) => {
                let found = self.stored(&answer, &body);
                Some(found).filter(|found| look_up.is_proved_by(found))
            }
            Err(OriginError::TimedOut) => {
                deadline.abort();
                None
            }
            Err(_) => None,
        }
    }

    /// Calls the origin and reads as much of its answer as is kept.
    async fn ask_origin(
        &self,
        outgoing: Outgoing,
        deadline: &Deadline,
    ) -> Result<(OriginAnswer, OriginBody), OriginError> {
        let config = &self.caller.config;
        let answer = origin::call(self.env, config, outgoing, deadline).await?;
        let body = answer.read_body(config.max_replay, &self.caller.room, deadline).await?;
        Ok((answer, body))
    }

    /// The answer as it is kept.
    fn stored(&self, answer: &OriginAnswer, body: &OriginBody) -> StoredResponse {
        let request_id = answer.request_id().unwrap_or(&self.caller.request_id);
        let (status, headers) = (answer.status, answer.headers_of_read_body(body));
        match body {
            _ if self.write.named_by == NamedBy::Event => {
                StoredResponse::without_body(status, [], request_id)
            }
            OriginBody::Whole(bytes) => {
                let limit = self.caller.config.max_replay;
                StoredResponse::keep(status, headers, bytes.clone(), request_id, limit).0
            }
            // Recorded before the first byte is passed on: once it is out, nobody may try again.
            OriginBody::Stream { .. } => StoredResponse::without_body(status, headers, request_id),
        }
    }

    fn outcome(&self, answered: Answered, own: Option<Own>) -> Outcome {
        let Answered { answer, status, after } = answered;
        let own = own.map(|Own { answer, body, is_kept }| {
            let answer = answer.with_body(body, &self.caller.room);
            if is_kept { answer } else { answer.only_once() }
        });
        let reject = |rejection: &Rejection| self.caller.reject_by(rejection, status.as_ref());
        let answer = match (answer, own) {
            (Said::Own, Some(own)) => own,
            (Said::NotStored, Some(own)) => own.not_stored(),
            (Said::Own | Said::NotStored, None) => reject(&Rejection::Internal),
            (Said::Replay(response), _) => self.replay(response).unwrap_or_else(|| {
                reject(&Rejection::NotReplayable { http_status: None, resource: None })
            }),
            (Said::Duplicate, _) => self.caller.duplicate(),
            (Said::Rejected(rejection), _) => reject(&rejection),
        };
        let work = after.into_iter().filter_map(|after| self.work(after, status.as_ref()));
        let work: Vec<Work> = work.collect();
        let after: Option<Work> = (!work.is_empty()).then(|| {
            let in_order = async move {
                for work in work {
                    work.await;
                }
            };
            Box::pin(in_order) as Work
        });
        Outcome { answer: answer.with_key_status(status.as_ref()), after }
    }

    /// A stored answer. Headers that are no text come from the record that has replayed it.
    fn replay(&self, response: StoredResponse) -> Option<Answer> {
        let claims = [Some(&self.first), self.number.as_ref()];
        let is_odd = response.has_odd_headers();
        let came = claims.into_iter().flatten().filter(|_| is_odd).find_map(|claim| {
            claim.came().filter(|came| {
                headers::odd(&response.headers, came)
                    .is_some_and(|odd| worker::Headers(odd).keys().next().is_some())
            })
        });
        Answer::replay(response, came)
    }

    fn work(&self, after: After, status: Option<&KeyStatus>) -> Option<Work> {
        match after {
            After::Fail(of, cause) => Some(self.claim(of).fail_later(cause)),
            After::Copy(response) => {
                let (fingerprint, now) = (self.fingerprints.signing(), clock::now());
                let shortest = replica::shortest();
                let (record, left) =
                    oncekey::replica::copy(fingerprint, &response, status?, shortest, now)?;
                // Until KV has it, the copy is in memory as well, and nobody needs it.
                let room = Reservation::of_response();
                let size = response.body().map_or(0, <[u8]>::len) as u64;
                if size > SMALL && !room.fits_replay(size) {
                    return None;
                }
                let (env, name) = (self.env.clone(), self.first.name);
                Some(Box::pin(async move {
                    replica::put(&env, name, &record, left).await;
                    drop(room);
                }))
            }
        }
    }

    fn claim(&self, of: Of) -> &Claim {
        match of {
            Of::First => &self.first,
            Of::Number => self.number.as_ref().unwrap_or(&self.first),
        }
    }
}
