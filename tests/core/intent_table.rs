//! What each call does with an intent in each state, as tables; every cell is checked. The first line
//! that fits counts.
//! The words for states and ages are in `support/client/situations.rs`.

use crate::support::client::names::{start_name, state_name};
use crate::support::client::requests::{
    NOW, RETENTION, SAFE, entry_in, fresh_entry, key, payload, submit,
};
use crate::support::client::situations::{AGES, ALL, stored, word};
use crate::support::lifecycle::situations::product;
use crate::support::lifecycle::table::Table;
use oncekey::client::intent::{
    AfterAbort, Entry, IntentState, SendError, Start, Stored, Submit, note_not_sent, note_outcome,
    note_sending, remint, start,
};
use oncekey::client::retry::{Outcome, UnknownReason};
use oncekey::{IdempotencyKey, Millis, UnixMillis};

/// `waited`: whether the submit waited for another sender, and the entry was last changed meanwhile.
const START: &str = "
    stored | age | payload | own | waited => start
    nothing | * | * | * | * => send_fresh
    damaged/newer | * | * | * | * => unreadable
    refused | in_time | same | none/same | during => send_same
    refused/voided | * | * | * | * => send_fresh
    prepared/not_executed | old/back | * | * | * => send_fresh
    sending/unknown | old/back | * | * | * => too_old
    succeeded | * | changed | * | * => payload_changed
    succeeded | * | * | other | * => payload_changed
    succeeded | old/back | * | * | * => response_gone
    prepared | * | changed | * | * => send_fresh
    prepared | * | * | other | * => send_fresh
    not_executed/sending/unknown | * | changed | * | * => resolve_first
    not_executed/sending/unknown | * | * | other | * => resolve_first
    * | * | * | * | * => send_same
";

/// `late`: the attempt is an earlier one.
const OUTCOME: &str = "
    stored | maybe | attempt | outcome => state | maybe
    succeeded | * | * | * => succeeded | same
    *         | * | * | succeeded => succeeded | same
    refused   | * | * | * => refused | same
    voided    | * | * | * => voided | same
    not_executed | * | * | in_progress/ambiguous/unsettled => unknown | yes
    *  | * | last | in_progress/ambiguous/unsettled => unknown | yes
    *  | * | late | in_progress/ambiguous/unsettled => same | yes
    *  | * | late | * => same | same
    *  | * | last | refused/key_reused => refused | same
    *  | * | last | key_voided => voided | same
    *  | yes | last | not_executed/key_expired => unknown | same
    *  | no | last | not_executed/key_expired => prepared | same
";

const SENDING: &str = "
    stored | age | maybe => state | maybe
    nothing/damaged/newer | * | * => error overtaken | -
    voided | * | * => error voided | -
    prepared | * | * => sending | no
    * | old/back | * => error too_old | -
    succeeded | * | * => succeeded | same
    sending | * | * => sending | yes
    * | * | * => sending | same
";

fn key_of(stored: &Stored) -> IdempotencyKey {
    match stored {
        Stored::Entry(entry) => entry.key.clone(),
        _ => key("gone"),
    }
}

