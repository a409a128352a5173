//! One sender at a time where there are no Web Locks, in random interleavings of three tabs.

use oncekey::intent::{Claim, Claiming, TabToken};
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
fn the_table() {
    let claim = Claim { tab: ONE, until: NOW.plus(Claim::LEASE) };
    let fresh =
        |tab, now: UnixMillis| Claiming::Write(Claim { tab, until: now.plus(Claim::LEASE) });
    assert_eq!(Claim::claim(None, ONE, NOW), Claiming::Write(claim));
    for (now, own, others, held) in [
        (after(0), Claiming::Mine, Claiming::Wait(Millis::new(1000)), true),
        (after(14_749), Claiming::Mine, Claiming::Wait(Millis::new(251)), true),
        (after(14_750), Claiming::Mine, Claiming::Wait(Millis::new(250)), false),
        (after(14_999), Claiming::Mine, Claiming::Wait(Millis::new(1)), false),
        (after(15_000), fresh(ONE, after(15_000)), fresh(TWO, after(15_000)), false),
        // The clock went back: no claim lives longer than a lease from now.
        (
            NOW.minus(Millis::new(1)),
            fresh(ONE, NOW.minus(Millis::new(1))),
            fresh(TWO, NOW.minus(Millis::new(1))),
            false,
        ),
    ] {
        assert_eq!(Claim::claim(Some(&claim), ONE, now), own, "{now:?}");
        assert_eq!(Claim::claim(Some(&claim), TWO, now), others, "{now:?}");
        assert_eq!(Claim::is_held(Some(&claim), ONE, now), held, "{now:?}");
        assert!(!Claim::is_held(Some(&claim), TWO, now), "{now:?}");
        let renewed = Claim { tab: ONE, until: now.plus(Claim::LEASE) };
        assert_eq!(Claim::renew(Some(&claim), ONE, now), held.then_some(renewed), "{now:?}");
        assert_eq!(Claim::renew(Some(&claim), TWO, now), None);
    }
    assert!(Claim::is_of(Some(&claim), ONE) && !Claim::is_of(Some(&claim), TWO));
    assert!(!Claim::is_of(None, ONE) && !Claim::is_held(None, ONE, NOW));
    assert_eq!(Claim::renew(None, ONE, NOW), None);
    assert!(Claim::RENEW_AFTER.plus(Claim::RENEW_AFTER) < Claim::LEASE, "one renewal may fail");
}

#[derive(Clone, Copy, Debug)]
enum Op {
    /// A tab reads, and writes what follows after this long.
    Claim {
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
        0..3 => Op::Claim { tab, gap },
        3 => Op::Renew { tab, gap },
        4..7 => Op::Confirm { tab },
        7 => Op::Release { tab },
        8..11 => Op::Wait { millis: gap },
        _ => Op::Wait { millis: gap * 70 },
    })
}

#[derive(Clone, Copy, Default)]
struct Tab {
    /// A write under way, and when it arrives.
    write: Option<(u64, Claim)>,
    confirm_at: Option<u64>,
    confirmed: bool,
}

#[derive(Default)]
struct World {
    time: u64,
    stored: Option<Claim>,
    tabs: [Tab; 3],
    held: u32,
}

impl World {
    fn step(&mut self, op: Op) {
        let now = after(self.time);
        let token = |tab: usize| TabToken::new(tab as u64);
        match op {
            Op::Claim { tab, gap } if self.tabs[tab].write.is_none() => {
                if let Claiming::Write(claim) = Claim::claim(self.stored.as_ref(), token(tab), now)
                {
                    let at = self.time + gap;
                    let confirm_at = Some(at + Claim::CONFIRM_AFTER.as_u64());
                    self.tabs[tab] = Tab { write: Some((at, claim)), confirm_at, confirmed: false };
                }
            }
            Op::Renew { tab, gap }
                if self.tabs[tab].confirmed && self.tabs[tab].write.is_none() =>
            {
                match Claim::renew(self.stored.as_ref(), token(tab), now) {
                    Some(claim) => self.tabs[tab].write = Some((self.time + gap, claim)),
                    None => self.tabs[tab].confirmed = false,
                }
            }
            Op::Confirm { tab } if self.tabs[tab].confirm_at.is_some_and(|at| at <= self.time) => {
                self.tabs[tab].confirm_at = None;
                self.tabs[tab].confirmed = Claim::is_held(self.stored.as_ref(), token(tab), now);
            }
            Op::Release { tab } => {
                if Claim::is_of(self.stored.as_ref(), token(tab)) {
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
            if let Some((_, claim)) = tab.write.take_if(|(at, _)| *at <= self.time) {
                self.stored = Some(claim);
            }
        }
    }

    fn check(&mut self) {
        let now = after(self.time);
        let senders = (0..3).filter(|tab| {
            let token = TabToken::new(*tab as u64);
            self.tabs[*tab].confirmed && Claim::is_held(self.stored.as_ref(), token, now)
        });
        let senders = senders.count();
        assert!(senders <= 1, "two senders");
        self.held += senders as u32;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// As long as no tab takes longer than `CONFIRM_AFTER` between a read and its write.
    #[test]
    fn never_two_senders(ops in vec(op(), 1..80)) {
        let mut world = World::default();
        for op in ops {
            world.step(op);
        }
    }
}

#[test]
fn a_tab_that_is_alone_gets_to_send_and_one_that_died_is_followed() {
    let mut world = World::default();
    for op in [Op::Claim { tab: 0, gap: 3 }, Op::Wait { millis: 253 }, Op::Confirm { tab: 0 }] {
        world.step(op);
    }
    assert_eq!(world.held, 1);
    world.step(Op::Claim { tab: 1, gap: 0 });
    assert!(world.tabs[1].write.is_none(), "the other one waits");
    for op in [
        Op::Wait { millis: 15_000 },
        Op::Claim { tab: 1, gap: 1 },
        Op::Wait { millis: 251 },
        Op::Confirm { tab: 1 },
    ] {
        world.step(op);
    }
    assert!(world.tabs[1].confirmed);
}
