//! Pages: devices with two tabs each, which carry out the commands of the core's [`Call`], as `www/src` does.

mod replies;
mod steps;

use super::message::Event;
use super::requests::{self, FIRST_OF_PAGES};
use super::storage::Slot;
use super::world::{Clock, World};
use oncekey::client::intent::{Call, CallInput, CallSettings, End, Entry, Goal, Stored, TabToken};
use oncekey::client::retry::RetryPolicy;
use oncekey::{IdempotencyKey, Millis, UnixMillis};

/// How long a key call may take.
const KEY_CALL: u64 = 10_000;

pub(super) struct Device {
    tenant: u8,
    pub(super) clock: i64,
    pub(super) base: i64,
    pub(super) web_locks: bool,
    pub(super) is_full: bool,
    pub(super) intents: Vec<Intent>,
    pub(super) tabs: [Tab; 2],
}

pub(super) struct Intent {
    /// The first of its contents.
    pub(super) content: u8,
    pub(super) entry: Slot,
    pub(super) lease: Slot,
    /// The tab that has the lock, and the tab that waits for it.
    pub(super) lock: Option<usize>,
    pub(super) waiting: Option<usize>,
    /// The time when its key was stored.
    pub(super) keyed_at: u64,
    /// Whether the client no longer promises anything for this intent, for example because storage was cleared.
    pub(super) beyond: bool,
    /// The version that was submitted last, and the version that was sent last.
    pub(super) submitted: Option<u8>,
    pub(super) sent: u8,
    pub(super) end: Option<End>,
}

#[derive(Default)]
pub(super) struct Tab {
    pub(super) life: u32,
    /// The number of calls so far, so that no call gets an event that another call waited for.
    made: u32,
    pub(super) frozen_until: u64,
    pub(super) calls: [Option<Box<Running>>; 2],
    /// The entries that storage refused.
    pub(super) memory: [Option<String>; 2],
    /// The request that can be sent again: its key and its version.
    pub(super) body: [Option<(IdempotencyKey, u8)>; 2],
}

/// A call.
pub(super) struct Running {
    /// `None` while the call waits for its turn.
    pub(super) call: Option<Call>,
    trigger: PageEvent,
    pub(super) waited_since: Option<UnixMillis>,
    /// The number of the event that the call waits for; earlier events are ignored.
    pub(super) number: u32,
    in_key_call: bool,
    late: Option<Entry>,
}

/// Something that happens to a tab's call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageInput {
    pub(super) device: usize,
    pub(super) tab: usize,
    pub(super) life: u32,
    pub(super) intent: usize,
    pub(super) number: u32,
    pub(super) what: PageEvent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageEvent {
    /// The buyer does something.
    Submit(u8),
    Resolve {
        looks_up: bool,
    },
    GiveUp,
    /// The call gets the event that it waited for.
    Response,
    TimedOut,
    Waited,
    Late,
    /// The tabs decide which of them may send.
    LockIsFree,
    Seen,
    Confirm,
    LookAgain,
    Renew,
}

impl Running {
    pub(super) fn submits(&self) -> bool {
        matches!(self.trigger, PageEvent::Submit(_))
    }
}

