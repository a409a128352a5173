//! One sender at a time without Web Locks, in random interleavings of three tabs.

use oncekey::client::intent::{Acquisition, TabLease, TabToken};
use oncekey::{Millis, UnixMillis};
use proptest::collection::vec;
use proptest::prelude::*;

const NOW: UnixMillis = UnixMillis::new(1_764_000_000_000);
const ONE: TabToken = TabToken::new(1);
const TWO: TabToken = TabToken::new(2);

fn after(millis: u64) -> UnixMillis {
    NOW.plus(Millis::new(millis))
}

#[test]
fn a_tab_lease_is_acquired_and_held_as_the_table_says() {
    let lease = TabLease { tab: ONE, until: NOW.plus(TabLease::LEASE) };
    let fresh = |tab, now: UnixMillis| {
        Acquisition::Write(TabLease { tab, until: now.plus(TabLease::LEASE) })
    };
    assert_eq!(TabLease::acquire(None, ONE, NOW), Acquisition::Write(lease));
    for (now, own, others, held) in [
        (after(0), Acquisition::Held, Acquisition::Wait(Millis::new(1000)), true),
        (after(14_749), Acquisition::Held, Acquisition::Wait(Millis::new(251)), true),
        (after(14_750), Acquisition::Held, Acquisition::Wait(Millis::new(250)), false),
        (after(14_999), Acquisition::Held, Acquisition::Wait(Millis::new(1)), false),
        (after(15_000), fresh(ONE, after(15_000)), fresh(TWO, after(15_000)), false),
        // After the clock went back, a lease still ends at most one lease from now.
        (
            NOW.minus(Millis::new(1)),
            fresh(ONE, NOW.minus(Millis::new(1))),
            fresh(TWO, NOW.minus(Millis::new(1))),
            false,
        ),
    ] {
        assert_eq!(TabLease::acquire(Some(&lease), ONE, now), own, "{now:?}");
        assert_eq!(TabLease::acquire(Some(&lease), TWO, now), others, "{now:?}");
        assert_eq!(TabLease::is_held(Some(&lease), ONE, now), held, "{now:?}");
        assert!(!TabLease::is_held(Some(&lease), TWO, now), "{now:?}");
        let renewed = TabLease { tab: ONE, until: now.plus(TabLease::LEASE) };
        assert_eq!(TabLease::renew(Some(&lease), ONE, now), held.then_some(renewed), "{now:?}");
        assert_eq!(TabLease::renew(Some(&lease), TWO, now), None);
    }
    assert!(TabLease::is_of(Some(&lease), ONE) && !TabLease::is_of(Some(&lease), TWO));
    assert!(!TabLease::is_of(None, ONE) && !TabLease::is_held(None, ONE, NOW));
    assert_eq!(TabLease::renew(None, ONE, NOW), None);
    assert!(
        TabLease::RENEW_AFTER.plus(TabLease::RENEW_AFTER) < TabLease::LEASE,
        "one renewal may fail"
    );
}

#[derive(Clone, Copy, Debug)]
enum Op {
    /// A tab reads, and writes its reaction after this time.
    Acquire {
        tab: usize,
        gap: u64,
    },
    Renew {
        tab: usize,
        gap: u64,
    },
    Confirm {
        tab: usize,
    },
    Release {
        tab: usize,
    },
    Wait {
        millis: u64,
    },
}

fn op() -> impl Strategy<Value = Op> {
    (0..12_u8, 0..3_usize, 0..250_u64).prop_map(|(what, tab, gap)| match what {
        0..3 => Op::Acquire { tab, gap },
        3 => Op::Renew { tab, gap },
        4..7 => Op::Confirm { tab },
        7 => Op::Release { tab },
        8..11 => Op::Wait { millis: gap },
        _ => Op::Wait { millis: gap * 70 },
    })
}

#[derive(Clone, Copy, Default)]
struct Tab {
    /// A write that has not arrived yet, and the time of its arrival.
    write: Option<(u64, TabLease)>,
    confirm_at: Option<u64>,
    confirmed: bool,
}

#[derive(Default)]
struct World {
    time: u64,
    stored: Option<TabLease>,
    tabs: [Tab; 3],
    held: u32,
}

impl World {
    fn step(&mut self, op: Op) {
        let now = after(self.time);
        let token = |tab: usize| TabToken::new(tab as u64);
        match op {
            Op::Acquire { tab, gap } if self.tabs[tab].write.is_none() => {
                if let Acquisition::Write(lease) =
                    TabLease::acquire(self.stored.as_ref(), token(tab), now)
                {
                    let at = self.time + gap;
                    let confirm_at = Some(at + TabLease::CONFIRM_AFTER.as_u64());
                    self.tabs[tab] = Tab { write: Some((at, lease)), confirm_at, confirmed: false };
                }
            }
            Op::Renew { tab, gap }
                if self.tabs[tab].confirmed && self.tabs[tab].write.is_none() =>
            {
                match TabLease::renew(self.stored.as_ref(), token(tab), now) {
                    Some(lease) => self.tabs[tab].write = Some((self.time + gap, lease)),
                    None => self.tabs[tab].confirmed = false,
                }
            }
            Op::Confirm { tab } if self.tabs[tab].confirm_at.is_some_and(|at| at <= self.time) => {
                self.tabs[tab].confirm_at = None;
                self.tabs[tab].confirmed = TabLease::is_held(self.stored.as_ref(), token(tab), now);
            }
            Op::Release { tab } => {
                if TabLease::is_of(self.stored.as_ref(), token(tab)) {
                    self.stored = None;
                }
                self.tabs[tab] = Tab { write: self.tabs[tab].write, ..Tab::default() };
            }
            Op::Wait { millis } => (0..millis).for_each(|_| self.tick()),
            _ => {}
        }
        self.check();
    }

    fn tick(&mut self) {
        self.time += 1;
        for tab in &mut self.tabs {
            if let Some((_, lease)) = tab.write.take_if(|(at, _)| *at <= self.time) {
                self.stored = Some(lease);
            }
        }
    }

    fn check(&mut self) {
        let now = after(self.time);
        let senders = (0..3).filter(|tab| {
            let token = TabToken::new(*tab as u64);
            self.tabs[*tab].confirmed && TabLease::is_held(self.stored.as_ref(), token, now)
        });
        let senders = senders.count();
        assert!(senders <= 1, "two senders");
        self.held += senders as u32;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Holds as long as no tab takes longer than `CONFIRM_AFTER` between a read and its write.
    #[test]
    fn two_tabs_never_send_at_the_same_time(ops in vec(op(), 1..80)) {
        let mut world = World::default();
        for op in ops {
            world.step(op);
        }
    }
}

#[test]
fn a_single_tab_may_send_and_another_tab_takes_over_after_it_dies() {
    let mut world = World::default();
    for op in [Op::Acquire { tab: 0, gap: 3 }, Op::Wait { millis: 253 }, Op::Confirm { tab: 0 }] {
        world.step(op);
    }
    assert_eq!(world.held, 1);
    world.step(Op::Acquire { tab: 1, gap: 0 });
    assert!(world.tabs[1].write.is_none(), "the other tab waits");
    for op in [
        Op::Wait { millis: 15_000 },
        Op::Acquire { tab: 1, gap: 1 },
        Op::Wait { millis: 251 },
        Op::Confirm { tab: 1 },
    ] {
        world.step(op);
    }
    assert!(world.tabs[1].confirmed);
}
