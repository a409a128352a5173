//! Carries out the steps of a write flow.

use super::{Running, SHORTEST};
use crate::config::{Clock, Scene};
use crate::reached::Milestone;
use crate::world::World;
use crate::world::network::Message;
use crate::world::object::{ObjectCall, ObjectOperation};
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
            self.sends_response(scene, at, &outcome);
        }
        match step {
            FlowAction::Begin(of) => match self.recalls(scene, at, of) {
                Some(event) => self.on_event(scene, self.running[at].number, event),
                None => self.call(at, of, ObjectOperation::Begin),
            },
            FlowAction::PeekBusinessKey => {
                self.call(at, Target::BusinessKey, ObjectOperation::Peek)
            }
            // Without rules of an operator, the status says what a response proves.
            FlowAction::Complete(of, response) | FlowAction::CompleteAs(of, response, _) => {
                self.keep_early(scene, at, of, &response);
                self.call(at, of, ObjectOperation::Complete(response))
            }
            FlowAction::Fail(of, cause) => self.call(at, of, ObjectOperation::Fail(cause)),
            FlowAction::Settle(of, settlement) => {
                self.call(at, of, ObjectOperation::Settle(settlement))
            }
            FlowAction::CallOrigin(_) => {
                self.running[at].executes = true;
                let Running { number, step, request, first, business_key_shelf, .. } =
                    self.running[at];
                self.witness_dispatch(scene, number, first, business_key_shelf);
                let business_key_beside = business_key_shelf.or_else(|| {
                    let is_business_key = request.identity == Identity::BusinessKey;
                    is_business_key.then_some(first)
                });
                self.net.push(Message::ToOrigin {
                    running: number,
                    step,
                    request,
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
                self.sends_response(scene, at, &outcome);
                self.do_follow_ups(scene, at, outcome);
                self.running.remove(at);
            }
        }
    }

    pub(super) fn call(&mut self, at: usize, of: Target, what: ObjectOperation) {
        let running = &self.running[at];
        self.net.push(Message::Call(ObjectCall {
            running: running.number,
            step: running.step,
            shelf: running.shelf(of),
            of,
            request: running.request,
            what,
        }));
    }

    /// Renews the leases of all attempts that execute.
    pub(in crate::world) fn renew(&mut self) {
        for at in 0..self.running.len() {
            if !self.running[at].executes {
                continue;
            }
            for of in [
                Some(Target::First),
                self.running[at].business_key_shelf.map(|_| Target::BusinessKey),
            ] {
                let Some(of) = of else { continue };
                let number = self.running[at].number;
                let is_under_way = self.net.iter().any(|message| {
                    matches!(message, Message::Call(ObjectCall { running, what: ObjectOperation::Renew, of: its, .. })
                        if *running == number && *its == of)
                });
                if !is_under_way {
                    self.call(at, of, ObjectOperation::Renew);
                }
            }
        }
    }

    pub(super) fn sends_response(&mut self, scene: &Scene, at: usize, outcome: &WriteOutcome) {
        if self.running[at].outcome {
            return;
        }
        self.running[at].outcome = true;
        scene.reached.note(match &outcome.response {
            CallerResponse::Own => Milestone::OwnResponse,
            CallerResponse::NotStored => Milestone::NotStoredResponse,
            CallerResponse::Replay(_) => Milestone::ReplayResponse,
            CallerResponse::Duplicate => Milestone::DuplicateResponse,
            CallerResponse::Rejected(Rejection::OfBusinessKey { .. }) => {
                Milestone::RejectedBusinessKey
            }
            CallerResponse::Rejected(Rejection::StoreUnavailable) => Milestone::StoreDown,
            CallerResponse::Rejected(Rejection::TooLateToDispatch) => Milestone::TooLate,
            CallerResponse::Rejected(_) => Milestone::Rejected,
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
    pub(super) fn do_follow_ups(&mut self, scene: &Scene, at: usize, outcome: WriteOutcome) {
        for follow_up in outcome.follow_ups {
            match follow_up {
                FollowUp::Fail(of, cause) => {
                    self.call(at, of, ObjectOperation::Fail(cause));
                    if let Some(Message::Call(call)) = self.net.last_mut() {
                        call.step = u8::MAX;
                    }
                }
                FollowUp::Copy(response) => {
                    if let Some(status) = &outcome.status {
                        self.keep(scene, at, &response, status);
                    }
                    let running = &self.running[at];
                    let now = self.time_at(Clock::Gateway(running.request.gateway));
                    let fingerprint = &running.request.fingerprints().signing();
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
