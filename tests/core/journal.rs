//! Which calls leave a row in the journal, and its content: each line of the table in
//! `src/journal.rs`, and random histories in which no life of a key has two responses.

use crate::support::lifecycle::requests::{request, response, token};
use oncekey::journal::{JournalEntry, RequestedBy};
use oncekey::{
    Attempt, ChangeKind, ExpiredKey, FailCause, Fingerprints, KeyState, Millis, Policy, Record,
    RecordState, RecordUpdate, Settlement, StoredResponse, Transition, UnixMillis, UnknownOutcome,
    lifecycle,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::LazyLock;

const START: UnixMillis = UnixMillis::new(1_764_000_000_000);
const LEASE: Millis = Millis::from_seconds(10);
const DAY: Millis = Millis::from_days(1);
static REQUEST: LazyLock<Fingerprints> = LazyLock::new(|| request("one", ""));

fn policy(unknown_outcome: UnknownOutcome, expired_key: ExpiredKey) -> Policy {
    Policy { retention: DAY, lease: LEASE, unknown_outcome, expired_key }
}

/// A key, and the rows about it.
struct Key {
    now: UnixMillis,
    policy: Policy,
    record: Option<Record>,
    rows: Vec<JournalEntry>,
}

impl Key {
    fn new(policy: Policy) -> Self {
        Self { now: START, policy, record: None, rows: Vec::new() }
    }

    /// Returns a key that is executed again after an unknown outcome.
    fn retried() -> Self {
        Self::new(policy(UnknownOutcome::Retry, ExpiredKey::Forget))
    }

    /// Makes one step of a store. Returns the words of the row that it wrote.
    fn call<D>(
        &mut self,
        by: RequestedBy<'_>,
        decide: impl FnOnce(Option<Record>, UnixMillis) -> Transition<D>,
    ) -> Option<String> {
        let step = decide(self.record.clone(), self.now);
        let entry = step.change.map(|change| JournalEntry::new(change, by, self.now));
        match step.next {
            RecordUpdate::Keep => {}
            RecordUpdate::Write(record) => self.record = Some(*record),
            RecordUpdate::Remove => self.record = None,
        }
        if let Some(entry) = &entry {
            assert_eq!(entry.at, self.now);
            self.rows.push(entry.clone());
        }
        entry.as_ref().map(words)
    }

    fn begin(&mut self, number: u8) -> Option<String> {
        let policy = self.policy;
        let token = token(number);
        let attempt = Attempt { fingerprints: &REQUEST, token, minted_at: None, policy: &policy };
        self.call(by(None, "req begin"), |record, now| lifecycle::begin(record, &attempt, now))
    }

    fn complete(&mut self, number: u8, status: u16) -> Option<String> {
        let response = response(status, &number.to_string());
        self.call(by(Some(number), "req ours"), |record, now| {
            lifecycle::complete(record, token(number), response, now)
        })
    }

    fn fail(&mut self, number: u8, cause: FailCause) -> Option<String> {
        self.call(by(Some(number), "req fail"), |record, now| {
            lifecycle::fail(record, token(number), cause, now)
        })
    }

    fn void(&mut self) -> Option<String> {
        let policy = self.policy;
        self.call(by(None, "req void"), |record, now| lifecycle::void(record, None, &policy, now))
    }

    fn settle(&mut self, response: Option<StoredResponse>, look_up: bool) -> Option<String> {
        let settlement = response.map_or(Settlement::NotExecuted, Settlement::Executed);
        let by = RequestedBy { operator: !look_up, ..by(None, "req settle") };
        self.call(by, |record, now| lifecycle::settle(record, settlement, now))
    }

    fn expire(&mut self) -> Option<String> {
        let nothing =
            Transition { decision: (), status: None, next: RecordUpdate::Keep, change: None };
        self.call(RequestedBy::default(), |record, now| {
            record.map_or(nothing, |record| lifecycle::expire(record, now))
        })
    }

    fn wait(&mut self, length: Millis) {
        self.now = self.now.plus(length);
    }
}

fn by(attempt: Option<u8>, request_id: &str) -> RequestedBy<'_> {
    RequestedBy { attempt: attempt.map(u32::from), request_id: Some(request_id), operator: false }
}

