//! What the end of an attempt means, as a table; every cell is checked.
//!
//! The inputs are the status; the error's name (as `code`, then as `type`); `Idempotency-State`; other properties of
//! the response: `replayed`, `not_stored`, `html` (not the API's media type), `redirected` (from the page that a
//! redirect led to), `cut`, `empty`; whether an earlier attempt is `unknown`; whether the server is known to send
//! `proof`, or the page has `named` 402 as a status that settles the key (without effect if the server sends proof);
//! and whether the key may be replaced. The first line that fits counts.

use crate::support::client::names::outcome_name;
use crate::support::lifecycle::situations::product;
use crate::support::lifecycle::table::Table;
use oncekey::client::retry::{
    AttemptResult, BodyState, Context, Outcome, ResponseSummary, UnknownReason, classify,
    is_final_status, is_json, is_success,
};

const TABLE: &str = "
    status | name | state | other | before | server | key => outcome
    *   | * | * | cut/empty | * | * | * => ambiguous cut
    402/409 | in_progress | * | * | * | * | * => in_progress
    402/409 | outcome_unknown | * | * | * | * | * => unsettled held
    402/409 | not_replayable | * | * | * | * | * => unsettled not_replayable
    402/409 | error | * | * | clean | * | * => key_reused
    402/409 | error | * | * | unknown | * | * => unsettled mismatch
    402/409 | key_voided | * | * | clean | * | * => key_voided
    402/409 | key_voided | * | * | unknown | * | * => unsettled voided
    402/409 | key_expired | * | * | clean | * | ours => key_expired
    402/409 | key_expired | * | * | * | * | * => unsettled expired
    503 | * | completed | * | * | * | * => unsettled status
    503 | * | * | replayed | * | * | * => unsettled status
    503 | invalid_request_error | * | * | * | * | * => unsettled status
    503 | * | released | * | * | * | * => not_executed again
    503 | * | * | * | * | * | * => ambiguous status
    201/303 | * | completed | * | * | * | * => succeeded
    201/303 | * | * | replayed | * | * | * => succeeded
    401/402/408/409/429 | * | completed | * | * | * | * => refused
    401/402/408/409/429 | * | * | replayed | * | * | * => refused
    0 | * | completed | * | * | * | * => ambiguous status
    0 | * | * | replayed | * | * | * => ambiguous status
    *   | * | * | html | * | * | * => ambiguous not_the_api
    401/402/408/409/429 | * | * | redirected | * | * | * => ambiguous status
    201 | * | * | redirected | * | * | * => unsettled redirected
    201 | * | * | not_stored | * | * | * => succeeded
    201 | * | none | * | * | none/named | * => succeeded
    201 | * | * | * | * | * | * => unsettled no_proof
    0/303 | * | * | * | * | * | * => ambiguous status
    401 | * | unknown/in_progress | plain | * | * | * => unsettled status
    402/408/409/429 | * | unknown/in_progress | plain | * | * | * => ambiguous status
    429 | * | * | * | * | * | * => not_executed again
    *   | api_error/api_connection_error | * | * | * | * | * => ambiguous status
    408 | * | * | * | * | * | * => ambiguous status
    409 | none | * | * | * | * | * => ambiguous status
    401 | * | * | * | clean | * | * => not_executed
    401 | * | * | * | unknown | * | * => unsettled status
    402 | * | none | * | unknown | named | * => refused
    402/409 | * | * | * | unknown | * | * => unsettled no_proof
    402/409 | * | none | * | clean | none/named | * => refused
    402/409 | * | * | not_stored | clean | * | * => refused
    402/409 | * | * | * | clean | * | * => not_executed
";

