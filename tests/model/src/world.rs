//! The world as a state machine: the actions that are possible in a state, and the state after each action.
//!
//! The world does not depend on the search. Each actor has its own file.

mod gateway;
mod memory;
mod network;
mod object;
mod operator;
mod origin;
mod page;
mod replica;
mod requests;
mod rest;
mod shown;
mod time;
mod witness;

use crate::config::{Bounds, Clock, Fate, IntermediaryResponse, Scene, Tick};
use crate::property::Property;
use gateway::Running;
use network::Message;
use object::Shelf;
use oncekey::UnixMillis;
use oncekey::replica::Memory;
use oncekey::write_flow::CallerResponse;
use origin::Charge;
use page::Browser;

/// The time at which every world begins.
pub const START: UnixMillis = UnixMillis::new(1_764_000_000_000);

/// A world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The true time. Clocks may differ from it.
    now: UnixMillis,
    clocks: Clocks,
    shelves: Vec<Shelf>,
    running: Vec<Running>,
    /// How many writes have begun so far.
    begun: u8,
    /// The messages in the network. Their order means nothing: any of them may arrive next.
    net: Vec<Message>,
    charges: Vec<Charge>,
    /// The memory of each gateway.
    memories: Vec<Memory>,
    /// The number of each gateway's current list of secrets.
    secrets: Vec<u8>,
    /// How often each caller has sent its request.
    sent: Vec<u8>,
    browser: Option<Browser>,
    left: Bounds,
    broken: Option<Property>,
    /// The responses that are sent while the world is brought to rest. `None` before that.
    responses: Option<Vec<CallerResponse>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Clocks {
    objects: i64,
    gateways: [i64; 2],
    page: i64,
}

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A caller sends its request to a gateway.
    Send {
        /// The number of the caller.
        caller: u8,
        /// The number of the gateway.
        gateway: u8,
    },
    /// A message arrives.
    Deliver {
        /// The number of the message.
        message: u8,
        /// The gateway, if the message is a page's request.
        gateway: u8,
        /// What the origin does with the request, if the message is for the origin.
        fate: Fate,
    },
    /// An intermediary responds to a page's request.
    Intercept(u8, IntermediaryResponse),
    /// A message is lost.
    Lose(u8),
    /// A message is doubled.
    Double(u8),
    /// A gateway stops waiting for the reply of an object or of the origin.
    GiveUp(u8),
    /// A gateway gets the replica's reply: one of the copies, or nothing.
    ReplicaReplies {
        /// The number of the write.
        running: u8,
        /// The number of the copy.
        copy: Option<u8>,
    },
    /// The origin responds to a look-up.
    LookUp {
        /// The number of the write.
        running: u8,
        /// Whether the origin finds the object, if there is one.
        finds: bool,
    },
    /// A gateway crashes during a write.
    Crash(u8),
    /// An object is evicted: its calls and replies in the network are lost.
    Evict(u8),
    /// Time passes.
    Pass(Tick),
    /// A clock jumps.
    Jump(u8),
    /// A gateway gets the next list of secrets.
    Rotate(u8),
    /// The alarm of a shard rings.
    Sweep(u8),
    /// An operator settles an unknown outcome, truthfully.
    Settle(u8),
    /// A caller voids its key.
    Void(u8),
    /// A payload is submitted in a tab.
    Submit(u8),
    /// A tab has waited long enough.
    GoOn(u8),
    /// A tab stores an entry that it should have stored earlier.
    StoreLate(u8),
    /// A tab gets no response in time.
    TimeOut(u8),
    /// A tab is reloaded.
    Reload(u8),
    /// A tab gives up the intent.
    GiveUpIntent(u8),
}

impl World {
    /// Returns the first state.
    pub fn new(scene: &Scene) -> Self {
        let config = &scene.config;
        Self {
            now: START,
            clocks: Clocks::default(),
            shelves: Vec::new(),
            running: Vec::new(),
            begun: 0,
            net: Vec::new(),
            charges: Vec::new(),
            memories: vec![Memory::new(); config.gateways.len()],
            secrets: vec![0; config.gateways.len()],
            sent: vec![0; config.callers.len()],
            browser: config.page.as_ref().map(Browser::new),
            left: config.bounds,
            broken: None,
            responses: None,
        }
    }

    /// Adds the actions that are possible in this state.
    pub fn actions(&self, scene: &Scene, actions: &mut Vec<Action>) {
        if self.broken.is_some() {
            return;
        }
        self.callers_send(scene, actions);
        self.deliveries(scene, actions);
        self.at_gateways(scene, actions);
        self.in_the_page(scene, actions);
        self.with_time(scene, actions);
        self.by_operators(scene, actions);
    }

    /// Changes the world by this action.
    pub fn apply(&mut self, scene: &Scene, action: Action) {
        match action {
            Action::Send { caller, gateway } => self.caller_sends(scene, caller, gateway),
            Action::Deliver { message, gateway, fate } => {
                self.deliver(scene, message, gateway, fate);
            }
            Action::Intercept(message, response) => self.intercept(scene, message, response),
            Action::Lose(message) => self.lose(scene, message),
            Action::Double(message) => self.double(scene, message),
            Action::GiveUp(at) => self.give_up(scene, at),
            Action::ReplicaReplies { running, copy } => self.replica_replies(scene, running, copy),
            Action::LookUp { running, finds } => self.look_up(scene, running, finds),
            Action::Crash(at) => self.crash(scene, at),
            Action::Evict(shelf) => self.evict(scene, shelf),
            Action::Pass(tick) => self.pass(scene, tick),
            Action::Jump(jump) => self.jump(scene, jump),
            Action::Rotate(gateway) => self.rotate(scene, gateway),
            Action::Sweep(shelf) => self.sweep(scene, shelf),
            Action::Settle(shelf) => self.settle(scene, shelf),
            Action::Void(caller) => self.void(scene, caller),
            Action::Submit(submit) => self.submit(scene, submit),
            Action::GoOn(tab) => self.go_on(scene, tab),
            Action::StoreLate(tab) => self.store_late(tab),
            Action::TimeOut(tab) => self.time_out(scene, tab),
            Action::Reload(tab) => self.reload(scene, tab),
            Action::GiveUpIntent(tab) => self.give_up_intent(scene, tab),
        }
        self.net.sort_by_key(Message::rank);
    }

    /// Returns the property that was broken.
    pub fn broken(&self) -> Option<Property> {
        self.broken
    }

    /// Records a broken property. Only the first one counts.
    fn breaks(&mut self, property: Property) {
        self.broken.get_or_insert(property);
    }

    fn time_at(&self, clock: Clock) -> UnixMillis {
        let offset = match clock {
            Clock::Objects => self.clocks.objects,
            Clock::Gateway(number) => self.clocks.gateways[usize::from(number)],
            Clock::Page => self.clocks.page,
        };
        let millis = self.now.as_u64();
        UnixMillis::new(millis.saturating_add_signed(offset))
    }
}
