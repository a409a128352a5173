//! Every situation of a key, by words, and the record that the key has in it.
//!
//! Points in time are at the limits: a record that is `in_time` expires a millisecond from now, and a record that is
//! over has expired in this millisecond.

use super::requests::{request, response, token};
use oncekey::record::{EarlierAttempts, ReleaseCause, UnknownCause};
use oncekey::{
    Attempt, AttemptToken, ExpiredKey, FailCause, Fingerprints, Millis, Policy, Record,
    RecordState, RecordUpdate, StoredResponse, Transition, UnixMillis, UnknownOutcome, lifecycle,
};
use std::sync::LazyLock;

/// The time of every call.
pub(crate) const NOW: UnixMillis = UnixMillis::new(1_764_000_000_000);
/// The retention of responses.
pub(crate) const RETENTION: Millis = Millis::from_days(1);
/// How many attempts every record has had.
pub(crate) const ATTEMPTS: u32 = 2;
/// The fingerprints of records were made with the secret `old`, which has been rotated since and is still listed.
static RECORDED: LazyLock<Fingerprints> = LazyLock::new(|| request("this", "old:aaaa"));
static SAME: LazyLock<Fingerprints> = LazyLock::new(|| request("this", "new:bbbb,old:aaaa"));
static OTHER: LazyLock<Fingerprints> = LazyLock::new(|| request("that", "new:bbbb,old:aaaa"));
/// The same request after `old` was removed from the list.
static UNLISTED: LazyLock<Fingerprints> = LazyLock::new(|| request("this", "new:bbbb"));
/// An attempt that has ended, and an attempt that was overtaken.
static EARLIER: LazyLock<EarlierAttempts> = LazyLock::new(earlier);

/// The columns of the tables and their words.
pub(crate) type Words = Vec<(&'static str, &'static str)>;

/// A situation, by its words in the columns `state`, `when`, `expired_key`, `unknown`, `maybe` and
/// `key`.
#[derive(Clone)]
pub(crate) struct Situation(pub(crate) Words);

impl Situation {
    /// Returns all situations.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for (state, whens, maybes) in [
            ("absent", &["-"][..], &["-"][..]),
            ("in_flight", &["in_time"], &["no", "yes"]),
            ("dead", &["in_time", "after", "long_after"], &["no", "yes"]),
            ("unknown", &["in_time", "after", "long_after"], &["yes"]),
            ("released", &["in_time", "after", "long_after"], &["no", "yes"]),
            ("completed", &["in_time", "after", "long_after"], &["no", "yes"]),
            ("bodiless", &["in_time", "after", "long_after"], &["no", "yes"]),
            ("voided", &["in_time", "after"], &["no"]),
            ("tombstone", &["in_time", "long_after"], &["no", "yes"]),
        ] {
            for words in product(&[
                ("state", &[state]),
                ("when", whens),
                ("expired_key", &["forget", "refuse", "remember"]),
                ("unknown", &["retry", "hold"]),
                ("maybe", maybes),
                ("key", &["untimed", "young", "ageing", "old"]),
            ]) {
                all.push(Self(words));
            }
        }
        all
    }

    /// Returns the word in a column.
    pub(crate) fn word(&self, column: &str) -> &'static str {
        let found = self.0.iter().find(|(name, _)| *name == column);
        found.unwrap_or_else(|| panic!("no column {column}")).1
    }

    /// Returns the policy of the record.
    pub(crate) fn policy(&self) -> Policy {
        Policy {
            retention: RETENTION,
            lease: Millis::from_seconds(10),
            unknown_outcome: match self.word("unknown") {
                "hold" => UnknownOutcome::Hold,
                _ => UnknownOutcome::Retry,
            },
            expired_key: match self.word("expired_key") {
                "refuse" => ExpiredKey::Refuse,
                "remember" => ExpiredKey::Remember,
                _ => ExpiredKey::Forget,
            },
        }
    }

    /// Returns today's policy: it has another lease, and the opposite rule for unknown outcomes.
    pub(crate) fn policy_of_today(&self) -> Policy {
        Policy {
            lease: Millis::from_seconds(20),
            unknown_outcome: match self.word("unknown") {
                "hold" => UnknownOutcome::Retry,
                _ => UnknownOutcome::Hold,
            },
            ..self.policy()
        }
    }

    /// Returns the time when the key was minted.
    pub(crate) fn minted_at(&self) -> Option<UnixMillis> {
        let hour = Millis::from_seconds(3600);
        let oldest_young = NOW.minus(RETENTION).plus(hour).plus(Millis::new(1));
        let oldest_ageing = NOW.minus(RETENTION).minus(hour);
        match self.word("key") {
            "untimed" => None,
            "young" => Some(oldest_young),
            "ageing" => Some(oldest_ageing),
            "old" => Some(oldest_ageing.minus(Millis::new(1))),
            other => panic!("no key is {other}"),
        }
    }

    /// Returns the record of the key.
    pub(crate) fn record(&self) -> Option<Record> {
        let tombstone = Millis::from_days(30);
        let end = match self.word("when") {
            "in_time" => NOW.plus(Millis::new(1)),
            "after" => NOW,
            "long_after" => NOW.minus(tombstone),
            _ => return None,
        };
        let (days_30, completed_at) = (end.minus(Millis::from_days(30)), end.minus(RETENTION));
        let state = match self.word("state") {
            "in_flight" => RecordState::InFlight { token: OWNER, lease_until: end },
            // In time, the lease has just expired.
            "dead" if self.word("when") == "in_time" => {
                RecordState::InFlight { token: OWNER, lease_until: NOW }
            }
            "dead" => RecordState::InFlight { token: OWNER, lease_until: days_30 },
            "unknown" => RecordState::Unknown { cause: UnknownCause::TimedOut, since: days_30 },
            "released" => {
                RecordState::Released { cause: ReleaseCause::Status(429), since: completed_at }
            }
            "completed" => RecordState::Completed { response: stored(), completed_at },
            "bodiless" => {
                let response = StoredResponse::without_body(201, [], "req_1");
                RecordState::Completed { response, completed_at }
            }
            "voided" => RecordState::Voided { since: days_30 },
            "tombstone" if self.word("when") == "in_time" => {
                RecordState::Expired { since: days_30 }
            }
            "tombstone" => RecordState::Expired { since: NOW.minus(tombstone) },
            other => panic!("no state is called {other}"),
        };
        let is_tombstone = matches!(state, RecordState::Expired { .. });
        Some(Record {
            fingerprint: (!is_tombstone).then(|| RECORDED.signing()),
            policy: self.policy(),
            state,
            attempts: ATTEMPTS,
            maybe_executed: self.word("maybe") == "yes",
            earlier: if is_tombstone { EarlierAttempts::default() } else { EARLIER.clone() },
            created_at: days_30.minus(Millis::from_days(2)),
        })
    }
}

