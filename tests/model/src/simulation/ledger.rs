//! The book that the simulation keeps for itself, and what it checks at each step. It is filled by what is sent
//! and by what is stored, and never asks the core what should be.

use super::coverage::Met;
use super::gateway::RecordHandle;
use super::message::SeenResponse;
use super::requests::{self, EVENT, FIRST_OF_PAGES, SOURCE};
use super::settings::{Recognises, SHARDS};
use super::shard::{Operation, Reply};
use super::world::{Clock, World};
use oncekey::journal::JournalEntry;
use oncekey::write_flow::{CallerResponse, Identity, Target};
use oncekey::{
    Completion, Decision, ExpiredKey, IdempotencyKey, KeyState, KeyStatus, Policy, Record,
    Rejection, ScopedKey, Settling, State, StoredResponse, Token, UnixMillis,
};
use std::collections::BTreeMap;

/// How far the clocks of servers may jump in all.
const SLACK: u64 = 1_800_000;

#[derive(Default)]
pub(super) struct Ledger {
    pub(super) names: Vec<Name>,
    by_name: BTreeMap<[u8; 32], usize>,
    /// What was voided: tenant, key, when.
    voided: Vec<(u8, IdempotencyKey, u64)>,
}

/// What is known of a record.
pub(super) struct Name {
    pub(super) label: String,
    pub(super) shard: usize,
    pub(super) tenant: u8,
    pub(super) key: Option<IdempotencyKey>,
    pub(super) business_key: Option<u8>,
    pub(super) rows: Vec<JournalEntry>,
    /// Who owns it, and until when.
    lease: Option<(Token, UnixMillis)>,
    granted: Vec<Token>,
    /// Whose responses were stored.
    recorded: Vec<Token>,
    /// Who has ended.
    ended: Vec<Token>,
    /// Which content executes, or did so last.
    pub(super) content: Option<u8>,
    /// When that began.
    content_at: u64,
    /// The responses that it had, the last one last.
    kept: Vec<Kept>,
}

/// A response that was stored.
#[derive(Clone, Debug)]
struct Kept {
    response: StoredResponse,
    at: UnixMillis,
    /// When it goes; `None` for what is never forgotten.
    until: Option<UnixMillis>,
    content_until: UnixMillis,
}

impl Name {
    /// The response that has to be kept at this time.
    fn kept_at(&self, now: UnixMillis) -> Option<&Kept> {
        self.kept.last().filter(|kept| kept.until.is_none_or(|until| now < until))
    }
}

