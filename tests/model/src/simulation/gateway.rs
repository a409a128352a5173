//! The gateways: each write is an exchange of the core, carried out as `worker/src/gateway/run.rs` does.

use super::calls::Patience;
use super::coverage::Met;
use super::message::{Came, Event, Kind, Request, Said, To};
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
pub(super) struct Claim {
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
    pub(super) first: Claim,
    pub(super) number: Option<Claim>,
    pub(super) prints: &'static Fingerprints,
    /// How often its leases are renewed, once the origin was called.
    renews: Option<u64>,
    pub(super) own: Option<Came>,
    pub(super) numbered: bool,
    pub(super) is_answered: bool,
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

/// Whom a call's end is told.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    Step {
        exchange: u32,
        step: u8,
        is_end: bool,
    },
    /// A key call of a client.
    KeyCall(To),
    /// What is left to do after an answer, and then the rest of it.
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
        let numbered = self.settings.numbers && content != EVENT;
        let minted_at = request.key.as_ref().and_then(|key| key.minted_at());
        let of_key = request.key.clone().map(|key| self.name_of_key(tenant, &key));
        let of_number = numbered.then(|| self.name_of_number(tenant, content));
        let number_policy = self.rules.of_business_keys(policy);
        let claim = |world: &mut Self, name, minted_at, policy| Claim {
            name,
            token: world.token(),
            minted_at,
            policy,
        };
        let (first, number) = match (of_key, of_number, identity) {
            (Some(key), _, Identity::Event) => {
                let policy = self.rules.of_events(policy);
                (claim(self, key, None, policy), None)
            }
            (Some(key), number, _) => {
                let first = claim(self, key, minted_at, policy);
                (first, number.map(|number| claim(self, number, None, number_policy)))
            }
            (None, Some(number), _) => (claim(self, number, None, number_policy), None),
            (None, None, _) => return,
        };
        let write = Write {
            identity,
            business_key: numbered.then(|| requests::number(content).clone()),
            lease: policy.lease,
            unreachable: settings.unreachable,
            unknown_outcome: policy.unknown_outcome,
        };
        let now = self.time(Clock::Gateway(gateway));
        let (machine, step) = self.rules.set_out(write.clone(), now);
        let exchange = self.exchanges.len() as u32;
        self.tell(|world| {
            let name = &world.ledger.names[first.name].label;
            format!("gateway {gateway}: exchange {exchange} sets out, {name}, content {content}")
        });
        let running = Running {
            request,
            write,
            machine,
            step: 0,
            doing: Doing::Else,
            first,
            number,
            prints,
            renews: None,
            own: None,
            numbered,
            is_answered: false,
            since: self.now,
        };
        self.exchanges.push(Some(Box::new(running)));
        self.follow(exchange, step);
    }

    pub(super) fn running(&mut self, exchange: u32) -> Option<&mut Running> {
        self.exchanges[exchange as usize].as_deref_mut()
    }

    fn told(&mut self, exchange: u32, told: FlowEvent) {
        let Some(running) = self.exchanges[exchange as usize].as_deref() else { return };
        let now = self.time(Clock::Gateway(running.request.gateway));
        let rules = self.rules;
        let Some(running) = self.running(exchange) else { return };
        let Running { machine, write, .. } = running;
        let step = rules.advance(machine, write, told, now);
        self.follow(exchange, step);
    }

    fn follow(&mut self, exchange: u32, step: FlowAction) {
        let early = self.rules.leaves_early(&step);
        if let Some(answered) = early {
            self.answer(exchange, answered);
        }
        let Some(running) = self.running(exchange) else { return };
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
        let beside = running.number.unwrap_or(first);
        let claim = |of| if of == Target::First { first } else { beside };
        let (prints, content) = (running.prints, running.request.content);
        let is_event = running.write.identity == Identity::Event;
        let within = Patience::within(first.policy.lease.as_u64() / 2);
        let in_hand = Patience::after_execution();
        let purpose = |is_end| Purpose::Step { exchange, step: number, is_end };
        match step {
            FlowAction::Begin(of) => {
                self.note(if of == Target::First { Met::StepBegin } else { Met::StepBeginNumber });
                let Claim { name, token, minted_at, policy } = claim(of);
                let begin = Operation::Begin { content, prints, token, minted_at, policy };
                self.call(gateway, name, begin, within, purpose(false));
                if of == Target::First && !is_event && self.settings.replica {
                    self.later(SLOW, Event::Slow { exchange, step: number });
                }
            }
            FlowAction::AskReplica => {
                self.note(Met::StepAskReplica);
                self.ask_replica(exchange, number, first.name);
            }
            FlowAction::PeekBusinessKey => {
                self.note(Met::StepPeekBusinessKey);
                let peek = Operation::Peek { prints };
                self.call(gateway, beside.name, peek, within, purpose(false));
            }
            FlowAction::CallOrigin(execution) => {
                self.note(Met::StepCallOrigin);
                self.check_dispatch(exchange);
                let after = execution.renew_after().as_u64();
                if let Some(running) = self.running(exchange) {
                    running.renews = Some(after);
                }
                self.later(after, Event::Renew { exchange });
                self.call_origin(exchange, number);
            }
            FlowAction::LookUp(_) => {
                self.note(Met::StepLookUp);
                self.look_up(exchange, number);
            }
            FlowAction::Complete(of, response) => {
                self.note(if of == Target::First {
                    Met::StepComplete
                } else {
                    Met::StepCompleteNumber
                });
                self.check_order(exchange, of);
                let Claim { name, token, .. } = claim(of);
                let complete = Operation::Complete { token, response };
                self.call(gateway, name, complete, in_hand, purpose(true));
            }
            FlowAction::Fail(of, cause) => {
                self.note(if of == Target::First { Met::StepFail } else { Met::StepFailNumber });
                let Claim { name, token, .. } = claim(of);
                self.call(gateway, name, Operation::Fail { token, cause }, in_hand, purpose(true));
            }
            FlowAction::Settle(of, settlement) => {
                self.note(if of == Target::First {
                    Met::StepSettle
                } else {
                    Met::StepSettleNumber
                });
                let settle = Operation::Settle { settlement, by_operator: false };
                self.call(gateway, claim(of).name, settle, within, purpose(false));
            }
            FlowAction::Respond(answered) => {
                self.answer(exchange, answered);
                self.exchanges[exchange as usize] = None;
            }
        }
    }

    /// What came of a call to a shard; `None` where nobody could say.
    pub(super) fn call_ended(&mut self, purpose: Purpose, reply: Option<Rc<Reply>>) {
        match purpose {
            Purpose::Nobody => {}
            Purpose::KeyCall(to) => self.key_call_ends(to, reply.as_deref()),
            Purpose::Step { exchange, step, is_end } => {
                if self.running(exchange).is_none_or(|running| running.step != step) {
                    return;
                }
                let down = || match reply.as_deref() {
                    Some(Reply::Unreadable) => Rejection::RecordUnreadable,
                    _ => Rejection::StoreUnavailable,
                };
                let told = match reply.as_deref() {
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
                    _ => self.no_word(exchange, down()),
                };
                self.told(exchange, told);
            }
        }
    }

    /// Nobody could say.
    fn no_word(&mut self, exchange: u32, why: Rejection) -> FlowEvent {
        match self.running(exchange).map(|running| running.doing) {
            Some(Doing::Peek) => FlowEvent::Peeked(Err(why)),
            Some(Doing::Settle) => FlowEvent::Settled(Err(why)),
            _ => FlowEvent::Begun(Err(why)),
        }
    }

    fn key_call_ends(&mut self, to: To, reply: Option<&Reply>) {
        let said = match reply {
            Some(Reply::Stands(status)) => {
                let status = status.as_ref();
                let report = (status.map(|s| s.state), status.and_then(|s| s.http_status));
                Said {
                    status: if status.is_some() { 200 } else { 404 },
                    report: Some(report),
                    ..Said::default()
                }
            }
            _ => Said { status: 503, code: Some("api_connection_error"), ..Said::default() },
        };
        self.answer_leaves(to, said);
    }

    pub(super) fn slow(&mut self, exchange: u32, step: u8) {
        let Some(running) = self.running(exchange) else { return };
        if running.step == step && running.doing == Doing::BeginFirst {
            let name = running.first.name;
            self.note(Met::ReplicaRaced);
            self.ask_replica(exchange, step, name);
        }
    }

    /// What the replica gave. Nothing, while the shard is asked too, means to wait for the shard.
    pub(super) fn copied(&mut self, exchange: u32, step: u8, bytes: Option<Rc<[u8]>>) {
        let Some(running) = self.exchanges[exchange as usize].as_deref() else { return };
        if running.step != step {
            return;
        }
        let (claim, prints, doing) = (running.first, running.prints, running.doing);
        let now = self.time(Clock::Gateway(running.request.gateway));
        let copy = bytes.as_deref().and_then(|bytes| Record::decode(bytes).ok());
        let had_one = copy.is_some();
        let verified = copy.and_then(|copy| {
            let Claim { token, minted_at, policy, .. } = claim;
            let attempt = Attempt { fingerprints: prints, token, minted_at, policy: &policy };
            self.rules.verify(copy, &attempt, now)
        });
        match verified {
            Some(step) => {
                self.note(Met::ReplicaGave);
                self.check_copy(claim.name, &step.decision, now);
                self.tell(|_| format!("exchange {exchange}: the replica knows"));
                self.drop_calls(exchange);
                self.told(exchange, FlowEvent::Copied(Some((step.decision, step.status))));
            }
            None => {
                self.note(if had_one { Met::CopyNotVerified } else { Met::ReplicaNothing });
                if doing == Doing::Replica {
                    self.told(exchange, FlowEvent::Copied(None));
                }
            }
        }
    }

    pub(super) fn called(&mut self, exchange: u32, step: u8, called: Result<Came, OriginFailure>) {
        let Some(running) = self.running(exchange) else { return };
        if running.step != step {
            return;
        }
        running.own = called.as_ref().ok().cloned();
        self.tell(|_| match &called {
            Ok(came) => format!("exchange {exchange}: the origin answers {}", came.stored.status),
            Err(failure) => format!("exchange {exchange}: the origin: {failure:?}"),
        });
        self.told(exchange, FlowEvent::Called(called.map(|came| came.stored)));
    }

    pub(super) fn found_out(
        &mut self,
        exchange: u32,
        step: u8,
        found: Option<Box<StoredResponse>>,
    ) {
        if self.running(exchange).is_some_and(|running| running.step == step) {
            self.note(if found.is_some() { Met::FoundAnswer } else { Met::FoundNothing });
            self.told(exchange, FlowEvent::LookedUp(found.map(|found| *found)));
        }
    }

    /// The leases are kept until the exchange is over.
    pub(super) fn renew(&mut self, exchange: u32) {
        let Some(running) = self.running(exchange) else { return };
        let Some(after) = running.renews else { return };
        let (gateway, claims) = (running.request.gateway, [Some(running.first), running.number]);
        for Claim { name, token, .. } in claims.into_iter().flatten() {
            let renew = Operation::Renew { token };
            self.call(gateway, name, renew, Patience::within(after), Purpose::Nobody);
        }
        self.later(after, Event::Renew { exchange });
    }

    /// All that a gateway did is gone; what it has sent is still on its way.
    pub(super) fn crash(&mut self, gateway: usize) {
        self.note(Met::Crashed);
        self.tell(|_| format!("gateway {gateway} dies"));
        let mut executing = false;
        for exchange in &mut self.exchanges {
            if let Some(running) = exchange.take_if(|running| running.request.gateway == gateway) {
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

    /// The caller hangs up: the exchange goes on for as long as the platform lets it.
    pub(super) fn reset(&mut self, pick: u16) {
        let alive = self.exchanges.iter().enumerate().filter(|(_, exchange)| exchange.is_some());
        let alive: Vec<_> = alive.map(|(number, _)| number as u32).collect();
        if alive.is_empty() {
            return;
        }
        let exchange = alive[usize::from(pick) % alive.len()];
        let Some(running) = self.running(exchange) else { return };
        let to = running.request.to;
        running.request.to = To::Caller { caller: usize::MAX, number: 0 };
        self.note(Met::Reset);
        self.tell(|_| format!("the caller of exchange {exchange} hangs up"));
        self.later(0, Event::Hear(to, Rc::new(Said { failed: true, ..Said::default() })));
        self.later(OUTLIVES, Event::Outlived { exchange });
    }

    pub(super) fn outlived(&mut self, exchange: u32) {
        if self.exchanges[exchange as usize].take().is_some() {
            self.note(Met::OutlivedReset);
            self.tell(|_| format!("exchange {exchange} is ended by the platform"));
            self.drop_calls(exchange);
        }
    }

    /// Nobody waits for them any more; what was sent is still on its way.
    fn drop_calls(&mut self, exchange: u32) {
        for call in &mut self.calls {
            call.take_if(
                |call| matches!(call.purpose, Purpose::Step { exchange: of, .. } if of == exchange),
            );
        }
    }
}

impl Running {
    pub(super) fn since(&self) -> u64 {
        self.since
    }

    /// Whether it has an answer of the origin in its hands.
    pub(super) fn has_own(&self) -> bool {
        self.own.is_some()
    }
}
