//! Helpers that the tests of the client share.

pub(crate) mod names;
pub(crate) mod reference;
pub(crate) mod requests;
pub(crate) mod server;
pub(crate) mod situations;
pub(crate) mod world;
