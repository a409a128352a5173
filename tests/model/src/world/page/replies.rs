//! The events of a page: its requests arrive, responses, time-outs, reloads.

use super::{SeenResponse, Tab, TabActivity, To};
use crate::config::{IntermediaryResponse, Scene};
use crate::reached::Milestone;
use crate::rules::Ordered;
use crate::world::World;
use crate::world::gateway::Sent;
use crate::world::network::Message;
use oncekey::client::intent::{Call, CallInput, Report};
use oncekey::client::retry::{self, AttemptResult};
use oncekey::write_flow::Identity;
use oncekey::{IdempotencyKey, KeyStatus};

impl World {
    /// Lets a page's request reach a gateway.
    pub(in crate::world) fn receive(
        &mut self,
        scene: &Scene,
        to: To,
        key: &IdempotencyKey,
        payload: u8,
        gateway: u8,
    ) {
        let (to, tenant, key, content) = (Some(to), 0, Some(key), payload);
        let (business_key, identity) = (None, Identity::Key);
        self.begin_write(scene, Sent { to, tenant, key, content, business_key, identity, gateway });
    }

    pub(in crate::world) fn intercept(
        &mut self,
        scene: &Scene,
        message: u8,
        response: IntermediaryResponse,
    ) {
        self.left.interceptions -= 1;
        scene.reached.note(Milestone::Intercepted);
        if let Message::Request { to, .. } = self.net.remove(usize::from(message)) {
            self.net.push(Message::Response { to, seen: SeenResponse::of_intermediary(response) });
        }
    }

    /// Carries out a key call at the key's object.
    pub(in crate::world) fn key_call(
        &mut self,
        scene: &Scene,
        tenant: u8,
        key: &IdempotencyKey,
        voids: bool,
    ) -> Report {
        let shelf = self.shelf(scene.rules.name(crate::world::requests::scope(tenant), key), false);
        let status = if voids {
            self.void_key(scene, shelf, key.minted_at())
        } else {
            self.key_status(scene, shelf)
        };
        match status {
            None => Report::Absent,
            Some(KeyStatus { state, http_status, .. }) => {
                Report::read(200, Some(state.as_str()), http_status)
            }
        }
    }

    fn awaited(&self, to: To) -> bool {
        let tab = self.browser.as_ref().map(|browser| &browser.tabs[usize::from(to.tab)]);
        tab.is_some_and(|tab| {
            tab.life == to.life
                && tab.activity == TabActivity::Sends { key: to.key, attempt: to.attempt }
        })
    }

    pub(in crate::world) fn attempt_ended(&mut self, scene: &Scene, to: To, seen: &SeenResponse) {
        if !self.awaited(to) {
            return;
        }
        let shows = scene.config.page.as_ref().is_some_and(|page| page.proof);
        let state = seen.state.filter(|_| shows);
        let response = retry::ResponseSummary {
            status: seen.status,
            content_type: Some("application/json"),
            error_code: seen.code,
            state,
            replayed: (seen.is_replay && shows).then_some("true"),
            stored: (seen.is_not_stored && shows).then_some("false"),
            redirected: seen.is_redirected,
            ..retry::ResponseSummary::default()
        };
        let head = oncekey::client::intent::Hints { state, ..Default::default() };
        self.advance_call(scene, to.tab, |rules, call, input| {
            rules.attempt_ended(call, &AttemptResult::Response(&response), &head, input)
        });
    }

    pub(in crate::world) fn time_out(&mut self, scene: &Scene, tab: u8) {
        if self.tab_may_get_response(tab) {
            self.left.lates -= 1;
        }
        let head = oncekey::client::intent::Hints::default();
        self.advance_call(scene, tab, |rules, call, input| {
            rules.attempt_ended(call, &AttemptResult::TimedOut, &head, input)
        });
    }

    pub(in crate::world) fn report(&mut self, scene: &Scene, tab: u8, life: u8, report: Report) {
        let its = self.browser.as_ref().map(|browser| &browser.tabs[usize::from(tab)]);
        if its.is_some_and(|its| its.life == life && its.activity == TabActivity::KeyCall) {
            self.advance_call(scene, tab, |rules, call, input| rules.report(call, report, input));
        }
    }

    pub(in crate::world) fn go_on(&mut self, scene: &Scene, tab: u8) {
        self.advance_call(scene, tab, |rules, call, input| rules.waited(call, input));
    }

    pub(super) fn advance_call(
        &mut self,
        scene: &Scene,
        tab: u8,
        advance: impl FnOnce(crate::rules::Rules, &mut Call, &CallInput) -> Ordered,
    ) {
        let input = self.input(tab);
        let Some(browser) = &mut self.browser else { return };
        let its = &mut browser.tabs[usize::from(tab)];
        // A late entry is stored before anything else is.
        if let Some(entry) = its.unstored.take() {
            browser.store = Some(entry.encode());
        }
        if let Some(call) = &mut its.call {
            let step = advance(scene.rules, call, &input);
            self.follow(scene, tab, step);
        }
    }

    pub(in crate::world) fn store_late(&mut self, tab: u8) {
        let Some(browser) = &mut self.browser else { return };
        if let Some(entry) = browser.tabs[usize::from(tab)].unstored.take() {
            browser.store = Some(entry.encode());
        }
    }

    pub(in crate::world) fn reload(&mut self, scene: &Scene, tab: u8) {
        self.left.reloads -= 1;
        let Some(browser) = &mut self.browser else { return };
        let its = &mut browser.tabs[usize::from(tab)];
        scene.reached.note(match its.activity {
            TabActivity::Sends { .. } => Milestone::SentBeforeReload,
            _ => Milestone::Reloaded,
        });
        *its = Tab { life: its.life + 1, ..Tab::default() };
    }
}
