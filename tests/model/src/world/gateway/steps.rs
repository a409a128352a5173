//! Carries out the steps of a write flow.

use super::{Running, SHORTEST, write};
use crate::config::{Clock, Scene};
use crate::reached::Event;
use crate::world::World;
use crate::world::network::Message;
use crate::world::object::{Call, What};
use crate::world::page::SeenResponse;
use oncekey::Rejection;
use oncekey::write_flow::{
    Action as FlowAction, CallerResponse, Event as FlowEvent, FollowUp, Identity, Target,
    WriteOutcome,
};
use std::sync::Arc;

impl World {
    pub(super) fn carry_out(&mut self, scene: &Scene, at: usize, step: FlowAction) {
        if let Some(outcome) = scene.rules.leaves_early(&step) {
            self.goes_out(scene, at, &outcome);
        }
        match step {
            FlowAction::Begin(of) => self.call(at, of, What::Begin),
            FlowAction::PeekBusinessKey => self.call(at, Target::BusinessKey, What::Peek),
            FlowAction::Complete(of, response) => self.call(at, of, What::Complete(response)),
            FlowAction::Fail(of, cause) => self.call(at, of, What::Fail(cause)),
            FlowAction::Settle(of, settlement) => self.call(at, of, What::Settle(settlement)),
            FlowAction::CallOrigin(_) => {
                self.running[at].executes = true;
                let Running { number, step, asked, first, beside, .. } = self.running[at];
                self.witness_dispatch(scene, number, first, beside);
                let business_key_beside = beside.or_else(|| {
                    let is_business_key = asked.identity == Identity::BusinessKey;
                    is_business_key.then_some(first)
                });
                self.net.push(Message::ToOrigin {
                    running: number,
                    step,
                    asked,
                    first,
                    business_key: business_key_beside,
                });
            }
            // The replies of the replica and of a look-up are separate actions.
            FlowAction::AskReplica | FlowAction::LookUp(_) => {
                if matches!(step, FlowAction::AskReplica) && !scene.config.replica {
                    self.on_event(scene, self.running[at].number, FlowEvent::Copied(None));
                } else if matches!(step, FlowAction::LookUp(_)) && !scene.config.looks_up {
                    self.on_event(scene, self.running[at].number, FlowEvent::LookedUp(None));
                }
            }
            FlowAction::Respond(outcome) => {
                self.goes_out(scene, at, &outcome);
                self.work_on(scene, at, outcome);
                self.running.remove(at);
            }
        }
    }

    pub(super) fn call(&mut self, at: usize, of: Target, what: What) {
        let running = &self.running[at];
        self.net.push(Message::Call(Call {
            running: running.number,
            step: running.step,
            shelf: running.shelf(of),
            of,
            asked: running.asked,
            what,
        }));
    }

    /// Renews the leases of all attempts that execute.
    pub(in crate::world) fn renew(&mut self) {
        for at in 0..self.running.len() {
            if !self.running[at].executes {
                continue;
            }
            for of in [Some(Target::First), self.running[at].beside.map(|_| Target::BusinessKey)] {
                let Some(of) = of else { continue };
                let number = self.running[at].number;
                let is_under_way = self.net.iter().any(|message| {
                    matches!(message, Message::Call(Call { running, what: What::Renew, of: its, .. })
                        if *running == number && *its == of)
                });
                if !is_under_way {
                    self.call(at, of, What::Renew);
                }
            }
        }
    }

    pub(super) fn goes_out(&mut self, scene: &Scene, at: usize, outcome: &WriteOutcome) {
        if self.running[at].outcome {
            return;
        }
        self.running[at].outcome = true;
        scene.reached.note(match &outcome.response {
            CallerResponse::Own => Event::OwnResponse,
            CallerResponse::NotStored => Event::NotStoredResponse,
            CallerResponse::Replay(_) => Event::ReplayResponse,
            CallerResponse::Duplicate => Event::DuplicateResponse,
            CallerResponse::Rejected(Rejection::OfBusinessKey { .. }) => Event::RejectedBusinessKey,
            CallerResponse::Rejected(Rejection::StoreUnavailable) => Event::StoreDown,
            CallerResponse::Rejected(Rejection::TooLateToDispatch) => Event::TooLate,
            CallerResponse::Rejected(_) => Event::Rejected,
        });
        let running = &self.running[at];
        let (to, own) = (running.to, running.own.clone());
        self.witness_response(scene, at, &outcome.response, own.as_ref());
        if let Some(to) = to {
            let seen = SeenResponse::of(outcome, own.as_ref());
            self.net.push(Message::Response { to, seen });
        }
        if let Some(responses) = &mut self.responses {
            responses.push(outcome.response.clone());
        }
    }

    /// Does the work after the response.
    pub(super) fn work_on(&mut self, scene: &Scene, at: usize, outcome: WriteOutcome) {
        for follow_up in outcome.follow_ups {
            match follow_up {
                FollowUp::Fail(of, cause) => {
                    self.call(at, of, What::Fail(cause));
                    if let Some(Message::Call(call)) = self.net.last_mut() {
                        call.step = u8::MAX;
                    }
                }
                FollowUp::Copy(response) => {
                    let running = &self.running[at];
                    let now = self.time_at(Clock::Gateway(running.asked.gateway));
                    let fingerprint = running.asked.fingerprints().signing();
                    let shelf = running.first;
                    let Some(status) = outcome.status.as_ref().filter(|_| scene.config.replica)
                    else {
                        continue;
                    };
                    let copy = scene.rules.copy(fingerprint, &response, status, SHORTEST, now);
                    if let Some((copy, _)) = copy {
                        self.net.push(Message::Copy { shelf, copy: Arc::new(copy) });
                    }
                }
            }
        }
    }
}
