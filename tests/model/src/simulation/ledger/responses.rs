//! The checks when a gateway calls the origin or responds, and when the origin charges.

use super::{Kept, SLACK};
use crate::simulation::gateway::RecordHandle;
use crate::simulation::message::SeenResponse;
use crate::simulation::requests::{self, EVENT, FIRST_OF_PAGES};
use crate::simulation::settings::Recognizes;
use crate::simulation::world::{Clock, World};
use oncekey::write_flow::{CallerResponse, Identity, Target};
use oncekey::{
    Decision, ExpiredKey, IdempotencyKey, KeyState, KeyStatus, Policy, Rejection, UnixMillis,
};

impl World<'_> {
    /// Checks a write flow that is about to call the origin.
    pub(in crate::simulation) fn check_dispatch(&mut self, flow: u32) {
        let Some(running) = &self.flows[flow as usize] else { return };
        let (handles, since) = ([Some(running.first), running.business_key], running.since());
        let named_by_key = running.request.identity == Identity::Key;
        for RecordHandle { name, token, .. } in handles.into_iter().flatten() {
            let of_name = &self.ledger.names[name];
            let label = of_name.label.clone();
            if !of_name.granted.contains(&token) {
                return self.breaks("6: nothing is executed unless the shard allows it", label);
            }
            let jumped = self.jumped_at >= since;
            let now = self.time(Clock::Shard(of_name.shard));
            // Without a lease, a response was recorded or settled since, and this attempt cannot change it.
            let is_alive = of_name.lease.is_none_or(|(owner, until)| owner == token && now < until);
            if !jumped && !is_alive {
                return self.breaks("1: an attempt that calls the origin holds its leases", label);
            }
        }
        let Some(running) = &self.flows[flow as usize] else { return };
        if named_by_key && self.settings.business_keys && running.business_key.is_none() {
            self.breaks("business key: its record is checked", format!("write flow {flow}"));
        }
    }

    /// Checks that the record of the business key gets the response before the record of the key.
    pub(in crate::simulation) fn check_order(&mut self, flow: u32, of: Target) {
        let Some(running) = &self.flows[flow as usize] else { return };
        let is_own = running.has_own();
        if of == Target::BusinessKey && running.business_key.is_some() {
            let first = running.first;
            if is_own && self.ledger.names[first.name].recorded.contains(&first.token) {
                self.breaks(
                    "business key: it is completed before its key",
                    format!("write flow {flow}"),
                );
            }
        }
    }

    /// Checks a copy that the replica returned.
    pub(in crate::simulation) fn check_copy(
        &mut self,
        name: usize,
        decision: &Decision,
        now: UnixMillis,
    ) {
        let Decision::Replay(response) = decision else { return };
        let of_name = &self.ledger.names[name];
        let kept =
            of_name.kept.iter().rev().find(|kept| kept.response.request_id == response.request_id);
        let label = of_name.label.clone();
        match kept {
            None => self.breaks("6: a copy in the replica is a stored response", label),
            Some(kept) if self.jumped_at == 0 && kept.until.is_some_and(|until| until <= now) => {
                self.breaks("6: a copy in the replica has not expired", label);
            }
            Some(_) => {}
        }
    }

    /// Checks a response that a gateway sends.
    pub(in crate::simulation) fn check_response(
        &mut self,
        flow: u32,
        response: &CallerResponse,
        seen: &SeenResponse,
        status: Option<&KeyStatus>,
    ) {
        let Some(running) = &self.flows[flow as usize] else { return };
        let (request, first) = (&running.request, running.first);
        let (tenant, content) = (request.tenant, request.content);
        if let Some(given) = seen.from_origin.map(|number| &self.origin.responses[number])
            && (given.tenant, given.content) != (tenant, content)
        {
            let what = format!(
                "write flow {flow}: a response of tenant {}, content {}",
                given.tenant, given.content
            );
            return self.breaks("4: no caller sees another's response", what);
        }
        let has_recorded =
            |handle: RecordHandle| self.ledger.names[handle.name].recorded.contains(&handle.token);
        match response {
            CallerResponse::Own => {
                let is_stored =
                    has_recorded(first) || running.business_key.is_some_and(has_recorded);
                if !is_stored {
                    let what = format!("write flow {flow}: its response is sent, but not stored");
                    return self.breaks("response: a response that is not stored is marked", what);
                }
                self.check_first_response(first.name, seen, status);
            }
            CallerResponse::Replay(response) => {
                // The response may come from the business key while the record of the key stores none.
                let of = [Some(first), running.business_key].into_iter().flatten();
                let has_it = |handle: RecordHandle| {
                    let kept = &self.ledger.names[handle.name].kept;
                    kept.iter().any(|kept| kept.response.request_id == response.request_id)
                };
                if !of.into_iter().any(has_it) {
                    let what = format!("write flow {flow}: {}", response.status);
                    return self.breaks("2: every replay is the stored response", what);
                }
                self.check_first_response(first.name, seen, status);
            }
            CallerResponse::Duplicate => {
                let key = request.key.clone();
                let done =
                    |given: &crate::simulation::origin::Given| given.charged && given.key == key;
                if !self.origin.responses.iter().any(done) {
                    self.breaks(
                        "event: a duplicate was processed before",
                        format!("write flow {flow}"),
                    );
                }
            }
            CallerResponse::Rejected(Rejection::Internal) => {
                self.breaks("gateway: no internal error", format!("write flow {flow}"));
            }
            CallerResponse::NotStored | CallerResponse::Rejected(_) => {}
        }
    }

    /// Checks that a response which is sent as the key's response was stored.
    fn check_first_response(
        &mut self,
        name: usize,
        seen: &SeenResponse,
        status: Option<&KeyStatus>,
    ) {
        let is_kept = status.is_some_and(|status| status.state == KeyState::Completed);
        let of_name = &self.ledger.names[name];
        let Some(number) = seen.from_origin.filter(|_| is_kept) else { return };
        let is_it = |kept: &Kept| kept.response.request_id == format!("r{number}");
        if !of_name.kept.iter().any(is_it) {
            let what = format!(
                "{}: the origin's response {number} is sent as the stored response",
                of_name.label
            );
            self.breaks("2: one kept response", what);
        }
    }

    /// Checks a charge of the origin.
    pub(in crate::simulation) fn check_charge(&mut self, number: usize) {
        let given = &self.origin.responses[number];
        let (tenant, content, key) = (given.tenant, given.content, given.key.clone());
        let of_key = |(whose, voided, _): &&(u8, IdempotencyKey, u64)| {
            *whose == tenant && Some(voided) == key.as_ref()
        };
        let voided = self.ledger.voided.iter().find(of_key);
        let month = Policy::LONG_RETENTION.as_u64() - SLACK;
        if voided.is_some_and(|(_, _, at)| self.now - at < month) {
            return self
                .breaks("void: a voided key is never executed", format!("response {number}"));
        }
        if content == EVENT || !self.settings.charges_once() {
            return;
        }
        let refuses = |gateway: &crate::simulation::settings::Gateway| {
            gateway.policy.expired_key == ExpiredKey::Refuse
        };
        let recognizes = self.settings.recognizes == Recognizes::KeyAndBusinessKey;
        let month = if self.settings.gateways.iter().all(refuses) { month } else { 0 };
        let known_for = self.settings.shortest() + month - SLACK;
        let others = self.origin.responses[..number]
            .iter()
            .filter(|other| other.charged && other.tenant == tenant);
        for other in others {
            let same_key = other.key.is_some() && other.key == key;
            let same_business_key = self.settings.business_keys
                && other.content != EVENT
                && requests::business_key_of(other.content) == requests::business_key_of(content);
            let again =
                same_business_key || (same_key && (recognizes || self.now - other.at < known_for));
            let intent =
                |content: u8| content.checked_sub(FIRST_OF_PAGES).map(|content| content / 4);
            let same_intent = intent(content).is_some() && intent(other.content) == intent(content);
            let beyond = same_intent && self.is_beyond_the_limit(content);
            if (again || same_intent) && !beyond {
                let what =
                    format!("key {key:?}, content {content}: response {number} takes money again");
                return self.breaks("nothing is charged twice", what);
            }
        }
    }
}
