//! The result of a call in the words of the tables, and its comparison with them.

use super::situations::{NOW, Situation, Words, stored};
use super::table::Table;
use oncekey::record::{ReleaseCause, UnknownCause};
use oncekey::{
    ChangeKind, Completion, Decision, KeyChange, KeyStatus, LifecycleCall, Record, RecordState,
    RecordUpdate, Transition, UnknownOutcome,
};

/// The words of a call's result, as in the tables.
pub(crate) struct CallResult {
    decision: String,
    next: RecordUpdate,
    status: Option<KeyStatus>,
    change: Option<KeyChange>,
}

impl CallResult {
    pub(crate) fn of<D>(step: Transition<D>, words: impl Fn(&D) -> String) -> Self {
        let Transition { decision, status, next, change } = step;
        Self { decision: words(&decision), next, status, change }
    }
}

pub(crate) fn decision_words(decision: &Decision) -> String {
    match decision {
        Decision::Execute(execution) => format!("execute {}", execution.attempt),
        Decision::Replay(response) => {
            assert_eq!(response, &stored(), "a replay is the stored response");
            "replay".to_owned()
        }
        Decision::NotReplayable { http_status: Some(status), resource: None } => {
            format!("not_replayable {status}")
        }
        Decision::NotReplayable { http_status: None, resource: None } => {
            "not_replayable".to_owned()
        }
        Decision::NotReplayable { resource: Some(id), .. } => panic!("no response here names {id}"),
        Decision::InProgress => "in_progress".to_owned(),
        Decision::OutcomeUnknown => "outcome_unknown".to_owned(),
        Decision::Mismatch => "mismatch".to_owned(),
        Decision::KeyVoided => "key_voided".to_owned(),
        Decision::KeyExpired => "key_expired".to_owned(),
    }
}

pub(crate) fn completion_words(completion: &Completion) -> String {
    match completion {
        Completion::Recorded => "recorded".to_owned(),
        Completion::LeaseLost(decision) => format!("lease_lost {}", decision_words(decision)),
        Completion::RecordGone => "record_gone".to_owned(),
    }
}

/// Returns the state of a record that was just written. All its times must be now.
pub(crate) fn written_words(record: &Record, before: Option<&Record>) -> String {
    let cause = |cause: &UnknownCause| match cause {
        UnknownCause::Status(status) => status.to_string(),
        UnknownCause::TimedOut => "timed_out".to_owned(),
        UnknownCause::ConnectionLost => "connection_lost".to_owned(),
        UnknownCause::NotStored => "not_stored, hold".to_owned(),
        UnknownCause::EarlierAttempt => "earlier".to_owned(),
    };
    let (words, since) = match &record.state {
        RecordState::InFlight { lease_until, .. } => {
            assert_eq!(*lease_until, NOW.plus(record.policy.lease), "a whole lease");
            ("in_flight".to_owned(), NOW)
        }
        RecordState::Completed { response, completed_at } => {
            match before.map(|before| &before.state) {
                // A response does not change. In time, only its status is left.
                Some(RecordState::Completed { response: was, completed_at: at }) => {
                    assert_eq!((response, completed_at), (&was.clone().into_status_only(), at));
                    ("status_only".to_owned(), NOW)
                }
                _ => ("completed".to_owned(), *completed_at),
            }
        }
        RecordState::Unknown { cause: why, since } => (format!("unknown {}", cause(why)), *since),
        RecordState::Released { cause: ReleaseCause::Status(status), since } => {
            (format!("released {status}"), *since)
        }
        RecordState::Released { cause: ReleaseCause::NotDispatched, since } => {
            ("released not_dispatched".to_owned(), *since)
        }
        RecordState::Released { cause: ReleaseCause::Settled, since } => {
            ("released settled".to_owned(), *since)
        }
        RecordState::Voided { since } => ("voided".to_owned(), *since),
        RecordState::Expired { since } => {
            assert_eq!(Some(*since), before.and_then(Record::due_at), "it expired at its due time");
            ("tombstone".to_owned(), NOW)
        }
    };
    assert_eq!(since, NOW, "{words} begins now");
    words
}

