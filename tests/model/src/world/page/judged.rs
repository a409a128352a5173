//! The properties of a page's keys, checked against what was executed under them.

use super::Browser;
use crate::config::Scene;
use crate::property::Property;
use crate::world::World;
use crate::world::network::Message;
use oncekey::ScopedKey;
use oncekey::client::intent::{Entry, IntentState, Stored};

impl World {
    /// Checks, when a key is sent, that nothing was or can be executed under any other key of the intent.
    pub(super) fn judge_other_keys(&mut self, sent: ScopedKey) {
        let others = self.browser.as_ref().map(|browser| browser.keys.clone()).unwrap_or_default();
        for (key, name) in others.into_iter().filter(|(_, name)| *name != sent) {
            let known = self.shelves.iter().position(|shelf| shelf.name == name);
            let is_charged = known.is_some_and(|at| self.charged(at as u8) > 0);
            let is_over = known.is_some_and(|at| self.is_given_up(at as u8));
            let travels = self
                .net
                .iter()
                .any(|message| matches!(message, Message::Request { key: its, .. } if *its == key));
            let may_execute = known.is_some_and(|at| self.may_execute(at as u8));
            if is_charged || (!is_over && (travels || may_execute)) {
                self.breaks(Property::OneUnknownKey);
            }
        }
    }

    /// Checks that a success which the page stores was paid once.
    pub(super) fn judge_the_page(&mut self, scene: &Scene) {
        let stored = self.browser.as_ref().map(Browser::stored);
        let Some(Stored::Entry(Entry { state: IntentState::Succeeded { .. }, .. })) = stored else {
            return;
        };
        let is_paid = match self.charges.len() {
            0 => false,
            1 => true,
            _ => !scene.config.charges_once(),
        };
        if !is_paid {
            self.breaks(Property::SuccessIsPaid);
        }
    }
}
