//! The world of a schedule: its parts, and the queue of events.

use super::callers::Caller;
use super::calls::ShardCall;
use super::choices::Choices;
use super::coverage::{Coverage, Milestone};
use super::gateway::Running;
use super::ledger::Ledger;
use super::message::{Event, SeenResponse};
use super::origin::Origin;
use super::page::Device;
use super::replica::Replica;
use super::settings::{SHARDS, Settings};
use super::shard::Shard;
use crate::rules::Rules;
use oncekey::replica::Memory;
use oncekey::{AttemptToken, UnixMillis};
use std::collections::BinaryHeap;

/// The time at which every world begins.
pub(super) const START: u64 = 1_764_000_000_000;

/// A clock.
#[derive(Clone, Copy, Debug)]
pub(super) enum Clock {
    Shard(usize),
    Gateway(usize),
    Device(usize),
}

pub(super) struct World<'a> {
    pub(super) choices: Choices,
    pub(super) coverage: &'a mut Coverage,
    pub(super) rules: Rules,
    pub(super) settings: Settings,
    /// The true time, in milliseconds.
    pub(super) now: u64,
    queue: BinaryHeap<Queued>,
    queued: u32,
    pub(super) events: u64,
    /// Whether faults have stopped.
    pub(super) calm: bool,
    /// Whether everything has been checked.
    pub(super) is_over: bool,
    /// The time at which a clock was last set.
    pub(super) jumped_at: u64,
    pub(super) shards: [Shard; SHARDS],
    pub(super) clocks: [i64; 2],
    pub(super) flows: Vec<Option<Box<Running>>>,
    pub(super) calls: Vec<Option<Box<ShardCall>>>,
    pub(super) replica: Replica,
    pub(super) memories: [Memory; 2],
    pub(super) origin: Origin,
    pub(super) callers: Vec<Caller>,
    pub(super) devices: Vec<Device>,
    pub(super) ledger: Ledger,
    tokens: u64,
    story: Option<Vec<String>>,
    pub(super) broken: Option<Broken>,
}

/// A property that broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The name of the property.
    pub property: &'static str,
    /// How it broke.
    pub what: String,
}

struct Queued {
    at: u64,
    number: u32,
    event: Event,
}

impl PartialEq for Queued {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Queued {}

impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Queued {
    /// Orders the queue so that the earliest event comes first out of the heap.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<'a> World<'a> {
    pub(super) fn new(
        mut choices: Choices,
        coverage: &'a mut Coverage,
        rules: Rules,
        logs: bool,
    ) -> Self {
        let settings = Settings::draw(&mut choices, coverage);
        Self {
            choices,
            coverage,
            rules,
            settings,
            now: START,
            queue: BinaryHeap::with_capacity(64),
            queued: 0,
            events: 0,
            calm: false,
            is_over: false,
            jumped_at: 0,
            shards: Default::default(),
            clocks: [0; 2],
            flows: Vec::new(),
            calls: Vec::new(),
            replica: Replica::default(),
            memories: Default::default(),
            origin: Origin::default(),
            callers: Vec::new(),
            devices: Vec::new(),
            ledger: Ledger::default(),
            tokens: 0,
            story: logs.then(Vec::new),
            broken: None,
        }
    }

    /// Plays the whole schedule.
    pub(super) fn run(mut self) -> (u64, Vec<u16>, Option<Broken>, Vec<String>) {
        self.log(|world| format!("the settings: {:#?}", world.settings));
        self.draw_callers();
        while let Some(Queued { at, event, .. }) = self.queue.pop() {
            self.now = self.now.max(at);
            self.events += 1;
            self.happen(event);
            if self.broken.is_some() || self.is_over || self.events > 20_000 {
                break;
            }
        }
        if self.events > 20_000 {
            self.breaks("5: no key is stuck", "the schedule does not end".to_owned());
        }
        (self.events, self.choices.made(), self.broken, self.story.unwrap_or_default())
    }

    pub(super) fn later(&mut self, after: u64, event: Event) {
        self.queued += 1;
        self.queue.push(Queued { at: self.now + after, number: self.queued, event });
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Send(caller) => self.caller_sends(caller),
            Event::GivesUp { caller, number } => self.gives_up(caller, number),
            Event::KeyCall { caller, endpoint } => self.key_call(caller, endpoint),
            Event::Arrive(request) => self.arrive(*request),
            Event::Response(to, seen) => self.attempt_ended(to, &seen),
            Event::AtShard(message) => self.at_shard(*message),
            Event::Reply { call, attempt, reply } => self.replied(call, attempt, reply),
            Event::TryIsOver { call, attempt } => self.try_is_over(call, attempt),
            Event::TryAgain { call, attempt } => self.try_again(call, attempt),
            Event::Slow { flow, step } => self.slow(flow, step),
            Event::Copied { flow, step, bytes } => self.copied(flow, step, bytes),
            Event::CopyArrives { name, bytes, left } => self.copy_arrives(name, bytes, left),
            Event::AtOrigin(at_origin) => self.at_origin(*at_origin),
            Event::Called { flow, step, called } => self.called(flow, step, *called),
            Event::LookedUp { flow, step, found } => self.looked_up(flow, step, found),
            Event::Renew { flow } => self.renew(flow),
            Event::PlatformEnds { flow } => self.platform_ends(flow),
            Event::Alarm { shard, number } => self.alarm(shard, number),
            Event::RandomFault => self.random_fault(),
            Event::Repair { name, bytes } => self.repair(name, &bytes),
            Event::Page(input) => self.page(input),
            Event::Rest(round) => self.rest(round),
        }
    }

