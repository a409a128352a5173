//! The parts of a bounded world: its actors, and how often each fault may happen.

use crate::reached::Reached;
use crate::rules::Rules;
use oncekey::write_flow::Identity;
use oncekey::{ExpiredKey, Millis, Policy, UnknownOutcome};

/// The lease in every world, unless its policy sets another.
pub const LEASE: Millis = Millis::from_seconds(10);
/// The retention in every world, unless its policy sets another.
pub const RETENTION: Millis = Millis::from_days(1);

/// A bounded world.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name of the world.
    pub name: &'static str,
    /// The callers, which send requests by themselves.
    pub callers: Vec<Caller>,
    /// The page, which sends requests through the client's lifecycle.
    pub page: Option<Page>,
    /// The settings of each gateway. All gateways run at once.
    pub gateways: Vec<Gateway>,
    /// The lists of secrets that a gateway uses, one after the other.
    pub secrets: &'static [Secrets],
    /// How the origin recognizes a repeated request.
    pub recognizes: Recognizes,
    /// The responses that the origin may give besides 201.
    pub fates: &'static [Fate],
    /// Whether the gateway looks up unknown outcomes at the origin.
    pub looks_up: bool,
    /// Whether there is a replica.
    pub replica: bool,
    /// Whether each gateway has a memory of responses, which it loses when it crashes.
    pub memory: bool,
    /// Whether each record is encoded and decoded at each step.
    pub wire: bool,
    /// How far a clock may jump.
    pub jumps: &'static [(Clock, i64)],
    /// How often each fault may happen.
    pub bounds: Bounds,
}

/// A caller that sends one request again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The tenant of the caller.
    pub tenant: u8,
    /// The number of the key, or of the event. `None` for a request with only a business key.
    pub key: Option<u8>,
    /// Whether the key contains the time when it was minted.
    pub timed: bool,
    /// The number of the request's content.
    pub content: u8,
    /// The business key in the content.
    pub business_key: Option<u8>,
    /// What identifies the request.
    pub identity: Identity,
    /// How often the request is sent.
    pub sends: u8,
}

/// A checkout page in two tabs, with one intent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Page {
    /// The submits, as pairs of tab and payload. Each happens once, in any order.
    pub submits: &'static [(u8, u8)],
    /// How many requests the tabs may send in all.
    pub sends: u8,
    /// Whether the page makes key calls.
    pub key_calls: bool,
    /// Whether the page can read the headers that carry the proof.
    pub proof: bool,
    /// Whether a tab may give up the intent.
    pub gives_up: bool,
    /// The responses that an intermediary may send in place of the gateway.
    pub intermediary: &'static [IntermediaryResponse],
    /// Whether a reloaded page makes its key calls with another credential than its requests had.
    pub changes_credential: bool,
}

/// A response that an intermediary sends in place of the gateway. The request does not reach the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IntermediaryResponse {
    /// 401 from the gateway's own check, before any record was read.
    SignIn,
    /// 400, as from a firewall, or for a body that broke off.
    BadRequest,
    /// 200, from a login page that a redirect led to.
    LogIn,
    /// 202, from a service worker that has queued the request.
    Queued,
}

/// The settings of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gateway {
    /// Its policy.
    pub policy: Policy,
}

/// The list of fingerprint secrets of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Secrets {
    /// No secrets.
    None,
    /// Only the old secret.
    Old,
    /// The new secret signs, and the old secret is still listed.
    Both,
    /// Only the new secret.
    New,
}

/// How an origin recognizes a repeated request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recognizes {
    /// It recognizes nothing, so it charges each time.
    Nothing,
    /// By the forwarded key.
    Key,
    /// By the business key.
    BusinessKey,
}

/// What the origin does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// Executes it and returns 201.
    Done,
    /// Executes it and returns 500.
    ErrorAfter,
    /// Does not execute it, and returns 500.
    ErrorBefore,
    /// Refuses it finally, with 402.
    Refused,
    /// Refuses its credential, with 401.
    Denied,
    /// Refuses it for now, with 429.
    Busy,
    /// Redirects it, with 307.
    Moved,
}

/// A clock that may jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clock {
    /// The clock of all objects.
    Objects,
    /// The clock of a gateway.
    Gateway(u8),
    /// The clock of the page.
    Page,
}

