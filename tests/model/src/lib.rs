//! The proof of **oncekey**: runs the real core in a model of its world, exhaustively and at random, and tries to break
//! its properties.

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
