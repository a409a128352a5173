//! Carries out the flow of a write. The core's `write_flow` decides which calls go to the records and
//! the origin, and in which order.

use crate::gateway::identity;
use crate::gateway::memory;
use crate::gateway::origin::{self, Limits, OriginBody, OriginError, OriginResponse};
use crate::gateway::origin_request::OriginRequest;
use crate::gateway::outcome::{GatewayOutcome, Work};
use crate::gateway::record::RecordHandle;
use crate::gateway::replica;
use crate::http::body_budget::Reservation;
use crate::http::context::Caller;
use crate::http::headers;
use crate::http::request::HttpRequest;
use crate::http::response::HttpResponse;
use crate::shard::client::Patience;
use crate::shard::protocol::{AnyOperation, Complete, CompleteAs, Decided, Fail};
use futures_util::future::{Either, LocalBoxFuture, OptionFuture, join, pending, select};
use oncekey::budget::SMALL;
use oncekey::request::key_headers::KeyHeaders;
use oncekey::write_flow::{
    Action, CallerResponse, Event, FollowUp, Identity, OriginFailure, Target, Write, WriteFlow,
    WriteOutcome,
};
use oncekey::{
    Attempt, Completion, Decision, Execution, Fingerprints, IdempotencyKey, KeyStatus, Millis,
    Rejection, StoredResponse,
};
use platform::clock;
use platform::panic;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::pin::pin;
use std::rc::Rc;

/// How long a shard may take to reply before the gateway also reads the replica.
const SLOW: Millis = Millis::new(50);

/// How long a look-up may take in all.
const LOOK_UP: Millis = Millis::from_seconds(10);

/// A write on its way through the gateway.
pub(crate) struct WriteRun<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) request: &'a HttpRequest,
    pub(crate) body: Vec<u8>,
    pub(crate) write: Write,
    pub(crate) fingerprints: Fingerprints,
    /// The key, and the headers that may contain it.
    pub(crate) key: Option<(IdempotencyKey, &'a KeyHeaders)>,
    /// The record that decides first: of the key, or of the business key where there is no key.
    pub(crate) first: RecordHandle,
    /// The business key's record, where there is a key too.
    pub(crate) second: Option<RecordHandle>,
}

/// The origin's response, as it came, and whether its body is kept.
struct Own {
    response: OriginResponse,
    body: OriginBody,
    is_kept: bool,
}

