//! What a bounded world is made of: who is in it, and how often what may go wrong.

use crate::reached::Reached;
use crate::rules::Rules;
use oncekey::write_flow::Identity;
use oncekey::{ExpiredKey, Millis, Policy, UnknownOutcome};

/// How long a lease is, in every world unless its policy says otherwise.
pub const LEASE: Millis = Millis::from_seconds(10);
/// How long responses are kept.
pub const RETENTION: Millis = Millis::from_days(1);

/// A bounded world.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its name.
    pub name: &'static str,
    /// Those who send requests.
    pub callers: Vec<Caller>,
    /// The page that sends by the client's lifecycle, where there is one.
    pub page: Option<Page>,
    /// The settings that run at once.
    pub gateways: Vec<Gateway>,
    /// Which lists of secrets a gateway gets, one after the other.
    pub secrets: &'static [Secrets],
    /// What the origin recognises a repeated request by.
    pub recognises: Recognises,
    /// What the origin may respond with besides 201.
    pub fates: &'static [Fate],
    /// Whether what is unknown is looked up at the origin.
    pub looks_up: bool,
    /// Whether there is a replica.
    pub replica: bool,
    /// Whether each record goes through its stored form at each step.
    pub wire: bool,
    /// How far a clock may jump.
    pub jumps: &'static [(Clock, i64)],
    /// How often what may go wrong.
    pub bounds: Bounds,
}

/// Somebody who sends one request, again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// Whose it is.
    pub tenant: u8,
    /// Which key; of events, which event. `None` for a request with only a business key.
    pub key: Option<u8>,
    /// Whether the key tells when it was made.
    pub timed: bool,
    /// What is in it.
    pub content: u8,
    /// The business key in it.
    pub business_key: Option<u8>,
    /// What names it.
    pub identity: Identity,
    /// How often it is sent.
    pub asks: u8,
}

/// A checkout page in two tabs, with one intent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Page {
    /// What is submitted: in which tab, which payload. Each once, in any order.
    pub submits: &'static [(u8, u8)],
    /// How many requests the tabs may send in all.
    pub sends: u8,
    /// Whether the page asks the key calls.
    pub key_calls: bool,
    /// Whether the page can read the headers that prove.
    pub proof: bool,
    /// Whether a tab may give the intent up.
    pub gives_up: bool,
    /// What an intermediary may respond in place of the gateway.
    pub between: &'static [Between],
    /// Whether a page that was loaded anew has another credential for its key calls than its requests had.
    pub strays: bool,
}

/// What a page gets before its request reaches a record; the request goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Between {
    /// 401 of the gateway itself, which says that it knows nothing.
    SignIn,
    /// 400, as of a firewall, or for a body that broke off.
    BadRequest,
    /// 200: the page that a redirect led to.
    LogIn,
    /// 202: a service worker that says that it has queued the request.
    Queued,
}

/// The settings of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gateway {
    /// Its policy.
    pub policy: Policy,
}

/// A list of secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Secrets {
    /// There are none.
    None,
    /// The first one alone.
    Old,
    /// The second one signs, the first one is still listed.
    Both,
    /// The second one alone.
    New,
}

/// What an origin recognises a repeated request by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recognises {
    /// By nothing: it charges each time.
    Nothing,
    /// By the forwarded key.
    Key,
    /// By the business key.
    BusinessKey,
}

/// What becomes of a request at the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It is executed: 201.
    Done,
    /// It is executed, and the response is 500.
    ErrorAfter,
    /// It is not executed, and the response is 500.
    ErrorBefore,
    /// It is refused for good: 402.
    Refused,
    /// It is refused for who asks: 401.
    Denied,
    /// It is refused for when it was asked: 429.
    Busy,
    /// It is to be sent elsewhere: 307.
    Moved,
}

/// Whose clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clock {
    /// All objects'.
    Objects,
    /// A gateway's.
    Gateway(u8),
    /// The page's.
    Page,
}

/// How time goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tick {
    /// Half a lease: who executes renews.
    HalfLease,
    /// A lease, in which nobody gets to renew.
    Lease,
    /// A retention. Nothing that is under way outlives it.
    Retention,
    /// Thirty days, likewise.
    Month,
}

