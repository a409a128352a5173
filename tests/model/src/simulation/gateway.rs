//! The gateways: each write is a write flow of the core, carried out as in `worker/src/gateway/run.rs`.

mod ends;
mod replies;

use super::calls::Patience;
use super::coverage::Milestone;
use super::message::{Endpoint, Event, OriginResponse, Request, To};
use super::requests::{self, EVENT};
use super::shard::ShardOperation;
use super::world::{Clock, World};
use oncekey::policy::ResponseRules;
use oncekey::write_flow::{
    Action as FlowAction, Event as FlowEvent, Identity, Target, Write, WriteFlow,
};
use oncekey::{AttemptToken, Fingerprints, Policy, UnixMillis};

/// How long the shard may take before the gateway also asks the replica.
const SLOW: u64 = 50;
/// How long the platform lets a write flow run after its caller has hung up.
const TIME_AFTER_HANG_UP: u64 = 30_000;

/// The attempt of a write in one of its records.
#[derive(Clone, Copy)]
pub(super) struct RecordHandle {
    pub(super) name: usize,
    pub(super) token: AttemptToken,
    pub(super) minted_at: Option<UnixMillis>,
    pub(super) policy: Policy,
}

/// A write on its way through a gateway.
pub(super) struct Running {
    pub(super) request: Request,
    pub(super) write: Write,
    machine: WriteFlow,
    /// The number of the step that the write flow waits for.
    step: u8,
    pub(super) current: CurrentStep,
    pub(super) first: RecordHandle,
    pub(super) business_key: Option<RecordHandle>,
    pub(super) prints: &'static Fingerprints,
    /// The time between two renewals of its leases; `None` until the origin is called.
    renews: Option<u64>,
    pub(super) own: Option<OriginResponse>,
    pub(super) has_business_key: bool,
    pub(super) has_response: bool,
    since: u64,
}

/// The kinds of steps that are treated differently while a write flow waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CurrentStep {
    BeginFirst,
    Replica,
    Peek,
    Settle,
    Origin,
    Else,
}

/// The receiver of a call's result.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    Step {
        flow: u32,
        step: u8,
        is_end: bool,
    },
    /// A key call of a client.
    KeyCall(To),
    /// No receiver: work after the response, and renewals.
    None,
}

impl World<'_> {
    pub(super) fn arrive(&mut self, request: Request) {
        match request.endpoint {
            Endpoint::Write => self.begin_write(request),
            Endpoint::State | Endpoint::Void => self.key_call_arrives(&request),
        }
    }

    fn key_call_arrives(&mut self, request: &Request) {
        let Some(key) = &request.key else { return };
        let gateway = &self.settings.gateways[request.gateway];
        let (policy, lease) = (gateway.policy, gateway.policy.lease.as_u64());
        let name = self.name_of_key(request.tenant, key);
        let operation = match request.endpoint {
            Endpoint::Void => ShardOperation::Void { minted_at: key.minted_at(), policy },
            _ => ShardOperation::GetStatus,
        };
        let patience = Patience::within(lease / 2);
        self.call(request.gateway, name, operation, patience, Purpose::KeyCall(request.to));
    }

    fn begin_write(&mut self, request: Request) {
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
            rules: ResponseRules::default(),
        };
        let now = self.time(Clock::Gateway(gateway));
        let (machine, step) = self.rules.begin_write(write.clone(), now);
        let flow = self.flows.len() as u32;
        self.log(|world| {
            let name = &world.ledger.names[first.name].label;
            format!("gateway {gateway}: write flow {flow} begins, {name}, content {content}")
        });
        let running = Running {
            request,
            write,
            machine,
            step: 0,
            current: CurrentStep::Else,
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
        running.current = match &step {
            FlowAction::Begin(Target::First) => CurrentStep::BeginFirst,
            FlowAction::AskReplica => CurrentStep::Replica,
            FlowAction::PeekBusinessKey => CurrentStep::Peek,
            FlowAction::Settle(..) => CurrentStep::Settle,
            FlowAction::CallOrigin(_) => CurrentStep::Origin,
            _ => CurrentStep::Else,
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
                    Milestone::StepBegin
                } else {
                    Milestone::StepBeginBusinessKey
                });
                if of == Target::First
                    && !is_event
                    && let Some(event) = self.recalls(flow)
                {
                    return self.advance_flow(flow, event);
                }
                let RecordHandle { name, token, minted_at, policy } = handle(of);
                let begin = ShardOperation::Begin { content, prints, token, minted_at, policy };
                self.call(gateway, name, begin, within, purpose(false));
                if of == Target::First && !is_event && self.settings.replica {
                    self.later(SLOW, Event::Slow { flow, step: number });
                }
            }
            FlowAction::AskReplica => {
                self.note(Milestone::StepAskReplica);
                self.ask_replica(flow, number, first.name);
            }
            FlowAction::PeekBusinessKey => {
                self.note(Milestone::StepPeekBusinessKey);
                let peek = ShardOperation::Peek { prints };
                self.call(gateway, beside.name, peek, within, purpose(false));
            }
            FlowAction::CallOrigin(execution) => {
                self.note(Milestone::StepCallOrigin);
                self.check_dispatch(flow);
                let after = execution.renew_after().as_u64();
                if let Some(running) = self.running(flow) {
                    running.renews = Some(after);
                }
                self.later(after, Event::Renew { flow });
                self.call_origin(flow, number);
            }
            FlowAction::LookUp(_) => {
                self.note(Milestone::StepLookUp);
                self.look_up(flow, number);
            }
            // Without rules of an operator, the status says what a response proves.
            FlowAction::Complete(of, response) | FlowAction::CompleteAs(of, response, _) => {
                self.note(if of == Target::First {
                    Milestone::StepComplete
                } else {
                    Milestone::StepCompleteBusinessKey
                });
                self.check_order(flow, of);
                let RecordHandle { name, token, .. } = handle(of);
                let complete = ShardOperation::Complete { token, response };
                self.call(gateway, name, complete, in_hand, purpose(true));
            }
            FlowAction::Fail(of, cause) => {
                self.note(if of == Target::First {
                    Milestone::StepFail
                } else {
                    Milestone::StepFailBusinessKey
                });
                let RecordHandle { name, token, .. } = handle(of);
                self.call(
                    gateway,
                    name,
                    ShardOperation::Fail { token, cause },
                    in_hand,
                    purpose(true),
                );
            }
            FlowAction::Settle(of, settlement) => {
                self.note(if of == Target::First {
                    Milestone::StepSettle
                } else {
                    Milestone::StepSettleBusinessKey
                });
                let settle = ShardOperation::Settle { settlement, by_operator: false };
                self.call(gateway, handle(of).name, settle, within, purpose(false));
            }
            FlowAction::Respond(outcome) => {
                self.respond(flow, outcome);
                self.flows[flow as usize] = None;
            }
        }
    }
}

impl Running {
    pub(super) fn since(&self) -> u64 {
        self.since
    }

    /// Returns whether the origin has responded to this write flow.
    pub(super) fn has_own(&self) -> bool {
        self.own.is_some()
    }
}
