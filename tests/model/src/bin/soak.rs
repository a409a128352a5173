//! `make soak`: runs millions of schedules. `--schedules N`, `--minutes N`, `--seed N`, `--threads N`; `--whole` prints
//! the whole story of the seed; `--mutant NAME` runs with that fault, `--mutants` with each of them.

use oncekey_model::mutants::Mutant;
use oncekey_model::rules::Rules;
use oncekey_model::simulation::{self, Plan, Report, soak};
use std::process::ExitCode;
use std::time::Duration;

/// A run of at least this many schedules fails if a milestone was never reached.
const LONG: u64 = 200_000;

struct Options {
    plan: Plan,
    whole: bool,
    mutants: bool,
}

fn main() -> ExitCode {
    let options = match read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(what) => {
            eprintln!("soak: {what}");
            return ExitCode::from(2);
        }
    };
    let Options { plan, whole, mutants } = options;
    if whole {
        let (broken, story) = simulation::whole_story(plan.rules, plan.seed);
        story.iter().for_each(|line| println!("{line}"));
        return if broken.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    if mutants {
        return try_all(plan);
    }
    let report = soak(&plan);
    // Rare milestones need many schedules, so only a long run must reach them all.
    let is_idle =
        plan.rules == Rules::PLAIN && report.schedules >= LONG && !report.missing().is_empty();
    let is_whole = report.failed.is_none() && !is_idle;
    print(&plan, &report);
    if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print(plan: &Plan, report: &Report) {
    if let Some((seed, broken)) = &report.failed {
        println!("seed {seed} fails: {}: {}", broken.property, broken.what);
        if let Some((broken, story)) = simulation::story(plan.rules, *seed) {
            println!("the story of the smallest schedule that fails:");
            story.iter().for_each(|line| println!("  {line}"));
            println!("{}: {}", broken.property, broken.what);
        }
        println!("to repeat it: make soak SEED={seed} SCHEDULES=1");
    }
    if report.failed.is_none() {
        for (text, count) in report.counts() {
            println!("{count:>12}  {text}");
        }
        let missing = report.missing();
        if !missing.is_empty() {
            println!("never reached: {}", missing.join("; "));
        }
    }
    let Report { schedules, events, took, .. } = report;
    let (seconds, first) = (took.as_secs_f64(), plan.seed);
    println!(
        "{schedules} schedules from seed {first}, {events} events, {seconds:.1} s, {:.0} schedules/s",
        *schedules as f64 / seconds
    );
}

fn try_all(plan: Plan) -> ExitCode {
    let mut caught = 0;
    for mutant in Mutant::ALL {
        let report = soak(&Plan { rules: Rules::with(*mutant), progress: None, ..plan });
        let name = mutant.name();
        match &report.failed {
            Some((seed, broken)) => {
                caught += 1;
                let (schedules, events) = (report.schedules, report.events);
                println!(
                    "{name}: caught after {schedules} schedules, {events} events, seed {seed}: {}",
                    broken.property
                );
            }
            None => println!("{name}: not caught by {} schedules", report.schedules),
        }
    }
    println!("{caught} of {} mutants caught by the simulation", Mutant::ALL.len());
    ExitCode::SUCCESS
}

fn read(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let progress = Some(Duration::from_secs(10));
    let mut plan = Plan {
        rules: Rules::PLAIN,
        seed: 0,
        schedules: u64::MAX,
        longest: None,
        threads,
        progress,
    };
    let (mut whole, mut mutants) = (false, false);
    while let Some(name) = args.next() {
        match name.as_str() {
            "--whole" => whole = true,
            "--mutants" => mutants = true,
            _ => {
                let value = args.next().ok_or(format!("{name} needs a value"))?;
                let number = || value.parse::<u64>().map_err(|_| format!("{name} takes a number"));
                match name.as_str() {
                    "--schedules" => plan.schedules = number()?,
                    "--minutes" => plan.longest = Some(Duration::from_secs(60 * number()?)),
                    "--seed" => plan.seed = number()?,
                    "--threads" => plan.threads = number()? as usize,
                    "--mutant" => {
                        let mutant =
                            Mutant::named(&value).ok_or(format!("there is no mutant {value}"))?;
                        plan.rules = Rules::with(mutant);
                    }
                    _ => return Err(format!("unknown option {name}; see the head of bin/soak.rs")),
                }
            }
        }
    }
    if plan.longest.is_none() && plan.schedules == u64::MAX {
        plan.schedules = if mutants { 100_000 } else { 200_000 };
    }
    Ok(Options { plan, whole, mutants })
}
