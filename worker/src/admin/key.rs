//! Calls about one key: showing its state, voiding it, and settling an unknown outcome.

use crate::gateway::caller::{admin_scope, is_admin, scope_of};
use crate::gateway::identity;
use crate::gateway::refusal::Refusal;
use crate::http::body_budget::Reservation;
use crate::http::context::Caller;
use crate::http::request::HttpRequest;
use crate::http::response::HttpResponse;
use crate::shard::client::{Patience, ShardClient};
use crate::shard::protocol::{Decided, GetStatus, Operation, Settle, Subject, Void, Whose};
use oncekey::request::key_headers::KeyHeaders;
use oncekey::response::is_request_id;
use oncekey::{
    HeaderList, IdempotencyKey, KeyError, KeyStatus, Millis, Rejection, ResponseClass, ScopedKey,
    Settlement, Settling, StoredResponse,
};
use platform::json::writer::JsonObject;
use platform::json::{Json, take};

/// How long a caller waits for the reply of a shard.
const PATIENCE: Millis = Millis::from_seconds(6);

/// The largest body of a settlement, in bytes: the largest response, written in JSON escapes.
const MAX_SETTLEMENT: u64 = 12 << 20;

/// Returns a key's state: `GET /_oncekey/key`.
pub(super) async fn show(caller: &Caller, request: &HttpRequest) -> Result<HttpResponse, Refusal> {
    let (shard, _) = meant_key(caller, request).await?;
    let ((), status) = call(&shard, GetStatus).await?;
    Ok(key_status(caller, &status.ok_or(Rejection::NoRecord)?))
}

/// Voids a key: `POST /_oncekey/key/void`.
pub(super) async fn void(caller: &Caller, request: &HttpRequest) -> Result<HttpResponse, Refusal> {
    let (shard, key) = meant_key(caller, request).await?;
    let minted_at = key.minted_at();
    let policy = caller.config.policy_of_void(minted_at);
    let void = Void { minted_at, policy };
    let ((), status) = call(&shard, void).await?;
    Ok(key_status(caller, &status.ok_or(Rejection::StoreUnavailable)?))
}

/// Settles an unknown outcome for an operator: `POST /_oncekey/key/settle`.
pub(super) async fn settle(
    caller: &Caller,
    request: &HttpRequest,
) -> Result<HttpResponse, Refusal> {
    let shard = match request.header("x-oncekey-name") {
        Some(name) => ShardClient::new(caller, named(caller, request, name)?, None),
        None => meant_key(caller, request).await?.0,
    };
    let body = request.read_body(MAX_SETTLEMENT, &Reservation::of_request()).await?;
    let settlement = parse_settlement(&body, caller).map_err(Rejection::Invalid)?;
    let (settling, status) = call(&shard, Settle { settlement, by_operator: true }).await?;
    let status = status.ok_or(Rejection::NoRecord)?;
    Ok(match settling {
        Settling::Settled => key_status(caller, &status),
        Settling::NotUnknown => {
            caller.reject(&Rejection::NothingToSettle).with_key_status(Some(&status))
        }
    })
}

/// Returns the key that an operator names by its hash, as the journal shows it.
fn named(caller: &Caller, request: &HttpRequest, name: &str) -> Result<ScopedKey, Rejection> {
    const MAY_BE: &str = "X-Oncekey-Name must be the hash of a key in 64 hexadecimal digits. Send it without the header of a key.";
    let name = ScopedKey::from_hex(name).filter(|_| key_in(caller, request) == Ok(None));
    name.ok_or_else(|| Rejection::Invalid(MAY_BE.to_owned()))
}

/// Returns the key that a call is about. The key is sent in a header, so that no URL and no log contains
/// it. Its scope is the caller's own, or the scope that an operator names.
async fn meant_key(
    caller: &Caller,
    request: &HttpRequest,
) -> Result<(ShardClient, IdempotencyKey), Refusal> {
    let key = key_in(caller, request);
    let key = key.transpose().ok_or_else(|| caller.config.key_missing())?;
    let scope = if is_admin(caller, request) {
        admin_scope(caller, request).await?
    } else {
        let scope = scope_of(caller, request).await?;
        identity::may_read(caller, request).await?;
        scope
    };
    let key = key.map_err(Rejection::KeyMalformed)?;
    let whose = Whose { scope, subject: Subject::Key };
    let shard = ShardClient::new(caller, ScopedKey::new(&scope, &key), Some(whose));
    Ok((shard, key))
}

