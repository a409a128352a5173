//! The requests: their contents, names and fingerprints. There are only a few requests, and they are created once.

use oncekey::BusinessKey;
use oncekey::client::intent::Payload;
use oncekey::fingerprint::RequestParts;
use oncekey::{BusinessKeys, Fingerprints, IdempotencyKey, Rejection, Scope, webhook};
use std::sync::LazyLock;

pub(super) const METHOD: &str = "POST";
pub(super) const PATH: &str = "/v1/orders";

/// The number of contents. Programs use the first ones, pages the others. Four in a row are versions of one
/// order, and have one business key.
pub(super) const CONTENTS: u8 = 40;
pub(super) const FIRST_OF_PAGES: u8 = 16;
/// The content of every event.
pub(super) const EVENT: u8 = CONTENTS;

struct Made {
    fingerprints: Vec<[Fingerprints; 3]>,
    event: Fingerprints,
    payloads: Vec<Payload>,
    business_keys: Vec<BusinessKey>,
    scopes: [Scope; 2],
    source: Scope,
}

static MADE: LazyLock<Made> = LazyLock::new(|| {
    let keys = BusinessKeys::parse("POST:/v1/orders:/no").unwrap_or_else(|why| panic!("{why}"));
    let bodies: Vec<_> = (0..CONTENTS).map(|content| body(content).into_bytes()).collect();
    let business_key = |body: &Vec<u8>| {
        let found = keys.read(METHOD, PATH, Some("application/json"), body);
        found.ok().flatten().expect("there is a business key in each body")
    };
    let secrets = &*super::settings::SECRETS;
    let prints = |body: &Vec<u8>| {
        std::array::from_fn(|list| Fingerprints::compute(&parts(body), &secrets[list]))
    };
    Made {
        fingerprints: bodies.iter().map(prints).collect(),
        event: webhook::fingerprints(),
        payloads: bodies.iter().map(|b| Payload::of("https://api.example", &parts(b))).collect(),
        business_keys: bodies.iter().map(business_key).collect(),
        scopes: [Scope::of_tenant("one"), Scope::of_tenant("two")],
        source: Scope::of_source("mail"),
    }
});

/// The tenant number of an event's source.
pub(super) const SOURCE: u8 = 2;

fn parts(body: &[u8]) -> RequestParts<'_> {
    RequestParts {
        method: METHOD,
        path: PATH,
        query: None,
        content_encoding: None,
        content_type: Some("application/json"),
        body,
        ignore: &[],
    }
}

fn body(content: u8) -> String {
    format!("{{\"no\":\"A{}\",\"amount\":{}}}", content / 4, 100 + content)
}

/// Returns the number of a content's business key.
pub(super) fn business_key_of(content: u8) -> u8 {
    content / 4
}

pub(super) fn business_key(content: u8) -> &'static BusinessKey {
    &MADE.business_keys[usize::from(content)]
}

pub(super) fn payload(content: u8) -> &'static Payload {
    &MADE.payloads[usize::from(content)]
}

pub(super) fn fingerprints(content: u8, secrets: usize) -> &'static Fingerprints {
    if content == EVENT { &MADE.event } else { &MADE.fingerprints[usize::from(content)][secrets] }
}

pub(super) fn scope(tenant: u8) -> &'static Scope {
    if tenant == SOURCE { &MADE.source } else { &MADE.scopes[usize::from(tenant)] }
}

pub(super) fn key(text: &str) -> IdempotencyKey {
    IdempotencyKey::parse_bare(text).unwrap_or_else(|why| panic!("{text}: {why}"))
}

/// Returns the status and the code of a rejection, as callers see them.
pub(super) fn error_of(rejection: &Rejection) -> (u16, &'static str, Option<u32>) {
    let response = rejection.to_response(
        oncekey::Dialect::Kukopay,
        None,
        "",
        oncekey::RequestKind::KeyedWrite,
    );
    (response.status, response.code, response.retry_after)
}
