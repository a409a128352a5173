//! The origin: it charges, refuses, fails, hangs and returns misleading responses, and keeps its own records.

use super::coverage::Milestone;
use super::message::{Event, OriginResponse};
use super::requests::{self, EVENT};
use super::settings::Recognizes;
use super::world::World;
use oncekey::write_flow::{Identity, OriginFailure};
use oncekey::{IdempotencyKey, StoredResponse};

#[derive(Default)]
pub(super) struct Origin {
    /// Every response that the origin has given.
    pub(super) responses: Vec<Given>,
    /// The requests on their way to the origin.
    pub(super) coming: Vec<Coming>,
}

/// A response.
pub(super) struct Given {
    pub(super) tenant: u8,
    pub(super) key: Option<IdempotencyKey>,
    pub(super) content: u8,
    pub(super) status: u16,
    /// Whether money was taken, or an event took effect.
    pub(super) charged: bool,
    pub(super) at: u64,
    request_id: String,
    /// Whether a repeated request gets this response again.
    sticks: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Coming {
    pub(super) flow: u32,
    pub(super) tenant: u8,
    pub(super) key: Option<IdempotencyKey>,
    pub(super) content: u8,
}

/// A request that reaches the origin.
pub(super) struct AtOrigin {
    coming: Coming,
    step: u8,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Done,
    Refused,
    Busy,
    Denied,
    Conflict,
    Moved,
    ErrorBefore,
    ErrorAfter,
    Cut,
    Large,
    Slow,
    Hangs,
    HangsIdle,
    Unreachable,
    Late,
}

const FATES: [(Fate, Milestone); 14] = [
    (Fate::Refused, Milestone::FateRefused),
    (Fate::Busy, Milestone::FateBusy),
    (Fate::Denied, Milestone::FateDenied),
    (Fate::Conflict, Milestone::FateConflict),
    (Fate::Moved, Milestone::FateMoved),
    (Fate::ErrorBefore, Milestone::FateErrorBefore),
    (Fate::ErrorAfter, Milestone::FateErrorAfter),
    (Fate::Cut, Milestone::FateCut),
    (Fate::Large, Milestone::FateLarge),
    (Fate::Slow, Milestone::FateSlow),
    (Fate::Hangs, Milestone::FateHangs),
    (Fate::HangsIdle, Milestone::FateHangs),
    (Fate::Unreachable, Milestone::FateUnreachable),
    (Fate::Late, Milestone::OriginCallLate),
];

impl Origin {
    /// Returns the number of a response with the same bytes.
    pub(super) fn response_of(&self, response: &StoredResponse) -> Option<usize> {
        let number = response.request_id.strip_prefix('r')?.parse::<usize>().ok()?;
        let given = self.responses.get(number)?;
        let is_same = given.status == response.status && response.body() == Some(&body(number)[..]);
        is_same.then_some(number)
    }

    /// Returns the response that an operator finds in the origin's records.
    pub(super) fn recorded_response(&self, number: usize) -> StoredResponse {
        let given = &self.responses[number];
        stored(given.status, number, &given.request_id, true)
    }

    fn known(&self, coming: &Coming, business_keys: bool) -> Option<usize> {
        let is_known = |given: &&Given| {
            let is_business_key =
                business_keys && given.charged && given.content != EVENT && coming.content != EVENT;
            let same_business_key = requests::business_key_of(given.content)
                == requests::business_key_of(coming.content);
            given.sticks
                && given.tenant == coming.tenant
                && ((given.key.is_some() && given.key == coming.key)
                    || (is_business_key && same_business_key))
        };
        let known: Vec<_> =
            self.responses.iter().enumerate().filter(|(_, given)| is_known(given)).collect();
        let charged = known.iter().find(|(_, given)| given.charged);
        charged.or(known.first()).map(|(number, _)| *number)
    }
}

impl World<'_> {
    pub(super) fn call_origin(&mut self, flow: u32, step: u8) {
        let Some(running) = &self.flows[flow as usize] else { return };
        let request = &running.request;
        let (tenant, key, content) = (request.tenant, request.key.clone(), request.content);
        let timeout = self.settings.gateways[request.gateway].origin_timeout;
        let fail = |failure| Event::Called { flow, step, called: Box::new(Err(failure)) };
        self.later(timeout, fail(OriginFailure::TimedOut));
        let fate = if self.goes_wrong(self.settings.fault_rates.origin) {
            let (fate, met) = self.choices.pick(&FATES);
            self.note(met);
            fate
        } else {
            Fate::Done
        };
        if fate == Fate::Unreachable {
            return self.later(5, fail(OriginFailure::Unreachable));
        }
        let after = if fate == Fate::Late { self.lateness() } else { self.transit() };
        let coming = Coming { flow, tenant, key, content };
        self.origin.coming.push(coming.clone());
        self.later(after, Event::AtOrigin(Box::new(AtOrigin { coming, step, fate })));
    }

