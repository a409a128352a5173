//! The gateways: each write is a write flow, which ends when its gateway crashes.

mod steps;

use super::network::Message;
use super::object::{ObjectOperation, silence};
use super::page::To;
use super::requests::{self, WriteRequest};
use super::{Action, World};
use crate::config::{Clock, Scene, Secrets};
use crate::reached::Milestone;
use oncekey::policy::ResponseRules;
use oncekey::write_flow::{
    Action as FlowAction, Event as FlowEvent, Identity, OriginFailure, Target, Write, WriteFlow,
};
use oncekey::{Decision, FailCause, IdempotencyKey, Millis, StoredResponse, UnixMillis};

/// The shortest time for which the replica can keep a copy.
const SHORTEST: Millis = Millis::from_seconds(60);

/// A write on its way through a gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Running {
    /// The number of the write.
    pub(super) number: u8,
    /// The tab that waits for its response; `None` if the caller is not a page.
    to: Option<To>,
    pub(super) request: WriteRequest,
    business_key: Option<u8>,
    /// The shelves of its records.
    pub(super) first: u8,
    pub(super) business_key_shelf: Option<u8>,
    machine: WriteFlow,
    pub(super) doing: FlowAction,
    /// The number of the step that the write waits for.
    pub(super) step: u8,
    /// Whether the origin was called, so that its leases must be renewed.
    executes: bool,
    /// The response of the origin.
    own: Option<StoredResponse>,
    /// The response that a look-up found.
    pub(super) found: Option<StoredResponse>,
    /// Whether its caller already has a response.
    outcome: bool,
    /// The time when it began, by the objects' clock.
    pub(super) since: UnixMillis,
}

/// A request that begins a write.
pub(super) struct Sent<'a> {
    pub(super) to: Option<To>,
    pub(super) tenant: u8,
    pub(super) key: Option<&'a IdempotencyKey>,
    pub(super) content: u8,
    pub(super) business_key: Option<u8>,
    pub(super) identity: Identity,
    pub(super) gateway: u8,
}

impl Running {
    /// Returns whether the write waits for this record's object.
    pub(super) fn waits_for(&self, shelf: u8) -> bool {
        match &self.doing {
            FlowAction::Begin(of)
            | FlowAction::Complete(of, _)
            | FlowAction::CompleteAs(of, ..)
            | FlowAction::Fail(of, _)
            | FlowAction::Settle(of, _) => self.shelf(*of) == shelf,
            FlowAction::PeekBusinessKey => self.shelf(Target::BusinessKey) == shelf,
            _ => false,
        }
    }

    /// Returns whether it may still call the origin, or has called it and does not know the outcome.
    pub(super) fn may_execute(&self) -> bool {
        let is_early = matches!(self.doing, FlowAction::Begin(_) | FlowAction::AskReplica);
        is_early || self.executes
    }

    pub(super) fn to(&self) -> Option<To> {
        self.to
    }

    pub(super) fn is_of(&self, shelf: u8) -> bool {
        self.first == shelf || self.business_key_shelf == Some(shelf)
    }

    /// Returns what the write does, for the story.
    pub(super) fn doing(&self) -> &FlowAction {
        &self.doing
    }

    fn shelf(&self, of: Target) -> u8 {
        match of {
            Target::First => self.first,
            Target::BusinessKey => self.business_key_shelf.unwrap_or(self.first),
        }
    }
}

impl World {
    pub(super) fn callers_send(&self, scene: &Scene, actions: &mut Vec<Action>) {
        for (at, caller) in scene.config.callers.iter().enumerate() {
            if self.sent[at] < caller.sends {
                let gateways = 0..scene.config.gateways.len() as u8;
                actions.extend(gateways.map(|gateway| Action::Send { caller: at as u8, gateway }));
            }
        }
    }

