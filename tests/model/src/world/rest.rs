//! The world at rest: nothing is in progress. Then no key may be stuck, and every caller must get a response.
//!
//! Every action uses up something bounded: a message, a step of a write, a request, a fault, a step of time. So the
//! states of a bounded world form a finite graph without a cycle, and every run without faults, in any order, ends in
//! a state at rest. The search reaches all of these states and makes the checks below in each of them. The checks go
//! beyond the bounds of the world, but no further fault happens in them.

use super::{Action, Clocks, World};
use crate::config::{Bounds, Clock, Fate, Scene, Tick};
use crate::property::Property;
use crate::reached::Milestone;
use oncekey::write_flow::{CallerResponse, Identity};
use oncekey::{KeyState, Rejection};

/// The most steps that one request may take if no fault happens.
const PATIENCE: usize = 60;

impl World {
    /// Returns whether an action only continues what is in progress, and so is neither a fault nor a new request.
    pub fn is_quiet(&self, action: Action) -> bool {
        match action {
            Action::Deliver { fate, .. } => fate == Fate::Done,
            Action::GiveUp(at) => !self.has_response_for(&self.running[usize::from(at)]),
            Action::TimeOut(tab) => !self.tab_may_get_response(tab),
            Action::ReplicaReplies { running, .. } => !self.waits_for_object(running),
            Action::LookUp { finds, .. } => finds,
            Action::GoOn(_) | Action::StoreLate(_) => true,
            _ => false,
        }
    }

    /// Returns whether nothing is in progress.
    pub fn is_at_rest(&self) -> bool {
        self.net.is_empty()
            && self.running.is_empty()
            && self.browser.as_ref().is_none_or(|browser| !browser.is_busy())
    }

    /// Returns the property that is broken if the world comes to rest here, and the reason.
    pub(crate) fn problem_at_rest(&self, scene: &Scene) -> Option<(Property, String)> {
        let (world, stuck) = self.come_to_rest(scene);
        match (world.broken, stuck) {
            (Some(broken), _) => Some((broken, "while it comes to rest".to_owned())),
            (None, stuck) => stuck.map(|why| (Property::NothingStuck, why)),
        }
    }

    fn come_to_rest(&self, scene: &Scene) -> (Self, Option<String>) {
        scene.reached.note(Milestone::AtRest);
        let mut world = self.clone();
        world.left = Bounds::default();
        // The clocks of the servers are set right. A shard whose clock was ahead waits for the true time to catch up.
        // (A page cannot notice that its clock was set back if it has caught up since.)
        world.clocks = Clocks { page: world.clocks.page, ..Clocks::default() };
        let last_seen = world.shelves.iter().map(|shelf| shelf.last_seen).max();
        world.now = last_seen.unwrap_or(world.now).max(world.now);
        // The leases of crashed attempts expire.
        world.go_forward(scene, Tick::Lease);
        world.go_forward(scene, Tick::Lease);
        for shelf in 0..world.shelves.len() as u8 {
            let status = world.key_status(scene, shelf);
            if status.is_some_and(|status| status.state == KeyState::InProgress) {
                let why = format!("record {shelf} is in progress without an attempt");
                return (world, Some(why));
            }
        }
        for caller in 0..scene.config.callers.len() as u8 {
            if self.sent[usize::from(caller)] > 0
                && let Some(why) = world.sends_until_final(scene, caller)
            {
                return (world, Some(why));
            }
        }
        let stuck = world.buyer_returns(scene);
        (world, stuck)
    }

    /// Lets a caller send its request until it gets a final response.
    fn sends_until_final(&mut self, scene: &Scene, caller: u8) -> Option<String> {
        let is_settled = |response: &CallerResponse| match response {
            CallerResponse::Own
            | CallerResponse::NotStored
            | CallerResponse::Replay(_)
            | CallerResponse::Duplicate => true,
            CallerResponse::Rejected(rejection) => is_final(rejection),
        };
        for _ in 0..4 {
            let response = self.sends_once(scene, caller);
            match response {
                Some(response) if is_settled(&response) => return None,
                Some(CallerResponse::Rejected(rejection)) if is_unknown(&rejection) => {
                    return self.is_settled_by_operator(scene, caller);
                }
                Some(_) => self.go_forward(scene, Tick::Lease),
                None => return Some(format!("caller {caller} gets no response")),
            }
        }
        Some(format!("caller {caller} must retry again and again"))
    }

