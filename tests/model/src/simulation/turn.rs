//! Decides which tab may send for an intent, by Web Locks or a lease in storage, as `www/src/client/turn.ts` does.

use super::coverage::Milestone;
use super::message::Event;
use super::page::{PageEvent, PageInput, tab_token};
use super::world::{Clock, World};
use oncekey::client::intent::{Acquisition, TabLease};

/// The time after which every tab has seen a write. A tab keeps its lock until the key was seen. A tab that waited
/// for the lock, or finds an unknown outcome under a free lock, reads after this time.
const SEEN_AFTER: u64 = 100;

impl World<'_> {
    pub(super) fn take_turn(&mut self, at: PageInput) {
        if !self.devices[at.device].web_locks {
            return self.acquire_lease(at);
        }
        let is_open = self.stored(at).is_pending();
        let intent = self.intent(at);
        match intent.lock {
            None => {
                intent.lock = Some(at.tab);
                if is_open {
                    return self.continue_when_seen(at);
                }
            }
            Some(owner) if owner == at.tab => {}
            Some(_) => {
                intent.waiting = Some(at.tab);
                return self.waits(at);
            }
        }
        self.continue_call(at);
    }

    /// Checks before each attempt but the first that the call may still send.
    pub(super) fn keep_turn(&mut self, at: PageInput) {
        if self.devices[at.device].web_locks || self.holds_lease(at) || !self.is_submit(at) {
            self.continue_call(at);
        } else {
            self.acquire_lease(at);
        }
    }

    pub(super) fn leave_turn(&mut self, at: PageInput) {
        if self.devices[at.device].web_locks {
            let seen_at = self.intent(at).keyed_at + SEEN_AFTER;
            let what = PageEvent::LockIsFree;
            self.later(seen_at.saturating_sub(self.now), Event::Page(PageInput { what, ..at }));
        } else if TabLease::is_of(self.found(at).as_ref(), tab_token(self.with_life(at))) {
            let now = self.now;
            self.intent(at).lease.write(at.tab, None, now);
        }
    }

    /// Gives the lock to the tab that waits for it, unless its owner has taken it again.
    pub(super) fn lock_is_free(&mut self, at: PageInput) {
        if self.is_submit(at) {
            return;
        }
        let intent = self.intent(at);
        if intent.lock != Some(at.tab) {
            return;
        }
        intent.lock = intent.waiting.take();
        let Some(tab) = intent.lock else { return };
        let next = self.with_life(PageInput { tab, ..at });
        self.continue_when_seen(next);
    }

    fn continue_when_seen(&mut self, at: PageInput) {
        let at = self.with_life(at);
        let Some(number) = self.call_of(at).map(|running| running.number) else { return };
        self.later(SEEN_AFTER, Event::Page(PageInput { number, what: PageEvent::Seen, ..at }));
    }

    pub(super) fn acquire_lease(&mut self, at: PageInput) {
        let at = self.with_life(at);
        let now = self.time(Clock::Device(at.device));
        let leasing = TabLease::acquire(self.found(at).as_ref(), tab_token(at), now);
        let (after, what) = match leasing {
            Acquisition::Held => {
                return self.continue_call(at);
            }
            Acquisition::Write(lease) => {
                let now = self.now;
                self.intent(at).lease.write(at.tab, Some(lease.encode()), now);
                (TabLease::CONFIRM_AFTER, PageEvent::Confirm)
            }
            Acquisition::Wait(after) => {
                self.waits(at);
                (after, PageEvent::LookAgain)
            }
        };
        let Some(running) = self.call_of(at) else { return };
        running.number += 1;
        let number = running.number;
        self.later(after.as_u64(), Event::Page(PageInput { number, what, ..at }));
    }

    pub(super) fn confirm_lease(&mut self, at: PageInput) {
        if !self.holds_lease(at) {
            return self.acquire_lease(at);
        }
        self.later(
            TabLease::RENEW_AFTER.as_u64(),
            Event::Page(PageInput { what: PageEvent::Renew, ..at }),
        );
        self.continue_call(at);
    }

    pub(super) fn renew_lease(&mut self, at: PageInput) {
        let now = self.time(Clock::Device(at.device));
        let renewed = TabLease::renew(self.found(at).as_ref(), tab_token(at), now);
        if let Some(lease) = renewed {
            let now = self.now;
            self.intent(at).lease.write(at.tab, Some(lease.encode()), now);
            self.later(TabLease::RENEW_AFTER.as_u64(), Event::Page(at));
        }
    }

    fn waits(&mut self, at: PageInput) {
        let since = self.time(Clock::Device(at.device));
        self.note(Milestone::WaitsForTurn);
        if let Some(running) = self.call_of(at) {
            running.waited_since.get_or_insert(since);
        }
    }

    fn holds_lease(&self, at: PageInput) -> bool {
        let now = self.time(Clock::Device(at.device));
        TabLease::is_held(self.found(at).as_ref(), tab_token(self.with_life(at)), now)
    }

    fn is_submit(&mut self, at: PageInput) -> bool {
        self.call_of(at).is_some_and(|running| running.submits())
    }

    fn found(&self, at: PageInput) -> Option<TabLease> {
        let text = self.devices[at.device].intents[at.intent].lease.read(at.tab, self.now);
        text.and_then(TabLease::decode)
    }

    fn with_life(&self, at: PageInput) -> PageInput {
        PageInput { life: self.devices[at.device].tabs[at.tab].life, ..at }
    }
}
