//! The flow of a request, top-down: scope → key → fingerprint → begin → origin → complete → response.
//!
//! The core's `write_flow` decides the order from begin to response, and `run.rs` carries it out.

pub(crate) mod caller;
mod fingerprint;
pub(crate) mod identity;
mod inside;
mod jwt;
pub(crate) mod memory;
pub(crate) mod origin;
mod origin_request;
pub(crate) mod outcome;
pub(crate) mod record;
pub(crate) mod refusal;
pub(crate) mod replica;
pub(crate) mod run;
pub(crate) mod webhook;

use crate::http::body_budget::Reservation;
use crate::http::context::Caller;
use crate::http::request::HttpRequest;
use crate::http::response::HttpResponse;
use crate::shard::client::ShardClient;
use crate::shard::protocol::{Subject, Whose};
use caller::{is_admin, scope_of};
use oncekey::fingerprint::RequestParts;
use oncekey::request::form_key::{SplitForm, merge_keys};
use oncekey::request::override_headers::{OverrideHeader, overridden_methods};
use oncekey::write_flow::{Identity, Write};
use oncekey::{IdempotencyKey, Policy, Recourse, Rejection, Scope, ScopeError, ScopedKey};
use origin_request::OriginRequest;
use outcome::GatewayOutcome;
use platform::panic;
use record::RecordHandle;
use refusal::Refusal;
use run::WriteRun;

/// Responds to a request to the origin.
pub(crate) async fn handle(
    caller: &Caller,
    mut request: HttpRequest,
) -> Result<GatewayOutcome, Refusal> {
    panic::point("gateway");
    // The operator's token identifies no tenant, and the origin must not see it.
    if is_admin(caller, &request) {
        request.headers.retain(|name, _| name != "authorization");
    }
    if request.is_write() {
        write(caller, request).await
    } else {
        Ok(read(caller, &request).await?)
    }
}

async fn read(caller: &Caller, request: &HttpRequest) -> Result<GatewayOutcome, Rejection> {
    // With X-HTTP-Method-Override, what is a read here may be a write at the origin.
    if requires_key(caller, request, None) {
        return Err(caller.config.key_missing());
    }
    no_body(request).await?;
    Ok(pass_through(caller, request, None).await.into())
}

/// Returns whether a request without a key must carry one, by its own method or by a method that it
/// names for the origin. `form` is its form, if it was read.
fn requires_key(caller: &Caller, request: &HttpRequest, form: Option<&[u8]>) -> bool {
    let others = overridden_methods(request.headers.iter(), request.query.as_deref(), form);
    let own = request.is_write().then_some(request.method.as_str());
    let mut methods = own.into_iter().chain(others.iter().map(String::as_str));
    methods.any(|method| caller.config.requires_key(method, &request.path))
}

/// Responds to a write. A form may carry the key, so the gateway reads it first.
async fn write(caller: &Caller, request: HttpRequest) -> Result<GatewayOutcome, Refusal> {
    if is_skipped(caller, &request) {
        caller.is_keyed(false);
        return Ok(pass_through(caller, &request, None).await.into());
    }
    let reservation = Reservation::of_request();
    let has_key = caller.config.key_headers.are_in(&request.headers);
    caller.is_keyed(has_key || request.may_carry_key(&caller.config));
    let form = request.read_form(&caller.config, &reservation).await?;
    let in_form = form.as_ref().is_some_and(|form| form.key.is_some());
    caller.is_keyed(has_key || in_form);
    if in_form || has_key {
        caller.measure.counts();
        refuse_override_headers(caller, &request)?;
        let scope = scope_of(caller, &request).await?;
        return Ok(once(caller, request, form, Identity::Key, scope, &reservation).await?);
    }
    if requires_key(caller, &request, form.as_ref().map(|form| &form.body[..])) {
        return Err(caller.config.key_missing().into());
    }
    if let Some(scope) = scope_of_business_key(caller, &request).await? {
        return Ok(once(caller, request, form, Identity::BusinessKey, scope, &reservation).await?);
    }
    let read = form.map(|form| form.body);
    Ok(pass_through(caller, &request, read.as_deref()).await.into())
}

/// Returns whether the gateway passes the write on without looking at a key. A request that names
/// another method for the origin is not the request that is listed.
fn is_skipped(caller: &Caller, request: &HttpRequest) -> bool {
    caller.config.skips(&request.method, &request.path)
        && overridden_methods(request.headers.iter(), request.query.as_deref(), None).is_empty()
}

