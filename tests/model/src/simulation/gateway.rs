//! The gateways: each write is a write flow of the core, carried out as `worker/src/gateway/run.rs` does.

use super::calls::Patience;
use super::coverage::Met;
use super::message::{Came, Event, Kind, Request, SeenResponse, To};
use super::requests::{self, EVENT};
use super::shard::{Operation, Reply};
use super::world::{Clock, World};
use oncekey::write_flow::{
    Action as FlowAction, Event as FlowEvent, Identity, OriginFailure, Target, Write, WriteFlow,
};
use oncekey::{
    Attempt, Fingerprints, Policy, Record, Rejection, StoredResponse, Token, UnixMillis,
};
use std::rc::Rc;

/// How long the shard may take before the replica is asked as well.
const SLOW: u64 = 50;
/// How long the platform lets work go on that its caller left.
const OUTLIVES: u64 = 30_000;

/// An attempt at one record.
#[derive(Clone, Copy)]
pub(super) struct RecordHandle {
    pub(super) name: usize,
    pub(super) token: Token,
    minted_at: Option<UnixMillis>,
    policy: Policy,
}

/// A write on its way through a gateway.
pub(super) struct Running {
    pub(super) request: Request,
    write: Write,
    machine: WriteFlow,
    /// The number of the step that it waits for.
    step: u8,
    doing: Doing,
    pub(super) first: RecordHandle,
    pub(super) business_key: Option<RecordHandle>,
    pub(super) prints: &'static Fingerprints,
    /// How often its leases are renewed, once the origin was called.
    renews: Option<u64>,
    pub(super) own: Option<Came>,
    pub(super) has_business_key: bool,
    pub(super) has_response: bool,
    since: u64,
}

/// What it waits for, as far as somebody asks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    BeginFirst,
    Replica,
    Peek,
    Settle,
    Origin,
    Else,
}

/// Who gets the end of a call.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    Step {
        flow: u32,
        step: u8,
        is_end: bool,
    },
    /// A key call of a client.
    KeyCall(To),
    /// What is left to do after a response, and then the rest of it.
    Nobody,
}