#[test]
fn a_submit_does_what_its_table_says() {
    let table = Table::parse(START);
    let columns: &[_] = &[
        ("stored", ALL),
        ("age", AGES),
        ("payload", &["same", "changed"]),
        ("own", &["none", "same", "other"]),
        ("waited", &["no", "during", "later"]),
    ];
    for words in product(columns) {
        let stored = stored(word(&words, "stored"), word(&words, "age"), "no");
        let wanted = payload(if word(&words, "payload") == "same" { "this" } else { "that" });
        let (same, other) = (key_of(&stored), key("other"));
        let own_key = match word(&words, "own") {
            "same" => Some(&same),
            "other" => Some(&other),
            _ => None,
        };
        let updated_at = match &stored {
            Stored::Entry(entry) => entry.updated_at,
            _ => NOW,
        };
        let waited_since = match word(&words, "waited") {
            "during" => Some(updated_at),
            "later" => Some(updated_at.plus(Millis::new(1))),
            _ => None,
        };
        let submit = Submit { own_key, waited_since, ..submit(&wanted) };
        let started = start(&stored, &submit, NOW);
        assert_eq!(start_name(&started), table.expect(&words)[0].1, "{words:?}");
        if let Start::Send { entry, fresh } = started {
            assert_eq!(entry.tag, wanted.tag(&entry.key));
            assert!(own_key.is_none_or(|own| entry.key == *own), "a caller's own key is respected");
            if fresh {
                let expected = Entry { own_key: own_key.is_some(), ..fresh_entry(&wanted, NOW) };
                assert_eq!(
                    Entry { key: expected.key.clone(), tag: expected.tag, ..entry },
                    expected
                );
            } else {
                assert_eq!(Stored::Entry(entry), stored);
            }
        }
    }
    table.assert_every_line_counted();
}

#[test]
fn the_end_of_an_attempt_does_what_its_table_says() {
    let table = Table::parse(OUTCOME);
    let unknown = UnknownReason::Network;
    let outcomes = [
        ("succeeded", Outcome::Succeeded { http_status: 200 }),
        ("refused", Outcome::Refused { http_status: 422 }),
        ("key_reused", Outcome::KeyReused { http_status: 400 }),
        ("key_voided", Outcome::KeyVoided),
        ("not_executed", Outcome::NotExecuted { http_status: 401, again: false }),
        ("key_expired", Outcome::KeyExpired),
        ("in_progress", Outcome::InProgress),
        ("ambiguous", Outcome::Ambiguous(unknown)),
        ("unsettled", Outcome::Unsettled(unknown)),
    ];
    let names = outcomes.map(|(name, _)| name);
    for words in product(&[
        ("stored", &["not_executed", "sending", "unknown", "succeeded", "refused", "voided"]),
        ("maybe", &["no", "yes"]),
        ("attempt", &["last", "late"]),
        ("outcome", &names),
    ]) {
        let (name, maybe) = (word(&words, "stored"), word(&words, "maybe"));
        if (name, maybe) == ("unknown", "no") || (name, maybe) == ("not_executed", "yes") {
            continue;
        }
        let before = stored(name, "in_time", maybe);
        let Stored::Entry(entry) = &before else { panic!() };
        let (_, outcome) =
            outcomes.iter().find(|(name, _)| *name == word(&words, "outcome")).unwrap();
        let attempt = if word(&words, "attempt") == "last" { 2 } else { 1 };
        let after = note_outcome(&before, &entry.key, attempt, outcome, NOW);
        let expected = table.expect(&words);
        let same = |cell, before: String| if cell == "same" { before } else { String::from(cell) };
        let state = same(expected[0].1, state_name(&before));
        let maybe = same(expected[1].1, maybe.to_owned());
        let found = after.clone().unwrap_or_else(|| entry.clone());
        assert_eq!(state_name(&Stored::Entry(found.clone())), state, "{words:?}");
        assert_eq!(found.maybe_executed, maybe == "yes", "{words:?}");
        if state == state_name(&before) {
            assert_eq!(found.state, entry.state, "a stored response stays: {words:?}");
        }
        let unchanged = Entry {
            state: entry.state,
            maybe_executed: entry.maybe_executed,
            updated_at: entry.updated_at,
            ..found
        };
        assert_eq!(unchanged, *entry, "nothing else changes");
        assert!(after.is_none_or(|after| after != *entry && after.updated_at == NOW));
        assert_eq!(note_outcome(&before, &key("other"), attempt, outcome, NOW), None);
    }
    table.assert_every_line_counted();
}