/// Executes a write at most once, even if it is sent several times.
async fn once(
    caller: &Caller,
    request: HttpRequest,
    form: Option<SplitForm>,
    identity: Identity,
    scope: Scope,
    reservation: &Reservation,
) -> Result<GatewayOutcome, Rejection> {
    let config = &caller.config;
    let (method, path) = (&request.method, &request.path);
    let (in_form, read) = form.map(|form| (form.key, form.body)).unzip();
    let key = match identity {
        Identity::Key => Some(key_of(caller, &request, in_form.flatten())?),
        Identity::BusinessKey | Identity::Event => None,
    };
    let body = match read {
        Some(body) => body,
        None => request.read_body(config.max_request, reservation).await?,
    };
    let content_type = request.header("content-type");
    let business_key = config.business_keys.read(method, path, content_type, &body);
    let business_key =
        business_key.map_err(|unreadable| Rejection::Invalid(unreadable.to_string()))?;
    if key.is_none() {
        if business_key.is_none() {
            return Ok(pass_through(caller, &request, Some(&body)).await.into());
        }
        caller.is_keyed(true);
        caller.measure.counts();
        refuse_override_headers(caller, &request)?;
    }
    let fingerprints = fingerprint::fingerprints(
        &RequestParts {
            method,
            path,
            query: request.query.as_deref(),
            content_encoding: request.header("content-encoding"),
            content_type,
            body: &body,
            ignore: &config.ignored(method, path),
        },
        &config.fingerprint_secrets,
        &caller.bridge,
    )
    .await;
    let policy = config.policy_of(method, path);
    let shard = |name, subject| ShardClient::new(caller, name, Some(Whose { scope, subject }));
    let of_key = key.as_ref().map(|key| {
        let shard = shard(ScopedKey::new(&scope, key), Subject::Key);
        RecordHandle::new(shard, key.minted_at(), policy, &caller.measure)
    });
    let of_business_key = business_key.as_ref().map(|business_key| {
        let shard = shard(ScopedKey::of_business_key(&scope, business_key), Subject::BusinessKey);
        RecordHandle::new(shard, None, policy.of_business_keys(), &caller.measure)
    });
    let (first, second) = match (of_key, of_business_key) {
        (Some(key), second) => (key, second),
        (None, Some(first)) => (first, None),
        (None, None) => return Err(Rejection::Internal),
    };
    let unreachable = config.unreachable;
    let Policy { lease, unknown_outcome, .. } = policy;
    let rules = config.outcomes.of(method, path);
    let write = Write { identity, business_key, lease, unreachable, unknown_outcome, rules };
    let request = &request;
    let key = key.map(|key| (key, &config.key_headers));
    let write_run = WriteRun { caller, request, body, write, fingerprints, key, first, second };
    Ok(write_run.execute().await)
}

/// Returns the scope of a write without a key that may have a business key. A write without a credential
/// has none and passes to the origin, unless the setting `ANONYMOUS` gives such callers a common scope, or
/// the route requires a business key.
async fn scope_of_business_key(
    caller: &Caller,
    request: &HttpRequest,
) -> Result<Option<Scope>, Refusal> {
    let (keys, method, path) = (&caller.config.business_keys, &request.method, &request.path);
    if !keys.may_name(method, path) {
        return Ok(None);
    }
    match scope_of(caller, request).await {
        Err(Refusal::Rejected(Rejection::NoScope(
            ScopeError::Missing(_) | ScopeError::Unnamed,
        ))) if !keys.requires(method, path) => Ok(None),
        scope => scope.map(Some),
    }
}

/// Refuses a request with a key whose headers could make it a different request at the origin.
fn refuse_override_headers(caller: &Caller, request: &HttpRequest) -> Result<(), Rejection> {
    match OverrideHeader::find(request.headers.iter(), &caller.config.scope) {
        Some(header) => Err(Rejection::Invalid(header.to_string())),
        None => Ok(()),
    }
}

/// Refuses a GET or HEAD with a body, because the platform cannot forward one.
async fn no_body(request: &HttpRequest) -> Result<(), Rejection> {
    const NO_BODY: &str =
        "A GET or HEAD request with a body cannot be forwarded. Send it without a body.";
    if !matches!(request.method.as_str(), "GET" | "HEAD") {
        return Ok(());
    }
    match request.read_body(0, &Reservation::of_request()).await {
        Err(Rejection::BodyTooLarge(_)) => Err(Rejection::Invalid(NO_BODY.to_owned())),
        read => read.map(drop),
    }
}

/// Passes a request on to the origin without storing anything.
async fn pass_through(caller: &Caller, request: &HttpRequest, read: Option<&[u8]>) -> HttpResponse {
    let origin_request = OriginRequest::keyless(request, read, &caller.request_id);
    let recourse = if request.is_write() { Recourse::LookUp } else { Recourse::Retry };
    match origin::call(caller, origin_request, None).await {
        Ok(response) => response.pass_on(),
        Err(_) => caller.reject(&Rejection::OriginUnreachable(recourse)),
    }
}

/// Returns the key from the header or the form.
fn key_of(
    caller: &Caller,
    request: &HttpRequest,
    in_form: Option<IdempotencyKey>,
) -> Result<IdempotencyKey, Rejection> {
    let config = &caller.config;
    let header = config.key_headers.key_in(&request.headers).map_err(Rejection::KeyMalformed)?;
    let key = merge_keys(header, in_form).map_err(Rejection::FormKey)?;
    let key = key.ok_or_else(|| config.key_missing())?;
    key.within(config.max_key_length).map_err(Rejection::KeyMalformed)
}
