//! Calls about keys and about the Worker itself: everything under `/_oncekey/`.

mod journal;
mod key;
mod keys;
mod query;
#[cfg(feature = "sandbox")]
mod reconcile;

use crate::gateway::caller::is_admin;
use crate::gateway::refusal::Refusal;
use crate::http::context::Caller;
use crate::http::request::HttpRequest;
use crate::http::response::HttpResponse;
use crate::metrics;
use crate::shard::client::ShardClient;
use crate::shard::protocol::GetStatus;
use oncekey::{IdempotencyKey, Rejection, Scope, ScopedKey};
use platform::json::writer::{JsonObject, array, quoted};

/// The methods of calls that change nothing.
const READS: &str = "GET, HEAD";

/// Responds to a call under `/_oncekey/`.
pub(crate) async fn handle(
    caller: &Caller,
    request: &HttpRequest,
) -> Result<HttpResponse, Refusal> {
    let call = request.path.strip_prefix("/_oncekey/").unwrap_or_default();
    let (methods, is_for_operators) = match call {
        "health" | "key" => (READS, false),
        "key/void" => ("POST", false),
        "key/settle" => ("POST", true),
        "journal" | "keys" | "reconcile" => (READS, true),
        _ if call.starts_with("keys/") => (READS, true),
        _ => return Err(Rejection::NotFound.into()),
    };
    if is_for_operators && caller.config.admin_token.is_none() {
        return Err(Rejection::NotFound.into());
    }
    if is_for_operators && !is_admin(caller, request) {
        return Err(Rejection::NotAdmin.into());
    }
    if !methods.split(", ").any(|method| method == request.method) {
        return Err(Rejection::MethodNotAllowed(methods).into());
    }
    Ok(match call {
        "health" => health(caller, request).await?,
        "key" => key::show(caller, request).await?,
        "key/void" => key::void(caller, request).await?,
        "key/settle" => key::settle(caller, request).await?,
        "journal" => journal::page(caller, request).await?,
        "keys" => keys::list(caller, request).await?,
        #[cfg(feature = "sandbox")]
        "reconcile" => reconcile::page(caller, request).await?,
        #[cfg(not(feature = "sandbox"))]
        "reconcile" => return Err(Rejection::NotFound.into()),
        _ => keys::history(caller, call.strip_prefix("keys/").unwrap_or_default()).await?,
    })
}

/// Returns "ok" if a shard responds. (With wrong settings, the call would not get here.) An operator
/// also gets the counts of this isolate.
async fn health(caller: &Caller, request: &HttpRequest) -> Result<HttpResponse, Rejection> {
    let probe = IdempotencyKey::parse_bare("health").map_err(Rejection::KeyMalformed)?;
    let name = ScopedKey::new(&Scope::of_tenant("oncekey health"), &probe);
    key::call(&ShardClient::new(caller, name, None), GetStatus).await?;
    let mut health = JsonObject::new().text("status", "ok");
    let warnings: Vec<_> = caller.config.warnings.iter().map(|text| quoted(text)).collect();
    if !warnings.is_empty() {
        health = health.json("warnings", &array(&warnings));
    }
    if is_admin(caller, request) {
        health = health.json("isolate", &metrics::isolate());
    }
    Ok(caller.json(200, health.finish().into_bytes()))
}
