//! `tests/vectors/retry.json`, with which other implementations can be checked, too. Its digests were
//! computed outside this crate. `next` uses the default policy.

use crate::support::client::names::{next_name, outcome_name, state_name};
use crate::support::client::requests::key;
use oncekey::client::intent::{
    Cookies, Credential, Entry, EntryError, Payload, SentBy, Stored, TabLease, TabToken,
};
use oncekey::client::retry::{
    AttemptResult, BodyState, Context, Outcome, Progress, ResponseSummary, RetryPolicy,
    UnknownReason, classify, next, retry_after,
};
use oncekey::fingerprint::RequestParts;
use oncekey::{Millis, UnixMillis};
use serde_json::Value;

fn vectors(name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_slice(include_bytes!("../vectors/retry.json")).unwrap();
    let list = all[name].as_array().unwrap().clone();
    assert!(!list.is_empty());
    list
}

fn millis(value: &Value) -> Option<Millis> {
    value.as_u64().map(Millis::new)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn the_vectors_of_retry_after_hold() {
    for vector in vectors("retry_after") {
        let value = vector["value"].as_str().unwrap();
        let now = UnixMillis::new(number(&vector["now"]));
        let max = millis(&vector["max"]).unwrap();
        let found = retry_after(value, vector["date"].as_str(), now, max);
        assert_eq!(found, millis(&vector["wait"]), "{vector}");
    }
}

#[test]
fn the_vectors_of_outcomes_hold() {
    for vector in vectors("classify") {
        let (of_response, context) = (&vector["answer"], &vector["context"]);
        let text = |name: &str| of_response[name].as_str();
        let response = ResponseSummary {
            status: of_response["status"].as_u64().unwrap_or(0) as u16,
            body: match text("body") {
                Some("empty") => BodyState::Empty,
                Some("cut") => BodyState::Cut,
                _ => BodyState::Whole,
            },
            content_type: text("content_type"),
            content_length: text("content_length"),
            error_type: text("error_type"),
            error_code: text("error_code"),
            state: text("state"),
            replayed: text("replayed"),
            stored: text("stored"),
            redirected: of_response["redirected"].as_bool().unwrap_or(false),
        };
        let result = match vector["heard"].as_str() {
            Some("network_error") => AttemptResult::NetworkError,
            Some("timed_out") => AttemptResult::TimedOut,
            Some("aborted") => AttemptResult::Aborted,
            _ => AttemptResult::Response(&response),
        };
        let is = |name: &str| context[name].as_bool().unwrap_or(false);
        let named = context["final_statuses"].as_array();
        let final_statuses: Vec<u16> =
            named.into_iter().flatten().map(|status| number(status) as u16).collect();
        let context = Context {
            maybe_executed: is("maybe_executed"),
            may_remint: is("may_remint"),
            sends_proof: is("sends_proof"),
            final_statuses: &final_statuses,
            expects: context["expects"].as_str().unwrap_or(""),
        };
        let found = outcome_name(&classify(&result, &context));
        assert_eq!(found, vector["outcome"].as_str().unwrap(), "{vector}");
    }
}

#[test]
fn the_vectors_of_retries_hold() {
    let outcomes = [
        Outcome::Ambiguous(UnknownReason::Network),
        Outcome::NotExecuted { http_status: 429, again: true },
        Outcome::NotExecuted { http_status: 401, again: false },
        Outcome::InProgress,
        Outcome::KeyExpired,
        Outcome::Succeeded { http_status: 201 },
        Outcome::Refused { http_status: 402 },
        Outcome::Unsettled(UnknownReason::Held),
        Outcome::KeyReused { http_status: 400 },
        Outcome::KeyVoided,
    ];
    for vector in vectors("next") {
        let name = vector["outcome"].as_str().unwrap();
        let outcome = outcomes.iter().find(|outcome| outcome_name(outcome) == name).unwrap();
        let progress = Progress {
            retries: number(&vector["retries"]) as u32,
            elapsed: millis(&vector["elapsed"]).unwrap(),
            left: millis(&vector["left"]).unwrap(),
        };
        let requested = millis(&vector["retry_after"]);
        let random = number(&vector["random"]) as u32;
        let found = next(&RetryPolicy::default(), outcome, progress, requested, random);
        assert_eq!(next_name(found), vector["next"].as_str().unwrap(), "{vector}");
    }
}

#[test]
fn the_vectors_of_entries_hold() {
    for vector in vectors("entries") {
        let text = vector["text"].as_str().unwrap();
        let entry = Entry::decode(text).unwrap();
        assert_eq!(entry.encode(), text);
        assert_eq!(entry.key.as_str(), vector["key"].as_str().unwrap());
        assert_eq!(state_name(&Stored::Entry(entry.clone())), vector["state"].as_str().unwrap());
        assert_eq!(entry.maybe_executed, vector["maybe_executed"].as_bool().unwrap());
        assert_eq!(entry.own_key, vector["own_key"].as_bool().unwrap());
        assert_eq!(u64::from(entry.attempts), number(&vector["attempts"]));
        assert_eq!(entry.sends_proof, vector["sends_proof"].as_bool().unwrap_or(false));
        assert_eq!(sent_by_name(&entry.sent_by), vector["sent_by"].as_str().unwrap_or("not known"));
        assert_eq!(entry.updated_at.since(entry.created_at), Millis::new(31_000));
    }
    for text in vectors("damaged_entries") {
        let text = text.as_str().unwrap();
        assert_eq!(Entry::decode(text), Err(EntryError::Damaged), "{text:?}");
    }
    for vector in vectors("newer_entries") {
        let error = EntryError::NewerVersion { key: key(vector["key"].as_str().unwrap()) };
        assert_eq!(Entry::decode(vector["text"].as_str().unwrap()), Err(error));
    }
}

fn sent_by_name(sent_by: &SentBy) -> String {
    match sent_by {
        SentBy::NotKnown => "not known".into(),
        SentBy::Several => "several".into(),
        SentBy::One(mark) => {
            let cookies = match mark.cookies {
                Cookies::None => "without cookies",
                Cookies::Same => "with cookies",
                Cookies::Elsewhere => "with cookies of another origin",
            };
            let names: Vec<_> = mark.names().collect();
            [cookies, &names.join(" ")].join("; ")
        }
    }
}

#[test]
fn the_vectors_of_credentials_hold() {
    for vector in vectors("credentials") {
        let headers: Vec<_> = vector["headers"].as_array().unwrap().iter().collect();
        let headers =
            headers.iter().map(|pair| (pair[0].as_str().unwrap(), pair[1].as_str().unwrap()));
        let cookies = match vector["cookies"].as_str().unwrap() {
            "none" => Cookies::None,
            "same" => Cookies::Same,
            _ => Cookies::Elsewhere,
        };
        let mark = Credential::new(cookies, headers).mark(&key(vector["key"].as_str().unwrap()));
        assert_eq!(SentBy::One(mark).encode(), vector["sent"].as_str().unwrap(), "{vector}");
    }
}

#[test]
fn the_vectors_of_tags_hold() {
    for vector in vectors("tags") {
        let text = |name: &str| vector[name].as_str();
        let parts = RequestParts {
            method: text("method").unwrap(),
            path: text("path").unwrap(),
            query: text("query"),
            content_encoding: None,
            content_type: text("content_type"),
            body: text("body").unwrap().as_bytes(),
            ignore: &[],
        };
        let tag = Payload::of(text("origin").unwrap(), &parts).tag(&key(text("key").unwrap()));
        assert_eq!(format!("{tag:?}"), format!("Tag({})", text("tag").unwrap()), "{vector}");
    }
}

#[test]
fn the_vectors_of_tab_leases_hold() {
    for vector in vectors("claims") {
        let text = vector["text"].as_str().unwrap();
        let tab = u64::from_str_radix(vector["tab"].as_str().unwrap(), 16).unwrap();
        let until = UnixMillis::new(number(&vector["until"]));
        assert_eq!(TabLease::decode(text), Some(TabLease { tab: TabToken::new(tab), until }));
    }
}
