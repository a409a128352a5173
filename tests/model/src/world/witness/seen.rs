//! What the origin and the callers see, checked against what was recorded.

use super::Kept;
use crate::config::{Clock, Scene};
use crate::property::Property;
use crate::world::World;
use crate::world::requests::{self, FOUND, WriteRequest, is_same, made_for};
use oncekey::write_flow::{CallerResponse, Identity, Target};
use oncekey::{RecordState, ResponseClass, StoredResponse, UnixMillis, UnknownOutcome, replica};

impl World {
    /// Records that a write calls the origin.
    pub(in crate::world) fn witness_dispatch(
        &mut self,
        scene: &Scene,
        running: u8,
        first: u8,
        business_key_shelf: Option<u8>,
    ) {
        let no_clock_was_set = self.left.jumps == scene.config.bounds.jumps;
        for (of, shelf) in [(Target::First, Some(first)), (Target::BusinessKey, business_key_shelf)]
        {
            let Some(shelf) = shelf else { continue };
            let now = self.object_time(scene, shelf);
            let shelf = &mut self.shelves[usize::from(shelf)];
            let record = shelf.record.as_deref();
            let token = requests::token(running, of);
            let witness = &mut shelf.witness;
            let mut broken = Vec::new();
            if !witness.attempt(running).is_granted {
                broken.push(Property::ShardDecides);
            }
            let holds_lease = match record.map(|record| &record.state) {
                Some(RecordState::InFlight { token: owner, lease_until }) => {
                    *owner == token && now < *lease_until
                }
                // An attempt that was overtaken has recorded its success meanwhile.
                Some(RecordState::Completed { .. }) => true,
                _ => false,
            };
            if no_clock_was_set && !holds_lease {
                broken.push(Property::DispatchedWithLease);
            }
            let holds = record.is_some_and(|r| r.policy.unknown_outcome == UnknownOutcome::Hold);
            for other in witness.attempts.iter().filter(|other| other.running != running) {
                if other.is_dispatched && !other.is_free {
                    broken.push(Property::OneAtATime);
                }
                if other.is_dispatched && !other.is_clear && holds {
                    broken.push(Property::NothingAfterHold);
                }
            }
            witness.attempt(running).is_dispatched = true;
            for property in broken {
                self.breaks(property);
            }
        }
    }

    /// Records that the origin executes a request, or recognizes it.
    pub(in crate::world) fn witness_execution(
        &mut self,
        first: u8,
        business_key: Option<u8>,
        made_by: u8,
    ) {
        for shelf in [Some(first), business_key].into_iter().flatten() {
            self.shelves[usize::from(shelf)].witness.executed.get_or_insert(made_by);
        }
    }

    /// Records that the origin refuses the request finally.
    pub(in crate::world) fn witness_refusal(&mut self, first: u8) {
        self.shelves[usize::from(first)].witness.is_refused = true;
    }

    /// Records a new execution.
    pub(in crate::world) fn witness_charge(
        &mut self,
        scene: &Scene,
        first: u8,
        business_key: Option<u8>,
    ) {
        let business_key = business_key.filter(|business_key| *business_key != first);
        for shelf in [Some(first), business_key].into_iter().flatten() {
            let witness = &mut self.shelves[usize::from(shelf)].witness;
            witness.charges += 1;
            let (charges, is_voided) = (witness.charges, witness.is_voided);
            if charges > 1 && scene.config.charges_once() {
                self.breaks(Property::ChargedOnce);
            }
            if is_voided {
                self.breaks(Property::VoidedNeverExecutes);
            }
        }
        if scene.config.page.is_some() && self.charges.len() > 1 && scene.config.charges_once() {
            self.breaks(Property::ChargedOnce);
        }
    }

    /// Records that a response is sent.
    pub(in crate::world) fn witness_response(
        &mut self,
        scene: &Scene,
        at: usize,
        response: &CallerResponse,
        own: Option<&StoredResponse>,
    ) {
        let running = &self.running[at];
        let policy = scene.config.gateways[usize::from(running.request.gateway)].policy;
        let policy = match running.request.identity {
            Identity::Key => policy,
            Identity::BusinessKey => policy.of_business_keys(),
            Identity::Event => policy.of_events(),
        };
        let kept = match response {
            CallerResponse::Replay(response) => Some(response),
            CallerResponse::Own => {
                own.filter(|own| policy.class_of(own.status) == ResponseClass::Final)
            }
            CallerResponse::NotStored | CallerResponse::Duplicate | CallerResponse::Rejected(_) => {
                None
            }
        };
        let Some(kept) = kept else { return };
        let (since, request) = (running.since, running.request);
        let business_key = match request.identity {
            Identity::BusinessKey => Some(running.first),
            _ => running.business_key_shelf,
        };
        let is_known =
            [Some(running.first), running.business_key_shelf].into_iter().flatten().any(|shelf| {
                let responses = &self.shelves[usize::from(shelf)].witness.responses;
                let counts = |known: &&Kept| known.until.is_none_or(|until| since < until);
                responses.iter().filter(counts).any(|known| is_same(&known.response, kept))
            });
        // A look-up's response that could not be stored is not a kept response.
        let is_found = running.found.as_ref().is_some_and(|found| is_same(found, kept));
        if !is_known && !is_found {
            self.breaks(Property::OneResponse);
        }
        if let Some(business_key) =
            business_key.filter(|_| kept.is_success() && kept.request_id != FOUND)
        {
            let seen = &mut self.shelves[usize::from(business_key)].witness.seen;
            let (first, until) =
                seen.get_or_insert_with(|| (kept.clone(), since.plus(policy.retention)));
            if since < *until && !is_same(first, kept) {
                self.breaks(Property::OneResponse);
            }
        }
        let Some(body) = kept.body().filter(|body| !body.is_empty()) else { return };
        let of = |request: &WriteRequest| [made_for(request), "x".to_owned()].concat();
        if !body.starts_with(of(&request).as_bytes()) {
            let is_tenants = body.starts_with(format!("t{}", request.tenant).as_bytes());
            self.breaks(if is_tenants { Property::OneRequest } else { Property::ScopesApart });
        }
    }

    /// Records that the replica returns a response.
    pub(in crate::world) fn witness_copy(
        &mut self,
        scene: &Scene,
        at: usize,
        response: &StoredResponse,
    ) {
        let running = &self.running[at];
        let shelf = &self.shelves[usize::from(running.first)];
        let no_clock_was_set = self.left.jumps == scene.config.bounds.jumps;
        let now = self.time_at(Clock::Objects);
        let is_alive =
            |until: UnixMillis| !no_clock_was_set || now.plus(replica::HEAD_START) < until;
        let is_its = |known: &Kept| {
            is_same(&known.response, response) && known.content_until.is_some_and(is_alive)
        };
        if !shelf.witness.responses.iter().any(is_its) {
            self.breaks(Property::ReplicaIsFinal);
        }
    }

    /// Returns how many executions there were that are not forgotten.
    pub(in crate::world) fn charged(&self, shelf: u8) -> u8 {
        self.shelves[usize::from(shelf)].witness.charges
    }

    /// Returns the number of the execution that is not forgotten.
    pub(in crate::world) fn executed(&self, shelf: u8) -> Option<u8> {
        self.shelves[usize::from(shelf)].witness.executed
    }

    /// Returns whether it is settled that the request is never executed.
    pub(in crate::world) fn is_given_up(&self, shelf: u8) -> bool {
        let witness = &self.shelves[usize::from(shelf)].witness;
        witness.is_voided || witness.is_refused
    }
}