impl WriteRun<'_> {
    /// Executes the write, unless a record or a limit says not to.
    pub(crate) async fn execute(&self) -> GatewayOutcome {
        let (mut flow, mut action) = WriteFlow::begin(self.write.clone(), clock::now());
        let mut own = None;
        let mut leases: LocalBoxFuture<'_, Infallible> = Box::pin(pending());
        loop {
            // The leases are renewed until the end of the attempt is recorded.
            if let Action::CallOrigin(execution) = action {
                leases = Box::pin(self.keep_leases(execution));
            }
            let done = match select(pin!(self.carry_out(action, &mut own)), &mut leases).await {
                Either::Left((done, _)) => done,
                Either::Right((never, _)) => match never {},
            };
            match done {
                ControlFlow::Continue(event) => action = flow.advance(event, clock::now()),
                ControlFlow::Break(outcome) => return self.respond(outcome, own).await,
            }
        }
    }

    /// Carries an action out and returns its result. Breaks with the outcome after the last action.
    async fn carry_out(
        &self,
        action: Action,
        own: &mut Option<Own>,
    ) -> ControlFlow<WriteOutcome, Event> {
        ControlFlow::Continue(match action {
            Action::Begin(target) => self.begin(target).await,
            Action::AskReplica => Event::Copied(self.ask_replica().await),
            Action::PeekBusinessKey => {
                Event::Peeked(self.record(Target::BusinessKey).peek(&self.fingerprints).await)
            }
            Action::LookUp(decision) => Event::LookedUp(self.look_up(&decision).await),
            Action::CallOrigin(execution) => Event::Called(self.call_origin(execution, own).await),
            Action::Complete(..) | Action::CompleteAs(..) | Action::Fail(..) => {
                Event::Ended(self.end(action).await)
            }
            Action::Settle(target, settlement) => {
                Event::Settled(self.record(target).settle(settlement).await)
            }
            Action::Respond(outcome) => return ControlFlow::Break(outcome),
        })
    }

    /// Ends the attempt in a record.
    async fn end(&self, action: Action) -> Option<Decided<Completion>> {
        let token = |target| self.record(target).token;
        let (target, end): (_, AnyOperation) = match action {
            Action::Complete(target, response) => {
                (target, Complete(token(target), response).into())
            }
            Action::CompleteAs(target, response, class) => {
                (target, CompleteAs(token(target), response, class).into())
            }
            Action::Fail(target, cause) => (target, Fail(token(target), cause).into()),
            _ => return None,
        };
        self.record(target).end(end).await.ok()
    }

    /// Renews the leases of both records. The future never ends; the leases are renewed while it is
    /// polled.
    async fn keep_leases(&self, execution: Execution) -> Infallible {
        let patience = Patience::within(execution.renew_after());
        loop {
            clock::sleep(execution.renew_after()).await;
            let second = self.second.as_ref().map(|second| second.renew(patience));
            let _ = join(self.first.renew(patience), OptionFuture::from(second)).await;
        }
    }

    /// Calls `begin`, unless the memory has a copy of the first record. If the first record's shard is
    /// slow, also reads the replica, where there is one. Events have no copies.
    async fn begin(&self, target: Target) -> Event {
        if target == Target::BusinessKey || self.write.identity == Identity::Event {
            return Event::Begun(self.record(target).begin(&self.fingerprints).await);
        }
        if let Some(step) = memory::recall(self.first.name, &self.attempt()) {
            return Event::Recalled(step.decision, step.status);
        }
        let asked = pin!(self.first.begin(&self.fingerprints));
        let begun = if self.caller.config.has_replica {
            let copied = pin!(async {
                clock::sleep(SLOW).await;
                self.ask_replica().await
            });
            match select(asked, copied).await {
                Either::Left((begun, _)) => begun,
                Either::Right((Some(copied), _)) => return Event::Copied(Some(copied)),
                Either::Right((None, asked)) => asked.await,
            }
        } else {
            asked.await
        };
        if let Ok((Decision::Replay(response), Some(status))) = &begun {
            self.keep(response, status);
        }
        Event::Begun(begun)
    }

    /// Keeps the first record's response in the isolate's memory.
    fn keep(&self, response: &StoredResponse, status: &KeyStatus) {
        let bound = self.caller.config.replay_memory;
        memory::keep(self.first.name, &self.fingerprints, response, status, bound);
    }

    /// Returns the attempt at the first record.
    fn attempt(&self) -> Attempt<'_> {
        Attempt {
            fingerprints: &self.fingerprints,
            token: self.first.token,
            minted_at: self.first.minted_at,
            policy: &self.first.policy,
        }
    }

    async fn ask_replica(&self) -> Option<(Decision, Option<KeyStatus>)> {
        let (bridge, attempt, room) = (&self.caller.bridge, self.attempt(), &self.caller.room);
        let step = replica::ask(bridge, self.first.name, &attempt, room).await?;
        Some((step.decision, step.status))
    }

    /// Calls the origin. Returns the response in the form to store, and puts the original into `own`.
    async fn call_origin(
        &self,
        execution: Execution,
        own: &mut Option<Own>,
    ) -> Result<StoredResponse, OriginFailure> {
        let (key, attempt) = (self.key.as_ref(), execution.attempt);
        let request_id = &self.caller.request_id;
        let origin_request =
            OriginRequest::once(self.request, &self.body, key, attempt, request_id);
        let called_at = clock::now();
        let called = self.ask_origin(origin_request, self.caller.config.origin_timeout).await;
        self.caller.measure.executed(clock::now().since(called_at));
        panic::point("task");
        let (response, body) = called.map_err(|error| match error {
            OriginError::TimedOut => OriginFailure::TimedOut,
            OriginError::NoResponse => OriginFailure::Unreachable,
            OriginError::CutOff => OriginFailure::CutOff,
        })?;
        let stored = self.stored(&response, &body);
        let odd = headers::odd(&self.caller.bridge, &stored.headers, response.came().as_ref());
        if let Some(second) = &self.second {
            second.bring(odd.clone());
        }
        self.first.bring(odd);
        *own = Some(Own { response, body, is_kept: stored.body().is_some() });
        Ok(stored)
    }

    /// Asks the origin for the outcome of a request that got this decision; `None` if no look-up is
    /// configured for it, or if the response proves nothing. The look-up uses the caller's credential,
    /// because the gateway has none of its own.
    async fn look_up(&self, decision: &Decision) -> Option<StoredResponse> {
        let (config, request) = (&self.caller.config, self.request);
        let look_ups = match decision {
            Decision::OutcomeUnknown => &config.resolve,
            _ => &config.resolve_business_keys,
        };
        let (method, path) = (&request.method, &request.path);
        let content_type = request.header("content-type");
        let look_up = look_ups.find(method, path, content_type, &self.body)?;
        let request_id = &self.caller.request_id;
        let target = look_up.target.clone();
        let origin_request = OriginRequest::look_up(request, target, &config.scope, request_id);
        let (response, body) = self.ask_origin(origin_request, LOOK_UP).await.ok()?;
        let found = self.stored(&response, &body);
        Some(found).filter(|found| look_up.is_proved_by(found))
    }

    /// Calls the origin and reads its response, up to the size that is stored.
    async fn ask_origin(
        &self,
        origin_request: OriginRequest<'_>,
        time: Millis,
    ) -> Result<(OriginResponse, OriginBody), OriginError> {
        let limits = Limits { time, body: self.caller.config.max_replay };
        let mut response = origin::call(self.caller, origin_request, Some(limits)).await?;
        let body = response.read_body(limits.body, &self.caller.room).await?;
        Ok((response, body))
    }

    /// Returns the response in the form to store.
    fn stored(&self, response: &OriginResponse, body: &OriginBody) -> StoredResponse {
        let request_id = response.request_id().unwrap_or(&self.caller.request_id);
        let (status, mut headers) = (response.status, response.headers_of_read_body(body));
        self.caller.config.remove_not_replayed(
            &self.request.method,
            &self.request.path,
            &mut headers,
        );
        match body {
            _ if self.write.identity == Identity::Event => {
                StoredResponse::without_body(status, [], request_id)
            }
            OriginBody::Whole(bytes) => {
                let limit = self.caller.config.max_replay;
                StoredResponse::keep(status, headers, bytes.clone(), request_id, limit).0
            }
            // The response is recorded without its body before the first byte is passed on, so that no
            // later attempt executes.
            OriginBody::Part(_) => StoredResponse::without_body(status, headers, request_id),
        }
    }

    async fn respond(&self, outcome: WriteOutcome, own: Option<Own>) -> GatewayOutcome {
        let WriteOutcome { response, status, follow_ups } = outcome;
        let may_read = if response.tells_of_an_earlier_request() {
            identity::may_read(self.caller, self.request).await
        } else {
            Ok(())
        };
        let response = match may_read {
            Ok(()) => self.response(response, status.as_ref(), own),
            // The state of the key would prove to a client that this is the key's response.
            Err(refusal) => refusal.into_response(self.caller),
        };
        let after = follow_ups.into_iter();
        let after = after.filter_map(|next| self.follow_up(next, status.as_ref())).collect();
        GatewayOutcome { response, after }
    }

    fn response(
        &self,
        response: CallerResponse,
        status: Option<&KeyStatus>,
        own: Option<Own>,
    ) -> HttpResponse {
        let own = own.map(|Own { response, body, is_kept }| {
            let response = response.with_body(body);
            if is_kept { response } else { response.only_once() }
        });
        let reject = |rejection: &Rejection| self.caller.reject_by(rejection, status);
        let response = match (response, own) {
            (CallerResponse::Own, Some(own)) => own,
            (CallerResponse::NotStored, Some(own)) => own.not_stored(),
            (CallerResponse::Own | CallerResponse::NotStored, None) => reject(&Rejection::Internal),
            (CallerResponse::Replay(response), _) => self.replay(response).unwrap_or_else(|| {
                reject(&Rejection::NotReplayable { http_status: None, resource: None })
            }),
            (CallerResponse::Duplicate, _) => self.caller.duplicate(),
            (CallerResponse::Rejected(rejection), _) => reject(&rejection),
        };
        response.with_key_status(status)
    }

    /// Returns a stored response as a replay. Headers that are not UTF-8 come with the reply of the
    /// record.
    fn replay(&self, response: StoredResponse) -> Option<HttpResponse> {
        let records = [Some(&self.first), self.second.as_ref()];
        let came = records.into_iter().flatten().find_map(|record| {
            headers::odd(&self.caller.bridge, &response.headers, record.came().as_ref())
        });
        HttpResponse::replay(response, came)
    }

    fn follow_up(&self, next: FollowUp, status: Option<&KeyStatus>) -> Option<Work> {
        match next {
            FollowUp::Fail(target, cause) => Some(self.record(target).fail_later(cause)),
            FollowUp::Copy(response) => {
                self.keep(&response, status?);
                if !self.caller.config.has_replica {
                    return None;
                }
                let (fingerprint, now) = (self.fingerprints.signing(), clock::now());
                let shortest = replica::SHORTEST;
                let (record, left) =
                    oncekey::replica::copy(&fingerprint, &response, status?, shortest, now)?;
                // The copy is in memory until KV has it, and it may be skipped when memory is short.
                let room = Reservation::of_response();
                let size = response.body().map_or(0, <[u8]>::len) as u64;
                if size > SMALL && !room.fits_replay(size) {
                    return None;
                }
                let (bridge, name) = (Rc::clone(&self.caller.bridge), self.first.name);
                Some(Box::pin(async move {
                    replica::put(&bridge, name, &record, left).await;
                    drop(room);
                }))
            }
        }
    }

    fn record(&self, target: Target) -> &RecordHandle {
        match target {
            Target::First => &self.first,
            Target::BusinessKey => self.second.as_ref().unwrap_or(&self.first),
        }
    }
}
