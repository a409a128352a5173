//! The tables of errors, and the entries of `docs/guide/errors.md`.

use super::read;
use oncekey::scope::jwt::TokenError;
use oncekey::webhook::WebhookError;
use oncekey::{
    BusinessKeys, Decision, Dialect, ErrorResponse, FormKeyError, IdentitySource, KeyError,
    Recourse, Rejection, RequestKind, ScopeError, ScopeSources,
};
use std::collections::{BTreeMap, BTreeSet};

/// The errors that a write with a key can get, and those of calls about a key.
fn cases() -> Vec<(&'static str, Rejection)> {
    let decision =
        |decision: Decision| decision.rejection().expect("a decision without a response");
    vec![
        (
            "the route requires a key, and the request has none",
            Rejection::KeyMissing(String::new()),
        ),
        ("the key is malformed", Rejection::KeyMalformed(KeyError::TooLong(255))),
        (
            "the key's form field is repeated, is a file, or contains another key than the header",
            Rejection::FormKey(FormKeyError::Twice),
        ),
        ("the body cannot be read", Rejection::BodyUnreadable),
        ("the body is too large", Rejection::BodyTooLarge(1)),
        ("no credential", Rejection::NoScope(ScopeError::Missing(ScopeSources::default()))),
        (
            "more than one of the credentials that `SCOPE` lists",
            Rejection::NoScope(ScopeError::Several(ScopeSources::default())),
        ),
        (
            "a credential that is refreshed or signs each request, such as a JWT without `jwt:` in `SCOPE`",
            Rejection::NoScope(ScopeError::ShortLivedToken),
        ),
        (
            "a JWT that is invalid or has expired",
            Rejection::NoScope(ScopeError::Token(TokenError::Expired)),
        ),
        (
            "a JWT without the claim that `SCOPE` names",
            Rejection::NoScope(ScopeError::NoClaim("sub".to_owned())),
        ),
        (
            "the keys that check JWTs cannot be fetched; the origin was not called",
            Rejection::IdentityUnavailable(IdentitySource::Keys),
        ),
        (
            "the API does not say who the caller is; no write was sent to it",
            Rejection::IdentityUnavailable(IdentitySource::Origin),
        ),
        (
            "the API does not say whether the caller may read the stored response",
            Rejection::IdentityUnavailable(IdentitySource::ReplayAuthorization),
        ),
        (
            "a webhook that lacks a header or has an invalid id",
            Rejection::Webhook(WebhookError::BadId),
        ),
        (
            "a webhook whose signature or time is wrong",
            Rejection::Webhook(WebhookError::BadSignature),
        ),
        ("the key belongs to another request", decision(Decision::Mismatch)),
        (
            "the business key belongs to different content",
            Rejection::OfBusinessKey {
                why: Box::new(Rejection::Mismatch),
                business_key: BusinessKeys::parse("POST:/v1/orders:/out_trade_no")
                    .ok()
                    .and_then(|list| list.with_value("POST", "/v1/orders", "1"))
                    .expect("a business key"),
            },
        ),
        (
            "the body that should contain a business key is invalid, or can be read in several ways",
            Rejection::Invalid(String::new()),
        ),
        ("another attempt is in progress", decision(Decision::InProgress)),
        (
            "an attempt may have been executed, and the policy is `hold`",
            decision(Decision::OutcomeUnknown),
        ),
        (
            "there is a response, but it cannot be replayed",
            decision(Decision::NotReplayable { http_status: Some(201), resource: None }),
        ),
        ("the key was voided", decision(Decision::KeyVoided)),
        ("the key has expired, and expired keys are refused", decision(Decision::KeyExpired)),
        ("only an unknown outcome can be settled", Rejection::NothingToSettle),
        ("the requested key has no record", Rejection::NoRecord),
        (
            "the connection to the origin failed",
            Rejection::OriginUnreachable(Recourse::RetryWithKey),
        ),
        ("the origin did not respond in time", Rejection::OriginTimedOut(Recourse::RetryWithKey)),
        ("the store is unavailable; the origin was not called", Rejection::StoreUnavailable),
        (
            "too many large requests are in progress; the origin was not called",
            Rejection::Overloaded,
        ),
        ("too late to call the origin safely; it was not called", Rejection::TooLateToDispatch),
        (
            "the stored record cannot be read; the origin was not called",
            Rejection::RecordUnreadable,
        ),
        ("an internal error", Rejection::Internal),
    ]
}

/// Errors that the table of the protocol leaves out: other calls, and other ends of a call of the origin.
fn further() -> Vec<Rejection> {
    let recourses = [Recourse::Retry, Recourse::LookUp, Recourse::OnHold, Recourse::NotExecuted];
    let of_origin = recourses
        .into_iter()
        .flat_map(|left| [Rejection::OriginUnreachable(left), Rejection::OriginTimedOut(left)]);
    let of_calls = [
        Rejection::NotAdmin,
        Rejection::NotFound,
        Rejection::MethodNotAllowed("GET"),
        Rejection::Misconfigured(String::new()),
    ];
    of_origin.chain(of_calls).collect()
}

