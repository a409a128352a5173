//! What each call does in each situation, as tables; every cell is checked.
//!
//! # How to read them
//!
//! The record has seen two attempts. If it has an owner, the owner is the attempt `owner`. `finished`
//! is an attempt whose end is recorded, `overtaken` an attempt that lost the key to a later one, `new` an attempt
//! that the record does not know. `dead` is a key in flight whose lease has expired, `bodiless` a key that
//! has a response without a body, `tombstone` the record that the sweep leaves of an expired key.
//!
//! `in_time` is the last millisecond in which a record counts, `after` the first in which it does
//! not, `long_after` the first in which the record is forgotten. A key is `untimed` unless it
//! is a UUIDv7. `young` is the greatest age at which a key cannot have been forgotten, `old` the smallest age beyond
//! the retention and an hour, `ageing` is between them.
//!
//! `remember` is a business key. Its record is permanent, so after its time the result is `as in_time`.
//! There are two exceptions: a released business key is removed, and of a response only the status is kept.
//!
//! The outputs are the decision, the state that is stored then, its `maybe_executed` and its number of attempts
//! (`same` as before), and the state that callers see (`as_now`: that of the table [`SEEN`]). The rows of the journal are in a
//! separate table for each call; its inputs include the state that is stored then.

use crate::support::lifecycle::outcome::{
    CallResult, check, check_change, completion_words, decision_words, written_words,
};
use crate::support::lifecycle::requests::response;
use crate::support::lifecycle::situations::{
    ATTEMPTS, NOW, Situation, product, request_of, token_of,
};
use crate::support::lifecycle::table::Table;
use oncekey::record::EarlierAttempts;
use oncekey::{
    Attempt, Completion, Decision, FailCause, Record, RecordState, RecordUpdate, Renewal,
    Settlement, Settling, Transition, lifecycle,
};

/// The state that callers see.
const SEEN: &str = "
    state              | when             | expired_key     => seen        | http_status
    absent             | *                | *               => nothing     | -
    dead/unknown/completed/bodiless/voided/tombstone | after/long_after | remember        => as in_time
    *                  | long_after       | *               => as absent
    voided             | after            | *               => as absent
    *                  | after            | forget/remember => as absent
    *                  | after            | refuse          => expired     | -
    tombstone          | in_time          | *               => expired     | -
    in_flight          | in_time          | *               => in_progress | -
    dead/unknown       | in_time          | *               => unknown     | -
    released           | in_time          | *               => released    | -
    completed/bodiless | in_time          | *               => completed   | 201
    voided             | in_time          | *               => voided      | -
";

const BEGIN: &str = "
    state              | when             | expired_key     | unknown | maybe | key | request        | token              => decision           | stored    | maybe | attempts | seen
    absent             | *                | refuse          | *       | *     | old | *              | *                  => key_expired        | kept      | same  | same     | expired
    absent             | *                | *               | *       | *     | *   | *              | *                  => execute 1          | in_flight | no    | 1        | in_progress
    completed          | after/long_after | remember        | *       | *     | *   | *              | *                  => as bodiless
    dead/unknown/bodiless/voided/tombstone | after/long_after | remember        | *       | *     | *   | *              | *                  => as in_time
    *                  | long_after       | *               | *       | *     | *   | *              | *                  => as absent
    voided             | after            | *               | *       | *     | *   | *              | *                  => as absent
    *                  | after            | forget/remember | *       | *     | *   | *              | *                  => as absent
    *                  | after            | refuse          | *       | *     | *   | *              | *                  => key_expired        | kept      | same  | same     | expired
    tombstone          | in_time          | *               | *       | *     | *   | *              | *                  => key_expired        | kept      | same  | same     | expired
    voided             | in_time          | *               | *       | *     | *   | *              | *                  => key_voided         | kept      | same  | same     | voided
    released           | in_time          | remember        | *       | no    | *   | other/unlisted | new                => execute 1          | in_flight | no    | 1        | in_progress
    *                  | in_time          | *               | *       | *     | *   | other          | *                  => mismatch           | kept      | same  | same     | as_now
    completed/bodiless | in_time          | remember        | *       | *     | *   | unlisted       | *                  => not_replayable     | kept      | same  | same     | completed
    completed/bodiless | in_time          | *               | *       | *     | *   | unlisted       | *                  => not_replayable 201 | kept      | same  | same     | completed
    *                  | in_time          | *               | *       | *     | *   | unlisted       | *                  => not_replayable     | kept      | same  | same     | as_now
    completed          | in_time          | *               | *       | *     | *   | same           | *                  => replay             | kept      | same  | same     | completed
    bodiless           | in_time          | *               | *       | *     | *   | same           | *                  => not_replayable 201 | kept      | same  | same     | completed
    in_flight          | in_time          | *               | *       | *     | *   | same           | owner              => execute 2          | kept      | same  | same     | in_progress
    in_flight          | in_time          | *               | *       | *     | *   | same           | *                  => in_progress        | kept      | same  | same     | in_progress
    dead               | in_time          | *               | *       | *     | *   | same           | *                  => as unknown
    unknown            | in_time          | *               | hold    | *     | *   | same           | *                  => outcome_unknown    | kept      | same  | same     | unknown
    *                  | in_time          | *               | *       | *     | *   | same           | finished/overtaken => in_progress        | kept      | same  | same     | as_now
    unknown            | in_time          | *               | retry   | *     | *   | same           | *                  => execute 3          | in_flight | yes   | 3        | in_progress
    released           | in_time          | *               | *       | *     | *   | same           | *                  => execute 3          | in_flight | same  | 3        | in_progress
