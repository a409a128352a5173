//! The settings of a schedule: how the gateways and the origin behave, and how often faults happen.

use super::choices::Choices;
use super::coverage::{Coverage, Milestone};
use oncekey::{ExpiredKey, FailCause, FingerprintSecrets, Millis, Policy, UnknownOutcome};
use std::sync::LazyLock;

/// How the origin recognizes a repeated request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recognizes {
    /// It recognizes nothing, so it charges each time.
    Nothing,
    /// By the forwarded key, and by the business key if there is one.
    KeyAndBusinessKey,
}

/// The settings of one gateway.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gateway {
    pub(super) policy: Policy,
    pub(super) unreachable: FailCause,
    pub(super) origin_timeout: u64,
    /// The number of its list of secrets: 0, 1 or 2.
    pub(super) secrets: usize,
}

/// How likely faults are, in a thousand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FaultRates {
    /// Faults of messages between client and gateway.
    pub(super) front: u16,
    /// Faults of messages between gateway and shard.
    pub(super) calls: u16,
    pub(super) storage: u16,
    pub(super) origin: u16,
    pub(super) replica: u16,
    /// Crashes, evictions, clocks and pages.
    pub(super) machines: u16,
}

#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) gateways: Vec<Gateway>,
    pub(super) recognizes: Recognizes,
    /// Whether requests carry business keys.
    pub(super) business_keys: bool,
    pub(super) looks_up: bool,
    pub(super) replica: bool,
    /// Whether gateways keep responses in their memory.
    pub(super) memory: bool,
    /// Whether pages know that the server sends proof and has the key calls.
    pub(super) key_calls: bool,
    pub(super) proof: bool,
    pub(super) retention: Millis,
    /// The longest pause between two actions of one caller, as an index into [`PAUSES`].
    pub(super) pace: u16,
    pub(super) fault_rates: FaultRates,
}

/// Pauses in milliseconds.
pub(super) const PAUSES: [u64; 12] = [
    0,
    3,
    40,
    300,
    1_500,
    6_000,
    20_000,
    70_000,
    1_200_000,
    // A little more than two hours, and than a day: after these pauses retentions are over, but copies may still exist.
    7_300_000,
    86_500_000,
    2_700_000_000,
];

/// The number of simulated shards; the 256 shards of the core are spread over them.
pub(super) const SHARDS: usize = 3;

impl Settings {
    pub(super) fn draw(choices: &mut Choices, coverage: &mut Coverage) -> Self {
        let (recognizes, first, second) = match choices.pick(&[0, 1, 0, 1, 2, 3]) {
            0 => (Recognizes::Nothing, UnknownOutcome::Hold, UnknownOutcome::Hold),
            1 => (Recognizes::KeyAndBusinessKey, UnknownOutcome::Retry, UnknownOutcome::Retry),
            2 => (Recognizes::KeyAndBusinessKey, UnknownOutcome::Hold, UnknownOutcome::Retry),
            _ => (Recognizes::Nothing, UnknownOutcome::Retry, UnknownOutcome::Retry),
        };
        coverage.note(match (recognizes, first) {
            (Recognizes::Nothing, UnknownOutcome::Hold) => Milestone::NaiveHold,
            _ => Milestone::RecognizesRetry,
        });
        let gateway = |choices: &mut Choices, unknown_outcome| Gateway {
            policy: Policy {
                retention: choices.pick(&[24, 2, 168].map(|h| Millis::from_seconds(h * 3600))),
                lease: choices.pick(&[15, 4, 60].map(Millis::from_seconds)),
                unknown_outcome,
                expired_key: choices.pick(&[ExpiredKey::Forget, ExpiredKey::Refuse]),
            },
            unreachable: choices.pick(&[FailCause::ConnectionLost, FailCause::NotDispatched]),
            origin_timeout: choices.pick(&[25_000, 8_000]),
            secrets: usize::from(choices.below(2)),
        };
        let one = gateway(choices, first);
        let mut gateways = vec![one, one];
        if choices.chance(400) {
            coverage.note(Milestone::TwoSettings);
            gateways[1] = gateway(choices, second);
        }
        let retention = gateways.iter().map(|gateway| gateway.policy.retention).min();
        let pace = choices.pick(&[6, 6, 6, 6, 8, 9, 10, 11]);
        if pace >= 10 {
            coverage.note(if pace == 10 { Milestone::Days } else { Milestone::Months });
        }
        let mut rate = || choices.pick(&[0, 0, 15, 60, 200]);
        let fault_rates = FaultRates {
            front: rate(),
            calls: rate(),
            storage: rate(),
            origin: rate() * 2,
            replica: rate() * 3,
            machines: rate() * 2,
        };
        Self {
            gateways,
            recognizes,
            business_keys: choices.chance(500),
            looks_up: choices.chance(400),
            replica: choices.chance(700),
            memory: choices.chance(500),
            key_calls: !choices.chance(400),
            proof: !choices.chance(400),
            retention: retention.unwrap_or(Millis::from_days(1)),
            pace,
            fault_rates,
        }
    }

    /// Returns whether no request may be charged twice, except events.
    pub(super) fn charges_once(&self) -> bool {
        self.recognizes == Recognizes::KeyAndBusinessKey || self.holds()
    }

    pub(super) fn holds(&self) -> bool {
        let holds = |gateway: &Gateway| gateway.policy.unknown_outcome == UnknownOutcome::Hold;
        self.gateways.iter().all(holds)
    }

    /// Returns whether all gateways agree on which keys are too old.
    pub(super) fn is_uniform(&self) -> bool {
        let of = |gateway: &Gateway| (gateway.policy.retention, gateway.policy.expired_key);
        self.gateways.windows(2).all(|pair| of(&pair[0]) == of(&pair[1]))
    }

    /// Returns how long at least the gateways remember an executed key.
    pub(super) fn shortest(&self) -> u64 {
        let of = |gateway: &Gateway| gateway.policy.retention.as_u64();
        self.gateways.iter().map(of).min().unwrap_or(0)
    }
}

/// The lists of secrets, from the oldest to the newest.
pub(super) static SECRETS: LazyLock<[FingerprintSecrets; 3]> = LazyLock::new(|| {
    let (a, b) = ("a:0123456789abcdef0123456789abcdef", "b:fedcba9876543210fedcba9876543210");
    [a.to_owned(), format!("{b},{a}"), b.to_owned()]
        .map(|list| FingerprintSecrets::parse(&list).unwrap_or_else(|error| panic!("{error}")))
});
