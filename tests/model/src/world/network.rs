//! The network: any message may be lost, late or doubled, or arrive after a later message.

use super::object::{ObjectCall, ObjectOperation};
use super::page::{SeenResponse, To};
use super::requests::WriteRequest;
use super::{Action, World};
use crate::config::{Config, Fate, Recognizes, Scene};
use crate::reached::Milestone;
use crate::rules::Rules;
use oncekey::client::intent::Report;
use oncekey::write_flow::Event as FlowEvent;
use oncekey::{IdempotencyKey, Record};
use std::sync::Arc;

/// A message in the network.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Message {
    /// A page's request.
    Request {
        /// The tab that waits for the response.
        to: To,
        /// The key of the request.
        key: IdempotencyKey,
        /// The payload of the request.
        payload: u8,
    },
    /// A page's key call: it asks for the state of a key, or voids it.
    KeyCall {
        /// The number of the tab.
        tab: u8,
        /// The number of the page in the tab; a reload makes another page.
        life: u8,
        /// The tenant of the credential.
        tenant: u8,
        /// The key.
        key: IdempotencyKey,
        /// Whether the call voids the key.
        voids: bool,
    },
    /// A gateway's call to an object.
    Call(ObjectCall),
    /// The event that a step of a write waits for.
    Reply {
        /// The number of the write.
        running: u8,
        /// The number of the step.
        step: u8,
        /// The event.
        event: FlowEvent,
    },
    /// A request to the origin.
    ToOrigin {
        /// The number of the write.
        running: u8,
        /// The number of the step.
        step: u8,
        /// The request.
        request: WriteRequest,
        /// The record of the key, or the only record.
        first: u8,
        /// The record of the business key, if the write has both.
        business_key: Option<u8>,
    },
    /// A copy on its way to the replica.
    Copy {
        /// The record.
        shelf: u8,
        /// The copy.
        copy: Arc<Record>,
    },
    /// A response on its way to a page.
    Response {
        /// The tab that waits for it.
        to: To,
        /// The parts that the page sees.
        seen: SeenResponse,
    },
    /// The response to a key call.
    KeyReply {
        /// The number of the tab.
        tab: u8,
        /// The number of the page in the tab.
        life: u8,
        /// The result of the key call.
        report: Report,
    },
}

impl Message {
    /// Returns the position of a message in the network, so that worlds with the same messages are equal.
    pub(super) fn rank(&self) -> (u8, u8, u8, u8) {
        match self {
            Self::Request { to, .. } => (0, to.tab, to.life, to.key * 16 + to.attempt),
            Self::KeyCall { tab, life, voids, .. } => (1, *tab, *life, u8::from(*voids)),
            Self::Call(call) => (2, call.running, call.step, call.what.rank() * 2 + call.of as u8),
            Self::Reply { running, step, .. } => (3, *running, *step, 0),
            Self::ToOrigin { running, step, .. } => (4, *running, *step, 0),
            Self::Copy { shelf, .. } => (5, *shelf, 0, 0),
            Self::Response { to, .. } => (6, to.tab, to.life, to.key * 16 + to.attempt),
            Self::KeyReply { tab, life, .. } => (7, *tab, *life, 0),
        }
    }

    /// Returns whether the loss of this message changes anything.
    fn matters(&self) -> bool {
        !matches!(
            self,
            Self::KeyReply { .. } | Self::Call(ObjectCall { what: ObjectOperation::Renew, .. })
        )
    }

    fn can_be_doubled(&self, config: &Config, rules: Rules) -> bool {
        match self {
            Self::Request { .. } => true,
            Self::Call(call) => {
                !matches!(call.what, ObjectOperation::Renew | ObjectOperation::Peek)
            }
            // The gateway sends each write to the origin so that the platform cannot repeat it. If the origin
            // recognizes a repeated request, a repetition does no harm. If keys are voided, nothing is doubled
            // either: the origin could refuse one copy of the request and execute the other.
            Self::ToOrigin { .. } if rules.repeats_on_the_way() => true,
            Self::ToOrigin { .. } => {
                let is_voided = config.bounds.voids > 0 || config.page.is_some();
                config.recognizes != Recognizes::Nothing && !is_voided
            }
            _ => false,
        }
    }

