//! What the platform gives: time, randomness, tasks and objects.

pub(crate) mod clock;
pub(crate) mod durable_object;
pub(crate) mod panic;
pub(crate) mod random;
