//! The operations of this API: path, method, and the function that carries each out.
//!
//! A path is matched segment by segment by Rust's own patterns. The gateway's routes (`oncekey::Route`)
//! are for settings: they decide which rule applies to a request, and not which object a path names.

use crate::error::{Failure, Refusal};
use crate::request::ApiRequest;
use crate::response::ApiResponse;
use crate::store::Tx;
use crate::{
    effects, endpoints, events, executions, ledger, orders, payments, reconcile, refunds,
    subscriptions,
};

/// Carries out an operation, in a transaction of the merchant's object.
pub(super) type Handler = fn(&Tx, &ApiRequest) -> Result<ApiResponse, Failure>;

/// Returns the function for a request, and the segment of the path that names an object. An unknown
/// path is refused with 404, a wrong method with 405.
pub(super) fn find<'p>(method: &str, path: &'p str) -> Result<(Handler, &'p str), Box<Refusal>> {
    let method = if method == "HEAD" { "GET" } else { method };
    let (operations, named) = operations(path);
    if let Some((_, handler)) = operations.iter().find(|(known, _)| *known == method) {
        return Ok((*handler, named));
    }
    let mut allow: Vec<&str> = operations.iter().map(|(method, _)| *method).collect();
    if allow.first() == Some(&"GET") {
        allow.insert(1, "HEAD");
    }
    match allow[..] {
        [] => Err(Refusal::no_such_path()),
        _ => Err(Refusal::wrong_method(allow.join(", "))),
    }
}

/// Returns the operations of a path in the order in which a 405 lists them, and the segment that names
/// an object.
fn operations(path: &str) -> (&'static [(&'static str, Handler)], &str) {
    // A key may contain slashes.
    if let Some(key) = path.strip_prefix(executions::PATH) {
        return (&[("GET", |tx, request| executions::count(tx, request, "idempotency_key"))], key);
    }
    if let Some(event) = path.strip_prefix(effects::PATH) {
        return (&[("GET", |tx, request| executions::count(tx, request, "event_id"))], event);
    }
    if path == reconcile::PATH {
        return (&[("GET", reconcile::list)], "");
    }
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    match segments[..] {
        ["v1", "orders"] => (&[("GET", orders::find), ("POST", orders::create)], ""),
        ["v1", "orders", id] => (&[("GET", orders::get)], id),
        ["v1", "payments"] => (&[("GET", payments::list), ("POST", payments::create)], ""),
        ["v1", "payments", id] => (&[("GET", payments::get)], id),
        ["v1", "refunds"] => (&[("GET", refunds::find), ("POST", refunds::create)], ""),
        ["v1", "refunds", id] => (&[("GET", refunds::get)], id),
        ["v1", "subscriptions"] => (&[("POST", subscriptions::create)], ""),
        ["v1", "subscriptions", id] => (&[("GET", subscriptions::get)], id),
        ["v1", "subscriptions", id, "cancel"] => (&[("POST", subscriptions::cancel)], id),
        ["v1", "ledger", "entries"] => (&[("GET", ledger::entries)], ""),
        ["v1", "ledger", "balance"] => (&[("GET", ledger::balance)], ""),
        ["v1", "webhook_endpoints"] => {
            (&[("GET", endpoints::list), ("POST", endpoints::create)], "")
        }
        ["v1", "webhook_endpoints", id] => {
            (&[("DELETE", endpoints::delete), ("POST", endpoints::set_secrets)], id)
        }
        ["v1", "events"] => (&[("GET", events::list)], ""),
        ["v1", "events", id] => (&[("GET", events::get)], id),
        ["v1", "events", id, "resend"] => (&[("POST", events::resend)], id),
        ["webhooks", source] => (&[("POST", effects::receive)], source),
        _ => (&[], ""),
    }
}
