//! Helpers that several tests share.

pub(crate) mod change;
pub(crate) mod client;
pub(crate) mod form;
pub(crate) mod form_guard;
pub(crate) mod fuzz;
pub(crate) mod histories;
pub(crate) mod lifecycle;
pub(crate) mod random;
pub(crate) mod reference;
pub(crate) mod spelling;
pub(crate) mod write_flow;

use proptest::test_runner::Config;

/// proptest prints the smallest failing input, which then becomes a test. No files of seeds are stored.
pub(crate) fn cases(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}