impl World<'_> {
    pub(super) fn arrive(&mut self, request: Request) {
        match request.kind {
            Kind::Write => self.set_out(request),
            Kind::State | Kind::Void => self.key_call_arrives(&request),
        }
    }

    fn key_call_arrives(&mut self, request: &Request) {
        let Some(key) = &request.key else { return };
        let gateway = &self.settings.gateways[request.gateway];
        let (policy, lease) = (gateway.policy, gateway.policy.lease.as_u64());
        let name = self.name_of_key(request.tenant, key);
        let operation = match request.kind {
            Kind::Void => Operation::Void { minted_at: key.minted_at(), policy },
            _ => Operation::Inspect,
        };
        let patience = Patience::within(lease / 2);
        self.call(request.gateway, name, operation, patience, Purpose::KeyCall(request.to));
    }

    fn set_out(&mut self, request: Request) {
        let Request { tenant, content, identity, gateway, .. } = request;
        let (settings, policy) =
            (self.settings.gateways[gateway], self.settings.gateways[gateway].policy);
        let prints = requests::fingerprints(content, settings.secrets);
        let has_business_key = self.settings.business_keys && content != EVENT;
        let minted_at = request.key.as_ref().and_then(|key| key.minted_at());
        let of_key = request.key.clone().map(|key| self.name_of_key(tenant, &key));
        let of_business_key = has_business_key.then(|| self.name_of_business_key(tenant, content));
        let business_key_policy = self.rules.of_business_keys(policy);
        let handle = |world: &mut Self, name, minted_at, policy| RecordHandle {
            name,
            token: world.token(),
            minted_at,
            policy,
        };
        let (first, business_key) = match (of_key, of_business_key, identity) {
            (Some(key), _, Identity::Event) => {
                let policy = self.rules.of_events(policy);
                (handle(self, key, None, policy), None)
            }
            (Some(key), business_key, _) => {
                let first = handle(self, key, minted_at, policy);
                (
                    first,
                    business_key
                        .map(|business_key| handle(self, business_key, None, business_key_policy)),
                )
            }
            (None, Some(business_key), _) => {
                (handle(self, business_key, None, business_key_policy), None)
            }
            (None, None, _) => return,
        };
        let write = Write {
            identity,
            business_key: has_business_key.then(|| requests::business_key(content).clone()),
            lease: policy.lease,
            unreachable: settings.unreachable,
            unknown_outcome: policy.unknown_outcome,
        };
        let now = self.time(Clock::Gateway(gateway));
        let (machine, step) = self.rules.set_out(write.clone(), now);
        let flow = self.flows.len() as u32;
        self.tell(|world| {
            let name = &world.ledger.names[first.name].label;
            format!("gateway {gateway}: write flow {flow} sets out, {name}, content {content}")
        });
        let running = Running {
            request,
            write,
            machine,
            step: 0,
            doing: Doing::Else,
            first,
            business_key,
            prints,
            renews: None,
            own: None,
            has_business_key,
            has_response: false,
            since: self.now,
        };
        self.flows.push(Some(Box::new(running)));
        self.follow(flow, step);
    }

    pub(super) fn running(&mut self, flow: u32) -> Option<&mut Running> {
        self.flows[flow as usize].as_deref_mut()
    }

    fn advance_flow(&mut self, flow: u32, event: FlowEvent) {
        let Some(running) = self.flows[flow as usize].as_deref() else { return };
        let now = self.time(Clock::Gateway(running.request.gateway));
        let rules = self.rules;
        let Some(running) = self.running(flow) else { return };
        let Running { machine, write, .. } = running;
        let step = rules.advance(machine, write, event, now);
        self.follow(flow, step);
    }

    fn follow(&mut self, flow: u32, step: FlowAction) {
        let early = self.rules.leaves_early(&step);
        if let Some(outcome) = early {
            self.respond(flow, outcome);
        }
        let Some(running) = self.running(flow) else { return };
        running.step += 1;
        running.doing = match &step {
            FlowAction::Begin(Target::First) => Doing::BeginFirst,
            FlowAction::AskReplica => Doing::Replica,
            FlowAction::PeekBusinessKey => Doing::Peek,
            FlowAction::Settle(..) => Doing::Settle,
            FlowAction::CallOrigin(_) => Doing::Origin,
            _ => Doing::Else,
        };
        let (number, gateway, first) = (running.step, running.request.gateway, running.first);
        let beside = running.business_key.unwrap_or(first);
        let handle = |of| if of == Target::First { first } else { beside };
        let (prints, content) = (running.prints, running.request.content);
        let is_event = running.write.identity == Identity::Event;
        let within = Patience::within(first.policy.lease.as_u64() / 2);
        let in_hand = Patience::after_execution();
        let purpose = |is_end| Purpose::Step { flow, step: number, is_end };
        match step {
            FlowAction::Begin(of) => {
                self.note(if of == Target::First {
                    Met::StepBegin
                } else {
                    Met::StepBeginBusinessKey
                });
                let RecordHandle { name, token, minted_at, policy } = handle(of);
                let begin = Operation::Begin { content, prints, token, minted_at, policy };
                self.call(gateway, name, begin, within, purpose(false));
                if of == Target::First && !is_event && self.settings.replica {
                    self.later(SLOW, Event::Slow { flow, step: number });
                }
            }
            FlowAction::AskReplica => {
                self.note(Met::StepAskReplica);
                self.ask_replica(flow, number, first.name);
            }
            FlowAction::PeekBusinessKey => {
                self.note(Met::StepPeekBusinessKey);
                let peek = Operation::Peek { prints };
                self.call(gateway, beside.name, peek, within, purpose(false));
            }
            FlowAction::CallOrigin(execution) => {
                self.note(Met::StepCallOrigin);
                self.check_dispatch(flow);
                let after = execution.renew_after().as_u64();
                if let Some(running) = self.running(flow) {
                    running.renews = Some(after);
                }
                self.later(after, Event::Renew { flow });
                self.call_origin(flow, number);
            }
            FlowAction::LookUp(_) => {
                self.note(Met::StepLookUp);
                self.look_up(flow, number);
            }
            FlowAction::Complete(of, response) => {
                self.note(if of == Target::First {
                    Met::StepComplete
                } else {
                    Met::StepCompleteBusinessKey
                });
                self.check_order(flow, of);
                let RecordHandle { name, token, .. } = handle(of);
                let complete = Operation::Complete { token, response };
                self.call(gateway, name, complete, in_hand, purpose(true));
            }
            FlowAction::Fail(of, cause) => {
                self.note(if of == Target::First {
                    Met::StepFail
                } else {
                    Met::StepFailBusinessKey
                });
                let RecordHandle { name, token, .. } = handle(of);
                self.call(gateway, name, Operation::Fail { token, cause }, in_hand, purpose(true));
            }
            FlowAction::Settle(of, settlement) => {
                self.note(if of == Target::First {
                    Met::StepSettle
                } else {
                    Met::StepSettleBusinessKey
                });
                let settle = Operation::Settle { settlement, by_operator: false };
                self.call(gateway, handle(of).name, settle, within, purpose(false));
            }
            FlowAction::Respond(outcome) => {
                self.respond(flow, outcome);
                self.flows[flow as usize] = None;
            }
        }
    }

    /// What came of a call to a shard; `None` where nobody could say.
    pub(super) fn call_ended(&mut self, purpose: Purpose, reply: Option<Rc<Reply>>) {
        match purpose {
            Purpose::Nobody => {}
            Purpose::KeyCall(to) => self.key_call_ends(to, reply.as_deref()),
            Purpose::Step { flow, step, is_end } => {
                if self.running(flow).is_none_or(|running| running.step != step) {
                    return;
                }
                let down = || match reply.as_deref() {
                    Some(Reply::Unreadable) => Rejection::RecordUnreadable,
                    _ => Rejection::StoreUnavailable,
                };
                let event = match reply.as_deref() {
                    Some(Reply::Ended(completion, status)) => {
                        FlowEvent::Ended(Some((completion.clone(), status.clone())))
                    }
                    Some(Reply::Begun(decision, status)) => {
                        FlowEvent::Begun(Ok((decision.clone(), status.clone())))
                    }
                    Some(Reply::Peeked(decision)) => FlowEvent::Peeked(Ok(decision.clone())),
                    Some(Reply::Settled(settling, status)) => {
                        FlowEvent::Settled(Ok((*settling, status.clone())))
                    }
                    _ if is_end => FlowEvent::Ended(None),
                    _ => self.no_word(flow, down()),
                };
                self.advance_flow(flow, event);
            }
        }
    }

    /// Nobody could say.
    fn no_word(&mut self, flow: u32, why: Rejection) -> FlowEvent {
        match self.running(flow).map(|running| running.doing) {
            Some(Doing::Peek) => FlowEvent::Peeked(Err(why)),
            Some(Doing::Settle) => FlowEvent::Settled(Err(why)),
            _ => FlowEvent::Begun(Err(why)),
        }
    }

    fn key_call_ends(&mut self, to: To, reply: Option<&Reply>) {
        let seen = match reply {
            Some(Reply::Status(status)) => {
                let status = status.as_ref();
                let report = (status.map(|s| s.state), status.and_then(|s| s.http_status));
                SeenResponse {
                    status: if status.is_some() { 200 } else { 404 },
                    report: Some(report),
                    ..SeenResponse::default()
                }
            }
            _ => SeenResponse {
                status: 503,
                code: Some("api_connection_error"),
                ..SeenResponse::default()
            },
        };
        self.response_leaves(to, seen);
    }

    pub(super) fn slow(&mut self, flow: u32, step: u8) {
        let Some(running) = self.running(flow) else { return };
        if running.step == step && running.doing == Doing::BeginFirst {
            let name = running.first.name;
            self.note(Met::ReplicaRaced);
            self.ask_replica(flow, step, name);
        }
    }

    /// What the replica gave. Nothing, while the shard is asked too, means to wait for the shard.
    pub(super) fn copied(&mut self, flow: u32, step: u8, bytes: Option<Rc<[u8]>>) {
        let Some(running) = self.flows[flow as usize].as_deref() else { return };
        if running.step != step {
            return;
        }
        let (handle, prints, doing) = (running.first, running.prints, running.doing);
        let now = self.time(Clock::Gateway(running.request.gateway));
        let copy = bytes.as_deref().and_then(|bytes| Record::decode(bytes).ok());
        let had_one = copy.is_some();
        let verified = copy.and_then(|copy| {
            let RecordHandle { token, minted_at, policy, .. } = handle;
            let attempt = Attempt { fingerprints: prints, token, minted_at, policy: &policy };
            self.rules.verify(copy, &attempt, now)
        });
        match verified {
            Some(step) => {
                self.note(Met::ReplicaGave);
                self.check_copy(handle.name, &step.decision, now);
                self.tell(|_| format!("write flow {flow}: the replica knows"));
                self.drop_calls(flow);
                self.advance_flow(flow, FlowEvent::Copied(Some((step.decision, step.status))));
            }
            None => {
                self.note(if had_one { Met::CopyNotVerified } else { Met::ReplicaNothing });
                if doing == Doing::Replica {
                    self.advance_flow(flow, FlowEvent::Copied(None));
                }
            }
        }
    }

    pub(super) fn called(&mut self, flow: u32, step: u8, called: Result<Came, OriginFailure>) {
        let Some(running) = self.running(flow) else { return };
        if running.step != step {
            return;
        }
        running.own = called.as_ref().ok().cloned();
        self.tell(|_| match &called {
            Ok(came) => {
                format!("write flow {flow}: the origin responds with {}", came.stored.status)
            }
            Err(failure) => format!("write flow {flow}: the origin: {failure:?}"),
        });
        self.advance_flow(flow, FlowEvent::Called(called.map(|came| came.stored)));
    }

    pub(super) fn looked_up(&mut self, flow: u32, step: u8, found: Option<Box<StoredResponse>>) {
        if self.running(flow).is_some_and(|running| running.step == step) {
            self.note(if found.is_some() { Met::FoundResponse } else { Met::FoundNothing });
            self.advance_flow(flow, FlowEvent::LookedUp(found.map(|found| *found)));
        }
    }

    /// The leases are kept until the write flow is over.
    pub(super) fn renew(&mut self, flow: u32) {
        let Some(running) = self.running(flow) else { return };
        let Some(after) = running.renews else { return };
        let (gateway, handles) =
            (running.request.gateway, [Some(running.first), running.business_key]);
        for RecordHandle { name, token, .. } in handles.into_iter().flatten() {
            let renew = Operation::Renew { token };
            self.call(gateway, name, renew, Patience::within(after), Purpose::Nobody);
        }
        self.later(after, Event::Renew { flow });
    }

    /// All that a gateway did is gone; what it has sent is still on its way.
    pub(super) fn crash(&mut self, gateway: usize) {
        self.note(Met::Crashed);
        self.tell(|_| format!("gateway {gateway} dies"));
        let mut executing = false;
        for flow in &mut self.flows {
            if let Some(running) = flow.take_if(|running| running.request.gateway == gateway) {
                executing |= running.doing == Doing::Origin;
            }
        }
        for call in &mut self.calls {
            call.take_if(|call| call.gateway == gateway);
        }
        if executing {
            self.note(Met::CrashedExecuting);
        }
    }

    /// The caller hangs up: the write flow goes on for as long as the platform lets it.
    pub(super) fn reset(&mut self, pick: u16) {
        let alive = self.flows.iter().enumerate().filter(|(_, flow)| flow.is_some());
        let alive: Vec<_> = alive.map(|(number, _)| number as u32).collect();
        if alive.is_empty() {
            return;
        }
        let flow = alive[usize::from(pick) % alive.len()];
        let Some(running) = self.running(flow) else { return };
        let to = running.request.to;
        running.request.to = To::Caller { caller: usize::MAX, number: 0 };
        self.note(Met::Reset);
        self.tell(|_| format!("the caller of write flow {flow} hangs up"));
        self.later(
            0,
            Event::Response(to, Rc::new(SeenResponse { failed: true, ..SeenResponse::default() })),
        );
        self.later(OUTLIVES, Event::Outlived { flow });
    }

    pub(super) fn outlived(&mut self, flow: u32) {
        if self.flows[flow as usize].take().is_some() {
            self.note(Met::OutlivedReset);
            self.tell(|_| format!("write flow {flow} is ended by the platform"));
            self.drop_calls(flow);
        }
    }

    /// Nobody waits for them any more; what was sent is still on its way.
    fn drop_calls(&mut self, flow: u32) {
        for call in &mut self.calls {
            call.take_if(
                |call| matches!(call.purpose, Purpose::Step { flow: of, .. } if of == flow),
            );
        }
    }
}

impl Running {
    pub(super) fn since(&self) -> u64 {
        self.since
    }

    /// Whether it has a response of the origin in its hands.
    pub(super) fn has_own(&self) -> bool {
        self.own.is_some()
    }
}