/// Returns a row as `operation kind attempt, request id, status, cause, state`.
fn words(row: &JournalEntry) -> String {
    let status = row.http_status.map(|status| status.to_string());
    let rest = [
        row.request_id.clone(),
        status,
        row.cause.map(str::to_owned),
        row.state.map(|state| state.as_str().to_owned()),
    ];
    let rest = rest.map(|word| word.unwrap_or("-".to_owned()));
    format!("{} {} {}, {}", row.operation, row.kind.as_str(), row.attempt, rest.join(", "))
}

fn says(row: &Option<String>, expected: &str) {
    assert_eq!(row.as_deref(), Some(expected));
}

#[test]
fn a_response_has_one_row_and_reads_have_none() {
    let mut key = Key::retried();
    assert_eq!(key.begin(1), None);
    assert_eq!(key.begin(1), None, "a repeated call");
    assert_eq!(key.begin(2), None, "in progress");
    says(&key.complete(1, 201), "complete completed 1, req 1, 201, -, completed");
    assert_eq!(key.rows[0].created_at, Some(START));
    assert_eq!(key.complete(1, 201), None, "a repeated call");
    for _ in 0..3 {
        assert_eq!(key.begin(3), None, "a replay");
    }
    assert_eq!(key.void(), None);
    assert_eq!(key.settle(None, false), None);
    key.wait(DAY);
    assert_eq!(key.expire(), None, "the age of a response shows that it has expired");
    assert_eq!(key.record, None);
    assert_eq!(key.rows.len(), 1);
}

#[test]
fn each_end_of_an_attempt_has_a_row_with_its_cause() {
    let mut key = Key::retried();
    key.begin(1);
    says(&key.complete(1, 429), "complete released 1, req 1, 429, status, released");
    assert_eq!(key.begin(2), None, "after an end that is known");
    says(
        &key.fail(2, FailCause::NotDispatched),
        "fail released 2, req fail, -, not_dispatched, released",
    );
    assert_eq!(key.fail(2, FailCause::NotDispatched), None, "a repeated call");
    key.begin(3);
    says(&key.complete(3, 503), "complete unknown 3, req 3, 503, status, unknown");
    key.begin(4);
    says(&key.complete(4, 429), "complete unknown 4, req 4, 429, earlier_attempt, unknown");
    for (number, cause, name) in [
        (5, FailCause::TimedOut, "timed_out"),
        (6, FailCause::ConnectionLost, "connection_lost"),
        (7, FailCause::NotDispatched, "earlier_attempt"),
        (8, FailCause::NotStored, "not_stored"),
    ] {
        assert_eq!(key.begin(number), None, "after an outcome that has its row");
        let row = format!("fail unknown {number}, req fail, -, {name}, unknown");
        says(&key.fail(number, cause), &row);
    }
}

#[test]
fn a_redirected_request_has_a_row_although_its_record_is_removed() {
    let mut key = Key::retried();
    key.begin(1);
    says(&key.complete(1, 307), "complete elsewhere 1, req 1, 307, -, -");
    assert_eq!((key.record.as_ref(), key.rows[0].created_at), (None, Some(START)));
}

#[test]
fn an_overtaken_attempt_has_rows() {
    let mut key = Key::retried();
    key.begin(1);
    key.wait(LEASE);
    says(&key.begin(2), "begin overtook 2, req begin, -, lease_died, in_progress");
    assert_eq!(key.begin(2), None);
    says(&key.complete(1, 402), "complete late_ignored 1, req 1, 402, -, in_progress");
    says(&key.complete(1, 201), "complete late_success 1, req 1, 201, -, completed");
    says(&key.complete(2, 201), "complete late_ignored 2, req 2, 201, -, completed");
    assert_eq!(key.fail(2, FailCause::TimedOut), None);
    // An attempt whose lease has expired is still the owner if no attempt has overtaken it.
    let mut slow = Key::retried();
    slow.begin(1);
    slow.wait(LEASE);
    says(&slow.complete(1, 201), "complete completed 1, req 1, 201, -, completed");
}

