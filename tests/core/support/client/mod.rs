//! What the tests of the client's side share.
#![allow(dead_code, reason = "each test crate uses its own part of it")]

pub(crate) mod names;
pub(crate) mod requests;
