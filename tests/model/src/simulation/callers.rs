//! The callers: programs with a key, programs with only a business key, and senders of webhooks.

use super::coverage::Milestone;
use super::message::{Endpoint, Event, Request, SeenResponse, To};
use super::requests::{self, EVENT, SOURCE};
use super::responses::shown;
use super::settings::PAUSES;
use super::world::{START, World};
use oncekey::write_flow::Identity;
use oncekey::{IdempotencyKey, KeyState, UnixMillis};
use std::rc::Rc;

/// How long a caller waits for a response.
const PATIENCE: u64 = 40_000;

pub(super) struct Caller {
    tenant: u8,
    key: Option<IdempotencyKey>,
    content: u8,
    identity: Identity,
    asks_left: u16,
    /// The number of the request that the caller waits for.
    number: u32,
    waits: bool,
    /// How often the caller sends again by itself, in a round of rest.
    pub(super) more: u8,
    /// The last response that the caller got.
    pub(super) last_response: Option<Rc<SeenResponse>>,
}

impl World<'_> {
    /// Draws the callers and their first actions.
    pub(super) fn draw_callers(&mut self) {
        let mut keys = Vec::new();
        for number in 0..1 + self.choices.below(3) {
            let text = format!("k-{number}");
            // Some keys contain the time when they were minted. Some were minted a while ago, or by a clock that is
            // ahead.
            let made =
                self.choices.pick(&[0_i64, 1, 0, -5_400_000, -86_400_000, -172_800_000, 3_600_000]);
            let at = UnixMillis::new(START.saturating_add_signed(made));
            let random = [number as u8 + 1; 10];
            keys.push(if made == 0 {
                requests::key(&text)
            } else {
                IdempotencyKey::mint(at, random)
            });
        }
        for number in 0..1 + self.choices.below(4) {
            let kind = self.choices.pick(&[0, 0, 0, 0, 1, 2]);
            let tenant = self.choices.pick(&[0, 0, 0, 1]);
            let content = self.choices.pick(&[0, 0, 0, 1, 4]);
            let key = keys[usize::from(self.choices.below(keys.len() as u16))].clone();
            let (tenant, key, content, identity) = match kind {
                1 if self.settings.business_keys => (tenant, None, content, Identity::BusinessKey),
                2 => (SOURCE, Some(requests::key("msg-1")), EVENT, Identity::Event),
                _ => (tenant, Some(key), content, Identity::Key),
            };
            let asks_left = self.choices.below(4);
            let (number_of_ask, waits, last_response) = (0, false, None);
            self.callers.push(Caller {
                tenant,
                key,
                content,
                identity,
                asks_left,
                number: number_of_ask,
                waits,
                more: 0,
                last_response,
            });
            let caller = usize::from(number);
            let after = self.pause();
            self.later(after, Event::Send(caller));
            if identity == Identity::Key && self.choices.chance(250) {
                let endpoint = self.choices.pick(&[Endpoint::State, Endpoint::Void]);
                let after = self.pause();
                self.later(after, Event::KeyCall { caller, endpoint });
            }
        }
        self.draw_pages();
        if self.settings.fault_rates.machines > 0 {
            let mut after = 0;
            for _ in 0..self.choices.below(10) {
                after += self.pause();
                self.later(after, Event::RandomFault);
            }
        }
        let horizon = match self.settings.pace {
            0..=6 => 240_000,
            7..=8 => 4_000_000,
            9 => 25_000_000,
            10 => 400_000_000,
            _ => 9_000_000_000,
        };
        self.later(horizon, Event::Rest(0));
    }

    /// Draws a pause between two actions.
    pub(super) fn pause(&mut self) -> u64 {
        PAUSES[usize::from(self.choices.below(self.settings.pace + 1))]
    }

    pub(super) fn caller_sends(&mut self, caller: usize) {
        let asking = &mut self.callers[caller];
        if asking.waits {
            return;
        }
        asking.number += 1;
        asking.waits = true;
        let number = asking.number;
        let gateway =
            if self.calm { number as usize % 2 } else { usize::from(self.choices.below(2)) };
        self.log(|_| {
            format!(
                "caller {caller} sends its request for the {number}. time, to gateway {gateway}"
            )
        });
        let to = To::Caller { caller, number };
        let request = self.request_of(caller, to, Endpoint::Write, gateway);
        self.send(request, true);
        self.later(PATIENCE, Event::GivesUp { caller, number });
    }

    pub(super) fn key_call(&mut self, caller: usize, endpoint: Endpoint) {
        self.log(|_| format!("caller {caller} makes a key call: {endpoint:?}"));
        let to = To::Caller { caller, number: 0 };
        let request = self.request_of(caller, to, endpoint, 0);
        self.send(request, true);
    }

    fn request_of(&self, caller: usize, to: To, endpoint: Endpoint, gateway: usize) -> Request {
        let Caller { tenant, ref key, content, identity, .. } = self.callers[caller];
        Request { to, endpoint, tenant, key: key.clone(), content, identity, gateway }
    }

    /// Sends a request to a gateway. The request may be lost, late, or sent twice.
    pub(super) fn send(&mut self, request: Request, may_double: bool) {
        let after = self.transit();
        if !self.goes_wrong(self.settings.fault_rates.front) {
            return self.later(after, Event::Arrive(Box::new(request)));
        }
        match self.choices.below(if may_double { 3 } else { 2 }) {
            0 => {
                self.note(Milestone::RequestLost);
                self.log(|_| "  this request is lost".to_owned());
            }
            1 => {
                self.note(Milestone::RequestLate);
                self.log(|_| "  this request will be late".to_owned());
                let after = self.lateness();
                self.later(after, Event::Arrive(Box::new(request)));
            }
            _ => {
                self.note(Milestone::RequestDoubled);
                self.log(|_| "  this request arrives twice".to_owned());
                let again = self.lateness();
                let mut other = request.clone();
                other.gateway = usize::from(self.choices.below(2));
                self.later(after, Event::Arrive(Box::new(request)));
                self.later(again, Event::Arrive(Box::new(other)));
            }
        }
    }

    pub(super) fn gives_up(&mut self, caller: usize, number: u32) {
        let asking = &self.callers[caller];
        if asking.waits && asking.number == number {
            self.ends_asking(caller, None);
        }
    }

    pub(super) fn caller_gets(&mut self, caller: usize, number: u32, seen: &SeenResponse) {
        if seen.report.is_some() {
            self.note(Milestone::StatusRead);
            return;
        }
        let Some(asking) = self.callers.get(caller) else { return };
        if asking.waits && asking.number == number {
            self.log(|_| format!("caller {caller} gets {}", shown(seen)));
            self.ends_asking(caller, Some(Rc::new(seen.clone())));
        }
    }

    fn ends_asking(&mut self, caller: usize, last_response: Option<Rc<SeenResponse>>) {
        let asking = &mut self.callers[caller];
        asking.waits = false;
        asking.last_response = last_response;
        if asking.asks_left > 0 && !self.calm {
            asking.asks_left -= 1;
            let after = self.pause();
            self.later(after, Event::Send(caller));
        } else if self.calm && !self.callers[caller].is_served() {
            // Another caller that sends at the same time may hold the key for a short time.
            let more = self.callers[caller].more;
            if more > 0 {
                self.callers[caller].more -= 1;
                self.later(2_500, Event::Send(caller));
            }
        }
    }
}

impl Caller {
    /// Returns whether the last response would stay the same if the caller sent its request again.
    pub(super) fn is_served(&self) -> bool {
        let Some(seen) = &self.last_response else { return false };
        if seen.cut || seen.failed {
            return false;
        }
        match seen.code {
            None => match seen.status {
                401 | 409 | 429 | 307 | 500.. => seen.state == Some(KeyState::Completed),
                _ => true,
            },
            Some("idempotency_in_progress" | "api_connection_error" | "api_error") => false,
            Some(_) => true,
        }
    }

    /// Returns whether the last response reports an unknown outcome.
    pub(super) fn is_unknown(&self) -> bool {
        let code = self.last_response.as_ref().and_then(|seen| seen.code);
        code == Some("idempotency_outcome_unknown")
    }

    pub(super) fn last_response(&self) -> String {
        self.last_response.as_ref().map_or("nothing".to_owned(), |seen| shown(seen))
    }
}
