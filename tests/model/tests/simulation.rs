//! A short part of the simulation, with fixed seeds. `make soak` runs more.

use oncekey_model::mutants::Mutant;
use oncekey_model::rules::Rules;
use oncekey_model::simulation::{self, Plan, soak};

fn plan(rules: Rules, schedules: u64) -> Plan {
    Plan { rules, seed: 1, schedules, longest: None, threads: 2, progress: None }
}

#[test]
fn nothing_breaks_in_a_short_run() {
    let report = soak(&plan(Rules::PLAIN, 3_000));
    if let Some((seed, broken)) = &report.failed {
        let (_, story) = simulation::story(Rules::PLAIN, *seed).expect("a seed repeats its run");
        panic!("seed {seed}: {}: {}\n{}", broken.property, broken.what, story.join("\n"));
    }
    let missing = report.missing();
    assert!(missing.len() < 15, "too few milestones were reached; missing: {missing:?}");
    assert!(report.events > 200_000, "{}", report.events);
}

#[test]
fn a_seed_repeats_its_run() {
    for seed in [7, 8, 9] {
        let (_, first) = simulation::whole_story(Rules::PLAIN, seed);
        let (_, again) = simulation::whole_story(Rules::PLAIN, seed);
        assert!(first.len() > 10);
        assert_eq!(first, again);
    }
}

#[test]
fn mutants_are_caught_and_their_stories_become_no_longer() {
    for mutant in
        [Mutant::HoldTreatedAsRetry, Mutant::CompletedIsOverwritten, Mutant::NewKeyOnReload]
    {
        let rules = Rules::with(mutant);
        let report = soak(&plan(rules, 2_000));
        let (seed, broken) = report.failed.unwrap_or_else(|| panic!("{mutant:?} is not caught"));
        let (_, whole) = simulation::whole_story(rules, seed);
        let (again, story) = simulation::story(rules, seed).expect("a seed repeats its run");
        assert_eq!(again.property, broken.property);
        assert!(story.len() <= whole.len(), "{mutant:?}: {} of {} lines", story.len(), whole.len());
    }
}
