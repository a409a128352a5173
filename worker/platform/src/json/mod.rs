//! JSON, read as it was sent and written member by member.

mod reader;
pub mod writer;

pub use reader::{Json, take};
