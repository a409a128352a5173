//! How it came about: who did what, in which order, and what stood in the records then.

use crate::config::Scene;
use crate::world::{Action, World};
use std::fmt::Write;

/// The story of these actions.
pub fn tell(scene: &Scene, actions: &[Action]) -> String {
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
            if let Some((broken, why)) = world.unrest(scene) {
                let _ = writeln!(story, "      broken: {}: {why}", broken.name());
            }
        }
    }
    story
}