/// Returns the response of completed keys.
pub(crate) fn stored() -> StoredResponse {
    response(201, "stored")
}

const OWNER: AttemptToken = AttemptToken::new([1; 16]);

/// Returns the token of an attempt with this relation to the key.
pub(crate) fn token_of(relation: &str) -> AttemptToken {
    match relation {
        "owner" => OWNER,
        "new" => token(2),
        "finished" => token(3),
        "overtaken" => token(4),
        other => panic!("no attempt is {other}"),
    }
}

/// Returns the request that arrives now.
pub(crate) fn request_of(relation: &str) -> &'static Fingerprints {
    match relation {
        "same" => &SAME,
        "other" => &OTHER,
        "unlisted" => &UNLISTED,
        other => panic!("no request is {other}"),
    }
}

fn earlier() -> EarlierAttempts {
    let policy = Policy {
        retention: RETENTION,
        lease: Millis::new(0),
        unknown_outcome: UnknownOutcome::Retry,
        expired_key: ExpiredKey::Forget,
    };
    let fingerprints = request("this", "");
    let begin = |record, token| {
        let attempt =
            Attempt { fingerprints: &fingerprints, token, minted_at: None, policy: &policy };
        written(lifecycle::begin(record, &attempt, NOW))
    };
    let first = begin(None, token_of("finished"));
    let ended = lifecycle::fail(Some(first), token_of("finished"), FailCause::NotDispatched, NOW);
    let second = begin(Some(written(ended)), token_of("overtaken"));
    begin(Some(second), token_of("owner")).earlier
}

fn written<D>(step: Transition<D>) -> Record {
    match step.next {
        RecordUpdate::Write(record) => *record,
        _ => panic!("a step of the preparation must write a record"),
    }
}

/// Returns all combinations of the words of several columns.
pub(crate) fn product(columns: &[(&'static str, &[&'static str])]) -> Vec<Words> {
    columns.iter().fold(vec![Vec::new()], |rows, (column, words)| {
        let longer = |row: Words| {
            words.iter().map(move |word| {
                let mut longer = row.clone();
                longer.push((*column, *word));
                longer
            })
        };
        rows.into_iter().flat_map(longer).collect()
    })
}