fn response(rejection: &Rejection, dialect: Dialect) -> ErrorResponse {
    rejection.to_response(dialect, None, "req_1", RequestKind::KeyedWrite)
}

pub(super) fn table() -> String {
    let mut lines = vec![
        "| case | `code` | `kukopay` | `ietf` | `Retry-After` |".to_owned(),
        "|---|---|---|---|---|".to_owned(),
    ];
    for (case, rejection) in cases() {
        let [ours, ietf] =
            [Dialect::Kukopay, Dialect::Ietf].map(|dialect| response(&rejection, dialect));
        assert_eq!(ours.code, ietf.code);
        let retry_after = ours.retry_after.map_or(String::new(), |seconds| format!("{seconds} s"));
        lines.push(format!(
            "| {case} | [`{code}`](guide/errors.md#{code}) | {} | {} | {retry_after} |",
            ours.status,
            ietf.status,
            code = ours.code,
        ));
    }
    lines.join("\n")
}

/// The codes in the order of the entries, each with its statuses and with whether to retry.
pub(super) fn codes() -> String {
    let mut by_code = BTreeMap::<&str, (BTreeSet<u16>, BTreeSet<bool>)>::new();
    for rejection in cases().into_iter().map(|(_, rejection)| rejection).chain(further()) {
        for dialect in [Dialect::Kukopay, Dialect::Ietf] {
            let error = response(&rejection, dialect);
            let (statuses, retries) = by_code.entry(error.code).or_default();
            statuses.insert(error.status);
            retries.insert(error.should_retry);
        }
    }
    let mut lines = vec!["| `code` | status | again? |".to_owned(), "|---|---|---|".to_owned()];
    let entries = entries();
    let order = |code: &str| entries.iter().position(|(heading, _)| heading == code);
    let mut by_code = Vec::from_iter(by_code);
    by_code.sort_by_key(|(code, _)| order(code));
    for (code, (statuses, retries)) in by_code {
        let statuses: Vec<_> = statuses.iter().map(u16::to_string).collect();
        let again = match Vec::from_iter(retries)[..] {
            [true] => "yes",
            [false] => "no",
            _ => "it depends",
        };
        lines.push(format!("| [`{code}`](#{code}) | {} | {again} |", statuses.join(", ")));
    }
    lines.join("\n")
}

/// The entries of the page: the code in the heading, and the text below.
fn entries() -> Vec<(String, String)> {
    let page = read("docs/guide/errors.md");
    let sections = page.split("\n### `").skip(1);
    let entry = |section: &str| {
        let (code, text) = section.split_once("`\n").expect("a code");
        (code.to_owned(), text.split("\n## ").next().unwrap_or_default().to_owned())
    };
    sections.map(entry).collect()
}

/// The codes that the source of an error names. The compiler cannot list them.
fn codes_in(source: &str) -> BTreeSet<String> {
    let is_code = |text: &&str| {
        text.contains('_') && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    source.split('"').skip(1).step_by(2).filter(is_code).map(str::to_owned).collect()
}

#[test]
fn each_code_has_an_entry_that_says_what_to_do() {
    let source = read("src/error.rs");
    let (_, kind) = source.split_once("fn kind(").expect("the function that names the codes");
    let (kind, _) = kind.split_once("\n    }\n").expect("its end");
    let codes = codes_in(kind);
    assert!(codes.len() > 10, "{codes:?}");
    let shown = [table(), self::codes()];
    for code in &codes {
        for table in &shown {
            assert!(table.contains(&format!("[`{code}`](")), "no case has the code {code}");
        }
    }

    let of_sandbox = ["error.rs", "cards.rs"].map(|file| {
        let source = read(&format!("worker/sandbox/src/{file}"));
        let calls = if file == "error.rs" { ".code(\"" } else { "Declines(\"" };
        let named = source.split(calls).skip(1).filter_map(|rest| rest.split('"').next());
        named.map(str::to_owned).collect::<BTreeSet<_>>()
    });
    assert!(of_sandbox.iter().all(|codes| codes.len() > 1), "{of_sandbox:?}");
    let expected: BTreeSet<_> = codes.into_iter().chain(of_sandbox.into_iter().flatten()).collect();

    let entries = entries();
    let headings: BTreeSet<_> = entries.iter().map(|(code, _)| code.clone()).collect();
    assert_eq!(headings, expected, "docs/guide/errors.md has an entry for each code");
    assert_eq!(headings.len(), entries.len(), "and only one");
    for (code, text) in &entries {
        if text.trim().starts_with("See [`") {
            continue;
        }
        for part in ["What happened:", "May money have moved?", "What to do:"] {
            assert!(text.contains(&format!("- **{part}** ")), "{code}: {part}");
        }
    }
}