    pub(super) fn caller_sends(&mut self, scene: &Scene, caller: u8, gateway: u8) {
        self.sent[usize::from(caller)] += 1;
        let caller = &scene.config.callers[usize::from(caller)];
        let minted_at = caller.timed.then_some(super::START);
        let key = caller.key.map(|key| requests::key(key, minted_at));
        let &crate::config::Caller { tenant, content, business_key, identity, .. } = caller;
        let key = key.as_ref();
        self.begin_write(
            scene,
            Sent { to: None, tenant, key, content, business_key, identity, gateway },
        );
    }

    /// Returns the record that decides first for a caller.
    pub(super) fn shelf_of(&mut self, scene: &Scene, caller: u8) -> u8 {
        let caller = &scene.config.callers[usize::from(caller)];
        let minted_at = caller.timed.then_some(super::START);
        let key = caller.key.map(|key| requests::key(key, minted_at));
        let scope = requests::scope(caller.tenant);
        let name = match (&key, caller.business_key) {
            (Some(key), _) => scene.rules.name(scope, key),
            (None, business_key) => requests::business_key_name(scope, business_key.unwrap_or(0)),
        };
        self.shelf(name, caller.key.is_none())
    }

    pub(super) fn begin_write(&mut self, scene: &Scene, sent: Sent<'_>) {
        let Sent { to, tenant, key, content, business_key, identity, gateway } = sent;
        let list = self.secrets[usize::from(gateway)];
        let secrets = scene.config.secrets.get(usize::from(list)).copied();
        let request = WriteRequest {
            tenant,
            content,
            gateway,
            secrets: secrets.unwrap_or(Secrets::None),
            identity,
            minted_at: key.and_then(IdempotencyKey::minted_at),
        };
        let of_business_key = business_key.map(|business_key| {
            let name = requests::business_key_name(request.scope(), business_key);
            self.shelf(name, true)
        });
        let of_key = key.map(|key| {
            let name = scene.rules.name(request.scope(), key);
            self.shelf(name, identity == Identity::Event)
        });
        let (first, business_key_shelf) = match (of_key, of_business_key) {
            (Some(key), business_key) => (key, business_key),
            (None, business_key) => {
                (business_key.expect("a write without a key has a business key"), None)
            }
        };
        let write = write(scene, &request, business_key);
        let now = self.time_at(Clock::Gateway(gateway));
        let (machine, doing) = scene.rules.begin_write(write, now);
        let number_of_write = self.begun;
        self.begun += 1;
        let since = self.object_time(scene, first);
        self.running.push(Running {
            number: number_of_write,
            to,
            request,
            business_key,
            first,
            business_key_shelf,
            machine,
            doing: doing.clone(),
            step: 0,
            executes: false,
            own: None,
            found: None,
            outcome: false,
            since,
        });
        self.carry_out(scene, self.running.len() - 1, doing);
    }

    /// Returns whether a write waits for the event of this step.
    pub(super) fn awaits(&self, number: u8, step: u8) -> bool {
        self.running.iter().any(|running| (running.number, running.step) == (number, step))
    }

    pub(super) fn on_event(&mut self, scene: &Scene, number: u8, event: FlowEvent) {
        let Some(at) = self.running.iter().position(|running| running.number == number) else {
            return;
        };
        if let (FlowAction::LookUp(_), FlowEvent::LookedUp(found)) =
            (&self.running[at].doing, &event)
        {
            let is_found = found.is_some();
            scene.reached.note(if is_found {
                Milestone::LookedUp
            } else {
                Milestone::LookedUpNothing
            });
        }
        if let (
            FlowAction::Begin(Target::BusinessKey),
            FlowEvent::Begun(Ok((Decision::Replay(_), _))),
        ) = (&self.running[at].doing, &event)
        {
            scene.reached.note(Milestone::AdoptedBusinessKey);
        }
        if let (
            FlowAction::Begin(Target::First),
            FlowEvent::Begun(Ok((Decision::Replay(response), Some(status)))),
        ) = (&self.running[at].doing, &event)
        {
            self.keep(scene, at, response, status);
        }
        let now = self.time_at(Clock::Gateway(self.running[at].request.gateway));
        let running = &mut self.running[at];
        if let FlowEvent::Called(Ok(own)) = &event {
            running.own = Some(own.clone());
        }
        if let FlowEvent::LookedUp(found) = &event {
            running.found.clone_from(found);
        }
        running.step += 1;
        let write = write(scene, &running.request, running.business_key);
        let step = scene.rules.advance(&mut running.machine, &write, event, now);
        running.doing = step.clone();
        self.carry_out(scene, at, step);
    }

