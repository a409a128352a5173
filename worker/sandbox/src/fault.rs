//! The header `Sandbox-Fault`: a caller asks for a failure, to see how a client handles it.
//!
//! ```text
//! Sandbox-Fault: error-before      responds with 500 and executes nothing
//! Sandbox-Fault: error-after       executes the operation, then responds with 500
//! Sandbox-Fault: delay=1500        waits 1500 ms before the operation
//! Sandbox-Fault: delay-after=1500  waits 1500 ms after the operation
//! ```
//! A header may list several faults, separated by commas. They take effect in this order: delay,
//! error-before, the operation, delay-after, error-after.

use super::error::Refusal;
use std::time::Duration;
use worker::Delay;

const HEADER: &str = "Sandbox-Fault";
const MAX_DELAY_MS: u32 = 60_000;
const RULE: &str = "must list error-before, error-after, delay=MS or delay-after=MS, each at most \
                    once, separated by commas; MS is an integer from 0 to 60000";

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Faults {
    delay: Option<Duration>,
    error_before: bool,
    delay_after: Option<Duration>,
    error_after: bool,
}

impl Faults {
    pub(super) fn parse(header: &str) -> Result<Self, Box<Refusal>> {
        let mut faults = Self::default();
        let known = header.split(',').all(|fault| faults.add(fault.trim()));
        known.then_some(faults).ok_or_else(|| Refusal::invalid(HEADER, RULE))
    }

    /// Returns false for an unknown or repeated fault.
    fn add(&mut self, fault: &str) -> bool {
        match fault.split_once('=') {
            None if fault == "error-before" => !std::mem::replace(&mut self.error_before, true),
            None if fault == "error-after" => !std::mem::replace(&mut self.error_after, true),
            Some(("delay", ms)) => set_once(&mut self.delay, ms),
            Some(("delay-after", ms)) => set_once(&mut self.delay_after, ms),
            _ => false,
        }
    }

    /// Runs before the operation.
    pub(super) async fn before(&self) -> Result<(), Box<Refusal>> {
        inject(self.delay, self.error_before).await
    }

    /// Runs after the operation, whatever its result.
    pub(super) async fn after(&self) -> Result<(), Box<Refusal>> {
        inject(self.delay_after, self.error_after).await
    }
}

async fn inject(delay: Option<Duration>, error: bool) -> Result<(), Box<Refusal>> {
    wait(delay).await;
    if error { Err(Refusal::api_error("Sandbox-Fault asked for this error.")) } else { Ok(()) }
}

fn set_once(slot: &mut Option<Duration>, ms: &str) -> bool {
    // `parse` alone would accept a plus sign.
    let digits = !ms.is_empty() && ms.bytes().all(|byte| byte.is_ascii_digit());
    match ms.parse::<u32>() {
        Ok(ms) if digits && ms <= MAX_DELAY_MS && slot.is_none() => {
            *slot = Some(Duration::from_millis(ms.into()));
            true
        }
        _ => false,
    }
}

pub(super) async fn wait(time: Option<Duration>) {
    if let Some(time) = time {
        Delay::from(time).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_single_and_combined_faults() {
        let faults = Faults::parse("delay=0,error-after , delay-after=60000").unwrap();
        assert_eq!(faults.delay, Some(Duration::ZERO));
        assert_eq!(faults.delay_after, Some(Duration::from_secs(60)));
        assert!(faults.error_after && !faults.error_before);
        assert!(Faults::parse("error-before").unwrap().error_before);
    }

    #[test]
    fn refuses_everything_else_and_names_the_header() {
        for wrong in [
            "",
            ",",
            "error",
            "Error-Before",
            "error-before,",
            "error-before=1",
            "error-before,error-before",
            "delay",
            "delay=",
            "delay=60001",
            "delay=+1",
            "delay=-1",
            "delay=1.5",
            "delay=1,delay=2",
            "delay=99999999999999999999",
            "delay=١",
            "delay-before=1",
        ] {
            let refusal = Faults::parse(wrong).unwrap_err();
            assert_eq!(refusal.param.as_deref(), Some(HEADER), "{wrong}");
            assert!(refusal.message.starts_with(HEADER), "{wrong}");
        }
    }
}
