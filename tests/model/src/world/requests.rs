//! The requests of every world. They are created once.

use crate::config::Secrets;
use oncekey::fingerprint::RequestParts;
use oncekey::write_flow::{Identity, Target};
use oncekey::{
    AttemptToken, BusinessKey, BusinessKeys, FingerprintSecrets, Fingerprints, IdempotencyKey,
    Scope, StoredResponse, UnixMillis, webhook,
};
use std::sync::LazyLock;

const PATH: &str = "/v1/orders";

/// The properties of a request that its records depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct WriteRequest {
    pub(super) tenant: u8,
    pub(super) content: u8,
    pub(super) gateway: u8,
    pub(super) secrets: Secrets,
    pub(super) identity: Identity,
    /// When its key was minted, if the key contains the time.
    pub(super) minted_at: Option<UnixMillis>,
}

static FINGERPRINTS: LazyLock<Vec<[Fingerprints; 4]>> = LazyLock::new(|| {
    let secrets = |list| FingerprintSecrets::parse(list).expect("a list of secrets");
    let lists =
        [FingerprintSecrets::none(), secrets("old:1"), secrets("new:2,old:1"), secrets("new:2")];
    let of = |content: u8| {
        lists.each_ref().map(|list| Fingerprints::compute(&parts(&body(content)), list))
    };
    (0..4).map(of).collect()
});

static OF_EVENTS: LazyLock<Fingerprints> = LazyLock::new(webhook::fingerprints);

static BUSINESS_KEYS: LazyLock<Vec<BusinessKey>> = LazyLock::new(|| {
    let keys = BusinessKeys::parse("POST:/v1/orders:/out_trade_no").expect("a list");
    let business_key =
        |value: u8| keys.with_value("POST", PATH, &value.to_string()).expect("a business key");
    (0..3).map(business_key).collect()
});

static SCOPES: LazyLock<[Scope; 2]> =
    LazyLock::new(|| [Scope::of_tenant("0"), Scope::of_tenant("1")]);

static SOURCE: LazyLock<Scope> = LazyLock::new(|| Scope::of_source("source"));

impl WriteRequest {
    pub(super) fn fingerprints(&self) -> &'static Fingerprints {
        if self.identity == Identity::Event {
            return &OF_EVENTS;
        }
        &FINGERPRINTS[usize::from(self.content)][self.secrets as usize]
    }

    pub(super) fn scope(&self) -> &'static Scope {
        if self.identity == Identity::Event { &SOURCE } else { &SCOPES[usize::from(self.tenant)] }
    }
}

/// Returns the scope of a tenant.
pub(super) fn scope(tenant: u8) -> &'static Scope {
    &SCOPES[usize::from(tenant)]
}

pub(super) fn body(content: u8) -> String {
    format!("{{\"content\":{content}}}")
}

pub(super) fn parts(body: &str) -> RequestParts<'_> {
    RequestParts {
        method: "POST",
        path: PATH,
        query: None,
        content_encoding: None,
        content_type: Some("application/json"),
        body: body.as_bytes(),
        ignore: &[],
    }
}

pub(super) fn business_key(of: u8) -> &'static BusinessKey {
    &BUSINESS_KEYS[usize::from(of)]
}

pub(super) fn business_key_name(scope: &Scope, of: u8) -> oncekey::ScopedKey {
    oncekey::ScopedKey::of_business_key(scope, business_key(of))
}

/// Returns the key with this number.
pub(super) fn key(number: u8, minted_at: Option<UnixMillis>) -> IdempotencyKey {
    match minted_at {
        Some(minted_at) => IdempotencyKey::mint(minted_at, [number; 10]),
        None => IdempotencyKey::parse_bare(&format!("key-{number}")).expect("a key"),
    }
}

/// Returns the token of a write's attempt for one of its records.
pub(super) const fn token(running: u8, of: Target) -> AttemptToken {
    let business_key_shelf = matches!(of, Target::BusinessKey) as u8;
    AttemptToken::new([running * 2 + business_key_shelf + 1; 16])
}

/// The request id of a response that a look-up returns.
pub(super) const FOUND: &str = "r255";

/// Returns a response of the origin. Its body names the request that it was made for, and the execution.
pub(super) fn response(request: &WriteRequest, status: u16, made_by: u8, id: u8) -> StoredResponse {
    let id = format!("r{id}");
    if request.identity == Identity::Event {
        return StoredResponse::without_body(status, [], &id);
    }
    let body = format!("{}x{made_by}", made_for(request));
    let headers = [("content-type".to_owned(), "text/plain".to_owned())];
    StoredResponse::keep(status, headers, body.into_bytes(), &id, 1000).0
}

/// Returns the response to a look-up: either with the id of the object, or a 200 which reports that there is no
/// such object.
pub(super) fn looked_up(found: Option<&StoredResponse>) -> StoredResponse {
    let id = found.and_then(StoredResponse::body).map(String::from_utf8_lossy);
    let id = id.map_or("null".to_owned(), |id| format!("\"{id}\""));
    let headers = [("content-type".to_owned(), "application/json".to_owned())];
    let body = format!("{{\"data\":{{\"id\":{id}}}}}").into_bytes();
    StoredResponse::keep(200, headers, body, FOUND, 1000).0
}

/// Returns how the body of a response to this request begins.
pub(super) fn made_for(request: &WriteRequest) -> String {
    format!("t{}c{}", request.tenant, request.content)
}

/// Returns whether two responses look the same to a caller.
pub(super) fn is_same(one: &StoredResponse, other: &StoredResponse) -> bool {
    one.status == other.status
        && one.headers == other.headers
        && one.body() == other.body()
        && one.request_id == other.request_id
}
