//! JSON: read as it was sent, and written member by member.

mod reader;
pub(crate) mod writer;

pub(crate) use reader::{Json, take};
