//! The origin: it executes requests, may fail before or after that, and may recognize a repeated request.

use super::requests::{self, WriteRequest, response};
use super::{Action, World};
use crate::config::{Fate, Recognizes, Scene};
use crate::reached::Milestone;
use oncekey::StoredResponse;
use oncekey::write_flow::Event as FlowEvent;

/// An executed request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Charge {
    pub(super) first: u8,
    pub(super) business_key: Option<u8>,
    pub(super) request: WriteRequest,
}

impl World {
    pub(super) fn at_origin(
        &mut self,
        scene: &Scene,
        running: u8,
        request: &WriteRequest,
        (first, business_key): (u8, Option<u8>),
        fate: Fate,
    ) -> FlowEvent {
        if fate != Fate::Done {
            self.left.fates -= 1;
        }
        let refuses = |status| response(request, status, 0, running);
        let response = match fate {
            Fate::Done => {
                let made_by = self.execute(scene, request, first, business_key);
                response(request, 201, made_by, running)
            }
            Fate::ErrorAfter => {
                scene.reached.note(Milestone::ErrorAfter);
                self.execute(scene, request, first, business_key);
                refuses(500)
            }
            Fate::ErrorBefore => {
                scene.reached.note(Milestone::ErrorBefore);
                refuses(500)
            }
            Fate::Refused => {
                scene.reached.note(Milestone::Refused);
                // An origin that recognizes a request does not refuse it after it was executed.
                match self.recognized(scene, request, first, business_key) {
                    Some(made_by) => response(request, 201, made_by, running),
                    None => {
                        self.witness_refusal(first);
                        refuses(402)
                    }
                }
            }
            Fate::Denied => {
                scene.reached.note(Milestone::Denied);
                refuses(401)
            }
            Fate::Busy => {
                scene.reached.note(Milestone::Denied);
                refuses(429)
            }
            Fate::Moved => {
                scene.reached.note(Milestone::Moved);
                refuses(307)
            }
        };
        FlowEvent::Called(Ok(response))
    }

    /// Executes a request unless the origin recognizes it. Returns the number of the execution.
    fn execute(
        &mut self,
        scene: &Scene,
        request: &WriteRequest,
        first: u8,
        business_key: Option<u8>,
    ) -> u8 {
        if let Some(made_by) = self.recognized(scene, request, first, business_key) {
            scene.reached.note(Milestone::Deduplicated);
            self.witness_execution(first, business_key, made_by);
            return made_by;
        }
        self.charges.push(Charge { first, business_key, request: *request });
        self.witness_charge(scene, first, business_key);
        let made_by = self.charges.len() as u8;
        self.witness_execution(first, business_key, made_by);
        made_by
    }

    fn recognized(
        &self,
        scene: &Scene,
        request: &WriteRequest,
        first: u8,
        business_key: Option<u8>,
    ) -> Option<u8> {
        let known = |charge: &Charge| match scene.config.recognizes {
            Recognizes::Nothing => false,
            Recognizes::BusinessKey if business_key.is_some() => {
                charge.business_key == business_key
            }
            Recognizes::Key | Recognizes::BusinessKey => charge.first == first,
        };
        let at = self
            .charges
            .iter()
            .position(|charge| known(charge) && charge.request.tenant == request.tenant);
        at.map(|at| at as u8 + 1)
    }

    /// Returns what a look-up finds for a record: the response of the request that was executed under it.
    pub(super) fn found(&self, shelf: u8) -> Option<StoredResponse> {
        let made_by = self.executed(shelf)?;
        let request = &self.charges[usize::from(made_by) - 1].request;
        Some(requests::response(request, 200, made_by, u8::MAX))
    }

    pub(super) fn look_up(&mut self, scene: &Scene, at: u8, finds: bool) {
        let running = &self.running[usize::from(at)];
        let (number, first, business_key_shelf) =
            (running.number, running.first, running.business_key_shelf);
        let found = match business_key_shelf {
            Some(business_key_shelf) => self.found(business_key_shelf),
            None => self.found(first),
        };
        if !finds {
            self.left.lates -= 1;
        }
        let found = found.filter(|_| finds);
        let says = requests::looked_up(found.as_ref());
        let proved = scene.rules.is_proved_by(&says).then(|| found.unwrap_or(says));
        self.on_event(scene, number, FlowEvent::LookedUp(proved));
    }

    pub(super) fn by_operators(&self, scene: &Scene, actions: &mut Vec<Action>) {
        self.settlements(scene, actions);
        self.sweeps_and_evictions(scene, actions);
    }
}