    /// Checks that a caller whose record is on hold gets an unknown outcome, and a response after an operator has
    /// settled it.
    fn is_settled_by_operator(&mut self, scene: &Scene, caller: u8) -> Option<String> {
        scene.reached.note(Milestone::SettledAtRest);
        let identity = scene.config.callers[usize::from(caller)].identity;
        if !self.settle_all(scene) && identity != Identity::Event {
            return Some(format!(
                "caller {caller} gets an unknown outcome, and there is nothing to settle"
            ));
        }
        let response = self.sends_once(scene, caller);
        match response {
            Some(CallerResponse::Rejected(rejection)) if is_unknown(&rejection) => Some(format!(
                "caller {caller} gets an unknown outcome after an operator settled it"
            )),
            Some(_) => None,
            None => Some(format!("caller {caller} gets no response after an operator settled it")),
        }
    }

    /// Settles all unknown outcomes. Returns whether there were any.
    fn settle_all(&mut self, scene: &Scene) -> bool {
        let mut is_settled = false;
        for shelf in 0..self.shelves.len() as u8 {
            if self.is_unknown(scene, shelf) {
                is_settled |= self.settle_truly(scene, shelf);
            }
        }
        is_settled
    }

    fn sends_once(&mut self, scene: &Scene, caller: u8) -> Option<CallerResponse> {
        self.responses = Some(Vec::new());
        self.sent[usize::from(caller)] = 0;
        self.caller_sends(scene, caller, 0);
        self.runs_to_rest(scene);
        self.responses.take().unwrap_or_default().pop()
    }

    /// Plays the world until nothing is in progress.
    fn runs_to_rest(&mut self, scene: &Scene) {
        let mut actions = Vec::new();
        for _ in 0..PATIENCE {
            actions.clear();
            self.deliveries(scene, &mut actions);
            self.at_gateways(scene, &mut actions);
            self.in_the_page(scene, &mut actions);
            let wanted = actions.iter().copied().find(|action| match action {
                Action::Deliver { gateway, fate, .. } => *gateway == 0 && *fate == Fate::Done,
                Action::GiveUp(_) | Action::LookUp { .. } | Action::GoOn(_) => true,
                Action::ReplicaReplies { running, .. } => !self.waits_for_object(*running),
                Action::StoreLate(_) | Action::TimeOut(_) => true,
                _ => false,
            });
            match wanted {
                Some(action) => self.apply(scene, action),
                None => return,
            }
        }
    }

    fn waits_for_object(&self, running: u8) -> bool {
        let running = &self.running[usize::from(running)];
        running.waits_for(running.first)
    }

    /// Lets the buyer come back with the same payload until the outcome is known.
    fn buyer_returns(&mut self, scene: &Scene) -> Option<String> {
        let page = scene.config.page.as_ref()?;
        let browser = self.browser.as_mut()?;
        if browser.is_new() {
            return None;
        }
        browser.close();
        browser.allow_more(page.sends + 6);
        let payload = browser.payload();
        for time in 0..6 {
            self.submits(scene, 0, payload);
            self.runs_to_rest(scene);
            let now = self.time_at(Clock::Page);
            match self.browser.as_ref()?.ended(now) {
                None => return Some("the page waits for ever".to_owned()),
                Some(is_known) if is_known || !page.proof => return None,
                Some(_) => {}
            }
            self.browser.as_mut()?.close();
            self.go_forward(scene, Tick::Lease);
            // A key on hold reports that, so an operator settles it. A voided key is reported by the key calls.
            if time == 2 {
                self.settle_all(scene);
                if page.key_calls {
                    self.resolve(scene, 0);
                    self.runs_to_rest(scene);
                    if self.browser.as_ref()?.ended(now) == Some(true) {
                        return None;
                    }
                    self.browser.as_mut()?.close();
                }
            }
        }
        Some("the buyer comes back again and again, and the outcome stays unknown".to_owned())
    }
}

/// Returns whether the caller need not retry after this rejection.
fn is_final(rejection: &Rejection) -> bool {
    match rejection {
        Rejection::OfBusinessKey { why, .. } => is_final(why),
        Rejection::Mismatch
        | Rejection::NotReplayable { .. }
        | Rejection::KeyVoided
        | Rejection::KeyExpired => true,
        _ => false,
    }
}

fn is_unknown(rejection: &Rejection) -> bool {
    match rejection {
        Rejection::OfBusinessKey { why, .. } => is_unknown(why),
        rejection => *rejection == Rejection::OutcomeUnknown,
    }
}
