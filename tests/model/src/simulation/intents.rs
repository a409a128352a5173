//! The checks of intents: one key with an unknown outcome, a success that was paid once, and a result for every caller
//! that keeps trying.

use super::coverage::Milestone;
use super::message::Event;
use super::page::{PageEvent, PageInput};
use super::requests::FIRST_OF_PAGES;
use super::world::World;
use crate::rules::Ordered;
use oncekey::client::intent::{End, EndReason, IntentState, Stored};
use oncekey::client::retry::{Outcome, UnknownReason};
use oncekey::{ExpiredKey, IdempotencyKey, Policy};

impl World<'_> {
    /// Records the limit that `src/client/intent.rs` states: a key whose attempts all got "not executed" is replaced
    /// without the server's confirmation, while a second copy that the browser sent may still arrive.
    pub(super) fn note_limit(&mut self, at: PageInput, before: &Stored, ordered: &Ordered) {
        let (Stored::Entry(before), Some(after)) = (before, &ordered.write) else { return };
        let gives_way = after.key != before.key || after.state == IntentState::Voided;
        // Servers with other settings may disagree on whether a key is too old.
        let is_reminted = after.key != before.key && before.state == IntentState::Sending;
        if is_reminted && !self.settings.is_uniform() {
            self.intent(at).beyond = true;
        }
        if before.state == IntentState::Prepared && before.attempts > 0 && gives_way {
            self.intent(at).beyond = true;
        }
    }

    /// Checks that no second key is sent while a request was, or may be, executed under the first.
    pub(super) fn check_one_key(&mut self, at: PageInput, key: &IdempotencyKey, content: u8) {
        if self.intent(at).beyond || !self.settings.charges_once() {
            return;
        }
        let is_other =
            |of: Option<&IdempotencyKey>, what: u8| what / 4 == content / 4 && of != Some(key);
        let charged = self
            .origin
            .responses
            .iter()
            .any(|given| given.charged && is_other(given.key.as_ref(), given.content));
        // An origin that refused a request finally refuses it again.
        let comes = self.origin.coming.iter().any(|coming| {
            is_other(coming.key.as_ref(), coming.content) && !self.is_decided(coming)
        });
        if charged || comes {
            let what = format!("{} is sent after another key was executed", key.as_str());
            self.breaks("client: no intent has two keys with unknown outcomes", what);
        }
    }

    pub(super) fn check_end_of_call(&mut self, at: PageInput, end: &End) {
        let (content, beyond) = (self.intent(at).content, self.intent(at).beyond);
        let charged = self.charges_of(content);
        let is_success = matches!(
            end,
            End::Response(Outcome::Succeeded { .. })
                | End::ResponseGone { .. }
                | End::Status(Some(IntentState::Succeeded { .. }))
                | End::PayloadChanged { .. }
        );
        let is_refusal = matches!(end, End::Response(Outcome::Refused { .. }));
        let once = self.settings.charges_once() && !beyond;
        let what = format!("page {}, intent {}: {end:?}, {charged} charges", at.device, at.intent);
        if is_success && (charged == 0 || (once && charged > 1)) {
            self.breaks("client: a success was paid, once", what);
        } else if is_refusal && once && charged > 0 {
            self.breaks("client: a refused request was not paid", what);
        }
    }

    fn charges_of(&self, content: u8) -> usize {
        let is_its = |given: &&super::origin::Given| {
            given.charged
                && given.content >= FIRST_OF_PAGES
                && given.content / 4 == content / 4
                && given.content < super::requests::CONTENTS
        };
        self.origin.responses.iter().filter(is_its).count()
    }

    /// Returns whether more may be charged for this content than is promised.
    pub(super) fn is_beyond_the_limit(&self, content: u8) -> bool {
        let mut intents = self.devices.iter().flat_map(|device| &device.intents);
        intents.any(|intent| intent.content / 4 == content / 4 && intent.beyond)
    }

    /// Lets every page submit again until its intent has a result.
    pub(super) fn pages_submit_again(&mut self, round: u8) {
        for device in 0..self.devices.len() {
            for intent in 0..self.devices[device].intents.len() {
                let of_intent = &self.devices[device].intents[intent];
                let Some(submitted) = of_intent.submitted else { continue };
                if of_intent.end.as_ref().is_some_and(is_done) {
                    continue;
                }
                let version = match of_intent.end {
                    Some(End::NotResolved) => of_intent.sent,
                    _ => submitted,
                };
                self.note(Milestone::RestSent);
                let (tab, life, number, what) = (0, 0, 0, PageEvent::Submit(version));
                let input = PageInput { device, tab, life, intent, number, what };
                if round == 1 {
                    self.page(input);
                } else {
                    // First the page resolves the outcome, by key calls and by its own look-up.
                    let what = if round == 2 {
                        PageEvent::GiveUp
                    } else {
                        PageEvent::Resolve { looks_up: true }
                    };
                    self.page(PageInput { what, ..input });
                    self.later(100_000, Event::Page(input));
                }
            }
        }
    }

    pub(super) fn check_pages(&mut self) {
        for device in 0..self.devices.len() {
            for intent in 0..self.devices[device].intents.len() {
                let of_intent = &self.devices[device].intents[intent];
                let end = of_intent.end.clone();
                if of_intent.submitted.is_none() {
                    continue;
                }
                // Without the key calls a page may not be able to resolve an outcome. Then it must report that.
                let may_ask = self.settings.key_calls;
                let is_told = |end: &End| {
                    is_done(end)
                        || is_honest(end, may_ask)
                        || (*end == End::NotResolved && self.is_refused_as_expired(device))
                };
                if !end.as_ref().is_some_and(is_told) {
                    let what = format!("page {device}, intent {intent}: {end:?}");
                    return self.breaks("5: no intent is stuck", what);
                }
            }
        }
    }

    /// Returns whether the page's clock is so slow that gateways treat its keys as expired from the start. If an
    /// intermediary then leaves an unknown outcome, neither the gateways nor the key calls can resolve it.
    fn is_refused_as_expired(&self, device: usize) -> bool {
        self.settings.gateways.iter().any(|gateway| {
            let Policy { retention, expired_key, .. } = gateway.policy;
            let slow = u64::try_from(-self.devices[device].base).unwrap_or_default();
            expired_key == ExpiredKey::Refuse && slow > retention.as_u64()
        })
    }
}

fn is_done(end: &End) -> bool {
    match end {
        End::Response(Outcome::Succeeded { .. } | Outcome::Refused { .. }) => true,
        End::PayloadChanged { .. } | End::ResponseGone { .. } => true,
        End::Unknown { why, .. } => matches!(why, EndReason::TooOld | EndReason::Unreadable),
        _ => false,
    }
}

/// Returns whether the page reports that the outcome is unknown.
fn is_honest(end: &End, may_ask: bool) -> bool {
    use UnknownReason::{Expired, Mismatch, NoProof, NotReplayable, Voided};
    match end {
        End::Unknown { reason: Some(NotReplayable | Expired), .. } | End::KeyReused => true,
        // The response cannot prove that it belongs to the key, and the page has no key calls.
        End::Unknown { reason: Some(NoProof), .. } => !may_ask,
        End::Unknown { reason: Some(Voided | Mismatch), .. } | End::NotResolved => !may_ask,
        _ => false,
    }
}