";

/// The row in the journal after a `begin`.
const BEGIN_CHANGE: &str = "
    state        | when             | expired_key   | token | stored    => change
    dead/unknown | after/long_after | forget/refuse | *     | in_flight => expired
    dead         | *                | *             | owner | *         => -
    dead         | *                | *             | *     | in_flight => overtook
    *            | *                | *             | *     | *         => -
";

const RENEW: &str = "
    state          | when             | expired_key | token => decision | stored    | maybe | attempts | seen
    dead           | after/long_after | remember    | owner => as in_time
    in_flight/dead | in_time          | *           | owner => renewed  | in_flight | same  | same     | in_progress
    *              | *                | *           | *     => lost     | kept      | same  | same     | as_now
";

/// A renewal has no row in the journal.
const RENEW_CHANGE: &str = "
    state => change
    *     => -
";

/// `complete`: 200 and 402 are final, 429 was not executed, 409 and 503 are unknown, 307 must be
/// repeated elsewhere.
const COMPLETE: &str = "
    state        | when             | expired_key     | unknown | maybe | token     | status => decision               | stored          | maybe | attempts | seen
    absent       | *                | *               | *       | *     | *         | *      => record_gone            | kept            | same  | same     | nothing
    completed    | after/long_after | remember        | *       | *     | *         | *      => as bodiless
    dead/unknown/bodiless/voided/tombstone | after/long_after | remember        | *       | *     | *         | *      => as in_time
    *            | long_after       | *               | *       | *     | *         | *      => as absent
    voided       | after            | *               | *       | *     | *         | *      => as absent
    *            | after            | forget/remember | *       | *     | *         | *      => as absent
    *            | after            | refuse          | *       | *     | *         | *      => lease_lost key_expired | kept            | same  | same     | expired
    tombstone    | in_time          | *               | *       | *     | *         | *      => lease_lost key_expired | kept            | same  | same     | expired
    in_flight/dead/unknown/released/voided | in_time          | *               | *       | *     | finished  | *      => recorded               | kept            | same  | same     | as_now
    in_flight/dead/unknown/released/completed/bodiless | in_time | *            | *       | *     | new       | *      => lease_lost in_progress | kept            | same  | same     | nothing
    *            | in_time          | *               | *       | *     | owner     | 200    => recorded               | completed       | same  | same     | completed
    *            | in_time          | remember        | *       | no    | owner     | 402    => recorded               | released 402    | no    | same     | released
    *            | in_time          | remember        | *       | yes   | owner     | 402    => recorded               | unknown earlier | yes   | same     | unknown
    *            | in_time          | *               | *       | *     | owner     | 402    => recorded               | completed       | same  | same     | completed
    *            | in_time          | *               | *       | no    | owner     | 429    => recorded               | released 429    | no    | same     | released
    *            | in_time          | *               | *       | yes   | owner     | 429    => recorded               | unknown earlier | yes   | same     | unknown
    *            | in_time          | *               | *       | *     | owner     | 409    => recorded               | unknown 409     | yes   | same     | unknown
    *            | in_time          | *               | *       | *     | owner     | 503    => recorded               | unknown 503     | yes   | same     | unknown
    *            | in_time          | *               | *       | no    | owner     | 307    => recorded               | nothing         | -     | -        | nothing
    *            | in_time          | *               | *       | yes   | owner     | 307    => recorded               | unknown earlier | yes   | same     | unknown
    in_flight/dead/unknown/released | in_time          | *               | *       | *     | overtaken | 200    => recorded               | completed       | same  | same     | completed
    in_flight    | in_time          | *               | *       | *     | *         | *      => lease_lost in_progress | kept            | same  | same     | in_progress
    dead/unknown | in_time          | *               | retry   | *     | *         | *      => lease_lost in_progress | kept            | same  | same     | unknown
    dead/unknown | in_time          | *               | hold    | *     | *         | *      => lease_lost outcome_unknown | kept            | same  | same     | unknown
    released     | in_time          | *               | *       | *     | *         | *      => lease_lost in_progress | kept            | same  | same     | released
    completed    | in_time          | *               | *       | *     | *         | *      => lease_lost replay      | kept            | same  | same     | completed
    bodiless     | in_time          | *               | *       | *     | *         | *      => lease_lost not_replayable 201 | kept            | same  | same     | completed
    voided       | in_time          | *               | *       | *     | *         | *      => lease_lost key_voided  | kept            | same  | same     | voided