    /// Records that a property is broken. Only the first one counts.
    pub(super) fn breaks(&mut self, property: &'static str, what: String) {
        if self.broken.is_none() {
            self.log(|_| format!("BROKEN: {property}: {what}"));
            self.broken = Some(Broken { property, what });
        }
    }

    pub(super) fn note(&mut self, milestone: Milestone) {
        self.coverage.note(milestone);
    }

    pub(super) fn log(&mut self, line: impl FnOnce(&Self) -> String) {
        if self.story.is_some() {
            let text = line(self);
            let at = self.now - START;
            let (days, millis) = (at / 86_400_000, at % 86_400_000);
            let (hours, minutes) = (millis / 3_600_000, millis / 60_000 % 60);
            let (seconds, millis) = (millis / 1000 % 60, millis % 1000);
            let when = format!("{days}d {hours:02}:{minutes:02}:{seconds:02}.{millis:03}");
            self.story.get_or_insert_default().push(format!("{when}  {text}"));
        }
    }

    /// Draws whether a fault happens.
    pub(super) fn goes_wrong(&mut self, per_mille: u16) -> bool {
        !self.calm && self.choices.chance(per_mille)
    }

    /// Draws how long a message takes without a fault.
    pub(super) fn transit(&mut self) -> u64 {
        if self.calm { 2 } else { self.choices.pick(&[2, 9, 30]) }
    }

    /// Draws how long a late message takes.
    pub(super) fn lateness(&mut self) -> u64 {
        self.choices.pick(&[200, 1_000, 3_000, 7_000, 16_000, 40_000, 130_000])
    }

    pub(super) fn time(&self, clock: Clock) -> UnixMillis {
        let offset = match clock {
            Clock::Shard(shard) => self.shards[shard].clock,
            Clock::Gateway(gateway) => self.clocks[gateway],
            Clock::Device(device) => self.devices[device].clock,
        };
        UnixMillis::new(self.now.saturating_add_signed(offset))
    }

    pub(super) fn token(&mut self) -> AttemptToken {
        self.tokens += 1;
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.tokens.to_le_bytes());
        AttemptToken::new(bytes)
    }

    /// Returns random bytes for a key, which never repeat.
    pub(super) fn random(&mut self) -> [u8; 16] {
        self.tokens += 1;
        let mixed = (u128::from(self.tokens) << 64 | u128::from(self.tokens.reverse_bits()))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15_bf58_476d_1ce4_e5b9);
        mixed.to_be_bytes()
    }

    pub(super) fn attempt_ended(&mut self, to: super::message::To, seen: &SeenResponse) {
        match to {
            super::message::To::Caller { caller, number } => self.caller_gets(caller, number, seen),
            super::message::To::Page(input) => self.page_receives(input, seen),
        }
    }
}
