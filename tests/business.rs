//! Business numbers: what is one, what becomes of key and number together, and what a look-up
//! proves.

#![cfg(not(target_arch = "wasm32"))]

#[path = "support/lifecycle/mod.rs"]
mod support;

use oncekey::business::{BusinessKeyError, KeyEnd, Pairing, alone, end_of_key, held, pair};
use oncekey::canonical::PointerError;
use oncekey::lookup::{LookUpError, proves_execution};
use oncekey::route::RouteError;
use oncekey::{
    BusinessKeys, Completion, Decision, Dialect, Execution, LookUps, Millis, Rejection, Scope,
    ScopedKey, StoredResponse,
};
use proptest::prelude::*;
use support::requests::answer;

const JSON: Option<&str> = Some("application/json");

fn keys() -> BusinessKeys {
    BusinessKeys::parse("POST:/v1/orders:/no, POST:/v1/*:/a/b~1c").expect("a list")
}

/// The number of a body, `-` for none, `!` where it cannot be told.
fn number(path: &str, content_type: Option<&str>, body: &str) -> String {
    match keys().number("POST", path, content_type, body.as_bytes()) {
        Ok(Some(number)) => number.value().to_owned(),
        Ok(None) => "-".to_owned(),
        Err(_) => "!".to_owned(),
    }
}