#[test]
fn each_response_is_classified_as_the_table_says() {
    // The name of an error counts for each 4xx. The two in the table stand for all of them.
    let table = Table::parse(TABLE);
    let names = [
        "none",
        "in_progress",
        "outcome_unknown",
        "error",
        "not_replayable",
        "key_voided",
        "key_expired",
        "api_error",
        "api_connection_error",
        "invalid_request_error",
    ];
    let mut cells = 0;
    for words in product(&[
        ("status", &["0", "201", "303", "401", "402", "408", "409", "429", "503"]),
        ("name", &names),
        ("state", &["none", "completed", "in_progress", "unknown", "released", "voided", "absent"]),
        ("other", &["plain", "replayed", "not_stored", "html", "redirected", "cut", "empty"]),
        ("before", &["clean", "unknown"]),
        ("server", &["none", "named", "proof"]),
        ("key", &["ours", "own"]),
    ]) {
        let word = |column| words.iter().find(|(name, _)| *name == column).expect("a column").1;
        let is_rejection = names[1..7].contains(&word("name"));
        if is_rejection && !["402", "409"].contains(&word("status")) {
            continue;
        }
        let expected = table.expect(&words)[0].1;
        for as_type in [false, true] {
            let outcome = classify_words(&word, as_type);
            assert_eq!(outcome, expected, "{words:?}");
            cells += 1;
        }
    }
    assert!(cells > 10_000);
    table.assert_every_line_counted();
}

fn classify_words(word: &dyn Fn(&'static str) -> &'static str, as_type: bool) -> String {
    let name = match word("name") {
        "none" => None,
        name @ ("api_error" | "api_connection_error" | "invalid_request_error") => {
            Some(name.to_owned())
        }
        name => Some(format!("idempotency_{name}")),
    };
    let status: u16 = word("status").parse().expect("a status");
    let some = |text: &'static str, holds: bool| holds.then_some(text);
    let other = word("other");
    let response = ResponseSummary {
        status,
        body: match other {
            "cut" => BodyState::Cut,
            "empty" => BodyState::Empty,
            _ => BodyState::Whole,
        },
        content_type: Some(if other == "html" { "text/html" } else { "application/json" }),
        content_length: None,
        error_type: name.as_deref().filter(|_| as_type),
        error_code: name.as_deref().filter(|_| !as_type),
        state: some(word("state"), word("state") != "none"),
        replayed: some("true", other == "replayed"),
        stored: some("false", other == "not_stored"),
        redirected: other == "redirected",
    };
    let context = Context {
        maybe_executed: word("before") == "unknown",
        may_remint: word("key") == "ours",
        sends_proof: word("server") == "proof",
        final_statuses: if word("server") == "none" { &[] } else { &[402] },
        expects: "application/json",
    };
    outcome_name(&classify(&AttemptResult::Response(&response), &context))
}

const CLEAN: Context<'static> = Context {
    maybe_executed: false,
    may_remint: true,
    sends_proof: false,
    final_statuses: &[],
    expects: "application/json",
};

fn json(status: u16) -> ResponseSummary<'static> {
    ResponseSummary { status, content_type: Some("application/json"), ..ResponseSummary::default() }
}

fn outcome(response: ResponseSummary<'_>) -> Outcome {
    classify(&AttemptResult::Response(&response), &CLEAN)
}

#[test]
fn each_status_without_an_error_name_has_its_outcome() {
    for status in 0..=999 {
        let expected = match status {
            200..=299 => Outcome::Succeeded { http_status: status },
            425 | 429 => Outcome::NotExecuted { http_status: status, again: true },
            401 | 403 | 407 | 417 | 421 | 423 => {
                Outcome::NotExecuted { http_status: status, again: false }
            }
            408 | 409 => Outcome::Ambiguous(UnknownReason::Status(status)),
            400..=499 => Outcome::Refused { http_status: status },
            _ => Outcome::Ambiguous(UnknownReason::Status(status)),
        };
        assert_eq!(outcome(json(status)), expected, "{status}");
    }
}

#[test]
fn only_some_statuses_may_be_declared_final() {
    let none = [401, 403, 407, 408, 409, 417, 421, 423, 425, 429];
    for status in 0..=999 {
        let may_be = (400..500).contains(&status) && !none.contains(&status);
        assert_eq!(is_final_status(status), may_be, "{status}");
    }
}

