//! A checkout page in two tabs: the real call, and its stored entry as the text that the storage holds.
//!
//! Nothing is locked between the tabs: one may start while the other is sending, as when a lease was taken over.

mod judged;
mod seen_response;

pub(super) use seen_response::SeenResponse;

use super::gateway::Sent;
use super::network::Message;
use super::requests::{body, parts};
use super::{Action, World};
use crate::config::{Between, Clock, Page, Scene};
use crate::reached::Event;
use crate::rules::Ordered;
use oncekey::client::intent::{
    Call, CallInput, CallSettings, Command, Cookies, Credential, End, EndReason, Entry, Goal,
    Payload, Report, SentRequest, Stored,
};
use oncekey::client::retry::{self, AttemptResult, Jitter, Outcome, RetryPolicy, RetrySettings};
use oncekey::write_flow::Identity;
use oncekey::{IdempotencyKey, KeyStatus, Millis, ScopedKey, UnixMillis};
use std::sync::LazyLock;

/// Two tabs and the storage that they share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Browser {
    pub(super) store: Option<String>,
    tabs: [Tab; 2],
    /// Which of the submits were made.
    submitted: u8,
    /// How many requests and key calls may still be sent.
    sends: u8,
    gave_up: bool,
    /// Whether a page that was loaded anew has somebody else's credential.
    strays: bool,
    /// Every key that was sent.
    keys: Vec<(IdempotencyKey, ScopedKey)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Tab {
    /// Which page it is; a reload makes another.
    life: u8,
    call: Option<Call>,
    payload: u8,
    does: Does,
    /// The payload that this page last sent, by its key.
    in_memory: Option<(IdempotencyKey, u8)>,
    /// What should have been stored before the request left.
    unstored: Option<Entry>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Does {
    #[default]
    Nothing,
    /// It waits for the response to this attempt with this key.
    Sends { key: u8, attempt: u8 },
    /// It waits before it sends or asks again.
    Waits,
    /// It waits for the response to a key call.
    Asks,
}

/// Who waits for a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct To {
    pub(super) tab: u8,
    pub(super) life: u8,
    /// Which key of all that were sent.
    pub(super) key: u8,
    pub(super) attempt: u8,
}

static PAYLOADS: LazyLock<Vec<Payload>> = LazyLock::new(|| {
    let of = |content| Payload::of("https://api.example", &parts(&body(content)));
    (0..3).map(of).collect()
});

/// Of the requests, and of somebody else.
static CREDENTIALS: LazyLock<[Credential; 2]> = LazyLock::new(|| {
    ["0", "1"].map(|value| Credential::new(Cookies::None, [("x-api-key", value)]))
});

static RETRY: LazyLock<RetryPolicy> = LazyLock::new(|| {
    let settings = RetrySettings {
        limit: 2,
        delays: vec![Millis::from_seconds(1)],
        jitter: Jitter::None,
        ..RetrySettings::default()
    };
    RetryPolicy::new(settings).expect("settings that may be")
});

impl Browser {
    pub(super) fn new(page: &Page) -> Self {
        let (store, tabs) = (None, Default::default());
        let keys = Vec::new();
        let (sends, strays) = (page.sends, page.strays);
        Self { store, tabs, submitted: 0, sends, gave_up: false, strays, keys }
    }

    pub(super) fn is_new(&self) -> bool {
        self.submitted == 0
    }

    /// Nobody stays on a page for a day.
    pub(super) fn is_left(&mut self) {
        for tab in &mut self.tabs {
            *tab = Tab { life: tab.life + 1, ..Tab::default() };
        }
    }

    /// Whether a tab waits for something that may still come, or may go on by itself.
    pub(super) fn is_busy(&self) -> bool {
        self.tabs.iter().any(|tab| match tab.does {
            Does::Nothing => false,
            Does::Sends { .. } | Does::Asks => true,
            Does::Waits => self.sends > 0,
        })
    }

    /// More requests may be sent than the bounds allow, by who has sent the first ones.
    pub(super) fn has_again(&mut self, sends: u8) {
        (self.sends, self.strays) = (sends, false);
    }

