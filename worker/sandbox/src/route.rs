//! The operations of this API: the method and path of each, and the function that carries it out.

use crate::call::Call;
use crate::error::{Failure, Refusal};
use crate::reply::Reply;
use crate::store::Tx;
use crate::{
    effects, endpoints, events, executions, ledger, orders, payments, reconcile, refunds,
    subscriptions,
};

/// An operation. `run` is one transaction in the merchant's object.
pub(super) struct Operation {
    method: &'static str,
    /// `*` is one segment of the path, and `**` the rest of it, because a key may contain a slash.
    pattern: &'static str,
    pub(super) takes_body: bool,
    /// Whether the operation runs in the object that all senders of events share, whoever the caller is.
    pub(super) is_of_senders: bool,
    pub(super) run: fn(&Tx, &Call) -> Result<Reply, Failure>,
}

type Run = fn(&Tx, &Call) -> Result<Reply, Failure>;

const fn get(pattern: &'static str, run: Run) -> Operation {
    Operation { method: "GET", pattern, takes_body: false, is_of_senders: false, run }
}

const fn post(pattern: &'static str, run: Run) -> Operation {
    Operation { method: "POST", takes_body: true, ..get(pattern, run) }
}

const fn without_body(operation: Operation) -> Operation {
    Operation { takes_body: false, ..operation }
}

const fn of_senders(operation: Operation) -> Operation {
    Operation { is_of_senders: true, ..operation }
}

/// The methods of one path are in the order in which a 405 lists them.
static OPERATIONS: [Operation; 24] = [
    get("v1/orders", orders::find),
    post("v1/orders", orders::create),
    get("v1/orders/*", orders::get),
    get("v1/payments", payments::list),
    post("v1/payments", payments::create),
    get("v1/payments/*", payments::get),
    get("v1/refunds", refunds::find),
    post("v1/refunds", refunds::create),
    get("v1/refunds/*", refunds::get),
    post("v1/subscriptions", subscriptions::create),
    get("v1/subscriptions/*", subscriptions::get),
    without_body(post("v1/subscriptions/*/cancel", subscriptions::cancel)),
    get("v1/ledger/entries", ledger::entries),
    get("v1/ledger/balance", ledger::balance),
    get("v1/webhook_endpoints", endpoints::list),
    post("v1/webhook_endpoints", endpoints::create),
    Operation { method: "DELETE", ..get("v1/webhook_endpoints/*", endpoints::delete) },
    post("v1/webhook_endpoints/*", endpoints::set_secrets),
    get("v1/events", events::list),
    get("v1/events/*", events::get),
    without_body(post("v1/events/*/resend", events::resend)),
    get("v1/sandbox/executions/**", executions::count),
    of_senders(get("v1/sandbox/effects/**", effects::count)),
    of_senders(post("webhooks/*", effects::receive)),
];

/// The list that the gateway requests for its operators. No caller can request it, because [`find`] does not know it.
static INTERNAL: Operation = get(reconcile::PATH, reconcile::list);

/// Finds the operation of a request, and the segment that its pattern leaves open. An unknown path
/// is refused with 404, a wrong method with 405.
pub(super) fn find<'a>(
    method: &str,
    path: &'a str,
) -> Result<(&'static Operation, &'a str), Box<Refusal>> {
    let method = if method == "HEAD" { "GET" } else { method };
    let path = path.strip_prefix('/').unwrap_or(path);
    let mut allow = Vec::new();
    for operation in &OPERATIONS {
        let Some(named) = fit(operation.pattern, path) else {
            continue;
        };
        if operation.method == method {
            return Ok((operation, named));
        }
        allow.push(operation.method);
        if operation.method == "GET" {
            allow.push("HEAD");
        }
    }
    if allow.is_empty() {
        return Err(Refusal::missing(
            "This path does not exist. Paths of this API begin with /v1/ and are listed in docs/guide/sandbox.md.",
        ));
    }
    Err(Refusal::wrong_method(allow.join(", ")))
}

/// The same inside an object. It also finds the list that only the gateway itself may request.
pub(super) fn find_in_object<'a>(
    method: &str,
    path: &'a str,
) -> Result<(&'static Operation, &'a str), Box<Refusal>> {
    if path == reconcile::PATH { Ok((&INTERNAL, "")) } else { find(method, path) }
}

/// Returns the segment of a path that a pattern leaves open, if the path fits the pattern.
fn fit<'a>(pattern: &str, path: &'a str) -> Option<&'a str> {
    let (mut rest, mut named) = (Some(path), "");
    for part in pattern.split('/') {
        if part == "**" {
            return Some(rest.unwrap_or_default());
        }
        let here = rest?;
        let (segment, after) = match here.split_once('/') {
            Some((segment, after)) => (segment, Some(after)),
            None => (here, None),
        };
        match part {
            "*" => named = segment,
            _ if part != segment => return None,
            _ => {}
        }
        rest = after;
    }
    rest.is_none().then_some(named)
}

#[cfg(test)]
mod tests {
    use super::fit;

    #[test]
    fn paths_fit_patterns_segment_by_segment() {
        for (pattern, path, named) in [
            ("v1/orders", "v1/orders", Some("")),
            ("v1/orders", "v1/orders/", None),
            ("v1/orders", "v1/order", None),
            ("v1/orders", "v1", None),
            ("v1/orders/*", "v1/orders/a", Some("a")),
            ("v1/orders/*", "v1/orders/", Some("")),
            ("v1/orders/*", "v1/orders", None),
            ("v1/orders/*", "v1/orders/a/b", None),
            ("v1/a/*/cancel", "v1/a/b/cancel", Some("b")),
            ("v1/a/*/cancel", "v1/a/b/c", None),
            ("v1/a/**", "v1/a/b//c/", Some("b//c/")),
            ("v1/a/**", "v1/a", Some("")),
        ] {
            assert_eq!(fit(pattern, path), named, "{pattern} {path}");
        }
    }
}
