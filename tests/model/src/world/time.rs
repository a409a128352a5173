//! Time, in the few steps that make a difference, and clocks that differ from it.

use super::{Action, World};
use crate::config::{Bounds, Clock, Scene, Tick};
use crate::reached::Milestone;
use oncekey::RecordState;

const TICKS: [Tick; 4] = [Tick::HalfLease, Tick::Lease, Tick::Retention, Tick::Month];

impl World {
    pub(super) fn with_time(&self, scene: &Scene, actions: &mut Vec<Action>) {
        // Before the first action, the time makes no difference.
        let is_idle = self.shelves.is_empty() && self.browser.as_ref().is_none_or(|b| b.is_new());
        if is_idle {
            return;
        }
        for tick in TICKS {
            if *left(&mut self.left.clone(), tick) > 0 {
                actions.push(Action::Pass(tick));
            }
        }
        if self.left.jumps > 0 {
            actions.extend((0..scene.config.jumps.len() as u8).map(Action::Jump));
        }
        if self.left.rotations > 0 {
            let lists = scene.config.secrets.len();
            let has_next = |(_, list): &(usize, &u8)| usize::from(**list) + 1 < lists;
            let gateways = self.secrets.iter().enumerate().filter(has_next);
            actions.extend(gateways.map(|(gateway, _)| Action::Rotate(gateway as u8)));
        }
    }

    pub(super) fn pass(&mut self, scene: &Scene, tick: Tick) {
        *left(&mut self.left, tick) -= 1;
        self.go_forward(scene, tick);
    }

    pub(super) fn go_forward(&mut self, scene: &Scene, tick: Tick) {
        let was = self.now;
        self.now = self.now.plus(tick.length());
        match tick {
            Tick::HalfLease => self.renew(),
            Tick::Lease => {}
            // No connection, page or isolate lives for a day.
            Tick::Retention | Tick::Month => {
                scene.reached.note(match tick {
                    Tick::Month => Milestone::MonthPassed,
                    _ => Milestone::DayPassed,
                });
                self.running.clear();
                self.net.clear();
                if let Some(browser) = &mut self.browser {
                    browser.close();
                }
            }
        }
        let expired = self.shelves.iter().any(|shelf| {
            let state = shelf.record.as_ref().map(|record| &record.state);
            matches!(state, Some(RecordState::InFlight { lease_until, .. })
                if was < *lease_until && *lease_until <= self.now)
        });
        if expired {
            scene.reached.note(Milestone::LeaseExpired);
        }
    }

    pub(super) fn jump(&mut self, scene: &Scene, jump: u8) {
        self.left.jumps -= 1;
        scene.reached.note(Milestone::ClockJumped);
        let (clock, millis) = scene.config.jumps[usize::from(jump)];
        match clock {
            Clock::Objects => self.clocks.objects += millis,
            Clock::Gateway(gateway) => self.clocks.gateways[usize::from(gateway)] += millis,
            Clock::Page => self.clocks.page += millis,
        }
    }

    pub(super) fn rotate(&mut self, scene: &Scene, gateway: u8) {
        self.left.rotations -= 1;
        scene.reached.note(Milestone::Rotated);
        self.secrets[usize::from(gateway)] += 1;
        // Other settings are another isolate.
        self.forget(gateway);
    }
}

fn left(bounds: &mut Bounds, tick: Tick) -> &mut u8 {
    match tick {
        Tick::HalfLease => &mut bounds.half_leases,
        Tick::Lease => &mut bounds.leases,
        Tick::Retention => &mut bounds.retentions,
        Tick::Month => &mut bounds.months,
    }
}