/// Compares the result of a call with its line, and the columns that no line contains with the general rules.
pub(crate) fn check(
    [table, seen, changes]: [&Table; 3],
    situation: &Situation,
    call: Words,
    outcome: CallResult,
) {
    let words: Words = [&situation.0[..], &call].concat();
    let expected = table.expect(&words);
    let cell = |column| expected.iter().find(|(name, _)| *name == column).map(|(_, cell)| *cell);
    let before = situation.record();
    let number = |record: &Record| record.attempts.to_string();
    let yes_no = |record: &Record| if record.maybe_executed { "yes" } else { "no" }.to_owned();
    let same = |word: Option<&str>, value: &dyn Fn(&Record) -> String| match word {
        Some("same") => before.as_ref().map_or("-".to_owned(), value),
        word => word.unwrap_or_default().to_owned(),
    };
    let (stored, after) = match &outcome.next {
        RecordUpdate::Keep => ("kept".to_owned(), before.clone()),
        RecordUpdate::Remove => ("nothing".to_owned(), None),
        RecordUpdate::Write(record) => {
            (written_words(record, before.as_ref()), Some((**record).clone()))
        }
    };
    let value = |value: &dyn Fn(&Record) -> String| after.as_ref().map_or("-".to_owned(), value);
    assert_eq!(
        (outcome.decision.as_str(), stored.as_str(), value(&yes_no), value(&number)),
        (
            cell("decision").unwrap(),
            cell("stored").unwrap(),
            same(cell("maybe"), &yes_no),
            same(cell("attempts"), &number)
        ),
        "decision, stored, maybe, attempts of {words:?}"
    );
    let seen_as_now = seen.expect(&words)[0].1;
    let expected_seen = cell("seen").map(|word| if word == "as_now" { seen_as_now } else { word });
    let seen_now = outcome.status.as_ref().map_or("nothing", |status| status.state.as_str());
    assert_eq!(Some(seen_now), expected_seen, "seen after {words:?}");
    check_change(changes, words.clone(), &stored, outcome.change, [&before, &after]);
    if let RecordUpdate::Write(record) = &outcome.next {
        assert_eq!(outcome.status, record.status(NOW), "{words:?}");
        assert_eq!(Record::decode(&record.encode()).as_ref(), Ok(&**record));
        // A first attempt begins a new record, whatever was stored before.
        let is_new = seen_as_now == "nothing" || outcome.decision == "execute 1";
        let known = before.filter(|_| !is_new);
        let mut policy = known.as_ref().map_or(situation.policy_of_today(), |known| known.policy);
        if stored.ends_with(", hold") {
            policy.unknown_outcome = UnknownOutcome::Hold;
        }
        assert_eq!(record.policy, policy, "the policy of the first attempt: {words:?}");
        if let Some(known) = known {
            assert_eq!(record.created_at, known.created_at);
            assert_eq!(record.fingerprint, known.fingerprint);
        } else {
            assert_eq!(record.created_at, NOW);
        }
    }
}

/// Compares the journal row of a call with its line, and with the record.
pub(crate) fn check_change(
    changes: &Table,
    mut words: Words,
    stored: &str,
    change: Option<KeyChange>,
    [before, after]: [&Option<Record>; 2],
) {
    const STORED: [&str; 8] =
        ["in_flight", "completed", "released", "unknown", "voided", "tombstone", "nothing", "kept"];
    let known = STORED.iter().find(|word| stored.split(' ').next() == Some(word));
    words.push(("stored", known.copied().unwrap_or("status_only")));
    let kind = change.as_ref().map_or("-", |change| change.kind.as_str());
    assert_eq!(kind, changes.expect(&words)[0].1, "the change of {words:?}");
    let Some(change) = change else { return };
    // A row that ends a life describes that life; every other row describes the current state.
    let record_of = if change.kind == ChangeKind::Expired { before } else { after };
    let record_of = record_of.as_ref().or(before.as_ref());
    assert_eq!(change.attempts, record_of.map_or(0, |record| record.attempts), "{words:?}");
    assert_eq!(change.created_at, record_of.map(|record| record.created_at), "{words:?}");
    let cause = match change.kind {
        ChangeKind::Expired | ChangeKind::Overtook => before.as_ref(),
        ChangeKind::LateIgnored | ChangeKind::Elsewhere => None,
        _ => after.as_ref(),
    };
    assert_eq!(change.cause, cause.and_then(|record| record.cause(NOW)), "{words:?}");
    let is_begun_anew = change.call == LifecycleCall::Begin && change.kind == ChangeKind::Expired;
    let now = after.as_ref().filter(|_| !is_begun_anew).and_then(|record| record.status(NOW));
    assert_eq!(change.state, now.map(|status| status.state), "{words:?}");
}
