//! Calls about keys and about the Worker itself: everything under `/_oncekey/`.

mod journal;
mod key;
mod keys;
mod query;
mod reconcile;

use crate::gateway::caller::is_admin;
use crate::http::context::Caller;
use crate::http::request::Incoming;
use crate::http::response::Answer;
use crate::metrics;
use crate::shard::client::ShardClient;
use crate::shard::protocol::Inspect;
use oncekey::{IdempotencyKey, Rejection, Scope, ScopedKey};
use platform::json::writer::{Shown, array, quoted};

/// The methods of calls that change nothing.
const READS: &str = "GET, HEAD";

/// Answers a call under `/_oncekey/`.
pub(crate) async fn handle(caller: &Caller, incoming: &Incoming) -> Answer {
    let answer = match (incoming.method.as_str(), incoming.path.as_str()) {
        ("GET" | "HEAD", "/_oncekey/health") => health(caller, incoming).await,
        ("GET" | "HEAD", "/_oncekey/key") => key::show(caller, incoming).await,
        ("POST", "/_oncekey/key/void") => key::void(caller, incoming).await,
        (_, path) if caller.config.admin_token.is_some() && is_for_operators(path) => {
            operate(caller, incoming).await
        }
        (_, "/_oncekey/health" | "/_oncekey/key") => Err(Rejection::MethodNotAllowed(READS)),
        (_, "/_oncekey/key/void") => Err(Rejection::MethodNotAllowed("POST")),
        _ => Err(Rejection::NotFound),
    };
    answer.unwrap_or_else(|rejection| caller.reject(&rejection))
}

fn is_for_operators(path: &str) -> bool {
    let call = path.strip_prefix("/_oncekey/").unwrap_or_default();
    matches!(call, "key/settle" | "journal" | "keys" | "reconcile") || call.starts_with("keys/")
}

/// Answers a call of an operator.
async fn operate(caller: &Caller, incoming: &Incoming) -> Result<Answer, Rejection> {
    if !is_admin(caller, incoming) {
        return Err(Rejection::NotAdmin);
    }
    let call = incoming.path.strip_prefix("/_oncekey/").unwrap_or_default();
    match (incoming.method.as_str(), call) {
        ("POST", "key/settle") => key::settle(caller, incoming).await,
        (_, "key/settle") => Err(Rejection::MethodNotAllowed("POST")),
        ("GET" | "HEAD", "journal") => journal::page(caller, incoming).await,
        ("GET" | "HEAD", "keys") => keys::list(caller, incoming).await,
        ("GET" | "HEAD", "reconcile") => reconcile::page(caller, incoming).await,
        ("GET" | "HEAD", call) => {
            keys::life(caller, call.strip_prefix("keys/").unwrap_or_default()).await
        }
        _ => Err(Rejection::MethodNotAllowed(READS)),
    }
}

/// Whether the Worker can serve: its settings are right (or it would not have come here) and a
/// shard answers. An operator gets the counts of this isolate too.
async fn health(caller: &Caller, incoming: &Incoming) -> Result<Answer, Rejection> {
    let probe = IdempotencyKey::parse_bare("health").map_err(Rejection::KeyMalformed)?;
    let name = ScopedKey::new(&Scope::of_tenant("oncekey health"), &probe);
    key::call(&ShardClient::new(caller, name, None), Inspect).await?;
    let mut health = Shown::new().text("status", "ok");
    let warnings: Vec<_> = caller.config.warnings.iter().map(|text| quoted(text)).collect();
    if !warnings.is_empty() {
        health = health.json("warnings", &array(&warnings));
    }
    if is_admin(caller, incoming) {
        health = health.json("isolate", &metrics::isolate());
    }
    Ok(caller.json(200, health.finish().into_bytes()))
}
