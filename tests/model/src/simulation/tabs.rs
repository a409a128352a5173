//! What happens to pages: reloads, frozen tabs, clocks, and storage that is full, cleared or damaged.

use super::coverage::Milestone;
use super::page::{PageEvent, PageInput};
use super::world::World;

impl World<'_> {
    /// Reloads a tab: everything that the page had in memory is lost.
    pub(super) fn reload(&mut self, device: usize, tab: usize) {
        self.note(Milestone::Reloaded);
        self.log(|_| format!("page {device}, tab {tab}: is reloaded"));
        let mut sends = false;
        for intent in 0..self.devices[device].intents.len() {
            let at =
                PageInput { device, tab, life: 0, intent, number: 0, what: PageEvent::LockIsFree };
            let of_tab = &mut self.devices[device].tabs[tab];
            let running = of_tab.calls[intent].take();
            let lost = of_tab.memory[intent].take();
            of_tab.body[intent] = None;
            sends |= running.is_some();
            self.intent(at).beyond |= lost.is_some();
            let intent_of = self.intent(at);
            if intent_of.waiting == Some(tab) {
                intent_of.waiting = None;
            }
            if running.is_some() {
                self.leave_turn(at);
            }
        }
        let of_tab = &mut self.devices[device].tabs[tab];
        of_tab.life += 1;
        of_tab.frozen_until = 0;
        if sends {
            self.note(Milestone::ReloadedSending);
        }
    }

    pub(super) fn random_page_fault(&mut self) {
        if self.devices.is_empty() {
            return;
        }
        let device = usize::from(self.choices.below(self.devices.len() as u16));
        let tab = usize::from(self.choices.below(2));
        match self.choices.below(6) {
            0 | 1 => self.reload(device, tab),
            2 => {
                self.note(Milestone::Frozen);
                let until = self.now + self.choices.pick(&[2_000, 20_000, 100_000]);
                self.devices[device].tabs[tab].frozen_until = until;
                self.log(|_| format!("page {device}, tab {tab}: is frozen"));
            }
            3 => {
                self.note(Milestone::StorageFull);
                self.devices[device].is_full = true;
                self.log(|_| format!("the storage of page {device} is full"));
            }
            4 => {
                let is_damaged = self.choices.below(2) == 1;
                let (met, what) = match is_damaged {
                    true => (Milestone::StorageDamaged, "damaged"),
                    false => (Milestone::StorageCleared, "cleared"),
                };
                self.note(met);
                self.log(|_| format!("the storage of page {device} is {what}"));
                let now = self.now;
                for intent in &mut self.devices[device].intents {
                    intent.entry.write(tab, is_damaged.then(|| "1 damaged".to_owned()), now);
                    intent.lease.write(tab, None, now);
                    intent.beyond |= !is_damaged;
                }
            }
            _ => {
                self.note(Milestone::PageClock);
                let by = self.choices.pick(&[-900_000, 0, 600_000, 150_000_000]);
                let device = &mut self.devices[device];
                device.clock = device.base + by;
            }
        }
    }

    pub(super) fn thaw(&mut self) {
        for device in &mut self.devices {
            device.is_full = false;
            for tab in &mut device.tabs {
                tab.frozen_until = 0;
            }
        }
    }
}