#[test]
fn a_failure_without_a_response_leaves_the_outcome_unknown() {
    for maybe_executed in [false, true] {
        let context = Context { maybe_executed, ..CLEAN };
        assert_eq!(
            classify(&AttemptResult::NetworkError, &context),
            Outcome::Ambiguous(UnknownReason::Network)
        );
        assert_eq!(
            classify(&AttemptResult::TimedOut, &context),
            Outcome::Ambiguous(UnknownReason::TimedOut)
        );
        assert_eq!(
            classify(&AttemptResult::Aborted, &context),
            Outcome::Unsettled(UnknownReason::Aborted)
        );
    }
}

/// A connection that is cut after the headers looks like a 200 with an empty body, without any error.
#[test]
fn an_empty_body_is_complete_only_if_the_response_allows_it() {
    let empty = |status, content_type, content_length| {
        outcome(ResponseSummary {
            status,
            body: BodyState::Empty,
            content_type,
            content_length,
            ..json(status)
        })
    };
    let whole = |status| Outcome::Succeeded { http_status: status };
    assert_eq!(empty(200, Some("application/json"), None), Outcome::Ambiguous(UnknownReason::Cut));
    assert_eq!(
        empty(200, Some("application/json"), Some("12")),
        Outcome::Ambiguous(UnknownReason::Cut)
    );
    assert_eq!(empty(200, Some("application/json"), Some("0")), whole(200));
    assert_eq!(empty(201, None, None), whole(201));
    assert_eq!(empty(204, Some("application/json"), None), whole(204));
    assert_eq!(empty(205, None, None), whole(205));
    assert_eq!(
        empty(200, Some("text/html"), Some("0")),
        Outcome::Ambiguous(UnknownReason::NotTheApi)
    );
}

#[test]
fn only_expected_media_types_are_accepted() {
    let of = |content_type, expects| {
        let response = ResponseSummary { content_type, ..json(200) };
        let context = Context { expects, ..CLEAN };
        classify(&AttemptResult::Response(&response), &context)
            == Outcome::Succeeded { http_status: 200 }
    };
    for (content_type, expects, is_expected) in [
        (Some("application/json; charset=utf-8"), "application/json", true),
        (Some("application/problem+json"), "application/json", true),
        (Some("Application/JSON"), "text/plain, application/json", true),
        (Some("text/plain"), "text/*", true),
        (Some("textual/plain"), "text/*", false),
        (Some("text/html"), "*/*", true),
        (None, "*/*", true),
        (None, "application/json", false),
        (Some("text/html"), "application/json", false),
        (Some("text/json"), "application/json", false),
        (Some("application/pdf"), "application/json,application/pdf", true),
        (Some("text/html"), "", false),
    ] {
        assert_eq!(of(content_type, expects), is_expected, "{content_type:?} for {expects:?}");
    }
}

/// Stripe reports "in progress" with a type that means a mismatch in other APIs.
#[test]
fn a_409_is_classified_by_its_body() {
    let of =
        |error_type, error_code| outcome(ResponseSummary { error_type, error_code, ..json(409) });
    assert_eq!(of(Some("idempotency_error"), Some("idempotency_key_in_use")), Outcome::InProgress);
    assert_eq!(of(Some("idempotency_error"), None), Outcome::KeyReused { http_status: 409 });
    assert_eq!(
        of(Some("urn:oncekey:problem:idempotency_in_progress"), Some("idempotency_in_progress")),
        Outcome::InProgress
    );
    assert_eq!(
        of(Some("invalid_request_error"), Some("already_refunded")),
        Outcome::Refused { http_status: 409 }
    );
    assert_eq!(of(Some("conflict"), None), Outcome::Ambiguous(UnknownReason::Status(409)));
}

#[test]
fn the_core_tells_shells_what_is_a_success_and_what_is_json() {
    for (status, expected) in [(200, true), (303, true), (399, true), (400, false), (504, false)] {
        assert_eq!(is_success(status), expected, "{status}");
    }
    for (content_type, expected) in [
        ("application/json", true),
        ("Application/Problem+JSON; charset=utf-8", true),
        ("text/x+json", true),
        ("text/json", false),
        ("text/html", false),
        ("", false),
    ] {
        assert_eq!(is_json(content_type), expected, "{content_type:?}");
    }
}
