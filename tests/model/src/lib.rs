//! The proof of **oncekey**: it runs the real core in a simulated world, exhaustively and at random, and tries to
//! break the properties of the core.

#[macro_use]
mod named;

pub mod config;
pub mod configs;
pub mod explore;
pub mod mutants;
pub mod property;
pub mod reached;
pub mod rules;
pub mod simulation;
pub mod story;
pub mod trial;
pub mod world;