/// A step of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tick {
    /// Half a lease. Attempts that execute renew their leases.
    HalfLease,
    /// A lease. No attempt renews its lease in this time.
    Lease,
    /// A retention. No message in the network outlives it.
    Retention,
    /// Thirty days. No message in the network outlives them.
    Month,
}

/// How often each fault and each step of time may happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// A message is lost.
    pub losses: u8,
    /// A message is doubled.
    pub doubles: u8,
    /// A gateway stops waiting for a call that may still arrive.
    pub lates: u8,
    /// A gateway crashes.
    pub crashes: u8,
    /// An object is evicted.
    pub evictions: u8,
    /// The origin gives another response than 201.
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
    /// An operator settles an outcome.
    pub settlements: u8,
    /// A caller voids its key.
    pub voids: u8,
    /// The sweep runs.
    pub sweeps: u8,
    /// The replica returns an outdated copy, or nothing.
    pub stale_reads: u8,
    /// A page is reloaded.
    pub reloads: u8,
    /// An intermediary responds in place of the gateway.
    pub interceptions: u8,
}

/// The parts of a world that do not change.
#[derive(Debug)]
pub struct Scene {
    /// The configuration of the world.
    pub config: Config,
    /// The calls of the core, with or without a fault.
    pub rules: Rules,
    /// The milestones that were reached.
    pub reached: Reached,
}

impl Config {
    /// Returns whether no request may be charged twice: either the origin recognizes repeated requests, or unknown
    /// outcomes are never executed again.
    pub(crate) fn charges_once(&self) -> bool {
        let holds = |gateway: &Gateway| gateway.policy.unknown_outcome == UnknownOutcome::Hold;
        let events = self.callers.iter().any(|caller| caller.identity == Identity::Event);
        self.recognizes != Recognizes::Nothing || (self.gateways.iter().all(holds) && !events)
    }
}

impl Caller {
    /// Returns a caller whose request has a key.
    pub const fn with_key(tenant: u8, key: u8, content: u8, sends: u8) -> Self {
        let identity = Identity::Key;
        Self { tenant, key: Some(key), timed: false, content, business_key: None, identity, sends }
    }

    /// Adds a business key to the request.
    pub const fn with_business_key(self, business_key: u8) -> Self {
        Self { business_key: Some(business_key), ..self }
    }

    /// Uses a key that contains the time when it was minted.
    pub const fn timed(self) -> Self {
        Self { timed: true, ..self }
    }

    /// Returns a caller whose request has only a business key.
    pub const fn business_key_alone(business_key: u8, content: u8, sends: u8) -> Self {
        let (key, identity) = (None, Identity::BusinessKey);
        Self {
            tenant: 0,
            key,
            timed: false,
            content,
            business_key: Some(business_key),
            identity,
            sends,
        }
    }

    /// Returns a sender of an event.
    pub const fn event(event: u8, sends: u8) -> Self {
        let identity = Identity::Event;
        Self {
            tenant: 0,
            key: Some(event),
            timed: false,
            content: 0,
            business_key: None,
            identity,
            sends,
        }
    }
}

impl Gateway {
    /// A gateway that executes unknown outcomes again.
    pub const RETRY: Self = Self::of(UnknownOutcome::Retry);
    /// A gateway that holds unknown outcomes.
    pub const HOLD: Self = Self::of(UnknownOutcome::Hold);

    const fn of(unknown_outcome: UnknownOutcome) -> Self {
        let expired_key = ExpiredKey::Forget;
        Self { policy: Policy { retention: RETENTION, lease: LEASE, unknown_outcome, expired_key } }
    }

    /// Makes the gateway refuse expired keys.
    pub const fn refusing(mut self) -> Self {
        self.policy.expired_key = ExpiredKey::Refuse;
        self
    }

    /// Sets another lease and another retention.
    pub const fn with_times(mut self, lease: Millis, retention: Millis) -> Self {
        (self.policy.lease, self.policy.retention) = (lease, retention);
        self
    }
}

impl Tick {
    /// Returns how long the step takes.
    pub const fn length(self) -> Millis {
        match self {
            Self::HalfLease => LEASE.half(),
            Self::Lease => LEASE,
            Self::Retention => RETENTION,
            Self::Month => Policy::LONG_RETENTION,
        }
    }
}
