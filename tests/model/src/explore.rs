//! The search: every state of a bounded world, by breadth, with all cores.

use crate::config::{Config, Scene};
use crate::property::Property;
use crate::reached::{Event, Reached};
use crate::rules::Rules;
use crate::story::tell;
use crate::world::{Action, World};
use stateright::{Checker, HasDiscoveries, Model};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// What a search has found.
#[derive(Debug)]
pub struct Explored {
    /// Which world.
    pub name: &'static str,
    /// How many states there are.
    pub states: usize,
    /// How many transitions there are between them.
    pub transitions: u64,
    /// The longest of the shortest ways to a state.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
    /// What was met.
    pub events: BTreeSet<Event>,
    /// What does not hold, and how that comes about.
    pub broken: Option<Broken>,
}

/// A property that does not hold.
#[derive(Debug)]
pub struct Broken {
    /// Which one.
    pub property: Property,
    /// Who did what, in which order.
    pub story: String,
}

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// With how many threads.
    pub threads: usize,
    /// After about how many transitions to stop; `None`: when all of the world was seen.
    pub transitions: Option<usize>,
}

struct Search(Scene);

const HOLDS: &str = "everything holds";

/// Searches a world. It stops at the first state in which something does not hold.
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
        events: scene.reached.events(),
        broken: None,
    };
    let broken = checker.discovery(HOLDS).map(|path| {
        let last = path.last_state();
        let at_rest = || last.unrest(scene).map_or(Property::NothingStuck, |(broken, _)| broken);
        let property = last.broken().unwrap_or_else(at_rest);
        Broken { property, story: tell(scene, &path.into_actions()) }
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
        // A copy that does not count changes nothing: the object is still waited for.
        if matches!(action, Action::ReplicaReplies { .. }) && next == *world {
            return None;
        }
        self.0.reached.count();
        Some(next)
    }

    fn properties(&self) -> Vec<stateright::Property<Self>> {
        vec![stateright::Property::always(HOLDS, |search: &Self, world: &World| {
            world.broken().is_none() && !(world.is_at_rest() && world.unrest(&search.0).is_some())
        })]
    }
}