#[test]
fn sending_does_what_its_table_says() {
    let table = Table::parse(SENDING);
    for words in product(&[("stored", ALL), ("age", AGES), ("maybe", &["no", "yes"])]) {
        let (name, maybe) = (word(&words, "stored"), word(&words, "maybe"));
        if (name, maybe) == ("unknown", "no") || (name, maybe) == ("not_executed", "yes") {
            continue;
        }
        let before = stored(name, word(&words, "age"), maybe);
        let expected = table.expect(&words);
        match note_sending(&before, &key_of(&before), RETENTION, NOW) {
            Err(error) => {
                let error = match error {
                    SendError::Overtaken => "error overtaken",
                    SendError::Voided => "error voided",
                    SendError::TooOld => "error too_old",
                    _ => "another",
                };
                assert_eq!(error, expected[0].1, "{words:?}");
            }
            Ok(after) => {
                let Stored::Entry(entry) = &before else { panic!() };
                assert_eq!(state_name(&Stored::Entry(after.clone())), expected[0].1, "{words:?}");
                let maybe = if expected[1].1 == "same" { maybe } else { expected[1].1 };
                assert_eq!(after.maybe_executed, maybe == "yes", "{words:?}");
                assert_eq!(after.attempts, entry.attempts + 1);
                assert_eq!(
                    after.updated_at,
                    NOW.max(entry.updated_at),
                    "the time of an entry never goes back"
                );
                // The retention counts from the first byte that was ever sent.
                let safe = if entry.attempts == 0 { NOW.plus(SAFE) } else { entry.safe_until };
                assert_eq!(after.safe_until, safe);
            }
        }
        assert_eq!(note_sending(&before, &key("other"), RETENTION, NOW), Err(SendError::Overtaken));
    }
    table.assert_every_line_counted();
}

#[test]
fn only_the_last_attempt_can_be_noted_as_not_sent_and_only_while_it_is_sent() {
    for name in ALL {
        let before = stored(name, "in_time", "no");
        let Stored::Entry(entry) = &before else { continue };
        let noted = |attempt| note_not_sent(&before, &entry.key, attempt, NOW).is_some();
        assert_eq!(noted(entry.attempts), *name == "sending", "{name}");
        assert!(!noted(entry.attempts + 1), "{name}");
    }
}

#[test]
fn the_result_of_an_aborted_call_depends_on_its_entry() {
    for name in ALL {
        let expected = match *name {
            "sending" | "unknown" | "damaged" | "newer" => AfterAbort::Unknown,
            "succeeded" => AfterAbort::Succeeded,
            _ => AfterAbort::NotSent,
        };
        assert_eq!(stored(name, "in_time", "no").after_abort(), expected, "{name}");
        let Stored::Entry(entry) = stored(name, "in_time", "no") else { continue };
        assert_eq!(entry.state.is_open(), ["sending", "unknown"].contains(name), "{name}");
        let is_settled = ["succeeded", "refused", "voided"].contains(name);
        assert_eq!(entry.state.is_settled(), is_settled, "{name}");
    }
}

#[test]
fn only_unsettled_entries_are_pending() {
    for name in ALL {
        let is_pending = ["sending", "unknown", "damaged", "newer"].contains(name);
        assert_eq!(stored(name, "in_time", "no").is_pending(), is_pending, "{name}");
    }
}

#[test]
fn which_entries_may_be_removed_when_storage_is_full() {
    for name in ALL {
        let is_spent = ["prepared", "refused", "voided"].contains(name);
        assert_eq!(stored(name, "in_time", "no").is_spent(), is_spent, "{name}");
    }
}