";

/// The row in the journal after a `complete`. An absent key and a tombstone contain no attempts, so an
/// attempt that has finished is not recognized.
const COMPLETE_CHANGE: &str = "
    state            | token     | stored    => change
    *                | overtaken | completed => late_success
    *                | *         | completed => completed
    *                | *         | released  => released
    *                | *         | unknown   => unknown
    *                | *         | nothing   => elsewhere
    absent/tombstone | *         | kept      => late_ignored
    *                | finished  | kept      => -
    *                | *         | kept      => late_ignored
";

const FAIL: &str = "
    state        | when             | expired_key     | unknown | maybe | token    | cause           => decision               | stored            | maybe | attempts | seen
    absent       | *                | *               | *       | *     | *        | *               => record_gone            | kept              | same  | same     | nothing
    completed    | after/long_after | remember        | *       | *     | *        | *               => as bodiless
    dead/unknown/bodiless/voided/tombstone | after/long_after | remember        | *       | *     | *        | *               => as in_time
    *            | long_after       | *               | *       | *     | *        | *               => as absent
    voided       | after            | *               | *       | *     | *        | *               => as absent
    *            | after            | forget/remember | *       | *     | *        | *               => as absent
    *            | after            | refuse          | *       | *     | *        | *               => lease_lost key_expired | kept              | same  | same     | expired
    tombstone    | in_time          | *               | *       | *     | *        | *               => lease_lost key_expired | kept              | same  | same     | expired
    in_flight/dead/unknown/released/voided | in_time          | *               | *       | *     | finished | *               => recorded               | kept              | same  | same     | as_now
    in_flight/dead/unknown/released/completed/bodiless | in_time | *            | *       | *     | new      | *               => lease_lost in_progress | kept              | same  | same     | nothing
    *            | in_time          | *               | *       | no    | owner    | not_dispatched  => recorded               | released not_dispatched | no    | same     | released
    *            | in_time          | *               | *       | yes   | owner    | not_dispatched  => recorded               | unknown earlier   | yes   | same     | unknown
    *            | in_time          | *               | *       | *     | owner    | timed_out       => recorded               | unknown timed_out | yes   | same     | unknown
    *            | in_time          | *               | *       | *     | owner    | connection_lost => recorded               | unknown connection_lost | yes   | same     | unknown
    *            | in_time          | *               | *       | *     | owner    | not_stored      => recorded               | unknown not_stored, hold | yes   | same     | unknown
    in_flight    | in_time          | *               | *       | *     | *        | *               => lease_lost in_progress | kept              | same  | same     | in_progress
    dead/unknown | in_time          | *               | retry   | *     | *        | *               => lease_lost in_progress | kept              | same  | same     | unknown
    dead/unknown | in_time          | *               | hold    | *     | *        | *               => lease_lost outcome_unknown | kept              | same  | same     | unknown
    released     | in_time          | *               | *       | *     | *        | *               => lease_lost in_progress | kept              | same  | same     | released
    completed    | in_time          | *               | *       | *     | *        | *               => lease_lost replay      | kept              | same  | same     | completed
    bodiless     | in_time          | *               | *       | *     | *        | *               => lease_lost not_replayable 201 | kept              | same  | same     | completed
    voided       | in_time          | *               | *       | *     | *        | *               => lease_lost key_voided  | kept              | same  | same     | voided
