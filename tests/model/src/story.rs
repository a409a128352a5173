//! The story of a broken property: the actions in their order, and the records after each of them.

use crate::config::Scene;
use crate::world::{Action, World};
use std::fmt::Write;

/// Returns the story of these actions.
pub fn write_story(scene: &Scene, actions: &[Action]) -> String {
    let mut world = World::new(scene);
    let mut story = String::new();
    for (number, action) in (1..).zip(actions) {
        let what = world.describe(scene, *action);
        let before = world.records(scene);
        world.apply(scene, *action);
        let _ = writeln!(story, "{number:>4}. {what}");
        for line in world.records(scene).into_iter().filter(|line| !before.contains(line)) {
            let _ = writeln!(story, "        {line}");
        }
    }
    match world.broken() {
        Some(broken) => {
            let _ = writeln!(story, "      broken: {}", broken.name());
        }
        None => {
            if let Some((broken, why)) = world.problem_at_rest(scene) {
                let _ = writeln!(story, "      broken: {}: {why}", broken.name());
            }
        }
    }
    story
}
