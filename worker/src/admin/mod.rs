//! Calls about keys and about the Worker itself: everything under `/_oncekey/`.

pub(crate) mod fan_out;
pub(crate) mod journal;
pub(crate) mod key;
pub(crate) mod keys;
pub(crate) mod reconcile;
