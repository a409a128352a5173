//! A short part of the proof, for every run of the tests. `make proof` runs all of it.

use oncekey_model::config::{Config, Scene};
use oncekey_model::configs;
use oncekey_model::explore::{How, explore};
use oncekey_model::mutants::Mutant;
use oncekey_model::reached::Reached;
use oncekey_model::rules::Rules;
use oncekey_model::trial::{suspected, try_mutant};
use oncekey_model::world::{Action, World};
use std::collections::HashMap;

fn named(name: &str) -> Config {
    configs::all(false).into_iter().find(|config| config.name == name).expect("a world")
}

#[test]
fn no_property_breaks_in_the_first_steps_of_any_world() {
    for config in configs::all(false) {
        let how = How { threads: 2, transitions: Some(2500) };
        let explored = explore(config, Rules::PLAIN, how);
        let broken = explored.broken.map(|broken| broken.story);
        assert_eq!(broken, None, "{}", explored.name);
        assert!(explored.states > 300, "{}: {}", explored.name, explored.states);
    }
}

#[test]
fn no_property_breaks_in_a_whole_world() {
    let how = How { threads: 2, transitions: None };
    let explored = explore(named("a business key alone"), Rules::PLAIN, how);
    assert_eq!(explored.broken.map(|broken| broken.story), None);
}

/// Checks the search itself: it must catch the mutants that show after few steps. `make proof` tries all mutants.
#[test]
fn mutants_are_caught() {
    let how = How { threads: 2, transitions: Some(20_000) };
    for mutant in [
        Mutant::LeaseNotChecked,
        Mutant::HoldTreatedAsRetry,
        Mutant::FingerprintAfterInProgress,
        Mutant::SweepRemovesLiveRecord,
        Mutant::ScopeLeftOut,
        Mutant::ReplicaMissCountsAsNew,
        Mutant::MemoryExpiryIgnored,
        Mutant::MemoryKeepsUnstoredResponse,
        Mutant::DispatchAfterHalfLease,
        Mutant::ResponseBeforeStored,
        Mutant::BusinessKeyNotChecked,
        Mutant::PlatformRepeatsWrites,
        Mutant::KeyStoredAfterSending,
        Mutant::UnprovenRefusalSettles,
        Mutant::UnprovenSuccessSettles,
        Mutant::RedirectSettles,
        Mutant::KeyCallsUnderAnyCredential,
    ] {
        let verdict = try_mutant(mutant, how);
        let caught = verdict.caught.unwrap_or_else(|| panic!("{} is not caught", mutant.name()));
        assert_eq!(caught.name, suspected(mutant), "{}", mutant.name());
        let story = caught.broken.expect("it is caught").story;
        assert!(story.contains("broken: "), "{story}");
    }
}

#[test]
fn each_mutant_has_a_world_that_should_catch_it() {
    let worlds = configs::all(false);
    for mutant in Mutant::ALL {
        assert!(worlds.iter().any(|config| config.name == suspected(*mutant)), "{}", mutant.name());
        assert_eq!(Mutant::named(mutant.name()), Some(*mutant));
        assert!(!mutant.fault().is_empty());
    }
}

#[test]
fn each_documented_limit_breaks_a_property_in_its_world() {
    let how = How { threads: 2, transitions: Some(60_000) };
    for config in configs::limits().into_iter().skip(1) {
        let name = config.name;
        assert!(explore(config, Rules::PLAIN, how).broken.is_some(), "{name}");
    }
}

/// The checks of worlds at rest cover all runs only if every run comes to rest: no state occurs twice on one path,
/// and a state that is not at rest can always continue without a fault.
#[test]
fn every_run_comes_to_an_end() {
    for name in ["two requests", "a business key alone"] {
        let mut config = named(name);
        config.bounds.losses = 0;
        config.bounds.fates = 0;
        config.callers.truncate(2);
        let scene = Scene { config, rules: Rules::PLAIN, reached: Reached::default() };
        let states = walk(&scene);
        assert!(states > 500, "{name}: {states}");
    }
}

/// Walks depth first through each state once. A state that occurs again on its own path is a cycle.
fn walk(scene: &Scene) -> usize {
    let mut done = HashMap::<World, bool>::new();
    let mut way = vec![(World::new(scene), None::<Vec<Action>>)];
    while let Some((world, left)) = way.last_mut() {
        let left = left.get_or_insert_with(|| {
            let mut actions = Vec::new();
            world.actions(scene, &mut actions);
            assert!(
                world.is_at_rest() || actions.iter().any(|action| world.is_quiet(*action)),
                "no action is possible, but something is in progress: {world:?}"
            );
            done.insert(world.clone(), false);
            actions
        });
        let Some(action) = left.pop() else {
            done.insert(world.clone(), true);
            way.pop();
            continue;
        };
        let mut next = world.clone();
        next.apply(scene, action);
        if next == *world && matches!(action, Action::ReplicaReplies { .. }) {
            continue;
        }
        match done.get(&next) {
            Some(true) => {}
            Some(false) => panic!("this action leads to a cycle: {action:?}"),
            None => way.push((next, None)),
        }
    }
    done.len()
}
