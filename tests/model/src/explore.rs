//! The search: visits every state of a bounded world, breadth first, on all cores.

use crate::config::{Config, Scene};
use crate::property::Property;
use crate::reached::{Milestone, Reached};
use crate::rules::Rules;
use crate::story::write_story;
use crate::world::{Action, World};
use stateright::{Checker, HasDiscoveries, Model};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// The result of a search.
#[derive(Debug)]
pub struct Explored {
    /// The name of the world.
    pub name: &'static str,
    /// The number of distinct states.
    pub states: usize,
    /// The number of transitions between them.
    pub transitions: u64,
    /// The length of the longest of the shortest paths to a state.
    pub depth: usize,
    /// How long the search took.
    pub took: Duration,
    /// The milestones that were reached.
    pub milestones: BTreeSet<Milestone>,
    /// The property that broke, with its story.
    pub broken: Option<Broken>,
}

/// A property that broke.
#[derive(Debug)]
pub struct Broken {
    /// The property.
    pub property: Property,
    /// The story: the actions in their order.
    pub story: String,
}

/// The limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// The number of threads.
    pub threads: usize,
    /// Stops after about this many transitions. `None` searches the whole world.
    pub transitions: Option<usize>,
}

struct Search(Scene);

const HOLDS: &str = "everything holds";

/// Searches a world. The search stops at the first state in which a property is broken.
pub fn explore(config: Config, rules: Rules, how: How) -> Explored {
    let name = config.name;
    let began = Instant::now();
    let search = Search(Scene { config, rules, reached: Reached::default() });
    let mut checker = search.checker().threads(how.threads).finish_when(HasDiscoveries::Any);
    if let Some(transitions) = how.transitions {
        checker = checker.target_state_count(transitions);
    }
    let checker = checker.spawn_bfs().join();
    let scene = &checker.model().0;
    let explored = Explored {
        name,
        states: checker.unique_state_count(),
        transitions: scene.reached.transitions(),
        depth: checker.max_depth(),
        took: began.elapsed(),
        milestones: scene.reached.milestones(),
        broken: None,
    };
    let broken = checker.discovery(HOLDS).map(|path| {
        let last = path.last_state();
        let at_rest =
            || last.problem_at_rest(scene).map_or(Property::NothingStuck, |(broken, _)| broken);
        let property = last.broken().unwrap_or_else(at_rest);
        Broken { property, story: write_story(scene, &path.into_actions()) }
    });
    Explored { broken, ..explored }
}

impl Model for Search {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(&self.0)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        world.actions(&self.0, actions);
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        next.apply(&self.0, action);
        // If a copy does not count, nothing changes, because the gateway still waits for the object.
        if matches!(action, Action::ReplicaReplies { .. }) && next == *world {
            return None;
        }
        self.0.reached.count();
        Some(next)
    }

    fn properties(&self) -> Vec<stateright::Property<Self>> {
        vec![stateright::Property::always(HOLDS, |search: &Self, world: &World| {
            world.broken().is_none()
                && !(world.is_at_rest() && world.problem_at_rest(&search.0).is_some())
        })]
    }
}