impl World<'_> {
    pub(super) fn name_of_key(&mut self, tenant: u8, key: &IdempotencyKey) -> usize {
        let scoped = self.rules.name(requests::scope(tenant), key);
        let label = || {
            let what = if tenant == SOURCE { "event" } else { "key" };
            format!("{what} {} of {tenant}", key.as_str())
        };
        self.name(scoped, label, tenant, Some(key), None)
    }

    pub(super) fn name_of_business_key(&mut self, tenant: u8, content: u8) -> usize {
        let business_key = requests::business_key(content);
        let scoped = ScopedKey::of_business_key(requests::scope(tenant), business_key);
        let label = || format!("business key {} of {tenant}", requests::business_key_of(content));
        self.name(scoped, label, tenant, None, Some(requests::business_key_of(content)))
    }

    fn name(
        &mut self,
        scoped: ScopedKey,
        label: impl FnOnce() -> String,
        tenant: u8,
        key: Option<&IdempotencyKey>,
        business_key: Option<u8>,
    ) -> usize {
        let names = &mut self.ledger.names;
        *self.ledger.by_name.entry(*scoped.as_bytes()).or_insert_with(|| {
            names.push(Name {
                label: label(),
                shard: usize::from(scoped.shard()) % SHARDS,
                tenant,
                key: key.cloned(),
                business_key,
                rows: Vec::new(),
                lease: None,
                granted: Vec::new(),
                recorded: Vec::new(),
                ended: Vec::new(),
                content: None,
                content_at: 0,
                kept: Vec::new(),
            });
            names.len() - 1
        })
    }

    /// A step of a shard was carried out and stored.
    pub(super) fn check_step(
        &mut self,
        name: usize,
        operation: &Operation,
        reply: &Reply,
        before: Option<&Record>,
        after: Option<&Record>,
        now: UnixMillis,
    ) {
        match (operation, reply) {
            (Operation::Begin { content, token, .. }, Reply::Begun(decision, _)) => {
                self.check_begin(name, *content, *token, decision, after, now);
            }
            (Operation::Renew { token }, _) => {
                if let Some(State::InFlight { token: owner, lease_until }) = after.map(|r| &r.state)
                {
                    let of_name = &mut self.ledger.names[name];
                    let other =
                        of_name.lease.filter(|(known, until)| known != owner && now < *until);
                    if owner == token {
                        of_name.lease = Some((*owner, *lease_until));
                        if other.is_some() {
                            self.breaks(
                                "1: one attempt at a time",
                                "a renewal takes a key over".into(),
                            );
                        }
                    }
                }
            }
            (
                Operation::Complete { token, .. } | Operation::Fail { token, .. },
                Reply::Ended(completion, _),
            ) => {
                self.check_end(name, operation, *token, completion, before);
                let is_elsewhere = matches!(operation, Operation::Complete { response, .. } if response.status == 307);
                if is_elsewhere && before.is_some() && after.is_none() {
                    // The caller goes elsewhere with the key: here it is as if nothing had been.
                    let of_name = &mut self.ledger.names[name];
                    of_name.content = None;
                    of_name.ended.clear();
                }
            }
            (Operation::Void { .. }, Reply::Status(status)) => {
                self.check_void(name, status.as_ref(), now)
            }
            (Operation::Settle { .. }, Reply::Settled(settling, _)) => {
                self.note(match settling {
                    Settling::Settled => Met::Settled,
                    Settling::NotUnknown => Met::NotUnknown,
                });
                if *settling == Settling::Settled {
                    self.ledger.names[name].lease = None;
                }
            }
            (Operation::Peek { .. }, Reply::Peeked(decision)) => self.note(match decision {
                None => Met::PeekedNothing,
                Some(_) => Met::PeekedSomething,
            }),
            _ => {}
        }
        self.check_kept(name, after, now);
    }

    fn check_begin(
        &mut self,
        name: usize,
        content: u8,
        token: Token,
        decision: &Decision,
        after: Option<&Record>,
        now: UnixMillis,
    ) {
        self.note(match decision {
            Decision::Execute(execution) if execution.attempt > 1 => Met::ExecuteAgain,
            Decision::Execute(_) => Met::Execute,
            Decision::Replay(_) => Met::Replay,
            Decision::NotReplayable { http_status: None, .. } => Met::NotComparable,
            Decision::NotReplayable { .. } => Met::NotReplayable,
            Decision::InProgress => Met::InProgress,
            Decision::OutcomeUnknown => Met::OutcomeUnknown,
            Decision::Mismatch => Met::Mismatch,
            Decision::KeyVoided => Met::KeyVoided,
            Decision::KeyExpired => Met::KeyExpired,
        });
        let of_name = &mut self.ledger.names[name];
        let is_other = of_name.content.is_some_and(|known| known != content);
        let alive = of_name.lease.is_some_and(|(owner, until)| owner != token && now < until);
        let has_response = of_name.kept_at(now).is_some();
        if let Decision::Execute(_) = decision {
            if alive {
                let what = format!("{}: another attempt's lease lives", of_name.label);
                return self.breaks("1: one attempt at a time", what);
            }
            if has_response {
                let what = format!("{}: executes though it has its response", of_name.label);
                return self.breaks("3: a completed record never changes", what);
            }
            let until = match after.map(|record| &record.state) {
                Some(State::InFlight { lease_until, .. }) => *lease_until,
                _ => now,
            };
            let now_right = self.now;
            let is_key = of_name.key.is_some();
            let known_for = self.settings.shortest() - SLACK;
            if is_key && is_other && now_right - of_name.content_at < known_for {
                let what = format!("{}: another request executes", of_name.label);
                return self.breaks("begin: a key belongs to one request", what);
            }
            let again = of_name.granted.contains(&token);
            let after_it =
                of_name.granted.iter().rev().take_while(|other| **other != token).count();
            if again && of_name.ended.contains(&token) && after_it < 3 {
                let what = format!("{}: an attempt that has ended begins again", of_name.label);
                return self.breaks("1: an attempt that has ended changes nothing", what);
            }
            of_name.content_at = now_right;
            if !again {
                of_name.granted.push(token);
            }
            (of_name.lease, of_name.content) = (Some((token, until)), Some(content));
            if again {
                self.note(Met::BegunTwice);
            }
        } else if is_other
            && matches!(
                decision,
                Decision::Replay(_) | Decision::InProgress | Decision::OutcomeUnknown
            )
        {
            let what = format!("{}: another request gets {decision:?}", of_name.label);
            self.breaks("begin: a key belongs to one request", what);
        }
    }

    fn check_end(
        &mut self,
        name: usize,
        operation: &Operation,
        token: Token,
        completion: &Completion,
        before: Option<&Record>,
    ) {
        let is_complete = matches!(operation, Operation::Complete { .. });
        let of_name = &mut self.ledger.names[name];
        let again = of_name.ended.contains(&token);
        let owned = of_name.lease.is_some_and(|(owner, _)| owner == token);
        let met = match completion {
            Completion::Recorded if again => Met::RecordedAgain,
            Completion::Recorded if is_complete && !owned => Met::LateSuccess,
            Completion::Recorded => Met::Recorded,
            Completion::LeaseLost(_) => Met::LeaseLost,
            Completion::RecordGone => Met::RecordGone,
        };
        if *completion == Completion::Recorded {
            if is_complete && !again {
                of_name.recorded.push(token);
            }
            of_name.ended.push(token);
            if owned || !matches!(before.map(|record| &record.state), Some(State::InFlight { .. }))
            {
                of_name.lease = None;
            }
            if let (Operation::Complete { response, .. }, false, false) = (operation, owned, again)
                && !response.is_success()
            {
                let label = of_name.label.clone();
                self.breaks("3: a stale attempt adds the first success, nothing else", label);
            } else if !owned && is_complete && !again {
                self.ledger.names[name].lease = None;
            }
        }
        self.note(met);
    }

    fn check_void(&mut self, name: usize, status: Option<&KeyStatus>, now: UnixMillis) {
        let is_voided = status.is_some_and(|status| status.state == KeyState::Voided);
        self.note(if is_voided { Met::Voided } else { Met::VoidRefused });
        let of_name = &self.ledger.names[name];
        let (Some(key), true) = (of_name.key.clone(), is_voided) else { return };
        let tenant = of_name.tenant;
        if of_name.lease.is_some_and(|(_, until)| now < until) {
            return self
                .breaks("void: only what was not executed is voided", "it is in flight".into());
        }
        let recent = self.settings.shortest().saturating_sub(2 * SLACK);
        let charged = self.origin.responses.iter().any(|given| {
            given.charged
                && given.tenant == tenant
                && given.key.as_ref() == Some(&key)
                && self.now - given.at < recent
        });
        if charged {
            return self
                .breaks("void: only what was not executed is voided", "it was charged".into());
        }
        self.ledger.voided.push((tenant, key, self.now));
    }

    /// A record that has its response keeps it.
    pub(super) fn check_kept(&mut self, name: usize, after: Option<&Record>, now: UnixMillis) {
        let of_name = &mut self.ledger.names[name];
        let found = match after.map(|record| (&record.state, record.policy)) {
            Some((State::Completed { response, completed_at }, policy)) => {
                Some((response, *completed_at, policy))
            }
            _ => None,
        };
        match (of_name.kept_at(now), found) {
            (None, None) => {}
            (None, Some((response, at, policy))) => {
                let forever = policy.expired_key == ExpiredKey::Remember;
                let end = at.plus(policy.retention);
                let until = (!forever).then_some(end);
                of_name.lease = None;
                if until.is_some_and(|until| until <= now) {
                    return;
                }
                of_name.kept.push(Kept {
                    response: response.clone(),
                    at,
                    until,
                    content_until: end,
                });
            }
            (Some(kept), found) => {
                let is_same = found.is_some_and(|(response, at, _)| {
                    let is_over = kept.content_until <= now;
                    let same_body = response.body() == kept.response.body()
                        || (is_over && response.body().is_none());
                    at == kept.at && response.status == kept.response.status && same_body
                });
                if !is_same {
                    let what =
                        format!("{}: {:?}", of_name.label, after.map(|record| &record.state));
                    self.breaks("3: a completed record never changes", what);
                }
            }
        }
    }

    /// A gateway is about to call the origin.
    pub(super) fn check_dispatch(&mut self, flow: u32) {
        let Some(running) = &self.flows[flow as usize] else { return };
        let (handles, since) = ([Some(running.first), running.business_key], running.since());
        let named_by_key = running.request.identity == Identity::Key;
        for RecordHandle { name, token, .. } in handles.into_iter().flatten() {
            let of_name = &self.ledger.names[name];
            let label = of_name.label.clone();
            if !of_name.granted.contains(&token) {
                return self.breaks("6: nothing executes unless the authority allows it", label);
            }
            let jumped = self.jumped_at >= since;
            let now = self.time(Clock::Shard(of_name.shard));
            // Without one, a response was brought or settled since: what is dispatched now changes nothing of it.
            let is_alive = of_name.lease.is_none_or(|(owner, until)| owner == token && now < until);
            if !jumped && !is_alive {
                return self.breaks("1: who calls the origin holds its leases", label);
            }
        }
        let Some(running) = &self.flows[flow as usize] else { return };
        if named_by_key && self.settings.business_keys && running.business_key.is_none() {
            self.breaks("business key: it is asked", format!("write flow {flow}"));
        }
    }

    /// The record of the business key gets the response before the record of the key.
    pub(super) fn check_order(&mut self, flow: u32, of: Target) {
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

    /// What the replica gave.
    pub(super) fn check_copy(&mut self, name: usize, decision: &Decision, now: UnixMillis) {
        let Decision::Replay(response) = decision else { return };
        let of_name = &self.ledger.names[name];
        let kept =
            of_name.kept.iter().rev().find(|kept| kept.response.request_id == response.request_id);
        let label = of_name.label.clone();
        match kept {
            None => self.breaks("6: what the replica gives is the authority's response", label),
            Some(kept) if self.jumped_at == 0 && kept.until.is_some_and(|until| until <= now) => {
                self.breaks("6: what the replica gives has not expired", label);
            }
            Some(_) => {}
        }
    }

    /// A response leaves.
    pub(super) fn check_response(
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
                    let what =
                        format!("write flow {flow}: its response goes out, and is not stored");
                    return self.breaks("response: what is not stored is marked", what);
                }
                self.check_first_response(first.name, seen, status);
            }
            CallerResponse::Replay(response) => {
                // A business key may give its response while its key's record takes none.
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
                let done = |given: &super::origin::Given| given.charged && given.key == key;
                if !self.origin.responses.iter().any(done) {
                    self.breaks("event: a duplicate was done", format!("write flow {flow}"));
                }
            }
            CallerResponse::Rejected(Rejection::Internal) => {
                self.breaks("gateway: no fault of its own", format!("write flow {flow}"));
            }
            CallerResponse::NotStored | CallerResponse::Rejected(_) => {}
        }
    }

    /// What goes out as the key's response is the one that was stored.
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
                "{}: the origin's response {number} goes out as the kept one",
                of_name.label
            );
            self.breaks("2: one kept response", what);
        }
    }

    /// The origin has charged.
    pub(super) fn check_charge(&mut self, number: usize) {
        let given = &self.origin.responses[number];
        let (tenant, content, key) = (given.tenant, given.content, given.key.clone());
        let of_key = |(whose, voided, _): &&(u8, IdempotencyKey, u64)| {
            *whose == tenant && Some(voided) == key.as_ref()
        };
        let voided = self.ledger.voided.iter().find(of_key);
        let month = Policy::LONG_RETENTION.as_u64() - SLACK;
        if voided.is_some_and(|(_, _, at)| self.now - at < month) {
            return self
                .breaks("void: what is voided is never executed", format!("response {number}"));
        }
        if content == EVENT || !self.settings.charges_once() {
            return;
        }
        let refuses =
            |gateway: &super::settings::Gateway| gateway.policy.expired_key == ExpiredKey::Refuse;
        let recognises = self.settings.recognises == Recognises::KeyAndBusinessKey;
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
                same_business_key || (same_key && (recognises || self.now - other.at < known_for));
            let intent =
                |content: u8| content.checked_sub(FIRST_OF_PAGES).map(|content| content / 4);
            let same_intent = intent(content).is_some() && intent(other.content) == intent(content);
            let beyond = same_intent && self.is_beyond_the_limit(content);
            if (again || same_intent) && !beyond {
                let what = format!(
                    "key {key:?}, content {content}: response {number} takes money once more"
                );
                return self.breaks("nothing is charged twice", what);
            }
        }
    }
}