    /// Returns whether the message belongs to this step of a write.
    pub(super) fn is_of(&self, of: u8, at: u8) -> bool {
        match self {
            Self::Call(ObjectCall { running, step, .. })
            | Self::Reply { running, step, .. }
            | Self::ToOrigin { running, step, .. } => (*running, *step) == (of, at),
            _ => false,
        }
    }
}

impl World {
    pub(super) fn deliveries(&self, scene: &Scene, actions: &mut Vec<Action>) {
        let config = &scene.config;
        for (at, message) in self.net.iter().enumerate() {
            // Of two equal messages, one is enough.
            if at > 0 && self.net[at - 1] == *message {
                continue;
            }
            let at = at as u8;
            let arrives = |gateway, fate| Action::Deliver { message: at, gateway, fate };
            match message {
                Message::Request { .. } => {
                    let gateways = 0..config.gateways.len() as u8;
                    actions.extend(gateways.map(|gateway| arrives(gateway, Fate::Done)));
                    if self.left.interceptions > 0 {
                        let page = config.page.iter();
                        let responses = page.flat_map(|page| page.intermediary);
                        actions.extend(responses.map(|response| Action::Intercept(at, *response)));
                    }
                }
                Message::ToOrigin { .. } => {
                    actions.push(arrives(0, Fate::Done));
                    if self.left.fates > 0 {
                        actions.extend(config.fates.iter().map(|fate| arrives(0, *fate)));
                    }
                }
                _ => actions.push(arrives(0, Fate::Done)),
            }
            if self.left.losses > 0 && message.matters() {
                actions.push(Action::Lose(at));
            }
            if self.left.doubles > 0 && message.can_be_doubled(config, scene.rules) {
                actions.push(Action::Double(at));
            }
        }
    }

    pub(super) fn deliver(&mut self, scene: &Scene, at: u8, gateway: u8, fate: Fate) {
        match self.net.remove(usize::from(at)) {
            Message::Request { to, key, payload } => {
                self.receive(scene, to, &key, payload, gateway);
            }
            Message::KeyCall { tab, life, tenant, key, voids } => {
                let report = self.key_call(scene, tenant, &key, voids);
                self.net.push(Message::KeyReply { tab, life, report });
            }
            Message::Call(call) => {
                if !self.awaits(call.running, call.step) && !call.is_unasked() {
                    scene.reached.note(Milestone::ArrivedLate);
                }
                let event = self.at_object(scene, &call);
                let (running, step) = (call.running, call.step);
                if let Some(event) = event.filter(|_| self.awaits(running, step)) {
                    self.net.push(Message::Reply { running, step, event });
                }
            }
            Message::Reply { running, step, event } => {
                if self.awaits(running, step) {
                    self.on_event(scene, running, event);
                }
            }
            Message::ToOrigin { running, step, request, first, business_key } => {
                let event = self.at_origin(scene, running, &request, (first, business_key), fate);
                if self.awaits(running, step) {
                    self.net.push(Message::Reply { running, step, event });
                }
            }
            Message::Copy { shelf, copy } => {
                scene.reached.note(Milestone::Copied);
                let copies = &mut self.shelves[usize::from(shelf)].copies;
                if !copies.contains(&copy) {
                    copies.push(copy);
                }
            }
            Message::Response { to, seen } => self.attempt_ended(scene, to, &seen),
            Message::KeyReply { tab, life, report } => self.report(scene, tab, life, report),
        }
    }

    pub(super) fn lose(&mut self, scene: &Scene, at: u8) {
        self.left.losses -= 1;
        scene.reached.note(Milestone::Dropped);
        if let Message::KeyCall { tab, life, .. } = self.net.remove(usize::from(at)) {
            let report = Report::NoResponse;
            self.net.push(Message::KeyReply { tab, life, report });
        }
    }

    pub(super) fn double(&mut self, scene: &Scene, at: u8) {
        self.left.doubles -= 1;
        scene.reached.note(Milestone::Doubled);
        self.net.push(self.net[usize::from(at)].clone());
    }
}
