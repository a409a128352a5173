//! The origin: it executes requests, may fail before or after that, and may recognize a repeated request.

use super::requests::{self, Asked, response};
use super::{Action, World};
use crate::config::{Fate, Recognises, Scene};
use crate::reached::Event;
use oncekey::StoredResponse;
use oncekey::write_flow::Event as FlowEvent;

/// An executed request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Charge {
    pub(super) first: u8,
    pub(super) business_key: Option<u8>,
    pub(super) asked: Asked,
}

impl World {
    pub(super) fn at_origin(
        &mut self,
        scene: &Scene,
        running: u8,
        asked: &Asked,
        (first, business_key): (u8, Option<u8>),
        fate: Fate,
    ) -> FlowEvent {
        if fate != Fate::Done {
            self.left.fates -= 1;
        }
        let refuses = |status| response(asked, status, 0, running);
        let response = match fate {
            Fate::Done => {
                let made_by = self.execute(scene, asked, first, business_key);
                response(asked, 201, made_by, running)
            }
            Fate::ErrorAfter => {
                scene.reached.note(Event::ErrorAfter);
                self.execute(scene, asked, first, business_key);
                refuses(500)
            }
            Fate::ErrorBefore => {
                scene.reached.note(Event::ErrorBefore);
                refuses(500)
            }
            Fate::Refused => {
                scene.reached.note(Event::Refused);
                // An origin that recognizes a request does not refuse it after it was executed.
                match self.recognised(scene, asked, first, business_key) {
                    Some(made_by) => response(asked, 201, made_by, running),
                    None => {
                        self.witness_refusal(first);
                        refuses(402)
                    }
                }
            }
            Fate::Denied => {
                scene.reached.note(Event::Denied);
                refuses(401)
            }
            Fate::Busy => {
                scene.reached.note(Event::Denied);
                refuses(429)
            }
            Fate::Moved => {
                scene.reached.note(Event::Moved);
                refuses(307)
            }
        };
        FlowEvent::Called(Ok(response))
    }

    /// Executes a request unless the origin recognizes it. Returns the number of the execution.
    fn execute(&mut self, scene: &Scene, asked: &Asked, first: u8, business_key: Option<u8>) -> u8 {
        if let Some(made_by) = self.recognised(scene, asked, first, business_key) {
            scene.reached.note(Event::Deduplicated);
            self.witness_execution(first, business_key, made_by);
            return made_by;
        }
        self.charges.push(Charge { first, business_key, asked: *asked });
        self.witness_charge(scene, first, business_key);
        let made_by = self.charges.len() as u8;
        self.witness_execution(first, business_key, made_by);
        made_by
    }

    fn recognised(
        &self,
        scene: &Scene,
        asked: &Asked,
        first: u8,
        business_key: Option<u8>,
    ) -> Option<u8> {
        let known = |charge: &Charge| match scene.config.recognises {
            Recognises::Nothing => false,
            Recognises::BusinessKey if business_key.is_some() => {
                charge.business_key == business_key
            }
            Recognises::Key | Recognises::BusinessKey => charge.first == first,
        };
        let at = self
            .charges
            .iter()
            .position(|charge| known(charge) && charge.asked.tenant == asked.tenant);
        at.map(|at| at as u8 + 1)
    }

    /// Returns what a look-up finds for a record: the response of the request that was executed under it.
    pub(super) fn found(&self, shelf: u8) -> Option<StoredResponse> {
        let made_by = self.executed(shelf)?;
        let asked = &self.charges[usize::from(made_by) - 1].asked;
        Some(requests::response(asked, 200, made_by, u8::MAX))
    }

    pub(super) fn look_up(&mut self, scene: &Scene, at: u8, finds: bool) {
        let running = &self.running[usize::from(at)];
        let (number, first, beside) = (running.number, running.first, running.beside);
        let found = match beside {
            Some(beside) => self.found(beside),
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
