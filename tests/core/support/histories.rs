//! Plays random histories, and checks that a property holds in all of them and that they reach the milestones.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Plays this many histories, or as many as `PROPTEST_CASES` says. `play` panics if the property fails.
pub(crate) fn play_all<S: Strategy>(histories: &S, cases: u32, play: impl Fn(S::Value)) {
    let from_env = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let result = TestRunner::new(config(from_env.unwrap_or(cases))).run(histories, |history| {
        play(history);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// Returns in how many of this many histories, which are always the same, each milestone was reached.
pub(crate) fn reached<S: Strategy, M: IntoIterator<Item = &'static str>>(
    histories: &S,
    cases: u32,
    play: impl Fn(S::Value) -> M,
) -> BTreeMap<&'static str, u32> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let reached = RefCell::new(BTreeMap::new());
    let result = TestRunner::new_with_rng(config(cases), rng).run(histories, |history| {
        for milestone in play(history) {
            *reached.borrow_mut().entry(milestone).or_default() += 1;
        }
        Ok(())
    });
    result.expect("the property holds");
    reached.into_inner()
}

fn config(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}