    pub(super) fn at_origin(&mut self, arrived: AtOrigin) {
        let AtOrigin { coming, step, fate } = arrived;
        if let Some(at) = self.origin.coming.iter().position(|other| *other == coming) {
            self.origin.coming.swap_remove(at);
        }
        let response = self.decide(&coming, fate);
        let flow = coming.flow;
        let given = &self.origin.responses[response];
        let (status, charged) = (given.status, given.charged);
        self.log(|_| {
            let Coming { tenant, key, content, .. } = &coming;
            let key = key.as_ref().map_or("none", IdempotencyKey::as_str);
            let what = if charged { "charged" } else { "not charged" };
            format!("origin: tenant {tenant}, key {key}, content {content}: {fate:?}: {what}, response {response}: {status}")
        });
        let after = match fate {
            Fate::Hangs | Fate::HangsIdle => return,
            Fate::Slow if self.calm => 100,
            Fate::Slow => self.choices.pick(&[3_000, 9_000, 20_000, 31_000]),
            _ if self.calm => 50,
            _ => self.choices.pick(&[50, 300, 2_500]),
        };
        let called = Box::new(if fate == Fate::Cut {
            Err(OriginFailure::CutOff)
        } else {
            let given = &self.origin.responses[response];
            let id = &given.request_id;
            let keeps = fate != Fate::Large && coming.content != EVENT;
            Ok(OriginResponse { response, stored: stored(status, response, id, keeps) })
        });
        self.later(after, Event::Called { flow, step, called });
    }

    /// Returns whether the origin will recognize the request.
    pub(super) fn is_decided(&self, coming: &Coming) -> bool {
        let recognizes = self.settings.recognizes == Recognizes::KeyAndBusinessKey;
        recognizes && self.origin.known(coming, self.settings.business_keys).is_some()
    }

    fn decide(&mut self, coming: &Coming, fate: Fate) -> usize {
        let recognizes = self.settings.recognizes == Recognizes::KeyAndBusinessKey;
        let business_keys = self.settings.business_keys;
        let known = self.origin.known(coming, business_keys).filter(|_| recognizes);
        let (status, charges) = match (fate, known) {
            (Fate::ErrorBefore, _) => (500, false),
            (Fate::Busy, _) => (429, false),
            (Fate::Denied, _) => (401, false),
            (Fate::Conflict, _) => (409, false),
            (Fate::Moved, _) => (307, false),
            (Fate::HangsIdle, _) => (503, false),
            (_, Some(known)) => {
                self.note(Milestone::Recognized);
                if self.origin.responses[known].content != coming.content {
                    (400, false)
                } else if fate == Fate::ErrorAfter {
                    (500, false)
                } else {
                    return known;
                }
            }
            (Fate::ErrorAfter, None) => {
                // A repeated request gets the response of the execution. This request gets 500.
                self.give(coming, 201, true);
                (500, false)
            }
            (Fate::Refused, None) => (402, false),
            (_, None) => (201, true),
        };
        self.give(coming, status, charges)
    }

    fn give(&mut self, coming: &Coming, status: u16, charged: bool) -> usize {
        let number = self.origin.responses.len();
        self.origin.responses.push(Given {
            tenant: coming.tenant,
            key: coming.key.clone(),
            content: coming.content,
            status,
            charged,
            at: self.now,
            request_id: format!("r{number}"),
            sticks: charged || status == 402,
        });
        if charged {
            self.note(Milestone::Charged);
            self.check_charge(number);
        }
        number
    }

    /// Looks up at the origin what became of a request.
    pub(super) fn look_up(&mut self, flow: u32, step: u8) {
        let Some(running) = &self.flows[flow as usize] else { return };
        let (tenant, content) = (running.request.tenant, running.request.content);
        let is_asked = self.settings.looks_up && self.settings.business_keys;
        let is_asked = is_asked && running.request.identity != Identity::Event;
        let fails = is_asked && self.goes_wrong(self.settings.fault_rates.origin);
        let of_business_key = |given: &&Given| {
            given.charged
                && given.tenant == tenant
                && given.content != EVENT
                && requests::business_key_of(given.content) == requests::business_key_of(content)
        };
        let mut found = self.origin.responses.iter().filter(of_business_key);
        let found = match (found.next(), found.next()) {
            (Some(given), None) if is_asked && !fails => {
                let number = given.request_id[1..].parse().unwrap_or(0);
                Some(Box::new(stored(given.status, number, &given.request_id, true)))
            }
            // The look-up returns a 200 that reports no object, or several.
            _ if is_asked && !fails => Some(Box::new(none())),
            _ => None,
        };
        let found = found.filter(|found| self.rules.is_proved_by(found));
        let after = if is_asked { self.transit() } else { 0 };
        self.later(after, Event::LookedUp { flow, step, found });
    }
}

fn body(number: usize) -> Vec<u8> {
    format!("{{\"data\":{{\"id\":\"x{number}\"}}}}").into_bytes()
}

fn none() -> StoredResponse {
    let json = [("content-type".to_owned(), "application/json".to_owned())];
    StoredResponse::keep(200, json, br#"{"data":{"id":""}}"#.to_vec(), "r0", 100_000).0
}

fn stored(status: u16, number: usize, request_id: &str, keeps: bool) -> StoredResponse {
    let json = [("content-type".to_owned(), "application/json".to_owned())];
    if keeps {
        StoredResponse::keep(status, json, body(number), request_id, 100_000).0
    } else {
        StoredResponse::without_body(status, json, request_id)
    }
}
