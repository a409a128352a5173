//! What the tests of the lifecycle share.
#![allow(dead_code, reason = "each test crate uses its own part of it")]

pub(crate) mod requests;
pub(crate) mod situations;
pub(crate) mod table;
