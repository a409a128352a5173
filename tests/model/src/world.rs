//! The world as a state machine: what may happen in a state, and what becomes of it then.
//!
//! It knows nothing of whoever searches it. Each actor has a file of its own.

mod gateway;
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

use crate::config::{Between, Bounds, Clock, Fate, Scene, Tick};
use crate::property::Property;
use gateway::Running;
use network::Message;
use object::Shelf;
use oncekey::UnixMillis;
use oncekey::write_flow::CallerResponse;
use origin::Charge;
use page::Browser;

/// When every world begins.
pub const START: UnixMillis = UnixMillis::new(1_764_000_000_000);

/// A world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The true time. What clocks show is beside it.
    now: UnixMillis,
    clocks: Clocks,
    shelves: Vec<Shelf>,
    running: Vec<Running>,
    /// How many writes set out so far.
    begun: u8,
    /// What is under way, in an order of its own: what was sent first tells nothing.
    net: Vec<Message>,
    charges: Vec<Charge>,
    /// Which list of secrets each gateway has.
    secrets: Vec<u8>,
    /// How often each caller has asked.
    asked: Vec<u8>,
    browser: Option<Browser>,
    left: Bounds,
    broken: Option<Property>,
    /// What goes out while the world is brought to rest, to be judged; otherwise nothing is kept.
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
    /// A caller's request reaches a gateway.
    Ask {
        /// Which caller.
        caller: u8,
        /// Which gateway.
        gateway: u8,
    },
    /// A message arrives.
    Deliver {
        /// Which message.
        message: u8,
        /// At which gateway, where it is a page's request.
        gateway: u8,
        /// What the origin makes of it, where it is for the origin.
        fate: Fate,
    },
    /// An intermediary responds to a page's request with 401.
    Gate(u8, Between),
    /// A message is lost.
    Lose(u8),
    /// A message is doubled.
    Double(u8),
    /// A gateway waits no longer for the reply of an object or of the origin.
    GiveUp(u8),
    /// A gateway gets the replica's reply: one of the copies there, or nothing.
    ReplicaReplies {
        /// Whose write.
        running: u8,
        /// Which copy.
        copy: Option<u8>,
    },
    /// The origin responds to a look-up.
    LookUp {
        /// Whose write.
        running: u8,
        /// Whether the origin finds what there is.
        finds: bool,
    },
    /// A gateway dies with a write in its hands.
    Crash(u8),
    /// An object is evicted: calls and replies that are under way are lost.
    Evict(u8),
    /// Time goes on.
    Pass(Tick),
    /// A clock jumps.
    Jump(u8),
    /// A gateway gets the next list of secrets.
    Rotate(u8),
    /// The alarm of a shard rings.
    Sweep(u8),
    /// An operator settles what is unknown, truly.
    Settle(u8),
    /// A caller gives a key up.
    Void(u8),
    /// A payload is submitted in a tab.
    Submit(u8),
    /// A tab's wait is over.
    GoOn(u8),
    /// A tab stores what it should have stored before.
    StoreLate(u8),
    /// A tab gets no response in time.
    TimeOut(u8),
    /// A tab is reloaded.
    Reload(u8),
    /// A tab gives the intent up.
    GiveUpIntent(u8),
}

impl World {
    /// The beginning.
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
            secrets: vec![0; config.gateways.len()],
            asked: vec![0; config.callers.len()],
            browser: config.page.as_ref().map(Browser::new),
            left: config.bounds,
            broken: None,
            responses: None,
        }
    }

    /// What may happen next.
    pub fn actions(&self, scene: &Scene, actions: &mut Vec<Action>) {
        if self.broken.is_some() {
            return;
        }
        self.asks(scene, actions);
        self.deliveries(scene, actions);
        self.at_gateways(scene, actions);
        self.in_the_page(scene, actions);
        self.with_time(scene, actions);
        self.by_operators(scene, actions);
    }

    /// The world after it.
    pub fn apply(&mut self, scene: &Scene, action: Action) {
        match action {
            Action::Ask { caller, gateway } => self.ask(scene, caller, gateway),
            Action::Deliver { message, gateway, fate } => {
                self.deliver(scene, message, gateway, fate);
            }
            Action::Gate(message, between) => self.gate(scene, message, between),
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

    /// The property that does not hold any more.
    pub fn broken(&self) -> Option<Property> {
        self.broken
    }

    /// The first one counts.
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