#[test]
fn a_response_whose_record_was_removed_has_a_row() {
    let mut key = Key::retried();
    says(&key.complete(7, 201), "complete late_ignored 7, req 7, 201, -, -");
    assert_eq!(key.rows[0].created_at, None);
    key.begin(1);
    key.wait(Millis::from_days(40));
    says(&key.complete(1, 201), "complete late_ignored 1, req 1, 201, -, -");
}

#[test]
fn settlements_and_voids_have_rows_with_their_request() {
    let mut key = Key::new(policy(UnknownOutcome::Hold, ExpiredKey::Forget));
    key.begin(1);
    key.fail(1, FailCause::TimedOut);
    assert_eq!(key.begin(2), None, "held");
    says(&key.settle(None, false), "settle settled 1, req settle, -, settled, released");
    assert_eq!(key.settle(None, false), None);
    key.begin(2);
    key.complete(2, 500);
    let found = Some(response(201, "found"));
    says(&key.settle(found, true), "look_up settled 2, req found, 201, -, completed");
    let mut given_up = Key::retried();
    says(&given_up.void(), "void voided 0, req void, -, -, voided");
    assert_eq!(given_up.void(), None);
    assert_eq!(given_up.begin(1), None);
    let mut after = Key::retried();
    after.begin(1);
    after.fail(1, FailCause::NotDispatched);
    says(&after.void(), "void voided 1, req void, -, -, voided");
}

#[test]
fn an_unknown_outcome_has_a_row_when_its_record_is_removed() {
    let days_30 = Millis::from_days(30);
    let unknown = |expired_key| {
        let mut key = Key::new(policy(UnknownOutcome::Hold, expired_key));
        key.begin(1);
        key.fail(1, FailCause::TimedOut);
        key.rows.clear();
        key.wait(days_30);
        key
    };
    let mut forgotten = unknown(ExpiredKey::Forget);
    says(&forgotten.expire(), "expire expired 1, -, -, timed_out, -");
    let mut refused = unknown(ExpiredKey::Refuse);
    says(&refused.expire(), "expire expired 1, -, -, timed_out, expired");
    assert_eq!(refused.expire(), None);
    refused.wait(days_30);
    assert_eq!(refused.expire(), None, "removing a tombstone leaves no row");
    // If the sweep is late, the next attempt leaves the row.
    let mut late = unknown(ExpiredKey::Forget);
    says(&late.begin(2), "begin expired 1, -, -, timed_out, -");
    assert_eq!(late.rows[0].created_at, Some(START), "the row is about the earlier life");
    says(&late.complete(2, 201), "complete completed 2, req 2, 201, -, completed");
    assert_eq!(late.rows[1].created_at, Some(late.now));
    let mut dead = Key::retried();
    dead.begin(1);
    dead.wait(days_30.plus(LEASE));
    says(&dead.expire(), "expire expired 1, -, -, lease_died, -");
}

#[test]
fn a_business_key_has_its_own_rows() {
    let mut business_key =
        Key::new(policy(UnknownOutcome::Hold, ExpiredKey::Forget).of_business_keys());
    business_key.begin(1);
    says(&business_key.complete(1, 400), "complete released 1, req 1, 400, status, released");
    business_key.begin(2);
    says(&business_key.complete(2, 201), "complete completed 2, req 2, 201, -, completed");
    business_key.wait(DAY);
    assert_eq!(business_key.expire(), None, "its content expires, and the business key stays");
    assert!(business_key.record.is_some());
}

#[test]
fn a_list_contains_the_state_of_each_key_its_cause_and_its_age() {
    let mut key = Key::retried();
    key.begin(1);
    let of = |key: &Key| {
        let record = key.record.as_ref().expect("a record");
        let why = record.cause(key.now);
        (why.map(|why| why.name), why.and_then(|why| why.http_status), record.changed_at())
    };
    assert_eq!(of(&key), (None, None, START));
    key.wait(LEASE);
    assert_eq!(of(&key), (Some("lease_died"), None, START), "the time of the last renewal");
    key.complete(1, 503);
    assert_eq!(of(&key), (Some("status"), Some(503), key.now));
    key.settle(None, false);
    assert_eq!(of(&key), (Some("settled"), None, key.now));
    key.begin(2);
    key.complete(2, 201);
    assert_eq!(of(&key), (None, None, key.now));
}