#[test]
fn a_key_without_time_replaces_only_a_key_that_was_not_executed() {
    let wanted = payload("this");
    let before = stored("not_executed", "in_time", "no");
    let Stored::Entry(entry) = &before else { panic!() };
    let minted = remint(&before, &entry.key, &submit(&wanted), NOW).expect("a new key");
    assert_eq!(minted.key, IdempotencyKey::mint_untimed([7; 16]));
    assert_eq!(minted.key.as_str(), "07070707-0707-4707-8707-070707070707");
    assert_eq!(minted.key.minted_at(), None);
    assert_eq!((minted.attempts, minted.tag), (0, wanted.tag(&minted.key)));
    for sends_proof in [false, true] {
        let before = Stored::Entry(Entry { sends_proof, ..entry.clone() });
        let minted = remint(&before, &entry.key, &submit(&wanted), NOW).expect("a new key");
        assert_eq!(minted.sends_proof, sends_proof, "the server stays the same");
    }

    let none = |stored: &Stored, submit: &Submit<'_>, now: UnixMillis| {
        assert_eq!(remint(stored, &entry.key, submit, now), None);
    };
    for name in ["nothing", "sending", "unknown", "succeeded", "refused", "voided"] {
        none(&stored(name, "in_time", "no"), &submit(&wanted), NOW);
    }
    none(&before, &submit(&payload("that")), NOW);
    none(&before, &Submit { own_key: Some(&key("own")), ..submit(&wanted) }, NOW);
    none(&Stored::Entry(Entry { own_key: true, ..entry.clone() }), &submit(&wanted), NOW);
    none(&Stored::Entry(Entry { key: key("k"), ..entry.clone() }), &submit(&wanted), NOW);
    none(&Stored::Entry(minted), &submit(&wanted), NOW);
}

#[test]
fn how_long_a_key_may_be_sent() {
    let wanted = payload("this");
    let entry = entry_in(IntentState::Unknown, &wanted, NOW);
    let after = |millis| NOW.plus(Millis::new(millis));
    assert_eq!(entry.time_left(NOW), SAFE);
    assert_eq!(entry.time_left(after(SAFE.as_u64())), Millis::new(0));
    // The clock went back. An hour is tolerated; after more, the age of the key is unknown.
    assert_eq!(entry.time_left(NOW.minus(Millis::from_seconds(3600))), SAFE);
    assert_eq!(entry.time_left(NOW.minus(Millis::new(3_600_001))), Millis::new(0));

    let noted = |state, expires_at, now| {
        let mut entry = entry.clone();
        entry.note_expiry(state, expires_at, RETENTION, now);
        entry.safe_until
    };
    let (hour, later) = (Millis::from_seconds(3600), after(1_000_000));
    for state in ["in_progress", "unknown", "released"] {
        assert_eq!(noted(Some(state), None, later), later.plus(SAFE), "{state}");
        // The server remembers an unknown outcome for 30 days, but not the response that may follow it.
        let month = Some(later.plus(Millis::from_days(30)));
        assert_eq!(noted(Some(state), month, later), later.plus(SAFE), "{state}");
    }
    let soon = later.plus(hour).plus(hour);
    assert_eq!(noted(Some("released"), Some(soon), later), later.plus(hour));
    for state in [None, Some("completed"), Some("expired"), Some("voided"), Some("?")] {
        assert_eq!(noted(state, None, later), NOW.plus(SAFE), "{state:?}");
        assert_eq!(noted(state, Some(soon), later), later.plus(hour), "{state:?}");
    }
    // The hour for clocks does not use up a short retention.
    let short = Submit { retention: Millis::from_seconds(60), ..submit(&wanted) };
    let Start::Send { entry, .. } = start(&Stored::Nothing, &short, NOW) else { panic!() };
    assert_eq!(entry.time_left(NOW), Millis::from_seconds(30));
}

#[test]
fn a_key_may_be_replaced_only_while_no_outcome_is_unknown() {
    let of = |name, maybe, own_key| match stored(name, "in_time", maybe) {
        Stored::Entry(entry) => Entry { own_key, ..entry }.context(true, "*/*").may_remint,
        other => panic!("{other:?}"),
    };
    assert!(of("sending", "no", false));
    assert!(!of("sending", "yes", false) && !of("sending", "no", true));
    assert!(!of("unknown", "yes", false) && !of("succeeded", "no", false));
}