";

/// The row in the journal after a `fail`.
const FAIL_CHANGE: &str = "
    stored   => change
    released => released
    unknown  => unknown
    kept     => -
";

const VOID: &str = "
    state    | when             | expired_key     | maybe | key        => decision | stored | maybe | attempts | seen
    absent   | *                | *               | *     | ageing/old => -        | kept   | same  | same     | expired
    absent   | *                | *               | *     | *          => -        | voided | no    | 0        | voided
    dead/unknown/completed/bodiless/voided/tombstone | after/long_after | remember        | *     | *          => as in_time
    *        | long_after       | *               | *     | *          => as absent
    voided   | after            | *               | *     | *          => as absent
    *        | after            | forget/remember | *     | *          => as absent
    released | in_time          | *               | no    | *          => -        | voided | no    | same     | voided
    *        | *                | *               | *     | *          => -        | kept   | same  | same     | as_now
";

const VOID_CHANGE: &str = "
    stored => change
    voided => voided
    kept   => -
";

const SETTLE: &str = "
    state        | when             | expired_key | outcome      => decision    | stored           | maybe | attempts | seen
    dead/unknown | after/long_after | remember    | *            => as in_time
    dead/unknown | in_time          | *           | not_executed => settled     | released settled | no    | same     | released
    dead/unknown | in_time          | *           | executed     => settled     | completed        | same  | same     | completed
    *            | *                | *           | *            => not_unknown | kept             | same  | same     | as_now
";

const SETTLE_CHANGE: &str = "
    stored             => change
    released/completed => settled
    kept               => -
";

/// The sweep.
const EXPIRE: &str = "
    state     | when             | expired_key     => stored
    *         | in_time          | *               => kept
    completed | after/long_after | remember        => status_only
    dead/unknown/bodiless/voided/tombstone | after/long_after | remember        => kept
    voided    | after            | *               => nothing
    *         | after            | forget/remember => nothing
    *         | after            | refuse          => tombstone
    *         | long_after       | *               => nothing
";

/// The row in the journal after the sweep.
const EXPIRE_CHANGE: &str = "
    state        | stored            => change
    dead/unknown | tombstone/nothing => expired
    *            | *                 => -
";