    /// Whether the first tab's call is over, and its outcome known, or so old that nobody can tell.
    pub(super) fn ended(&self, now: UnixMillis) -> Option<bool> {
        let is_over = self.tabs[0].call.is_none();
        let stored = self.stored();
        let is_too_old = match &stored {
            Stored::Entry(entry) => entry.time_left(now) == Millis::new(0),
            _ => false,
        };
        is_over.then(|| !stored.is_pending() || is_too_old)
    }

    /// The payload that the stored entry is of.
    pub(super) fn payload(&self) -> u8 {
        let Stored::Entry(entry) = self.stored() else { return 0 };
        let is_its = |payload: &Payload| payload.tag(&entry.key) == entry.tag;
        PAYLOADS.iter().position(is_its).unwrap_or(0) as u8
    }

    fn stored(&self) -> Stored {
        Stored::read(self.store.as_deref())
    }
}

impl World {
    pub(super) fn in_the_page(&self, scene: &Scene, actions: &mut Vec<Action>) {
        let (Some(browser), Some(page)) = (&self.browser, &scene.config.page) else { return };
        for (at, (tab, _)) in page.submits.iter().enumerate() {
            let is_free = browser.tabs[usize::from(*tab)].call.is_none();
            if browser.submitted & (1 << at) == 0 && is_free {
                actions.push(Action::Submit(at as u8));
            }
        }
        for (at, tab) in browser.tabs.iter().enumerate() {
            let number = at as u8;
            match tab.does {
                Does::Waits if browser.sends > 0 => actions.push(Action::GoOn(number)),
                Does::Sends { .. } if self.left.lates > 0 || !self.tab_may_get_response(number) => {
                    actions.push(Action::TimeOut(number));
                }
                _ => {}
            }
            if tab.unstored.is_some() {
                actions.push(Action::StoreLate(number));
            }
            if self.left.reloads > 0 && tab.call.is_some() {
                actions.push(Action::Reload(number));
            }
            if page.gives_up && !browser.gave_up && tab.call.is_none() && browser.store.is_some() {
                actions.push(Action::GiveUpIntent(number));
            }
        }
    }

    /// Whether a response that a tab waits for may still come.
    pub(super) fn tab_may_get_response(&self, tab: u8) -> bool {
        let its = self.browser.as_ref().map(|browser| &browser.tabs[usize::from(tab)]);
        match its {
            Some(&Tab { life, does: Does::Sends { key, attempt }, .. }) => {
                self.may_respond(To { tab, life, key, attempt })
            }
            _ => false,
        }
    }

    /// Whether a response may still come.
    fn may_respond(&self, to: To) -> bool {
        let is_for = |message: &Message| match message {
            Message::Request { to: its, .. } | Message::Response { to: its, .. } => *its == to,
            _ => false,
        };
        self.net.iter().any(is_for) || self.running.iter().any(|running| running.to() == Some(to))
    }

    pub(super) fn submit(&mut self, scene: &Scene, submit: u8) {
        let Some(page) = &scene.config.page else { return };
        let (tab, payload) = page.submits[usize::from(submit)];
        if let Some(browser) = &mut self.browser {
            browser.submitted |= 1 << submit;
        }
        self.submits(scene, tab, payload);
    }

    pub(super) fn submits(&mut self, scene: &Scene, tab: u8, payload: u8) {
        let wanted = PAYLOADS[usize::from(payload)].clone();
        let goal = Goal::Submit { payload: wanted, own_key: None, waited_since: None };
        self.begin_call(scene, tab, payload, goal);
    }

    pub(super) fn give_up_intent(&mut self, scene: &Scene, tab: u8) {
        if let Some(browser) = &mut self.browser {
            browser.gave_up = true;
        }
        self.begin_call(scene, tab, 0, Goal::Abandon);
    }

    pub(super) fn finds_out(&mut self, scene: &Scene, tab: u8) {
        self.begin_call(scene, tab, 0, Goal::Resolve { look_up: false });
    }