#[test]
fn a_number_is_a_text_or_a_number_at_its_place() {
    let long = "x".repeat(255);
    for (body, expected) in [
        (r#"{"no":"ORDER_1"}"#, "ORDER_1"),
        (r#" {"a":{"no":"x"},"z":[{"no":"y"}],"\u006eo":"\u004fK"} "#, "OK"),
        (r#"{"no":7}"#, "7"),
        (r#"{"no":"7"}"#, "7"),
        (r#"{"no":7.0}"#, "7"),
        (r#"{"no":70e-1}"#, "7"),
        (r#"{"no":-0}"#, "0"),
        (r#"{"no":9007199254740993}"#, "9007199254740993"),
        (r#"{"no":"7.0"}"#, "7.0"),
        (r#"{"no":" "}"#, " "),
        (r#"{"no":"訂單 1/2"}"#, "訂單 1/2"),
        (&format!(r#"{{"no":"{long}"}}"#), &long),
        (&format!(r#"{{"no":"{long}x"}}"#), "-"),
        (&format!(r#"{{"no":{}}}"#, "1".repeat(300)), "-"),
        (r#"{"no":1234567890123456789012}"#, "1.234567890123456789012e+21"),
        (r#"{"no":""}"#, "-"),
        (r#"{"no":"a\nb"}"#, "-"),
        (r#"{"no":"\u0000"}"#, "-"),
        (r#"{"no":"\u007f"}"#, "-"),
        (r#"{"no":"\u0085"}"#, "-"),
        (r#"{"no":null}"#, "-"),
        (r#"{"no":true}"#, "-"),
        (r#"{"no":["x"]}"#, "-"),
        (r#"{"no":{"no":"x"}}"#, "-"),
        (r#"{"No":"x","n":"y","noo":"z"}"#, "-"),
        ("{}", "-"),
        ("[]", "-"),
        (r#"["no"]"#, "-"),
        (r#""no""#, "-"),
        ("", "!"),
        ("{", "!"),
        (r#"{"no":"1","no":"1"}"#, "!"),
        (r#"{"no":"1","x":{"a":1,"\u0061":1}}"#, "!"),
        (r#"{"no":"\ud800"}"#, "!"),
        (r#"{"no":"1"} "#, "1"),
        (r#"{"no":"1"}}"#, "!"),
    ] {
        assert_eq!(number("/v1/orders", JSON, body), expected, "{body}");
    }
    assert_eq!(number("/v1/x", JSON, r#"{"a":{"b/c":"deep"},"no":"x"}"#), "deep");
    assert_eq!(number("/v1/x", JSON, r#"{"a":[{"b/c":"deep"}]}"#), "-");
    assert_eq!(number("/v2/x", JSON, "{"), "-", "another route");
    for content_type in [None, Some("text/plain"), Some("application/x-www-form-urlencoded")] {
        assert_eq!(number("/v1/orders", content_type, r#"{"no":"1"}"#), "-");
        assert!(!keys().may_name("POST", "/v1/orders", content_type));
    }
    assert_eq!(number("/v1/orders", Some("Application/vnd.x+JSON;v=1"), r#"{"no":"1"}"#), "1");
    assert!(keys().may_name("POST", "/v1/orders", JSON));
    assert!(!keys().may_name("PUT", "/v1/orders", JSON));
}

#[test]
fn a_list_that_is_none_says_why() {
    for (list, error) in [
        ("POST:/v1/orders", BusinessKeyError::NotAnEntry),
        ("/out_trade_no", BusinessKeyError::NotAnEntry),
        ("POST:/a:/x,b", BusinessKeyError::NotAnEntry),
        ("post:/v1:/no", BusinessKeyError::Route(RouteError::BadMethod)),
        ("POST:v1:/no", BusinessKeyError::Route(RouteError::NotARoute)),
        ("POST:/v1:no", BusinessKeyError::Pointer(PointerError::NoSlash)),
        ("POST:/v1:", BusinessKeyError::Pointer(PointerError::WholeDocument)),
    ] {
        assert_eq!(BusinessKeys::parse(list).unwrap_err(), error, "{list}");
        assert!(!error.to_string().is_empty());
    }
    assert!(BusinessKeys::parse("").is_ok());
    assert!(BusinessKeys::parse("POST:/a:/x:y").is_ok(), "a pointer may have a colon");
}

fn execution(attempt: u32, seconds: u64) -> Execution {
    Execution { attempt, lease: Millis::from_seconds(seconds) }
}

fn gone(http_status: Option<u16>) -> Decision {
    Decision::NotReplayable { http_status, resource: Some("ord_1".to_owned()) }
}

fn words(pairing: Pairing) -> String {
    match pairing {
        Pairing::Dispatch(execution) => {
            format!("dispatch {} {}", execution.attempt, execution.lease.as_u64() / 1000)
        }
        Pairing::Adopt(response) => format!("adopt {}", response.status),
        Pairing::LookUp(decision) => format!("look up {}", decision_word(&decision)),
        Pairing::End(decision) => format!("end {}", decision_word(&decision)),
    }
}

fn decision_word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Execute(_) => "execute",
        Decision::Replay(_) => "replay",
        Decision::NotReplayable { http_status: Some(_), .. } => "gone",
        Decision::NotReplayable { http_status: None, .. } => "unlisted",
        Decision::InProgress => "in_progress",
        Decision::OutcomeUnknown => "unknown",
        Decision::Mismatch => "mismatch",
        Decision::KeyVoided => "voided",
        Decision::KeyExpired => "expired",
    }
}

/// Every decision about a number, and what becomes of: an attempt that owns its key, a request
/// without a key, a key that is held, and a key whose attempt has a final answer.
#[test]
fn every_decision_about_a_number_has_its_consequence() {
    let replay = || Decision::Replay(answer(201, "number's"));
    for (number, paired, without_key, held_key, end) in [
        (
            Decision::Execute(execution(7, 3)),
            "dispatch 2 3",
            "dispatch 7 3",
            "look up unknown",
            "unknown",
        ),
        (replay(), "adopt 201", "adopt 201", "adopt 201", "adopt"),
        (Decision::InProgress, "end in_progress", "end in_progress", "end in_progress", "unknown"),
        (Decision::Mismatch, "end mismatch", "end mismatch", "end unknown", "unknown"),
        (
            Decision::OutcomeUnknown,
            "look up unknown",
            "look up unknown",
            "look up unknown",
            "unknown",
        ),
        (gone(Some(201)), "look up gone", "look up gone", "look up gone", "unknown"),
        (gone(None), "end unlisted", "end unlisted", "end unknown", "unknown"),
        (Decision::KeyVoided, "end voided", "end voided", "end unknown", "unknown"),
        (Decision::KeyExpired, "end expired", "end expired", "end unknown", "unknown"),
    ] {
        assert_eq!(words(pair(execution(2, 5), number.clone())), paired);
        assert_eq!(words(alone(number.clone())), without_key);
        assert_eq!(words(held(Some(number.clone()))), held_key);
        for (status, is_final) in
            [(201, true), (402, true), (429, false), (503, false), (307, false)]
        {
            let lost = Completion::LeaseLost(Box::new(number.clone()));
            let expected = match end {
                "adopt" => KeyEnd::Adopt(answer(201, "number's")),
                _ if is_final => KeyEnd::Unknown(number.clone()),
                _ => KeyEnd::Own,
            };
            assert_eq!(end_of_key(lost, &answer(status, "own")), expected, "{number:?} {status}");
        }
    }
    assert_eq!(words(held(None)), "look up unknown");
    assert_eq!(words(pair(execution(2, 2), Decision::Execute(execution(1, 9)))), "dispatch 2 2");
    for completion in [Completion::Recorded, Completion::RecordGone] {
        assert_eq!(end_of_key(completion, &answer(402, "own")), KeyEnd::Own);
    }
}

#[test]
fn an_error_names_the_number() {
    let list = BusinessKeys::parse("POST:/v1/*:/order/no").unwrap();
    let number = list.number_of("POST", "/v1/x", "A\"1").unwrap();
    for (why, code, status) in [
        (Rejection::Mismatch, "idempotency_error", [400, 422]),
        (Rejection::InProgress, "idempotency_in_progress", [409, 409]),
        (Rejection::OutcomeUnknown, "idempotency_outcome_unknown", [409, 409]),
        (gone(Some(201)).rejection().unwrap(), "idempotency_not_replayable", [409, 409]),
        (gone(None).rejection().unwrap(), "idempotency_not_replayable", [409, 409]),
    ] {
        let rejection = Rejection::OfNumber { why: Box::new(why.clone()), number: number.clone() };
        for (dialect, status) in [Dialect::Kukopay, Dialect::Ietf].into_iter().zip(status) {
            let [problem, plain] =
                [&rejection, &why].map(|rejection| rejection.problem(dialect, None, "req_1"));
            assert_eq!((problem.status, problem.code), (status, code));
            assert_eq!((plain.status, plain.retry_after), (status, problem.retry_after));
            assert!(problem.body.contains(r#"order.no \"A\"1\""#), "{}", problem.body);
            assert!(problem.body.contains(r#""param":"order.no""#));
            assert!(!problem.body.contains("this idempotency key"), "{}", problem.body);
            assert_eq!(problem.body.contains("other content"), code == "idempotency_error");
            assert_eq!(problem.body.contains("resource_id"), code == "idempotency_not_replayable");
        }
    }
    assert!(!format!("{number:?}").contains("A\""), "no log shows the number");
    assert!(list.number_of("PUT", "/v1/x", "1").is_none());
    assert!(list.number_of("POST", "/v1/x", "").is_none());
}

#[test]
fn names_differ_in_every_part() {
    let list = BusinessKeys::parse("*:/*:/no").unwrap();
    let other_list = BusinessKeys::parse("*:/*:/number").unwrap();
    let name = |list: &BusinessKeys, tenant: &str, method: &str, path: &str, value: &str| {
        let number = list.number_of(method, path, value).unwrap();
        ScopedKey::of_number(&Scope::of_tenant(tenant), method, path, &number)
    };
    let one = name(&list, "a", "POST", "/x", "1");
    assert_eq!(one, name(&list, "a", "POST", "/x", "1"));
    for other in [
        name(&list, "b", "POST", "/x", "1"),
        name(&list, "a", "PUT", "/x", "1"),
        name(&list, "a", "POST", "/x/", "1"),
        name(&list, "a", "POST", "/x", "2"),
        name(&other_list, "a", "POST", "/x", "1"),
    ] {
        assert_ne!(one, other);
    }
}

fn target(list: &str, body: &str) -> Option<String> {
    LookUps::parse(list).unwrap().target("POST", "/v1/orders", JSON, body.as_bytes())
}

#[test]
fn a_look_up_is_filled_from_the_body() {
    let list = "POST:/v1/orders:/v1/orders?no={/no}&c={/buyer/id}";
    for (body, expected) in [
        (r#"{"no":"A1","buyer":{"id":7}}"#, Some("/v1/orders?no=A1&c=7")),
        (
            r#"{"no":"é /?#%&=+","buyer":{"id":"-._~"}}"#,
            Some("/v1/orders?no=%C3%A9%20%2F%3F%23%25%26%3D%2B&c=-._~"),
        ),
        (r#"{"no":"..","buyer":{"id":"."}}"#, Some("/v1/orders?no=..&c=.")),
        (r#"{"no":"A1"}"#, None),
        (r#"{"no":"A1","buyer":{"id":null}}"#, None),
        (r#"{"no":"","buyer":{"id":1}}"#, None),
        (r#"{"no":"a\nb","buyer":{"id":1}}"#, None),
        (r#"{"no":"A1","no":"A1","buyer":{"id":1}}"#, None),
        ("{", None),
    ] {
        assert_eq!(target(list, body).as_deref(), expected, "{body}");
    }
    let list = "POST:/v1/orders:/v1/{/a}{/b}/state";
    for (a, b, expected) in [
        ("x", "y", Some("/v1/xy/state")),
        ("a/..b", "/", Some("/v1/a%2F..b%2F/state")),
        ("../..", "/", None),
        (".", ".", None),
        ("..", "x", Some("/v1/..x/state")),
    ] {
        let body = format!(r#"{{"a":"{a}","b":"{b}"}}"#);
        assert_eq!(target(list, &body).as_deref(), expected, "{body}");
    }
    let ups = LookUps::parse("POST:/v1/orders:/x?{/no}").unwrap();
    assert_eq!(ups.target("PUT", "/v1/orders", JSON, br#"{"no":1}"#), None);
    assert_eq!(ups.target("POST", "/v1/orders", Some("text/plain"), br#"{"no":1}"#), None);
}

#[test]
fn a_look_up_that_is_none_says_why() {
    for (list, error) in [
        ("POST:/v1/orders", LookUpError::NotAnEntry),
        ("post:/v1:/x/{/a}", LookUpError::Route(RouteError::BadMethod)),
        ("POST:/v1:x/{/a}", LookUpError::NotATemplate),
        ("POST:/v1://host/{/a}", LookUpError::NotATemplate),
        ("POST:/v1:https://host/{/a}", LookUpError::NotATemplate),
        ("POST:/v1:{/a}", LookUpError::NotATemplate),
        ("POST:/v1:/x/{/a", LookUpError::NotATemplate),
        ("POST:/v1:/x/{/a}}", LookUpError::NotATemplate),
        ("POST:/v1:/x/{/a}#f", LookUpError::NotATemplate),
        ("POST:/v1:/x y/{/a}", LookUpError::NotATemplate),
        ("POST:/v1:/\\x/{/a}", LookUpError::NotATemplate),
        ("POST:/v1:/é/{/a}", LookUpError::NotATemplate),
        ("POST:/v1:/x", LookUpError::NoPlaceholder),
        ("POST:/v1:/x/{}", LookUpError::Pointer(PointerError::WholeDocument)),
        ("POST:/v1:/x/{a}", LookUpError::Pointer(PointerError::NoSlash)),
    ] {
        assert_eq!(LookUps::parse(list).unwrap_err(), error, "{list}");
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn one_object_proves_execution() {
    for (body, proves) in [
        ("{}", true),
        (r#"{"id":1}"#, true),
        (r#"{"data":{}}"#, true),
        (r#"{"data":"x"}"#, true),
        (r#"[{"a":[1,2],"b":"],["}]"#, true),
        (r#"{"data":[[1,2]]}"#, true),
        (" [ ] ", false),
        ("[1,2]", false),
        ("[1,2,3]", false),
        ("[[],[]]", false),
        (r#"{"data":[ ]}"#, false),
        (r#"{"data":[{},{}]}"#, false),
        (r#"{"data":null,"id":1}"#, false),
        ("null", false),
        ("", false),
        ("<html>", false),
        (r#"{"id":1,"id":1}"#, false),
    ] {
        assert_eq!(proves_execution(200, body.as_bytes()), proves, "{body}");
        for status in [100, 199, 300, 404, 500] {
            assert!(!proves_execution(status, body.as_bytes()));
        }
    }
}

#[test]
fn the_id_of_what_was_made_is_where_apis_have_it() {
    let resource = |status: u16, headers: &[(&str, &str)], body: &str| {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let body = body.as_bytes().to_vec();
        let mut response = StoredResponse::keep(status, headers, body, "req_1", 100_000).0;
        response.note_resource();
        response.resource().map(str::to_owned)
    };
    let json = ("Content-Type", "application/json");
    let long = "x".repeat(256);
    for (headers, body, expected) in [
        (&[json][..], r#"{"data":{"id":"a"},"id":"b"}"#, Some("a")),
        (&[json], r#"{"data":{"id":null},"id":42}"#, Some("42")),
        (&[json], r#"{"data":[{"id":"a"}],"id":"b"}"#, Some("b")),
        (&[json], &format!(r#"{{"id":"{long}"}}"#), None),
        (&[json], r#"{"id":"a b"}"#, None),
        (&[json], r#"{"id":""}"#, None),
        (&[json, ("Content-Encoding", "zstd")], r#"{"id":"a"}"#, None),
        (&[("Content-Type", "text/plain")], r#"{"id":"a"}"#, None),
        (&[json, ("Location", "/orders/7")], r#"{"ok":true}"#, Some("7")),
        (&[("Location", "https://h/orders/8/?x=/9#/10")], "", Some("8")),
        (&[("Location", "9")], "", Some("9")),
        (&[("Location", "https://h")], "", None),
        (&[("Location", "/")], "", None),
        (&[], "", None),
    ] {
        assert_eq!(resource(201, headers, body).as_deref(), expected, "{headers:?} {body}");
        assert_eq!(resource(402, headers, body), None, "only of a success");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// What is looked into may be anything.
    #[test]
    fn nothing_panics(body in ".{0,60}", json in r#"[\[\]{}:,"0-9a-z \\-]{0,40}"#) {
        for text in [&body, &json] {
            let _ = keys().number("POST", "/v1/orders", JSON, text.as_bytes());
            let _ = proves_execution(200, text.as_bytes());
            let _ = LookUps::parse(text);
            let _ = BusinessKeys::parse(text);
        }
    }

    /// A look-up asks for one place and no other, whatever stands in the body.
    #[test]
    fn a_value_leads_nowhere_else(value in "\\PC{1,12}") {
        let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
        let list = "POST:/v1/orders:/v1/{/no}/x?no={/no}";
        if let Some(target) = target(list, &format!("{{\"no\":\"{escaped}\"}}")) {
            prop_assert!(target.starts_with("/v1/") && target.is_ascii());
            let (path, query) = target.split_once('?').unwrap();
            prop_assert_eq!(path.split('/').count(), 4);
            prop_assert!(path.split('/').all(|segment| segment != "." && segment != ".."));
            prop_assert!(!query.contains(['&', '#', '?', ' ', '/']));
        }
    }
}
