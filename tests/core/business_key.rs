//! Business keys: which values are business keys, how the decisions for both keys are combined, and what a
//! look-up proves.

use crate::support::lifecycle::requests::response;
use oncekey::business_key::{
    BusinessKeyError, BusinessKeyUnreadable, KeyEnd, Pairing, alone, end_of_key, on_hold, pair,
};
use oncekey::canonical::PointerError;
use oncekey::lookup::LookUpError;
use oncekey::request::route::RouteError;
use oncekey::{
    BusinessKeys, Completion, Decision, Dialect, Execution, LookUps, Millis, Rejection,
    RequestKind, ResponseClass, Scope, ScopedKey, StoredResponse,
};
use proptest::prelude::*;

const JSON: Option<&str> = Some("application/json");

fn keys() -> BusinessKeys {
    BusinessKeys::parse("POST:/v1/orders:/no, POST:/v1/*:/a/b~1c").expect("a list")
}

/// Returns the business key of a body: `-` if there is none, `!` if the body cannot be read.
fn business_key(path: &str, content_type: Option<&str>, body: &str) -> String {
    match keys().read("POST", path, content_type, body.as_bytes()) {
        Ok(Some(business_key)) => business_key.value().to_owned(),
        Ok(None) => "-".to_owned(),
        Err(_) => "!".to_owned(),
    }
}

