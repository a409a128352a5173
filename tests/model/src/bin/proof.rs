//! `make proof`: searches every world, then tries every mutant.
//!
//! ```text
//! proof [--large] [--threads N] [--transitions N] [--world NAME] [--mutant NAME] [--no-mutants] [--stories]
//! ```

use oncekey_model::configs;
use oncekey_model::explore::{Explored, How, explore};
use oncekey_model::mutants::Mutant;
use oncekey_model::reached::Event;
use oncekey_model::rules::Rules;
use oncekey_model::simulation::{Plan, soak};
use oncekey_model::trial::{self, try_mutant};
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Default)]
struct Wanted {
    large: bool,
    threads: usize,
    transitions: Option<usize>,
    world: Option<String>,
    mutant: Option<Mutant>,
    no_mutants: bool,
    stories: bool,
}

fn main() -> ExitCode {
    let wanted = match read(std::env::args().skip(1)) {
        Ok(wanted) => wanted,
        Err(wrong) => {
            eprintln!("proof: {wrong}");
            return ExitCode::from(2);
        }
    };
    let holds = match wanted.mutant {
        Some(_) => true,
        None => search(&wanted),
    };
    let tries = wanted.mutant.is_some() || (!wanted.no_mutants && wanted.world.is_none());
    let all_caught = !tries || mutants(&wanted);
    if holds && all_caught { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn read(mut words: impl Iterator<Item = String>) -> Result<Wanted, String> {
    let mut wanted = Wanted { threads: cores(), ..Wanted::default() };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--large" => wanted.large = true,
            "--threads" => {
                wanted.threads = value()?.parse().map_err(|_| "--threads takes a number")?;
            }
            "--transitions" => {
                let number = value()?.parse().map_err(|_| "--transitions takes a number")?;
                wanted.transitions = Some(number);
            }
            "--world" => wanted.world = Some(value()?),
            "--mutant" => {
                let name = value()?;
                let mutant = Mutant::named(&name).ok_or(format!("there is no mutant {name}"))?;
                wanted.mutant = Some(mutant);
            }
            "--no-mutants" => wanted.no_mutants = true,
            "--stories" => wanted.stories = true,
            _ => return Err(format!("unknown option {word}; see the head of bin/proof.rs")),
        }
    }
    Ok(wanted)
}

impl Wanted {
    fn how(&self) -> How {
        How { threads: self.threads, transitions: self.transitions }
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// Searches the worlds. Returns whether no property broke and every milestone was reached.
fn search(wanted: &Wanted) -> bool {
    println!(
        "{:<24} {:>10} {:>11} {:>6} {:>8}",
        "world", "states", "transitions", "depth", "seconds"
    );
    let (mut states, mut seconds) = (0, 0.0);
    let (mut met, mut holds) = (BTreeSet::new(), true);
    let worlds = configs::all(wanted.large).into_iter();
    for config in worlds.filter(|c| wanted.world.as_deref().is_none_or(|name| name == c.name)) {
        let explored = explore(config, Rules::PLAIN, wanted.how());
        row(&explored);
        states += explored.states;
        seconds += explored.took.as_secs_f64();
        if wanted.world.is_some() {
            explored.events.iter().for_each(|event| println!("    {}", event.name()));
        }
        met.extend(explored.events);
        if let Some(broken) = explored.broken {
            holds = false;
            println!("  does not hold: {}\n{}", broken.property.name(), broken.story);
        }
    }
    let missed: Vec<_> = Event::ALL.iter().filter(|event| !met.contains(event)).collect();
    if wanted.world.is_none() {
        println!("reached: {} of {}", met.len(), Event::ALL.len());
        met.iter().for_each(|event| println!("  {}", event.name()));
        missed.iter().for_each(|event| println!("  NEVER REACHED: {}", event.name()));
        holds &= missed.is_empty() && limits(wanted);
    }
    println!("{seconds:.0} s");
    println!("{states} distinct states");
    holds
}

/// Checks that the search finds each documented limit in its world.
fn limits(wanted: &Wanted) -> bool {
    let found = configs::limits().into_iter().map(|config| {
        let explored = explore(config, Rules::PLAIN, wanted.how());
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
fn mutants(wanted: &Wanted) -> bool {
    println!("{:<28} {:<24} {:>8}  caught by", "mutant", "world", "states");
    let chosen = Mutant::ALL.iter().filter(|m| wanted.mutant.is_none_or(|only| only == **m));
    let (mut caught, mut all) = (0, 0);
    for mutant in chosen {
        all += 1;
        let verdict = try_mutant(*mutant, wanted.how());
        match verdict.caught {
            Some(Explored { name, states, broken: Some(broken), .. }) => {
                caught += 1;
                let property = broken.property.name();
                println!("{:<28} {name:<24} {states:>8}  {property}", mutant.name());
                if wanted.stories || wanted.mutant.is_some() {
                    println!("{}", broken.story);
                }
            }
            _ => caught += usize::from(is_caught_by_simulation(*mutant, wanted.threads)),
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
        tells: None,
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
            println!("{name:<28} NOT CAUGHT, expected in: {}", trial::suspected(mutant));
            false
        }
    }
}