    fn begin_call(&mut self, scene: &Scene, tab: u8, payload: u8, goal: Goal) {
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
                scene.reached.note(Event::TwoTabs);
            }
        }
        self.follow(scene, tab, step);
    }

    fn input(&mut self, tab: u8) -> CallInput {
        let now = self.time_at(Clock::Page);
        let ticks = self.now.since(super::START);
        let browser = self.browser.as_mut().expect("there is a page");
        // Drawn anew for each key, which is all that it decides here.
        let drawn = browser.keys.len() as u8 + 1;
        CallInput {
            stored: browser.stored(),
            now,
            ticks,
            random: [drawn; 16],
            in_memory: browser.tabs[usize::from(tab)].in_memory.clone().map(|(key, _)| key),
        }
    }

    /// Carries a step out, in its order.
    fn follow(&mut self, scene: &Scene, tab: u8, step: Ordered) {
        let Ordered { write, command, write_after } = step;
        let Some(browser) = &mut self.browser else { return };
        if let Some(entry) = write {
            browser.store = Some(entry.encode());
        }
        let its = &mut browser.tabs[usize::from(tab)];
        its.unstored = write_after;
        its.does = match command {
            Command::Send { key, attempt, request, rotated, .. } => {
                let payload = match (request, &its.in_memory) {
                    (SentRequest::Earlier, Some((_, payload))) => *payload,
                    _ => its.payload,
                };
                if rotated {
                    scene.reached.note(Event::ClientRotated);
                }
                if request == SentRequest::Earlier {
                    scene.reached.note(Event::ClientSendsEarlier);
                }
                its.in_memory = Some((key.clone(), payload));
                return self.send(scene, tab, key, payload, attempt as u8);
            }
            Command::Wait { .. } => Does::Waits,
            Command::AskState { key } => return self.call_key(scene, tab, key, false),
            Command::Void { key } => {
                scene.reached.note(Event::ClientVoids);
                return self.call_key(scene, tab, key, true);
            }
            Command::LookUp => Does::Nothing,
            Command::End(end) => {
                its.call = None;
                scene.reached.note(ending(&end));
                Does::Nothing
            }
        };
        self.judge_the_page(scene);
    }

    /// Makes a key call, with the credential that there is, where that may speak for the key's.
    fn call_key(&mut self, scene: &Scene, tab: u8, key: IdempotencyKey, voids: bool) {
        let Some(browser) = &mut self.browser else { return };
        let stored = browser.stored();
        let its = &mut browser.tabs[usize::from(tab)];
        let is_sent = its.in_memory.as_ref().is_some_and(|(known, _)| *known == key);
        let tenant = u8::from(browser.strays && !is_sent);
        let source = &CREDENTIALS[usize::from(tenant)];
        let speaks =
            its.call.as_ref().is_some_and(|call| scene.rules.speaks(call, source, &stored));
        its.does = Does::Asks;
        let life = its.life;
        if !speaks {
            scene.reached.note(Event::OtherCredential);
            return self.report(scene, tab, life, Report::NoResponse);
        }
        browser.sends = browser.sends.saturating_sub(1);
        self.net.push(Message::KeyCall { tab, life, tenant, key, voids });
        self.judge_the_page(scene);
    }

    fn send(&mut self, scene: &Scene, tab: u8, key: IdempotencyKey, payload: u8, attempt: u8) {
        let name = scene.rules.name(super::requests::scope(0), &key);
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
        its.does = Does::Sends { key: number, attempt };
        let to = To { tab, life: its.life, key: number, attempt };
        self.net.push(Message::Request { to, key, payload });
        self.judge_the_page(scene);
    }

    /// A page's request reaches a gateway.
    pub(super) fn receive(
        &mut self,
        scene: &Scene,
        to: To,
        key: &IdempotencyKey,
        payload: u8,
        gateway: u8,
    ) {
        let (to, tenant, key, content) = (Some(to), 0, Some(key), payload);
        let (business_key, identity) = (None, Identity::Key);
        self.set_out(scene, Sent { to, tenant, key, content, business_key, identity, gateway });
    }

    pub(super) fn gate(&mut self, scene: &Scene, message: u8, between: Between) {
        self.left.gates -= 1;
        scene.reached.note(Event::Gated);
        if let Message::Request { to, .. } = self.net.remove(usize::from(message)) {
            self.net.push(Message::Response { to, seen: SeenResponse::of_somebody(between) });
        }
    }

    /// A key call reaches the key's object.
    pub(super) fn key_call(
        &mut self,
        scene: &Scene,
        tenant: u8,
        key: &IdempotencyKey,
        voids: bool,
    ) -> Report {
        let shelf = self.shelf(scene.rules.name(super::requests::scope(tenant), key), false);
        let status = if voids {
            self.void_key(scene, shelf, key.minted_at())
        } else {
            self.inspect(scene, shelf)
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
            tab.life == to.life && tab.does == Does::Sends { key: to.key, attempt: to.attempt }
        })
    }

    pub(super) fn attempt_ended(&mut self, scene: &Scene, to: To, seen: &SeenResponse) {
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

    pub(super) fn time_out(&mut self, scene: &Scene, tab: u8) {
        if self.tab_may_get_response(tab) {
            self.left.lates -= 1;
        }
        let head = oncekey::client::intent::Hints::default();
        self.advance_call(scene, tab, |rules, call, input| {
            rules.attempt_ended(call, &AttemptResult::TimedOut, &head, input)
        });
    }

    pub(super) fn report(&mut self, scene: &Scene, tab: u8, life: u8, report: Report) {
        let its = self.browser.as_ref().map(|browser| &browser.tabs[usize::from(tab)]);
        if its.is_some_and(|its| its.life == life && its.does == Does::Asks) {
            self.advance_call(scene, tab, |rules, call, input| rules.report(call, report, input));
        }
    }

    pub(super) fn go_on(&mut self, scene: &Scene, tab: u8) {
        self.advance_call(scene, tab, |rules, call, input| rules.waited(call, input));
    }

    fn advance_call(
        &mut self,
        scene: &Scene,
        tab: u8,
        tell: impl FnOnce(crate::rules::Rules, &mut Call, &CallInput) -> Ordered,
    ) {
        let input = self.input(tab);
        let Some(browser) = &mut self.browser else { return };
        let its = &mut browser.tabs[usize::from(tab)];
        // What should have been stored is, before anything else is.
        if let Some(entry) = its.unstored.take() {
            browser.store = Some(entry.encode());
        }
        if let Some(call) = &mut its.call {
            let step = tell(scene.rules, call, &input);
            self.follow(scene, tab, step);
        }
    }

    pub(super) fn store_late(&mut self, tab: u8) {
        let Some(browser) = &mut self.browser else { return };
        if let Some(entry) = browser.tabs[usize::from(tab)].unstored.take() {
            browser.store = Some(entry.encode());
        }
    }

    pub(super) fn reload(&mut self, scene: &Scene, tab: u8) {
        self.left.reloads -= 1;
        let Some(browser) = &mut self.browser else { return };
        let its = &mut browser.tabs[usize::from(tab)];
        scene.reached.note(match its.does {
            Does::Sends { .. } => Event::SentBeforeReload,
            _ => Event::Reloaded,
        });
        *its = Tab { life: its.life + 1, ..Tab::default() };
    }
}

fn ending(end: &End) -> Event {
    match end {
        End::Response(Outcome::Succeeded { .. }) => Event::ClientSucceeded,
        End::Response(_) | End::KeyReused | End::KeyVoided => Event::ClientRefused,
        End::Unknown { why: EndReason::TooOld, .. } => Event::ClientTooOld,
        End::Unknown { .. } => Event::ClientUnknown,
        End::PayloadChanged { .. } => Event::ClientPayloadChanged,
        End::NotResolved => Event::ClientNotResolved,
        End::ResponseGone { .. } => Event::ClientResponseGone,
        End::Status(_) => Event::ClientFound,
    }
}
