//! The simulation: runs the real core in a world in which everything fails now and then, in virtual time, one schedule
//! after the other. A seed determines a schedule and repeats it exactly.
//!
//! `docs/proof/simulation.md` describes what is simulated and what is checked.

mod callers;
mod calls;
mod choices;
mod coverage;
mod date;
mod gateway;
mod intents;
mod ledger;
mod memory;
mod message;
mod origin;
mod page;
mod replica;
mod requests;
mod responses;
mod rest;
mod settings;
mod shard;
mod shrink;
mod soak;
mod storage;
mod tabs;
mod turn;
mod world;

pub use soak::{Plan, Report, soak};
pub use world::Broken;

use crate::rules::Rules;
use choices::Choices;
use coverage::Coverage;
use world::World;

/// The result of a schedule.
struct ScheduleResult {
    events: u64,
    made: Vec<u16>,
    broken: Option<Broken>,
    story: Vec<String>,
}

fn play_seed(rules: Rules, seed: u64, coverage: &mut Coverage, logs: bool) -> ScheduleResult {
    run(rules, Choices::of_seed(seed), coverage, logs)
}

fn play(rules: Rules, list: &[u16], logs: bool) -> ScheduleResult {
    run(rules, Choices::given(list), &mut Coverage::default(), logs)
}

fn run(rules: Rules, choices: Choices, coverage: &mut Coverage, logs: bool) -> ScheduleResult {
    let (events, made, broken, story) = World::new(choices, coverage, rules, logs).run();
    ScheduleResult { events, made, broken, story }
}

/// Returns the story of a seed that fails, made as small as possible; `None` if the seed does not fail.
pub fn story(rules: Rules, seed: u64) -> Option<(Broken, Vec<String>)> {
    let ScheduleResult { made, broken, .. } =
        play_seed(rules, seed, &mut Coverage::default(), false);
    let property = broken?.property;
    let smaller = shrink::shrink(rules, made, property, 20_000);
    let ScheduleResult { broken, story, .. } = play(rules, &smaller, true);
    broken.map(|broken| (broken, story))
}

/// Returns the whole story of a seed, and the property that it broke.
pub fn whole_story(rules: Rules, seed: u64) -> (Option<Broken>, Vec<String>) {
    let ScheduleResult { broken, story, .. } =
        play_seed(rules, seed, &mut Coverage::default(), true);
    (broken, story)
}
