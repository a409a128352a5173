//! The code that the gateway and its sandbox share: the platform's clock, randomness, tasks, operations,
//! the databases of Durable Objects, the log, and JSON.
//!
//! Each module is a thin layer over the JavaScript API, and knows nothing about
//! idempotency keys or merchants. Two Worker crates need it, so it is a crate of its own.

pub mod clock;
pub mod json;
pub mod log;
pub mod operation;
pub mod panic;
pub mod random;
pub mod sql;
pub mod task;