/// Makes the next call for a key: `what` selects the call, `who` the attempt.
fn happen(key: &mut Key, what: u8, who: u8, choice: u8) {
    let pick = usize::from(choice);
    match what {
        0..30 => drop(key.begin(who)),
        30..60 => {
            let status = [200, 201, 402, 503, 429, 409, 307, 404][pick % 8];
            drop(key.complete(who, status));
        }
        60..70 => {
            let causes = [
                FailCause::NotDispatched,
                FailCause::TimedOut,
                FailCause::ConnectionLost,
                FailCause::NotStored,
            ];
            drop(key.fail(who, causes[pick % 4]));
        }
        70..74 => drop(key.void()),
        74..80 => {
            let found = choice.is_multiple_of(2).then(|| response(201, "found"));
            drop(key.settle(found, choice.is_multiple_of(3)));
        }
        80..86 => drop(key.expire()),
        _ => key.wait([Millis::new(1), LEASE, DAY, Millis::from_days(30)][pick % 4]),
    }
}

fn is_response(row: &JournalEntry) -> bool {
    matches!(row.kind, ChangeKind::Completed | ChangeKind::LateSuccess)
        || (row.kind == ChangeKind::Settled && row.state == Some(KeyState::Completed))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_journal_agrees_with_the_record_of_a_key(
        hold in any::<bool>(),
        refuse in any::<bool>(),
        history in vec((0..100_u8, 1..6_u8, any::<u8>()), 1..80),
    ) {
        let unknown = if hold { UnknownOutcome::Hold } else { UnknownOutcome::Retry };
        let expired = if refuse { ExpiredKey::Refuse } else { ExpiredKey::Forget };
        let mut key = Key::new(policy(unknown, expired));
        for (what, who, choice) in history {
            let before = key.record.clone();
            let rows = key.rows.len();
            happen(&mut key, what, who, choice);
            let row = key.rows.get(rows);
            let changed = before.as_ref().map(|record| &record.state)
                != key.record.as_ref().map(|record| &record.state);
            // Every end of an attempt and every decision has a row.
            if changed && !matches!(key.record.as_ref().map(|record| &record.state),
                Some(RecordState::InFlight { .. } | RecordState::Expired { .. }) | None) {
                prop_assert!(row.is_some(), "no row for {:?}", key.record);
            }
            // The row agrees with the record.
            if let (Some(row), Some(record)) = (row, &key.record)
                && !matches!(row.kind, ChangeKind::Expired)
            {
                prop_assert_eq!(row.created_at.is_some(), true);
                let now = record.status(key.now).map(|status| status.state);
                prop_assert_eq!(row.state, now);
            }
        }
        for (at, row) in key.rows.iter().enumerate() {
            let life = |other: &&JournalEntry| other.created_at == row.created_at && is_response(other);
            prop_assert!(!is_response(row) || key.rows[..at].iter().filter(life).count() == 0);
        }
    }
}

/// Consumers of the journal compare these names, so none may change.
#[test]
fn each_kind_of_change_has_its_name_in_the_journal() {
    let kinds = [
        (ChangeKind::Overtook, "overtook"),
        (ChangeKind::Completed, "completed"),
        (ChangeKind::Unknown, "unknown"),
        (ChangeKind::Released, "released"),
        (ChangeKind::Elsewhere, "elsewhere"),
        (ChangeKind::LateSuccess, "late_success"),
        (ChangeKind::LateIgnored, "late_ignored"),
        (ChangeKind::Voided, "voided"),
        (ChangeKind::Settled, "settled"),
        (ChangeKind::Expired, "expired"),
    ];
    for (kind, name) in kinds {
        assert_eq!(kind.as_str(), name);
    }
}
