//! Carries out the steps of a tab's call.

use super::{CREDENTIALS, PAYLOADS, RETRY, TabActivity, To};
use crate::config::{Clock, Scene};
use crate::reached::Milestone;
use crate::rules::Ordered;
use crate::world::World;
use crate::world::network::Message;
use oncekey::IdempotencyKey;
use oncekey::client::intent::{
    Call, CallInput, CallSettings, Command, End, EndReason, Goal, Report, SentRequest,
};
use oncekey::client::retry::Outcome;

impl World {
    pub(in crate::world) fn submit(&mut self, scene: &Scene, submit: u8) {
        let Some(page) = &scene.config.page else { return };
        let (tab, payload) = page.submits[usize::from(submit)];
        if let Some(browser) = &mut self.browser {
            browser.submitted |= 1 << submit;
        }
        self.submits(scene, tab, payload);
    }

    pub(in crate::world) fn submits(&mut self, scene: &Scene, tab: u8, payload: u8) {
        let wanted = PAYLOADS[usize::from(payload)].clone();
        let goal = Goal::Submit { payload: wanted, own_key: None, waited_since: None };
        self.begin_call(scene, tab, payload, goal);
    }

    pub(in crate::world) fn give_up_intent(&mut self, scene: &Scene, tab: u8) {
        if let Some(browser) = &mut self.browser {
            browser.gave_up = true;
        }
        self.begin_call(scene, tab, 0, Goal::Abandon);
    }

    pub(in crate::world) fn resolve(&mut self, scene: &Scene, tab: u8) {
        self.begin_call(scene, tab, 0, Goal::Resolve { look_up: false });
    }

    pub(super) fn begin_call(&mut self, scene: &Scene, tab: u8, payload: u8, goal: Goal) {
        let Some(page) = &scene.config.page else { return };
        let settings = CallSettings {
            retry: RETRY.clone(),
            retention: crate::config::RETENTION,
            key_calls: page.key_calls,
            sends_proof: page.proof,
            final_statuses: vec![],
            expects: "application/json".to_owned(),
        };
        let mut call = Call::new(goal, settings).under(CREDENTIALS[0].clone());
        let input = self.input(tab);
        let step = scene.rules.begin_call(&mut call, &input);
        if let Some(browser) = &mut self.browser {
            let its = &mut browser.tabs[usize::from(tab)];
            (its.call, its.payload) = (Some(call), payload);
            if browser.tabs.iter().all(|tab| tab.call.is_some()) {
                scene.reached.note(Milestone::TwoTabs);
            }
        }
        self.follow(scene, tab, step);
    }

    pub(super) fn input(&mut self, tab: u8) -> CallInput {
        let now = self.time_at(Clock::Page);
        let ticks = self.now.since(crate::world::START);
        let browser = self.browser.as_mut().expect("a world with a page");
        // A new value for each key. The random bytes have no other use here.
        let drawn = browser.keys.len() as u8 + 1;
        CallInput {
            stored: browser.stored(),
            now,
            ticks,
            random: [drawn; 16],
            in_memory: browser.tabs[usize::from(tab)].in_memory.clone().map(|(key, _)| key),
        }
    }

    /// Carries out a step, in its order.
    pub(super) fn follow(&mut self, scene: &Scene, tab: u8, step: Ordered) {
        let Ordered { write, command, write_after } = step;
        let Some(browser) = &mut self.browser else { return };
        if let Some(entry) = write {
            browser.store = Some(entry.encode());
        }
        let its = &mut browser.tabs[usize::from(tab)];
        its.unstored = write_after;
        its.activity = match command {
            Command::Send { key, attempt, request, rotated, .. } => {
                let payload = match (request, &its.in_memory) {
                    (SentRequest::Earlier, Some((_, payload))) => *payload,
                    _ => its.payload,
                };
                if rotated {
                    scene.reached.note(Milestone::ClientRotated);
                }
                if request == SentRequest::Earlier {
                    scene.reached.note(Milestone::ClientSendsEarlier);
                }
                its.in_memory = Some((key.clone(), payload));
                return self.send(scene, tab, key, payload, attempt as u8);
            }
            Command::Wait { .. } => TabActivity::Waits,
            Command::AskState { key } => return self.call_key(scene, tab, key, false),
            Command::Void { key } => {
                scene.reached.note(Milestone::ClientVoids);
                return self.call_key(scene, tab, key, true);
            }
            Command::LookUp => TabActivity::Nothing,
            Command::End(end) => {
                its.call = None;
                scene.reached.note(ending(&end));
                TabActivity::Nothing
            }
        };
        self.judge_the_page(scene);
    }

    /// Makes a key call with the page's credential, if that credential may be used for the key.
    pub(super) fn call_key(&mut self, scene: &Scene, tab: u8, key: IdempotencyKey, voids: bool) {
        let Some(browser) = &mut self.browser else { return };
        let stored = browser.stored();
        let its = &mut browser.tabs[usize::from(tab)];
        let is_sent = its.in_memory.as_ref().is_some_and(|(known, _)| *known == key);
        let tenant = u8::from(browser.changes_credential && !is_sent);
        let source = &CREDENTIALS[usize::from(tenant)];
        let speaks =
            its.call.as_ref().is_some_and(|call| scene.rules.speaks(call, source, &stored));
        its.activity = TabActivity::KeyCall;
        let life = its.life;
        if !speaks {
            scene.reached.note(Milestone::OtherCredential);
            return self.report(scene, tab, life, Report::NoResponse);
        }
        browser.sends = browser.sends.saturating_sub(1);
        self.net.push(Message::KeyCall { tab, life, tenant, key, voids });
        self.judge_the_page(scene);
    }

    pub(super) fn send(
        &mut self,
        scene: &Scene,
        tab: u8,
        key: IdempotencyKey,
        payload: u8,
        attempt: u8,
    ) {
        let name = scene.rules.name(crate::world::requests::scope(0), &key);
        self.judge_other_keys(name);
        let Some(browser) = &mut self.browser else { return };
        let known = browser.keys.iter().position(|(_, known)| *known == name);
        let number = known.unwrap_or_else(|| {
            browser.keys.push((key.clone(), name));
            browser.keys.len() - 1
        });
        browser.sends = browser.sends.saturating_sub(1);
        let its = &mut browser.tabs[usize::from(tab)];
        let number = number as u8;
        its.activity = TabActivity::Sends { key: number, attempt };
        let to = To { tab, life: its.life, key: number, attempt };
        self.net.push(Message::Request { to, key, payload });
        self.judge_the_page(scene);
    }
}

fn ending(end: &End) -> Milestone {
    match end {
        End::Response(Outcome::Succeeded { .. }) => Milestone::ClientSucceeded,
        End::Response(_) | End::KeyReused | End::KeyVoided => Milestone::ClientRefused,
        End::Unknown { why: EndReason::TooOld, .. } => Milestone::ClientTooOld,
        End::Unknown { .. } => Milestone::ClientUnknown,
        End::PayloadChanged { .. } => Milestone::ClientPayloadChanged,
        End::NotResolved => Milestone::ClientNotResolved,
        End::ResponseGone { .. } => Milestone::ClientResponseGone,
        End::Status(_) => Milestone::ClientFound,
    }
}