/// Returns the key in a call about keys. These calls are the gateway's own, so they take the key from
/// `Idempotency-Key` too, whatever `KEY_HEADERS` lists.
fn key_in(caller: &Caller, request: &HttpRequest) -> Result<Option<IdempotencyKey>, KeyError> {
    let listed = caller.config.key_headers.key_in(&request.headers)?;
    match (listed, KeyHeaders::default().key_in(&request.headers)?) {
        (Some(one), Some(other)) if one != other => Err(KeyError::Differ),
        (one, other) => Ok(one.or(other)),
    }
}

pub(super) async fn call<O: Operation>(
    shard: &ShardClient,
    operation: O,
) -> Result<Decided<O::Decision>, Rejection> {
    Ok(shard.call(operation, Patience::within(PATIENCE)).await?)
}

fn key_status(caller: &Caller, status: &KeyStatus) -> HttpResponse {
    let json = JsonObject::new()
        .integer("attempts", status.attempts.into())
        .maybe_time("completed_at", status.completed_at)
        .time("created_at", status.created_at)
        .maybe_time("expires_at", status.expires_at)
        .maybe_integer("http_status", status.http_status.map(i64::from))
        .maybe("request_id", status.request_id.as_deref())
        .text("state", status.state.as_str());
    caller.json(200, json.finish().into_bytes()).with_key_status(Some(status))
}

/// Reads `{"outcome":"not_executed"}`, or `{"outcome":"executed","status":201,"headers":{…},"body":"…"}`.
fn parse_settlement(body: &[u8], caller: &Caller) -> Result<Settlement, String> {
    const OUTCOME: &str = "outcome must be \"not_executed\" or \"executed\".";
    const STATUS: &str = "status must be the status of a final response: 200 to 499, except 307, 308, 401, 403, 407, 408, 409, 417, 421, 423, 425 and 429.";
    let Ok(Json::Object(mut fields)) = Json::parse(body) else {
        return Err("The body must be a JSON object.".to_owned());
    };
    match take(&mut fields, "outcome") {
        Some(Json::Text(outcome)) if outcome == "not_executed" => {
            return Ok(Settlement::NotExecuted);
        }
        Some(Json::Text(outcome)) if outcome == "executed" => {}
        _ => return Err(OUTCOME.to_owned()),
    }
    // A key keeps only final responses, from the origin and from an operator.
    let is_final = |status| ResponseClass::of_status(status) == ResponseClass::Final;
    let status = match take(&mut fields, "status") {
        Some(Json::Integer(status @ 200..=499)) if is_final(status as u16) => status as u16,
        _ => return Err(STATUS.to_owned()),
    };
    let headers = match take(&mut fields, "headers") {
        Some(Json::Object(headers)) => parse_headers(headers)?,
        _ => HeaderList::default(),
    };
    let body = match take(&mut fields, "body") {
        None | Some(Json::Null) => Vec::new(),
        Some(Json::Text(body)) => body.into_bytes(),
        Some(_) => return Err("body must be a string.".to_owned()),
    };
    let request_id = headers.get("x-request-id").filter(|id| is_request_id(id));
    let request_id = request_id.unwrap_or(&caller.request_id).to_owned();
    let limit = caller.config.max_replay;
    let (response, _) = StoredResponse::keep(status, headers, body, &request_id, limit);
    Ok(Settlement::Executed(response))
}

/// Reads headers, each with one value or a list of values.
fn parse_headers(members: Vec<(String, Json)>) -> Result<HeaderList, String> {
    let mut headers = Vec::new();
    for (name, value) in members {
        headers.retain(|(known, _)| *known != name);
        let values = match value {
            Json::Array(values) => values,
            value => vec![value],
        };
        for value in values {
            let Json::Text(value) = value else {
                return Err(format!("headers: {name} must be a string or a list of strings."));
            };
            headers.push((name.clone(), value));
        }
    }
    Ok(headers.into_iter().collect())
}
