//! A checkout page in two tabs: the real call, and its stored entry as text.
//!
//! The tabs have no lock: a tab may start while the other is sending, as after a lease was taken over.

mod judged;
mod replies;
mod seen_response;
mod steps;

pub(super) use seen_response::SeenResponse;

use super::network::Message;
use super::requests::{body, parts};
use super::{Action, World};
use crate::config::{Page, Scene};
use oncekey::client::intent::{Call, Cookies, Credential, Entry, Payload, Stored};
use oncekey::client::retry::{Jitter, RetryPolicy, RetrySettings};
use oncekey::{IdempotencyKey, Millis, ScopedKey, UnixMillis};
use std::sync::LazyLock;

/// Two tabs and the storage that they share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Browser {
    pub(super) store: Option<String>,
    tabs: [Tab; 2],
    /// The submits that were made, one bit each.
    submitted: u8,
    /// How many requests and key calls may still be sent.
    sends: u8,
    gave_up: bool,
    /// Whether a reloaded page has another credential.
    changes_credential: bool,
    /// The keys that were sent.
    keys: Vec<(IdempotencyKey, ScopedKey)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Tab {
    /// The number of the page in the tab; a reload makes another page.
    life: u8,
    call: Option<Call>,
    payload: u8,
    activity: TabActivity,
    /// The payload that this page sent last, with its key.
    in_memory: Option<(IdempotencyKey, u8)>,
    /// An entry that should have been stored before the request was sent.
    unstored: Option<Entry>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum TabActivity {
    #[default]
    Nothing,
    /// The tab waits for the response to this attempt with this key.
    Sends { key: u8, attempt: u8 },
    /// The tab waits before it sends again.
    Waits,
    /// The tab waits for the response to a key call.
    KeyCall,
}

/// The tab that waits for a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct To {
    pub(super) tab: u8,
    pub(super) life: u8,
    /// The number of the key.
    pub(super) key: u8,
    pub(super) attempt: u8,
}

static PAYLOADS: LazyLock<Vec<Payload>> = LazyLock::new(|| {
    let of = |content| Payload::of("https://api.example", &parts(&body(content)));
    (0..3).map(of).collect()
});

/// The credential of the requests, and another one.
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
    RetryPolicy::new(settings).expect("valid settings")
});

impl Browser {
    pub(super) fn new(page: &Page) -> Self {
        let (store, tabs) = (None, Default::default());
        let keys = Vec::new();
        let (sends, changes_credential) = (page.sends, page.changes_credential);
        Self { store, tabs, submitted: 0, sends, gave_up: false, changes_credential, keys }
    }

    pub(super) fn is_new(&self) -> bool {
        self.submitted == 0
    }

    /// Closes the pages, because no page stays open for a day.
    pub(super) fn close(&mut self) {
        for tab in &mut self.tabs {
            *tab = Tab { life: tab.life + 1, ..Tab::default() };
        }
    }

    /// Returns whether a tab waits for a message that may still arrive, or can continue by itself.
    pub(super) fn is_busy(&self) -> bool {
        self.tabs.iter().any(|tab| match tab.activity {
            TabActivity::Nothing => false,
            TabActivity::Sends { .. } | TabActivity::KeyCall => true,
            TabActivity::Waits => self.sends > 0,
        })
    }

    /// Allows more requests than the bounds, with the credential of the first ones.
    pub(super) fn allow_more(&mut self, sends: u8) {
        (self.sends, self.changes_credential) = (sends, false);
    }

    /// Returns, once the first tab's call is over, whether its outcome is known or too old to be resolved.
    pub(super) fn ended(&self, now: UnixMillis) -> Option<bool> {
        let is_over = self.tabs[0].call.is_none();
        let stored = self.stored();
        let is_too_old = match &stored {
            Stored::Entry(entry) => entry.time_left(now) == Millis::new(0),
            _ => false,
        };
        is_over.then(|| !stored.is_pending() || is_too_old)
    }

    /// Returns the payload of the stored entry.
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
            match tab.activity {
                TabActivity::Waits if browser.sends > 0 => actions.push(Action::GoOn(number)),
                TabActivity::Sends { .. }
                    if self.left.lates > 0 || !self.tab_may_get_response(number) =>
                {
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

    /// Returns whether the response that a tab waits for may still arrive.
    pub(super) fn tab_may_get_response(&self, tab: u8) -> bool {
        let its = self.browser.as_ref().map(|browser| &browser.tabs[usize::from(tab)]);
        match its {
            Some(&Tab { life, activity: TabActivity::Sends { key, attempt }, .. }) => {
                self.may_respond(To { tab, life, key, attempt })
            }
            _ => false,
        }
    }

    /// Returns whether a response may still arrive.
    fn may_respond(&self, to: To) -> bool {
        let is_for = |message: &Message| match message {
            Message::Request { to: its, .. } | Message::Response { to: its, .. } => *its == to,
            _ => false,
        };
        self.net.iter().any(is_for) || self.running.iter().any(|running| running.to() == Some(to))
    }
}
