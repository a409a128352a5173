//! `make proof`: searches every world, then tries every mutant.
//!
//! ```text
//! proof [--large] [--threads N] [--transitions N] [--world NAME] [--mutant NAME] [--no-mutants] [--stories]
//! ```

use oncekey_model::configs;
use oncekey_model::explore::{Explored, How, explore};
use oncekey_model::mutants::Mutant;
use oncekey_model::reached::Milestone;
use oncekey_model::rules::Rules;
use oncekey_model::simulation::{Plan, soak};
use oncekey_model::trial::{self, try_mutant};
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Default)]
struct Options {
    large: bool,
    threads: usize,
    transitions: Option<usize>,
    world: Option<String>,
    mutant: Option<Mutant>,
    no_mutants: bool,
    stories: bool,
}

fn main() -> ExitCode {
    let options = match read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("proof: {wrong}");
            return ExitCode::from(2);
        }
    };
    let holds = match options.mutant {
        Some(_) => true,
        None => search(&options),
    };
    let tries = options.mutant.is_some() || (!options.no_mutants && options.world.is_none());
    let all_caught = !tries || mutants(&options);
    if holds && all_caught { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn read(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options { threads: cores(), ..Options::default() };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--large" => options.large = true,
            "--threads" => {
                options.threads = value()?.parse().map_err(|_| "--threads takes a number")?;
            }
            "--transitions" => {
                let number = value()?.parse().map_err(|_| "--transitions takes a number")?;
                options.transitions = Some(number);
            }
            "--world" => options.world = Some(value()?),
            "--mutant" => {
                let name = value()?;
                let mutant = Mutant::named(&name).ok_or(format!("there is no mutant {name}"))?;
                options.mutant = Some(mutant);
            }
            "--no-mutants" => options.no_mutants = true,
            "--stories" => options.stories = true,
            _ => return Err(format!("unknown option {word}; see the head of bin/proof.rs")),
        }
    }
    Ok(options)
}

impl Options {
    fn how(&self) -> How {
        How { threads: self.threads, transitions: self.transitions }
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// Searches the worlds. Returns whether no property broke and every milestone was reached.
fn search(options: &Options) -> bool {
    println!(
        "{:<24} {:>10} {:>11} {:>6} {:>8}",
        "world", "states", "transitions", "depth", "seconds"
    );
    let (mut states, mut seconds) = (0, 0.0);
    let (mut reached, mut holds) = (BTreeSet::new(), true);
    let worlds = configs::all(options.large).into_iter();
    for config in worlds.filter(|c| options.world.as_deref().is_none_or(|name| name == c.name)) {
        let explored = explore(config, Rules::PLAIN, options.how());
        row(&explored);
        states += explored.states;
        seconds += explored.took.as_secs_f64();
        if options.world.is_some() {
            explored.milestones.iter().for_each(|milestone| println!("    {}", milestone.name()));
        }
        reached.extend(explored.milestones);
        if let Some(broken) = explored.broken {
            holds = false;
            println!("  does not hold: {}\n{}", broken.property.name(), broken.story);
        }
    }
    let missed: Vec<_> =
        Milestone::ALL.iter().filter(|milestone| !reached.contains(milestone)).collect();
    if options.world.is_none() {
        println!("reached: {} of {}", reached.len(), Milestone::ALL.len());
        reached.iter().for_each(|milestone| println!("  {}", milestone.name()));
        missed.iter().for_each(|milestone| println!("  NEVER REACHED: {}", milestone.name()));
        holds &= missed.is_empty() && limits(options);
    }
    println!("{seconds:.0} s");
    println!("{states} distinct states");
    holds
}

/// Checks that the search finds each documented limit in its world.
fn limits(options: &Options) -> bool {
    let found = configs::limits().into_iter().map(|config| {
        let explored = explore(config, Rules::PLAIN, options.how());
        row(&explored);
        match &explored.broken {
            Some(broken) => println!("  found, as documented: {}", broken.property.name()),
            None => println!("  NOT FOUND: this is no longer a limit, so remove it from the docs"),
        }
        explored.broken.is_some()
    });
    found.fold(true, |all, found| all & found)
}

fn row(explored: &Explored) {
    let Explored { name, states, transitions, depth, took, .. } = explored;
    println!("{name:<24} {states:>10} {transitions:>11} {depth:>6} {:>8.1}", took.as_secs_f64());
}

/// Tries the mutants. Returns whether each was caught.
fn mutants(options: &Options) -> bool {
    println!("{:<28} {:<24} {:>8}  caught by", "mutant", "world", "states");
    let chosen = Mutant::ALL.iter().filter(|m| options.mutant.is_none_or(|only| only == **m));
    let (mut caught, mut all) = (0, 0);
    for mutant in chosen {
        all += 1;
        let verdict = try_mutant(*mutant, options.how());
        match verdict.caught {
            Some(Explored { name, states, broken: Some(broken), .. }) => {
                caught += 1;
                let property = broken.property.name();
                println!("{:<28} {name:<24} {states:>8}  {property}", mutant.name());
                if options.stories || options.mutant.is_some() {
                    println!("{}", broken.story);
                }
            }
            _ => caught += usize::from(is_caught_by_simulation(*mutant, options.threads)),
        }
    }
    println!("{caught} of {all} mutants caught");
    caught == all
}

/// Tries a mutant that no search has caught in the simulation.
fn is_caught_by_simulation(mutant: Mutant, threads: usize) -> bool {
    let plan = Plan {
        rules: Rules::with(mutant),
        seed: 1,
        schedules: 200_000,
        longest: Some(Duration::from_secs(120)),
        threads,
        progress: None,
    };
    let report = soak(&plan);
    let schedules = report.schedules;
    let (name, world) = (mutant.name(), "the simulation");
    match report.failed {
        Some((seed, broken)) => {
            println!("{name:<28} {world:<24} {schedules:>8}  seed {seed}: {}", broken.property);
            true
        }
        None => {
            println!("{name:<28} NOT CAUGHT, expected in the world: {}", trial::suspected(mutant));
            false
        }
    }
}