/// How often what may happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// A message is lost.
    pub losses: u8,
    /// A message is doubled.
    pub doubles: u8,
    /// A call is given up that may still arrive.
    pub lates: u8,
    /// A gateway dies.
    pub crashes: u8,
    /// An object is evicted.
    pub evictions: u8,
    /// The origin responds otherwise than with 201.
    pub fates: u8,
    /// Half a lease passes.
    pub half_leases: u8,
    /// A lease passes.
    pub leases: u8,
    /// A retention passes.
    pub retentions: u8,
    /// Thirty days pass.
    pub months: u8,
    /// A clock jumps.
    pub jumps: u8,
    /// A secret is rotated.
    pub rotations: u8,
    /// An operator settles.
    pub settlements: u8,
    /// A caller voids.
    pub voids: u8,
    /// The sweep runs.
    pub sweeps: u8,
    /// A copy is read that is not what there is.
    pub stale_reads: u8,
    /// A page is reloaded.
    pub reloads: u8,
    /// An intermediary responds.
    pub gates: u8,
}

/// A world's surroundings, which never change.
#[derive(Debug)]
pub struct Scene {
    /// What is in it.
    pub config: Config,
    /// The core, with or without a fault.
    pub rules: Rules,
    /// What was met.
    pub reached: Reached,
}

impl Config {
    /// Whether nothing may be charged twice: nothing that is unknown is executed again, or the origin recognises it.
    pub(crate) fn charges_once(&self) -> bool {
        let holds = |gateway: &Gateway| gateway.policy.unknown_outcome == UnknownOutcome::Hold;
        let events = self.callers.iter().any(|caller| caller.identity == Identity::Event);
        self.recognises != Recognises::Nothing || (self.gateways.iter().all(holds) && !events)
    }
}

impl Caller {
    /// A request with a key.
    pub const fn with_key(tenant: u8, key: u8, content: u8, asks: u8) -> Self {
        let identity = Identity::Key;
        Self { tenant, key: Some(key), timed: false, content, business_key: None, identity, asks }
    }

    /// The same with a business key.
    pub const fn with_business_key(self, business_key: u8) -> Self {
        Self { business_key: Some(business_key), ..self }
    }

    /// The same with a key that tells when it was made.
    pub const fn timed(self) -> Self {
        Self { timed: true, ..self }
    }

    /// A request with only a business key.
    pub const fn business_key_alone(business_key: u8, content: u8, asks: u8) -> Self {
        let (key, identity) = (None, Identity::BusinessKey);
        Self {
            tenant: 0,
            key,
            timed: false,
            content,
            business_key: Some(business_key),
            identity,
            asks,
        }
    }

    /// An event.
    pub const fn event(event: u8, asks: u8) -> Self {
        let identity = Identity::Event;
        Self {
            tenant: 0,
            key: Some(event),
            timed: false,
            content: 0,
            business_key: None,
            identity,
            asks,
        }
    }
}

impl Gateway {
    /// A gateway that executes again what is unknown.
    pub const RETRY: Self = Self::of(UnknownOutcome::Retry);
    /// A gateway that holds what is unknown.
    pub const HOLD: Self = Self::of(UnknownOutcome::Hold);

    const fn of(unknown_outcome: UnknownOutcome) -> Self {
        let expired_key = ExpiredKey::Forget;
        Self { policy: Policy { retention: RETENTION, lease: LEASE, unknown_outcome, expired_key } }
    }

    /// The same, that refuses expired keys.
    pub const fn refusing(mut self) -> Self {
        self.policy.expired_key = ExpiredKey::Refuse;
        self
    }

    /// The same with another lease, and another retention.
    pub const fn with_times(mut self, lease: Millis, retention: Millis) -> Self {
        (self.policy.lease, self.policy.retention) = (lease, retention);
        self
    }
}

impl Tick {
    /// How long it is.
    pub const fn length(self) -> Millis {
        match self {
            Self::HalfLease => LEASE.half(),
            Self::Lease => LEASE,
            Self::Retention => RETENTION,
            Self::Month => Policy::LONG_RETENTION,
        }
    }
}