impl World<'_> {
    /// Draws the devices and what the buyers do with them.
    pub(super) fn draw_pages(&mut self) {
        for device in 0..usize::from(self.choices.below(3)) {
            let base = self.choices.pick(&[0, 0, 0, 172_800_000, -172_800_000, 1_800_000]);
            let intents = (0..1 + self.choices.below(2) as u8).map(|number| Intent {
                content: FIRST_OF_PAGES + 4 * (2 * device as u8 + number),
                entry: Slot::default(),
                lease: Slot::default(),
                lock: None,
                waiting: None,
                keyed_at: 0,
                beyond: false,
                submitted: None,
                sent: 0,
                end: None,
            });
            let intents: Vec<_> = intents.collect();
            let count = intents.len() as u16;
            let web_locks = self.choices.below(2) == 0;
            let (tenant, is_full, tabs) = (device as u8 % 2, false, Default::default());
            self.devices.push(Device {
                tenant,
                clock: base,
                base,
                web_locks,
                is_full,
                intents,
                tabs,
            });
            for _ in 0..1 + self.choices.below(4) {
                let what = match self.choices.below(10) {
                    7 => PageEvent::Resolve { looks_up: self.choices.below(2) == 1 },
                    8 => PageEvent::GiveUp,
                    9 => PageEvent::Submit(1),
                    _ => PageEvent::Submit(0),
                };
                let tab = usize::from(self.choices.below(2));
                let intent = usize::from(self.choices.below(count));
                let after = self.pause();
                let life = u32::MAX;
                self.later(
                    after,
                    Event::Page(PageInput { device, tab, life, intent, number: 0, what }),
                );
            }
        }
    }

    pub(super) fn page(&mut self, input: PageInput) {
        if self.is_asleep(input) {
            let wakes = self.devices[input.device].tabs[input.tab].frozen_until;
            return self.later(wakes - self.now, Event::Page(input));
        }
        match input.what {
            PageEvent::Submit(_) | PageEvent::Resolve { .. } | PageEvent::GiveUp => {
                self.begin_call(input)
            }
            PageEvent::LockIsFree => self.lock_is_free(input),
            _ if !self.is_awaited(input) => {}
            PageEvent::TimedOut => self.end_of_attempt(input, None),
            PageEvent::Waited => self.keep_turn(input),
            PageEvent::Seen => self.continue_call(input),
            PageEvent::Confirm => self.confirm_lease(input),
            PageEvent::LookAgain => self.acquire_lease(input),
            PageEvent::Renew => self.renew_lease(input),
            PageEvent::Late => {
                let late = self.call_of(input).and_then(|running| running.late.take());
                if let Some(entry) = late {
                    self.store(input, &entry);
                }
            }
            PageEvent::Response => {}
        }
    }

    fn is_asleep(&self, input: PageInput) -> bool {
        self.devices[input.device].tabs[input.tab].frozen_until > self.now
    }

    /// Returns whether the call still waits for this event.
    pub(super) fn is_awaited(&mut self, input: PageInput) -> bool {
        let life = self.devices[input.device].tabs[input.tab].life;
        let is_renewal = matches!(input.what, PageEvent::Renew | PageEvent::Late);
        let number = self.call_of(input).map(|running| running.number);
        life == input.life && number.is_some_and(|number| is_renewal || number == input.number)
    }

    pub(super) fn call_of(&mut self, at: PageInput) -> Option<&mut Running> {
        self.devices[at.device].tabs[at.tab].calls[at.intent].as_deref_mut()
    }

    pub(super) fn intent(&mut self, at: PageInput) -> &mut Intent {
        &mut self.devices[at.device].intents[at.intent]
    }

    /// Begins a call for what the buyer does.
    fn begin_call(&mut self, mut at: PageInput) {
        let tab = &mut self.devices[at.device].tabs[at.tab];
        at.life = tab.life;
        if tab.calls[at.intent].is_some() {
            return;
        }
        tab.made += 1;
        let number = tab.made * 1000;
        let (call, trigger, waited_since) = (None, at.what, None);
        let running =
            Running { call, trigger, waited_since, number, in_key_call: false, late: None };
        tab.calls[at.intent] = Some(Box::new(running));
        self.log(|_| {
            format!("page {}, tab {}, intent {}: {:?}", at.device, at.tab, at.intent, at.what)
        });
        match at.what {
            PageEvent::Submit(version) => {
                self.intent(at).submitted = Some(version);
                self.take_turn(at);
            }
            _ => self.continue_call(at),
        }
    }

    /// Lets the call begin or continue when it is its turn.
    pub(super) fn continue_call(&mut self, at: PageInput) {
        let input = self.input(at);
        let rules = self.rules;
        let settings = CallSettings {
            retry: RetryPolicy::default(),
            retention: self.settings.retention,
            key_calls: self.settings.key_calls,
            sends_proof: self.settings.key_calls && self.settings.proof,
            final_statuses: vec![],
            expects: "application/json".to_owned(),
        };
        let content = self.intent(at).content;
        let others = self.devices[at.device].tabs[1 - at.tab].memory[at.intent].is_some();
        self.intent(at).beyond |= others;
        let Some(running) = self.call_of(at) else { return };
        let ordered = match &mut running.call {
            Some(call) => rules.waited(call, &input),
            None => {
                let goal = match running.trigger {
                    PageEvent::Resolve { looks_up } => Goal::Resolve { look_up: looks_up },
                    PageEvent::GiveUp => Goal::Abandon,
                    PageEvent::Submit(version) => Goal::Submit {
                        payload: requests::payload(content + version).clone(),
                        own_key: None,
                        waited_since: running.waited_since,
                    },
                    _ => return,
                };
                let mut call = Call::new(goal, settings);
                let ordered = rules.begin_call(&mut call, &input);
                running.call = Some(call);
                ordered
            }
        };
        self.follow_page(at, &input.stored, ordered);
    }

    /// Returns the entry that the tab finds in storage.
    pub(super) fn stored(&self, at: PageInput) -> Stored {
        let device = &self.devices[at.device];
        let memory = device.tabs[at.tab].memory[at.intent].as_deref();
        Stored::read(memory.or(device.intents[at.intent].entry.read(at.tab, self.now)))
    }

    fn store(&mut self, at: PageInput, entry: &Entry) {
        let now = self.now;
        let device = &mut self.devices[at.device];
        let text = entry.encode();
        if device.is_full {
            device.tabs[at.tab].memory[at.intent] = Some(text);
        } else {
            device.tabs[at.tab].memory[at.intent] = None;
            device.intents[at.intent].entry.write(at.tab, Some(text), now);
        }
    }

    fn input(&mut self, at: PageInput) -> CallInput {
        let random = self.random();
        let in_memory = &self.devices[at.device].tabs[at.tab].body[at.intent];
        CallInput {
            stored: self.stored(at),
            now: self.time(Clock::Device(at.device)),
            ticks: Millis::new(self.now),
            random,
            in_memory: in_memory.as_ref().map(|(key, _)| key.clone()),
        }
    }
}

/// Returns the token of the tab, which no other tab has.
pub(super) fn tab_token(at: PageInput) -> TabToken {
    TabToken::new((at.device as u64) << 40 | (at.tab as u64) << 32 | u64::from(at.life))
}
