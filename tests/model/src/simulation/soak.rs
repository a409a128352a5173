//! Runs many schedules, on all cores.

use super::coverage::{Coverage, Milestone};
use super::{Broken, ScheduleResult, play_seed};
use crate::rules::Rules;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a run of many schedules does.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The core, with or without a fault.
    pub rules: Rules,
    /// The first seed. The other schedules use the seeds after it.
    pub seed: u64,
    /// The number of schedules.
    pub schedules: u64,
    /// The time at which the run stops at the latest.
    pub longest: Option<Duration>,
    /// The number of threads.
    pub threads: usize,
    /// How often progress is printed.
    pub progress: Option<Duration>,
}

/// The result of a run.
pub struct Report {
    /// The number of schedules.
    pub schedules: u64,
    /// The number of events in them.
    pub events: u64,
    /// How long the run took.
    pub took: Duration,
    /// The lowest seed that failed.
    pub failed: Option<(u64, Broken)>,
    coverage: Coverage,
}

impl Report {
    /// Returns each milestone with how often it was reached.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Milestone::ALL.iter().map(|met| (met.name(), self.coverage.count(*met)))
    }

    /// Returns the milestones that a long run must reach, and did not.
    pub fn missing(&self) -> Vec<&'static str> {
        let is_missing = |met: &&Milestone| self.coverage.count(**met) == 0;
        Milestone::ALL.iter().filter(is_missing).map(|met| met.name()).collect()
    }
}

/// Runs schedules until one fails, or all are done.
pub fn soak(plan: &Plan) -> Report {
    let begun = Instant::now();
    let (next, events, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let failed = Mutex::new(None::<(u64, Broken)>);
    let all = Mutex::new(Coverage::default());
    let done = AtomicU64::new(0);
    let work = || {
        let mut coverage = Coverage::default();
        while !stop.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= plan.schedules || plan.longest.is_some_and(|most| begun.elapsed() > most) {
                break;
            }
            let seed = plan.seed.wrapping_add(number);
            let ScheduleResult { events: happened, broken, .. } =
                play_seed(plan.rules, seed, &mut coverage, false);
            events.fetch_add(happened, Ordering::Relaxed);
            done.fetch_add(1, Ordering::Relaxed);
            if let Some(broken) = broken {
                stop.store(true, Ordering::Relaxed);
                let mut failed = failed.lock().unwrap_or_else(|lock| lock.into_inner());
                if failed.as_ref().is_none_or(|(known, _)| seed < *known) {
                    *failed = Some((seed, broken));
                }
            }
        }
        all.lock().unwrap_or_else(|lock| lock.into_inner()).add(&coverage);
    };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..plan.threads.max(1)).map(|_| scope.spawn(work)).collect();
        if let Some(every) = plan.progress {
            let (done, events, is_over) = (&done, &events, &is_over);
            scope.spawn(move || {
                let mut reported = Instant::now();
                while !is_over.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(50));
                    if reported.elapsed() >= every {
                        reported = Instant::now();
                        let (done, events) =
                            (done.load(Ordering::Relaxed), events.load(Ordering::Relaxed));
                        let rate = done as f64 / begun.elapsed().as_secs_f64();
                        println!("{done} schedules, {events} events, {rate:.0} schedules/s");
                    }
                }
            });
        }
        for worker in workers {
            if let Err(panic) = worker.join() {
                std::panic::resume_unwind(panic);
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let took = begun.elapsed();
    let value = |lock: Mutex<Coverage>| lock.into_inner().unwrap_or_else(|lock| lock.into_inner());
    Report {
        schedules: done.into_inner(),
        events: events.into_inner(),
        took,
        failed: failed.into_inner().unwrap_or_else(|lock| lock.into_inner()),
        coverage: value(all),
    }
}
