//! Helpers that the tests of the lifecycle share.

pub(crate) mod observers;
pub(crate) mod outcome;
pub(crate) mod requests;
pub(crate) mod situations;
pub(crate) mod table;
pub(crate) mod witness;
pub(crate) mod world;