    pub(super) fn at_gateways(&self, scene: &Scene, actions: &mut Vec<Action>) {
        for (at, running) in self.running.iter().enumerate() {
            let at = at as u8;
            match &running.doing {
                FlowAction::AskReplica => self.readings(scene, at, true, actions),
                FlowAction::LookUp(_) => {
                    actions.push(Action::LookUp { running: at, finds: true });
                    if self.left.lates > 0 {
                        actions.push(Action::LookUp { running: at, finds: false });
                    }
                }
                _ => {
                    // The gateway also asks the replica if the first record is slow.
                    if matches!(running.doing, FlowAction::Begin(Target::First))
                        && running.request.identity != Identity::Event
                    {
                        self.readings(scene, at, false, actions);
                    }
                    if self.left.lates > 0 || !self.has_response_for(running) {
                        actions.push(Action::GiveUp(at));
                    }
                }
            }
            if self.left.crashes > 0 {
                actions.push(Action::Crash(at));
            }
        }
    }

    /// Returns whether the network contains a message that the write waits for.
    pub(super) fn has_response_for(&self, running: &Running) -> bool {
        self.net.iter().any(|message| message.is_of(running.number, running.step))
    }

    pub(super) fn give_up(&mut self, scene: &Scene, at: u8) {
        let running = &self.running[usize::from(at)];
        let may_still_arrive = self.has_response_for(running);
        if may_still_arrive {
            self.left.lates -= 1;
            scene.reached.note(Milestone::GivenUp);
        }
        let event = match &running.doing {
            FlowAction::Begin(_) => silence(&ObjectOperation::Begin),
            FlowAction::PeekBusinessKey => silence(&ObjectOperation::Peek),
            FlowAction::CallOrigin(_) if may_still_arrive => {
                FlowEvent::Called(Err(OriginFailure::TimedOut))
            }
            FlowAction::CallOrigin(_) => FlowEvent::Called(Err(OriginFailure::CutOff)),
            FlowAction::Settle(_, settlement) => {
                silence(&ObjectOperation::Settle(settlement.clone()))
            }
            _ => FlowEvent::Ended(None),
        };
        let (number, step) = (running.number, running.step);
        // The gateway no longer waits for the reply. The call may still arrive.
        self.net.retain(|message| {
            !(matches!(message, Message::Reply { .. }) && message.is_of(number, step))
        });
        self.on_event(scene, number, event);
    }

    pub(super) fn crash(&mut self, scene: &Scene, at: u8) {
        self.left.crashes -= 1;
        scene.reached.note(Milestone::Crashed);
        let running = self.running.remove(usize::from(at));
        self.forget(running.request.gateway);
        self.net.retain(|message| {
            !(matches!(message, Message::Reply { .. })
                && message.is_of(running.number, running.step))
        });
    }
}

fn write(scene: &Scene, request: &WriteRequest, business_key: Option<u8>) -> Write {
    let policy = scene.config.gateways[usize::from(request.gateway)].policy;
    Write {
        identity: request.identity,
        business_key: business_key.map(|of| requests::business_key(of).clone()),
        lease: policy.lease,
        unreachable: FailCause::ConnectionLost,
        unknown_outcome: policy.unknown_outcome,
        rules: ResponseRules::default(),
    }
}