#[test]
fn a_business_key_is_a_text_or_a_number_at_its_place() {
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
        (r#"{"n":"y","noo":"z","_no":"w"}"#, "-"),
        (r#"{"x":{"No":"x"},"no":"A"}"#, "A"),
        (r#"{"No":"x"}"#, "!"),
        (r#"{"no":"x","NO":"x"}"#, "!"),
        (r#"{"no":"x","n_o":null}"#, "!"),
        (r#"{"no":"x","\u004e\u006F":1}"#, "!"),
        ("\u{feff}{\"no\":\"x\"}", "!"),
        (r#"{"no":"x",}"#, "!"),
        (r#"{"no":"x"/**/}"#, "!"),
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
        assert_eq!(business_key("/v1/orders", JSON, body), expected, "{body}");
    }
    assert_eq!(business_key("/v1/x", JSON, r#"{"a":{"b/c":"deep"},"no":"x"}"#), "deep");
    assert_eq!(business_key("/v1/x", JSON, r#"{"a":[{"b/c":"deep"}]}"#), "-");
    for body in [
        r#"{"A":{"b/c":"deep"}}"#,
        r#"{"a":{"b/c":"deep"},"A":{}}"#,
        r#"{"a":{"b/c":"deep","B/c":"other"}}"#,
        r#"{"a":{"b/C":"other"}}"#,
    ] {
        assert_eq!(business_key("/v1/x", JSON, body), "!", "at each step: {body}");
    }
    assert_eq!(business_key("/v2/x", JSON, "{"), "-", "another route");
    assert_eq!(
        business_key("/v1/orders", Some("Application/vnd.x+JSON;v=1"), r#"{"no":"1"}"#),
        "1"
    );
    assert!(keys().may_name("POST", "/v1/orders") && keys().may_name("POST", "/V1//Orders.json"));
    assert!(!keys().may_name("PUT", "/v1/orders") && !keys().may_name("POST", "/v2/orders"));
}

const FORM: &str = "application/x-www-form-urlencoded";

/// Returns the business key of a form: `-` if there is none, `!` if the form is refused.
fn in_form(path: &str, content_type: &str, body: &[u8]) -> String {
    let list = "POST:/one:/out_trade_no,POST:/two:/buyer/no,POST:/list:/items/0/id";
    let list = BusinessKeys::parse(list).expect("a list");
    match list.read("POST", path, Some(content_type), body) {
        Ok(business_key) => {
            business_key.map_or("-".to_owned(), |business_key| business_key.value().to_owned())
        }
        Err(BusinessKeyUnreadable::Field(_)) => "!".to_owned(),
        Err(other) => format!("{other:?}"),
    }
}

#[test]
fn the_field_of_a_form_is_the_business_key() {
    for (path, body, found) in [
        ("/one", "out_trade_no=A-1&amount=5", "A-1"),
        ("/one", "amount=5&out%5Ftrade_n%6f=A%2D1", "A-1"),
        ("/one", "out_trade_no=A+1", "A 1"),
        ("/one", "out_trade_no=%E8%A8%82", "訂"),
        ("/one", "out_trade_no=7", "7"),
        ("/one", "out_trade_no=", "-"),
        ("/one", "out_trade_no", "-"),
        ("/one", "out_trade_no=a%0Ab", "-"),
        ("/one", "amount=5", "-"),
        ("/one", "", "-"),
        ("/one", "trade_no=1&in_trade_no=2&out_trade_nos=3&x[out_trade_no]=4", "-"),
        ("/one", "memo=out_trade_no&note=;&share=100%", "-"),
        ("/two", "buyer[no]=A&buyer[name]=b", "A"),
        ("/two", "buyer%5Bno%5D=A", "A"),
        ("/two", "no=A&buyer=b&seller[no]=2", "-"),
        ("/list", "items[0][id]=A&items[1][id]=B", "A"),
        ("/list", "items[1][id]=B", "-"),
        // Fields that some parsers read as this field.
        ("/one", "out_trade_no=A&out_trade_no=A", "!"),
        ("/one", "OUT_TRADE_NO=A", "!"),
        ("/one", "out_trade_no=A&Out_Trade_No=B", "!"),
        ("/one", "outTradeNo=A", "!"),
        ("/one", "out.trade.no=A", "!"),
        ("/one", "out+trade+no=A", "!"),
        ("/one", "+out_trade_no=A", "!"),
        ("/one", "out[trade_no=A", "!"),
        ("/one", "out_trade_no%00x=A", "!"),
        ("/one", "out_trade_no[]=A", "!"),
        ("/one", "out_trade_no[0]=A", "!"),
        ("/one", "out_trade_no[x][y]=A", "!"),
        ("/one", "a=1;out_trade_no=A", "!"),
        ("/one", "out_trade_no=A;a=1", "!"),
        ("/one", "out_trade_no=A;B", "!"),
        ("/one", "out_trade_no=%", "!"),
        ("/one", "%u006fut_trade_no=A", "!"),
        ("/one", "out_trade_no=%FF", "!"),
        ("/two", "buyer.no=A", "!"),
        ("/two", "buyer[NO]=A", "!"),
        ("/two", "buyer[][no]=A", "!"),
        ("/list", "items[][id]=A", "!"),
        ("/list", "items.0.id=A", "!"),
    ] {
        assert_eq!(in_form(path, FORM, body.as_bytes()), found, "{body}");
        // Rack reads a body without a type as a form.
        let untyped = if found == "-" || body.contains("=%0A") { "-" } else { "!" };
        if !body.contains("%0A") && !body.ends_with("no=") && !body.ends_with("no") {
            assert_eq!(in_form(path, "", body.as_bytes()), untyped, "no type: {body}");
        }
    }
    for coded in [&b"\x1f\x8b\x08\x00"[..], b"o\0u\0t\0", b"a=\xff", b"a=1\r\nout_trade_no=A"] {
        assert_eq!(in_form("/one", FORM, coded), "!", "compressed, or in another charset");
        assert_eq!(in_form("/one", "", coded), "-");
    }
}

#[test]
fn the_part_of_a_form_is_the_business_key() {
    let part = |head: &str, value: &str| format!("--B\r\n{head}\r\n\r\n{value}\r\n");
    let named = |name: &str| format!("Content-Disposition: form-data; name={name}");
    let field = |name: &str| part(&named(name), "A");
    let own = field("\"out_trade_no\"");
    let file = |name: &str| part(&(named(name) + "; filename=\"out_trade_no 100%.png\""), "x");
    let typed = |header: &str| part(&(named("\"out_trade_no\"") + "\r\n" + header), "A");
    for (parts, found) in [
        (own.clone(), "A"),
        (field("out_trade_no"), "A"),
        (field("\"a\"") + &own + &file("\"b\""), "A"),
        (typed("Content-Type: text/plain; charset=utf-8"), "A"),
        (typed("Content-Transfer-Encoding: 8bit"), "A"),
        (field("\"a\"") + &file("\"b\""), "-"),
        (part("Content-Type: text/plain", "out_trade_no=A"), "-"),
        (part("Content-Disposition: attachment; size=1", "A"), "-"),
        (part("Content-Disposition: attachment; out_trade_no=A", "A"), "!"),
        (own.clone() + &own, "!"),
        (own.clone() + &field("\"OUT_TRADE_NO\""), "!"),
        (field("\"out_trade_no[]\""), "!"),
        (field("\"out%5Ftrade_no%00\""), "!"),
        (field("\"out.trade.no\""), "!"),
        (file("\"out_trade_no\""), "!"),
        (part("Content-Disposition: form-data; name=a; name=out_trade_no", "A"), "!"),
        (part("Content-Disposition: form-data; name*=utf-8''out_trade_no", "A"), "!"),
        (part("Content-Disposition: form-data; name=\"x\\\"; name=\"out_trade_no\"", "A"), "!"),
        (typed("Content-Disposition: form-data; name=b"), "!"),
        (typed("Content-Transfer-Encoding: base64"), "!"),
        (typed("Content-Type: text/plain; charset=utf-7"), "!"),
        (typed("Content-Type: application/json"), "!"),
        ("--B\r\nout_trade_no\r\n".to_owned(), "!"),
    ] {
        let body = parts.clone() + "--B--\r\n";
        let form = in_form("/one", "multipart/form-data; boundary=B", body.as_bytes());
        assert_eq!(form, found, "{parts}");
        // Rack reads some other multipart types as forms.
        let mixed = in_form("/one", "multipart/mixed; boundary=B", body.as_bytes());
        assert_eq!(mixed, if found == "-" { "-" } else { "!" }, "{parts}");
    }
    assert_eq!(in_form("/one", "multipart/form-data; boundary=B", b""), "-");
    assert_eq!(in_form("/one", "multipart/form-data", own.as_bytes()), "!");
}

const OTHER_TYPES: [Option<&str>; 9] = [
    None,
    Some(""),
    Some("text/plain"),
    Some("text/json"),
    Some("application/x-www-form-urlencoded"),
    Some("application/octet-stream"),
    Some("application/json, application/json"),
    Some("application/json/x"),
    Some("application"),
];

#[test]
fn json_with_another_media_type_is_refused() {
    for content_type in OTHER_TYPES {
        for body in [
            r#"{"no":"1"}"#,
            "{}",
            "{",
            r#"[{"no":"1"}]"#,
            "[]",
            " \r\n\t{'no':1}",
            "\u{feff}{no:1}",
            "\u{a0}\u{2028}{\"no\":1}",
            "\0{\0\"\0n",
            "{\0\"\0n\0",
            "/* no */{\"no\":1}",
            "// no",
            r#"{"no":"1"} and more"#,
        ] {
            let found = match body {
                "{" => "-",
                _ => "!",
            };
            assert_eq!(
                business_key("/v1/orders", content_type, body),
                found,
                "{content_type:?} {body}"
            );
            assert_eq!(business_key("/v2/orders", content_type, body), "-");
        }
        for body in ["", " ", "hello", "7", "\"x\"", "null", "<no>1</no>", "--b", "a{}", "/nope"] {
            assert_eq!(
                business_key("/v1/orders", content_type, body),
                "-",
                "{content_type:?} {body}"
            );
        }
    }
    // The first bytes of a brotli stream.
    let brotli = [0x5b, 0xff, 0xff, 0xaf, 0x02, 0x22, 0x9e];
    assert_eq!(keys().read("POST", "/v1/orders", Some("text/plain"), &brotli), Ok(None));
    assert_eq!(
        keys().read("POST", "/v1/orders", None, b"\xff\xfe{\0\"\0"),
        Err(BusinessKeyUnreadable::OtherType)
    );
}

#[test]
fn another_charset_is_refused() {
    for content_type in [
        "application/json; charset=utf-7",
        "application/json; charset=\"UTF-16\"",
        "application/json; charset=utf-8; charset=utf-8",
        "application/json; charset",
        "text/plain; charset=utf-7",
        "application/x-www-form-urlencoded; charset=utf-16le",
    ] {
        for body in [r#"{"no":"1"}"#, "+AHs-"] {
            let found = keys().read("POST", "/v1/orders", Some(content_type), body.as_bytes());
            assert_eq!(found, Err(BusinessKeyUnreadable::Charset), "{content_type}");
        }
        assert_eq!(business_key("/v2/orders", Some(content_type), "{}"), "-");
    }
    for content_type in ["application/json;charset=UTF-8", "application/json; charset=\"utf8\";"] {
        assert_eq!(business_key("/v1/orders", Some(content_type), r#"{"no":"1"}"#), "1");
    }
}

#[test]
fn a_business_key_can_be_required() {
    let list = BusinessKeys::parse("POST:/v1/orders:/a/no!,POST:/v1/*:/no").expect("a list");
    assert!(list.requires("POST", "/V1/orders/") && !list.requires("POST", "/v1/x"));
    let missing = Err(BusinessKeyUnreadable::Missing("a.no".to_owned()));
    for (content_type, body) in [
        (JSON, "{}"),
        (JSON, "[]"),
        (JSON, r#"{"a":{"no":null}}"#),
        (JSON, r#"{"a":{"no":""}}"#),
        (JSON, r#"{"a":{"no":true}}"#),
        (JSON, r#"{"a":{"no":"a\nb"}}"#),
        (JSON, r#"{"a.no":"1"}"#),
        (None, ""),
        (Some("application/x-www-form-urlencoded"), "b[no]=1"),
        (Some("application/x-www-form-urlencoded"), "a[no]="),
        (Some("text/plain"), "hello"),
    ] {
        let found = list.read("POST", "/v1/orders", content_type, body.as_bytes());
        assert_eq!(found, missing, "{body}");
        let found = list.read("POST", "/v1/x", content_type, body.as_bytes());
        assert_eq!(found, Ok(None), "{body}");
    }
    let found = list.read("POST", "/v1/orders", JSON, br#"{"a":{"no":"1"}}"#);
    assert_eq!(found.unwrap().unwrap().value(), "1");
    let found = list.read("POST", "/v1/orders", Some(FORM), b"a[no]=1");
    assert_eq!(found.unwrap().unwrap().value(), "1");
    for refused in [
        BusinessKeyUnreadable::Broken,
        BusinessKeyUnreadable::OtherType,
        BusinessKeyUnreadable::Charset,
        BusinessKeyUnreadable::Lookalike("a.no".to_owned()),
        BusinessKeyUnreadable::Field("a[no]".to_owned()),
        BusinessKeyUnreadable::Missing("a.no".to_owned()),
    ] {
        assert!(refused.to_string().contains(". Send "), "{refused}");
    }
}

#[test]
fn the_error_of_an_invalid_list_says_what_is_wrong() {
    for (list, error) in [
        ("POST:/v1/orders", BusinessKeyError::NotAnEntry),
        ("/out_trade_no", BusinessKeyError::NotAnEntry),
        ("POST:/a:/x,b", BusinessKeyError::NotAnEntry),
        ("post:/v1:/no", BusinessKeyError::Route(RouteError::BadMethod)),
        ("POST:v1:/no", BusinessKeyError::Route(RouteError::NotARoute)),
        ("POST:/v1:no", BusinessKeyError::Pointer(PointerError::NoSlash)),
        ("POST:/v1:", BusinessKeyError::Pointer(PointerError::WholeDocument)),
        ("POST:/v1:!", BusinessKeyError::Pointer(PointerError::WholeDocument)),
        ("POST:/v1:no!", BusinessKeyError::Pointer(PointerError::NoSlash)),
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

/// Every decision about a business key, and its result for an attempt that owns its key, a request
/// without a key, a key on hold, and a key whose attempt has a final response.
#[test]
fn the_key_follows_each_decision_about_its_business_key() {
    let replay = || Decision::Replay(response(201, "business key's"));
    for (decision, paired, without_key, held_key, end) in [
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
        assert_eq!(words(pair(execution(2, 5), decision.clone())), paired);
        assert_eq!(words(alone(decision.clone())), without_key);
        assert_eq!(words(on_hold(Some(decision.clone()))), held_key);
        for (status, is_final) in
            [(201, true), (402, true), (429, false), (503, false), (307, false)]
        {
            let lost = Completion::LeaseLost(Box::new(decision.clone()));
            let expected = match end {
                "adopt" => KeyEnd::Adopt(response(201, "business key's")),
                _ if is_final => KeyEnd::Unknown(decision.clone()),
                _ => KeyEnd::Own,
            };
            assert_eq!(
                end_of_key(lost, ResponseClass::of_status(status)),
                expected,
                "{decision:?} {status}"
            );
        }
    }
    assert_eq!(words(on_hold(None)), "look up unknown");
    assert_eq!(words(pair(execution(2, 2), Decision::Execute(execution(1, 9)))), "dispatch 2 2");
    for completion in [Completion::Recorded, Completion::RecordGone] {
        assert_eq!(end_of_key(completion, ResponseClass::Final), KeyEnd::Own);
    }
}

#[test]
fn an_error_names_the_business_key() {
    let list = BusinessKeys::parse("POST:/v1/*:/order/no").unwrap();
    let business_key = list.with_value("POST", "/v1/x", "A\"1").unwrap();
    for (why, code, status) in [
        (Rejection::Mismatch, "idempotency_error", [400, 422]),
        (Rejection::InProgress, "idempotency_in_progress", [409, 409]),
        (Rejection::OutcomeUnknown, "idempotency_outcome_unknown", [409, 409]),
        (gone(Some(201)).rejection().unwrap(), "idempotency_not_replayable", [409, 409]),
        (gone(None).rejection().unwrap(), "idempotency_not_replayable", [409, 409]),
    ] {
        let rejection = Rejection::OfBusinessKey {
            why: Box::new(why.clone()),
            business_key: business_key.clone(),
        };
        for (dialect, status) in [Dialect::Kukopay, Dialect::Ietf].into_iter().zip(status) {
            let [error, plain] = [&rejection, &why].map(|rejection| {
                rejection.to_response(dialect, None, "req_1", RequestKind::KeyedWrite)
            });
            assert_eq!((error.status, error.code), (status, code));
            assert_eq!((plain.status, plain.retry_after), (status, error.retry_after));
            assert!(error.body.contains(r#"order.no \"A\"1\""#), "{}", error.body);
            assert!(error.body.contains(r#""param":"order.no""#));
            assert!(!error.body.contains("this idempotency key"), "{}", error.body);
            assert_eq!(error.body.contains("different content"), code == "idempotency_error");
            assert_eq!(error.body.contains("resource_id"), code == "idempotency_not_replayable");
        }
    }
    assert!(!format!("{business_key:?}").contains("A\""), "no log shows the business key");
    assert!(list.with_value("PUT", "/v1/x", "1").is_none());
    assert!(list.with_value("POST", "/v1/x", "").is_none());
}

/// Errors about both kinds of key lead to the same state, the same advice and the same count.
#[test]
fn an_error_about_a_business_key_is_treated_like_its_cause() {
    let list = BusinessKeys::parse("POST:/v1/*:/no").unwrap();
    for (why, retried, state, label) in [
        (Rejection::InProgress, true, "absent", "in_progress"),
        (Rejection::Mismatch, false, "absent", "mismatched"),
        (Rejection::RecordUnreadable, false, "unknown", "failed"),
    ] {
        let business_key = list.with_value("POST", "/v1/x", "1").unwrap();
        let rejection = Rejection::OfBusinessKey { why: Box::new(why), business_key };
        assert_eq!(rejection.should_retry(RequestKind::KeyedWrite), retried, "{label}");
        assert_eq!(rejection.state_without_record(), state, "{label}");
        assert_eq!(rejection.write_result().label(), label);
    }
}

#[test]
fn each_part_of_a_business_key_changes_its_name() {
    let list = BusinessKeys::parse("*:/*:/no").unwrap();
    let other_list = BusinessKeys::parse("*:/*:/number").unwrap();
    let name = |list: &BusinessKeys, tenant: &str, method: &str, path: &str, value: &str| {
        let business_key = list.with_value(method, path, value).unwrap();
        ScopedKey::of_business_key(&Scope::of_tenant(tenant), &business_key)
    };
    let one = name(&list, "a", "POST", "/x", "1");
    assert_eq!(one, name(&list, "a", "POST", "/x", "1"));
    for path in ["/X", "/x/", "//x", "/x;a", "/%78", "/x.json", "/index.php/x", "/x%3fa"] {
        assert_eq!(one, name(&list, "a", "POST", path, "1"), "one record: {path}");
    }
    for other in [
        name(&list, "b", "POST", "/x", "1"),
        name(&list, "a", "PUT", "/x", "1"),
        name(&list, "a", "POST", "/y", "1"),
        name(&list, "a", "POST", "/x", "2"),
        name(&other_list, "a", "POST", "/x", "1"),
    ] {
        assert_ne!(one, other);
    }
}

fn target(list: &str, body: &str) -> Option<String> {
    let look_ups = LookUps::parse(&format!("{list}#/id")).unwrap();
    look_ups.find("POST", "/v1/orders", JSON, body.as_bytes()).map(|look_up| look_up.target)
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
        (r#"{"no":"A1","NO":"A2","buyer":{"id":1}}"#, None),
        (r#"{"no":"A1","buyer":{"id":1,"Id":2}}"#, None),
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
    let ups = LookUps::parse("POST:/v1/orders:/x?{/no}#/id").unwrap();
    assert_eq!(ups.find("PUT", "/v1/orders", JSON, br#"{"no":1}"#), None);
    for content_type in ["text/plain", "application/json; charset=utf-7"] {
        assert_eq!(ups.find("POST", "/v1/orders", Some(content_type), br#"{"no":1}"#), None);
    }
    for path in ["/V1/Orders", "/v1/orders/", "/v1/orders.json", "/index.php/v1/orders"] {
        assert!(ups.find("POST", path, JSON, br#"{"no":1}"#).is_some(), "{path}");
    }
}

#[test]
fn the_error_of_an_invalid_look_up_says_what_is_wrong() {
    for (list, error) in [
        ("POST:/v1/orders", LookUpError::NotAnEntry),
        ("post:/v1:/x/{/a}", LookUpError::Route(RouteError::BadMethod)),
        ("POST:/v1:x/{/a}", LookUpError::NotATemplate),
        ("POST:/v1://host/{/a}", LookUpError::NotATemplate),
        ("POST:/v1:https://host/{/a}", LookUpError::NotATemplate),
        ("POST:/v1:{/a}", LookUpError::NotATemplate),
        ("POST:/v1:/x/{/a", LookUpError::NotATemplate),
        ("POST:/v1:/x/{/a}}", LookUpError::NotATemplate),
        ("POST:/v1:/x/{/a}", LookUpError::NoProof),
        ("POST:/v1:/x?y={/a}&z=%23", LookUpError::NoProof),
        ("POST:/v1:/x?y={/a#b}", LookUpError::NoProof),
        ("POST:/v1:/x/{/a}#", LookUpError::Proof(PointerError::WholeDocument)),
        ("POST:/v1:/x/{/a}#f", LookUpError::Proof(PointerError::NoSlash)),
        ("POST:/v1:/x/{/a}#$.data.id", LookUpError::Proof(PointerError::NoSlash)),
        ("POST:/v1:/x/{/a}#/a~2", LookUpError::Proof(PointerError::LoneTilde)),
        ("POST:/v1:/x/{/a}#/a%2", LookUpError::Proof(PointerError::BadFragment)),
        ("POST:/v1:/x/{/a}#/%ff", LookUpError::Proof(PointerError::BadFragment)),
        ("POST:/v1:/x/{/a}#/a#/b", LookUpError::Proof(PointerError::BadFragment)),
        ("POST:/v1:/x/{/a}#/{/b}", LookUpError::Proof(PointerError::BadFragment)),
        ("POST:/v1:/x/{/a}#/é", LookUpError::Proof(PointerError::BadFragment)),
        ("POST:/v1:/x#/a?y={/a}", LookUpError::NoPlaceholder),
        ("POST:/v1:/x/{/a}#/id,POST:/v2:/x/{/a}", LookUpError::NoProof),
        ("POST:/v1:/x y/{/a}", LookUpError::NotATemplate),
        ("POST:/v1:/\\x/{/a}", LookUpError::NotATemplate),
        ("POST:/v1:/é/{/a}", LookUpError::NotATemplate),
        ("POST:/v1:/x", LookUpError::NoPlaceholder),
        ("POST:/v1:/x/{}", LookUpError::Pointer(PointerError::WholeDocument)),
        ("POST:/v1:/x/{a}", LookUpError::Pointer(PointerError::NoSlash)),
    ] {
        assert_eq!(LookUps::parse(list).unwrap_err(), error, "{list}");
        let right = "POST:/v1/orders:/v1/orders?out_trade_no={/out_trade_no}#/data/id";
        assert!(error.to_string().ends_with(&format!("for example {right}")), "{error}");
    }
}

fn is_proved(proof: &str, status: u16, headers: &[(&str, &str)], body: &str) -> bool {
    let look_ups = LookUps::parse(&format!("POST:/v1/orders:/x?no={{/no}}#{proof}")).unwrap();
    let look_up = look_ups.find("POST", "/v1/orders", JSON, br#"{"no":1}"#).unwrap();
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let body = body.as_bytes().to_vec();
    look_up.is_proved_by(&StoredResponse::keep(status, headers, body, "req_1", 100_000).0)
}

#[test]
fn a_text_or_a_number_at_the_pointer_proves_execution() {
    let json = [("Content-Type", "application/json")];
    for (proof, body) in [
        ("/id", r#"{"id":"ord_1"}"#),
        ("/id", r#" {"x":{"id":0},"\u0069d":"7"} "#),
        ("/id", r#"{"id":"0"}"#),
        ("/id", r#"{"id":"訂"}"#),
        ("/id", r#"{"id":42}"#),
        ("/id", r#"{"id":-1}"#),
        ("/id", r#"{"id":0.5}"#),
        ("/id", r#"{"id":0.1e-20}"#),
        ("/id", r#"{"id":9007199254740993}"#),
        ("/id", r#"{"id":1e400}"#),
        ("/data/id", r#"{"data":{"id":"a"},"id":""}"#),
        ("/0/id", r#"[{"id":"a"}]"#),
        ("/data/0/id", r#"{"data":[{"id":"a"}]}"#),
        ("/data/2/id", r#"{"data":[[{"id":0},"]",{}],{"id":[{"a":{}}]},{"b":{"c":1},"id":"a"}]}"#),
        ("/data/1/1/id", r#"{"data":[{"x":{"y":{}}},[{"z":[{}]}, {"id" : 1}]]}"#),
        ("/data/0/id", r#"{"data":{"0":{"id":"a"}}}"#),
        ("/a~1b/m~0n", r#"{"a/b":{"m~n":"x"}}"#),
        ("/a%2Cb/%E8%A8%82", r#"{"a,b":{"訂":"x"}}"#),
        ("/a%23b", r#"{"a#b":"x"}"#),
        ("/", r#"{"":"x"}"#),
    ] {
        for status in [200, 201, 202, 299] {
            assert!(is_proved(proof, status, &json, body), "{proof} {status} {body}");
        }
        for status in [100, 199, 300, 302, 404, 500] {
            assert!(!is_proved(proof, status, &json, body), "{proof} {status} {body}");
        }
    }
    for (proof, body) in [
        ("/id", "false"),
        ("/id", "0"),
        ("/id", r#""""#),
        ("/id", r#""not found""#),
        ("/0", "[null]"),
        ("/0/id", "[]"),
        ("/id", "{}"),
        ("/orders/0/id", r#"{"orders":[]}"#),
        ("/id", r#"{"error":{"message":"not found"}}"#),
        ("/data/id", r#"{"data":null,"id":1}"#),
        ("/id", r#"{"id":null}"#),
        ("/id", r#"{"id":true}"#),
        ("/id", r#"{"id":{"id":"a"}}"#),
        ("/id", r#"{"id":["a"]}"#),
        ("/id", r#"{"id":""}"#),
        ("/id", r#"{"id":" \t\n"}"#),
        ("/id", r#"{"id":"\u00a0\u200b\ufeff\u2060"}"#),
        ("/id", r#"{"id":"-"}"#),
        ("/id", r#"{"id":"00000000-0000-0000-0000-000000000000"}"#),
        ("/id", r#"{"id":"{00000000000000000000000000000000}"}"#),
        ("/id", r#"{"id":0}"#),
        ("/id", r#"{"id":-0}"#),
        ("/id", r#"{"id":0.0}"#),
        ("/id", r#"{"id":0e5}"#),
        ("/id", r#"{"id":-0.00E-7}"#),
        ("/id", r#"{"id":1e-400}"#),
        ("/id", r#"{"ID":"a"}"#),
        ("/data/id", r#"{"data":[{"id":"a"}]}"#),
        ("/data/-/id", r#"{"data":[{"id":"a"}]}"#),
        ("/data/00/id", r#"{"data":[{"id":"a"}]}"#),
        ("/data/+0/id", r#"{"data":[{"id":"a"}]}"#),
        ("/data/1/id", r#"{"data":[{"id":"a"}]}"#),
        ("/data/99999999999999999999999/id", r#"{"data":[{"id":"a"}]}"#),
        ("/data//id", r#"{"data":[{"id":"a"}]}"#),
        ("/id/0", r#"{"id":"a"}"#),
        ("/id", r#"{"id":"a","id":"a"}"#),
        ("/id", r#"{"id":"a","x":{"b":1,"\u0062":2}}"#),
        ("/id", r#"{"id":"a"} x"#),
        ("/id", "\u{feff}{\"id\":\"a\"}"),
        ("/id", r#"{"id":"a",}"#),
        ("/id", r#"{"id":"a"/**/}"#),
        ("/id", r#"{"id":"\ud800"}"#),
        ("/id", ""),
        ("/id", "<html>id</html>"),
    ] {
        assert!(!is_proved(proof, 200, &json, body), "{proof} {body}");
    }
    let huge = format!(r#"{{"id":"a","x":"{}"}}"#, "x".repeat(100_000));
    assert!(!is_proved("/id", 200, &json, &huge), "a response that is too large proves nothing");
}

#[test]
fn a_look_up_s_response_must_have_a_json_type() {
    let is_proved = |headers: &[(&str, &str)]| is_proved("/id", 200, headers, r#"{"id":"a"}"#);
    for content_type in ["application/json", "Application/HAL+JSON; charset=\"UTF-8\"", ""] {
        assert!(is_proved(&[("Content-Type", content_type)]), "{content_type}");
    }
    assert!(is_proved(&[]), "a response without a type can prove");
    assert!(is_proved(&[("Content-Encoding", "identity")]));
    for content_type in [
        "text/html",
        "text/plain; charset=utf-8",
        "application/json, text/html",
        "application/json; charset=utf-16",
    ] {
        assert!(!is_proved(&[("Content-Type", content_type)]), "{content_type}");
    }
    assert!(!is_proved(&[("Content-Encoding", "zstd")]), "a compressed body proves nothing");
}

#[test]
fn the_id_of_the_created_object_is_found_where_apis_put_it() {
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
        assert_eq!(resource(402, headers, body), None, "only a success creates an object");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// No input makes a reader panic.
    #[test]
    fn no_text_causes_a_panic(body in ".{0,60}", json in r#"[\[\]{}:,"0-9a-z \\-]{0,40}"#) {
        for text in [&body, &json] {
            let _ = keys().read("POST", "/v1/orders", JSON, text.as_bytes());
            let _ = is_proved("/a/0", 200, &[], text);
            let _ = LookUps::parse(text);
            let _ = BusinessKeys::parse(text);
        }
    }

    /// A value from the body cannot change the path of a look-up.
    #[test]
    fn a_value_does_not_change_the_path_of_a_look_up(value in "\\PC{1,12}") {
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
