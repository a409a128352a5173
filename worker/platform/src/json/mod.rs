//! A JSON reader that keeps values as they were sent, and a writer that adds member by member.

mod reader;
pub mod writer;

pub use reader::{Json, Place, take};
