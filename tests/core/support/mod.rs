//! What several tests share.

pub(crate) mod change;
pub(crate) mod form;
pub(crate) mod random;
pub(crate) mod reference;
pub(crate) mod spelling;

use proptest::test_runner::Config;

/// A failure shows its smallest input, which then becomes a test by hand: no files of seeds.
pub(crate) fn cases(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}