/// Makes a call in every situation, with every combination of its own words.
fn check_all(
    [text, changes]: [&'static str; 2],
    call: &[(&'static str, &[&'static str])],
    make: impl Fn(&Situation, &dyn Fn(&str) -> &'static str) -> CallResult,
) {
    let [table, seen, changes] = [text, SEEN, changes].map(Table::parse);
    for situation in Situation::all() {
        for words in product(call) {
            let word = |column: &str| {
                words.iter().find(|(name, _)| *name == column).expect("a column of the call").1
            };
            let owned = matches!(situation.word("state"), "in_flight" | "dead");
            if !owned && words.contains(&("token", "owner")) {
                continue;
            }
            let outcome = make(&situation, &word);
            check([&table, &seen, &changes], &situation, words.clone(), outcome);
        }
    }
    table.assert_every_line_counted();
    changes.assert_every_line_counted();
}

/// A `peek` returns what a new attempt's `begin` would return, and changes nothing.
#[test]
fn peek_returns_what_begin_would() {
    for situation in Situation::all() {
        for request in ["same", "other", "unlisted"] {
            // The record's own policy counts. An absent key is begun under today's policy, and is always executed.
            let attempt = Attempt {
                fingerprints: request_of(request),
                token: token_of("new"),
                minted_at: None,
                policy: &situation.policy_of_today(),
            };
            let begun = lifecycle::begin(situation.record(), &attempt, NOW);
            let step = lifecycle::peek(situation.record(), request_of(request), NOW);
            assert_eq!((step.next, step.change), (RecordUpdate::Keep, None));
            assert_eq!(step.status, situation.record().and_then(|record| record.status(NOW)));
            let expected = match begun.decision {
                Decision::Execute(_) => None,
                other => Some(other),
            };
            assert_eq!(step.decision, expected, "{:?}, {request}", situation.0);
        }
    }
}

const TOKENS: (&str, &[&str]) = ("token", &["owner", "new", "finished", "overtaken"]);

#[test]
fn begin_does_what_its_table_says() {
    let requests = ("request", &["same", "other", "unlisted"][..]);
    check_all([BEGIN, BEGIN_CHANGE], &[requests, TOKENS], |situation, word| {
        let attempt = Attempt {
            fingerprints: request_of(word("request")),
            token: token_of(word("token")),
            minted_at: situation.minted_at(),
            policy: &situation.policy_of_today(),
        };
        let step = lifecycle::begin(situation.record(), &attempt, NOW);
        if let RecordUpdate::Write(record) = &step.next {
            let RecordState::InFlight { token, .. } = record.state else { panic!("begin begins") };
            assert_eq!(token, attempt.token);
            let Decision::Execute(execution) = &step.decision else { panic!("begin begins") };
            assert_eq!(execution.lease, record.policy.lease);
            let known = situation.record().filter(|known| known.status(NOW).is_some());
            if known.is_some() && execution.attempt == 1 {
                // A business key that is begun again keeps its ended attempts and forgets its overtaken attempts, which
                // could record the response of the earlier request.
                assert!(record.earlier.has_ended(token_of("finished")));
                let late = response(200, "of the request before");
                let record_of_key = Some((**record).clone());
                let step = lifecycle::complete(record_of_key, token_of("overtaken"), late, NOW);
                assert!(matches!(step.decision, Completion::LeaseLost(_)));
            }
        }
        CallResult::of(step, decision_words)
    });
}

#[test]
fn renew_does_what_its_table_says() {
    check_all([RENEW, RENEW_CHANGE], &[TOKENS], |situation, word| {
        let step = lifecycle::renew(situation.record(), token_of(word("token")), NOW);
        CallResult::of(step, |renewal| match renewal {
            Renewal::Renewed => "renewed".to_owned(),
            Renewal::Lost => "lost".to_owned(),
        })
    });
}

#[test]
fn complete_does_what_its_table_says() {
    let statuses = ("status", &["200", "402", "429", "409", "503", "307"][..]);
    check_all([COMPLETE, COMPLETE_CHANGE], &[TOKENS, statuses], |situation, word| {
        let (token, status) = (token_of(word("token")), word("status").parse().unwrap());
        let brought = response(status, "brought");
        let step = lifecycle::complete(situation.record(), token, brought.clone(), NOW);
        if let RecordUpdate::Write(record) = &step.next {
            if let RecordState::Completed { response, .. } = &record.state {
                assert_eq!(response, &brought);
            }
            for kept in [Some((**record).clone()), record.clone().without_response_body()] {
                let Some(kept) = kept else { continue };
                let again = lifecycle::complete(Some(kept), token, brought.clone(), NOW);
                assert_eq!(
                    (again.decision, again.next),
                    (Completion::Recorded, RecordUpdate::Keep)
                );
            }
        }
        CallResult::of(step, completion_words)
    });
}

#[test]
fn fail_does_what_its_table_says() {
    let causes = ["not_dispatched", "timed_out", "connection_lost", "not_stored"];
    check_all([FAIL, FAIL_CHANGE], &[TOKENS, ("cause", &causes)], |situation, word| {
        let cause = match word("cause") {
            "not_dispatched" => FailCause::NotDispatched,
            "timed_out" => FailCause::TimedOut,
            "connection_lost" => FailCause::ConnectionLost,
            _ => FailCause::NotStored,
        };
        let token = token_of(word("token"));
        let step = lifecycle::fail(situation.record(), token, cause, NOW);
        if let RecordUpdate::Write(record) = &step.next {
            let again = lifecycle::fail(Some((**record).clone()), token, cause, NOW);
            assert_eq!((again.decision, again.next), (Completion::Recorded, RecordUpdate::Keep));
        }
        CallResult::of(step, completion_words)
    });
}

#[test]
fn void_does_what_its_table_says() {
    check_all([VOID, VOID_CHANGE], &[], |situation, _| {
        let today = situation.policy_of_today();
        let step = lifecycle::void(situation.record(), situation.minted_at(), &today, NOW);
        CallResult::of(step, |()| "-".to_owned())
    });
}

#[test]
fn settle_does_what_its_table_says() {
    let outcomes = ("outcome", &["not_executed", "executed"][..]);
    check_all([SETTLE, SETTLE_CHANGE], &[outcomes], |situation, word| {
        let settlement = match word("outcome") {
            "executed" => Settlement::Executed(response(201, "resolved")),
            _ => Settlement::NotExecuted,
        };
        let step = lifecycle::settle(situation.record(), settlement, NOW);
        CallResult::of(step, |settling| match settling {
            Settling::Settled => "settled".to_owned(),
            Settling::NotUnknown => "not_unknown".to_owned(),
        })
    });
}

#[test]
fn the_sweep_follows_its_table_and_no_caller_sees_a_difference() {
    let [table, changes] = [EXPIRE, EXPIRE_CHANGE].map(Table::parse);
    for situation in Situation::all() {
        let Some(record) = situation.record() else {
            continue;
        };
        let Transition { next, status, change, .. } = lifecycle::expire(record.clone(), NOW);
        let (stored, after) = match &next {
            RecordUpdate::Keep => ("kept".to_owned(), Some(record.clone())),
            RecordUpdate::Remove => ("nothing".to_owned(), None),
            RecordUpdate::Write(after) => {
                (written_words(after, Some(&record)), Some((**after).clone()))
            }
        };
        assert_eq!(stored, table.expect(&situation.0)[0].1, "{:?}", situation.0);
        check_change(
            &changes,
            situation.0.clone(),
            &stored,
            change,
            [&Some(record.clone()), &after],
        );
        if let Some(Record { state: RecordState::Expired { .. }, fingerprint, earlier, .. }) =
            &after
        {
            assert_eq!((fingerprint, earlier), (&None, &EarlierAttempts::default()), "a tombstone");
        }
        assert_eq!(
            after.as_ref().and_then(|r| r.status(NOW)),
            record.status(NOW),
            "{:?}",
            situation.0
        );
        assert_eq!(status, record.status(NOW));
        let attempt = Attempt {
            fingerprints: request_of("same"),
            token: token_of("finished"),
            minted_at: situation.minted_at(),
            policy: &situation.policy_of_today(),
        };
        let token = attempt.token;
        let (swept, unswept) = (|| after.clone(), || Some(record.clone()));
        let begin = |record| lifecycle::begin(record, &attempt, NOW);
        assert_eq!(begin(swept()).decision, begin(unswept()).decision);
        let complete = |record| lifecycle::complete(record, token, response(200, ""), NOW);
        assert_eq!(complete(swept()).decision, complete(unswept()).decision);
        let fail = |record| lifecycle::fail(record, token, FailCause::TimedOut, NOW);
        assert_eq!(fail(swept()).decision, fail(unswept()).decision);
        let void = |record| {
            lifecycle::void(record, situation.minted_at(), &situation.policy_of_today(), NOW)
        };
        assert_eq!(void(swept()).status, void(unswept()).status);
    }
    table.assert_every_line_counted();
    changes.assert_every_line_counted();
}

#[test]
fn a_status_follows_its_table() {
    let table = Table::parse(SEEN);
    for situation in Situation::all() {
        let Some(record) = situation.record() else {
            table.expect(&situation.0);
            continue;
        };
        let status = record.status(NOW);
        let expected = table.expect(&situation.0);
        let seen = status.as_ref().map_or("nothing", |status| status.state.as_str());
        let http_status = status.as_ref().and_then(|status| status.http_status);
        let http_status = http_status.map_or("-".to_owned(), |status| status.to_string());
        assert_eq!([seen, &http_status], [expected[0].1, expected[1].1], "{:?}", situation.0);
        if let Some(status) = status {
            assert_eq!(status.attempts, ATTEMPTS);
            assert_eq!(status.created_at, record.created_at);
            assert_eq!(status.completed_at.is_some(), seen == "completed");
            assert_eq!(status.request_id.is_some(), seen == "completed");
            let for_good = situation.word("expired_key") == "remember" && seen != "released";
            assert!(for_good || status.expires_at.is_none() == (seen == "in_progress"));
            assert!(status.expires_at.is_none_or(|end| end > NOW), "{:?}", situation.0);
        }
    }
    table.assert_every_line_counted();
}
