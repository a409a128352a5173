//! The proof of **oncekey**: the real core in a model of its world, searched by machines that try to break it.

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
