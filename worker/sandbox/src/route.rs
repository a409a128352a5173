//! The calls there are: method and path, and what each takes from the request.

use super::body_type::BodyType;
use super::command::Operation;
use super::effects::Inbound;
use super::endpoints::{self, NewEndpoint, Secrets};
use super::error::Refusal;
use super::events;
use super::fields::Fields;
use super::input::{self, Id, IdempotencyKey};
use super::orders::{self, NewOrder, OrderId};
use super::pages::Page;
use super::payments::{self, NewPayment};
use super::refunds::{self, NewRefund};
use super::subscriptions::{self, NewSubscription};
use oncekey::webhook_target::Reach;

/// A call that there is.
#[derive(Clone, Copy)]
enum Call {
    CreateOrder,
    FindOrder,
    GetOrder,
    CreatePayment,
    ListPayments,
    CreateRefund,
    FindRefund,
    CreateSubscription,
    CancelSubscription,
    /// Of an object whose id begins like this.
    Get(&'static str),
    ListEntries,
    Balance,
    CreateEndpoint,
    ListEndpoints,
    SetSecrets,
    DeleteEndpoint,
    ListEvents,
    ResendEvent,
    CountExecutions,
    /// An event, from one of the sources that the gateway knows.
    TakeIn,
    CountEffects,
}

/// Method, path and call; the methods of one path in the order in which they are told. In a path `*`
/// is one segment, and `**` all the rest: a key may hold a slash.
static CALLS: [(&str, &str, Call); 24] = [
    ("GET", "v1/orders", Call::FindOrder),
    ("POST", "v1/orders", Call::CreateOrder),
    ("GET", "v1/orders/*", Call::GetOrder),
    ("GET", "v1/payments", Call::ListPayments),
    ("POST", "v1/payments", Call::CreatePayment),
    ("GET", "v1/payments/*", Call::Get(payments::PREFIX)),
    ("GET", "v1/refunds", Call::FindRefund),
    ("POST", "v1/refunds", Call::CreateRefund),
    ("GET", "v1/refunds/*", Call::Get(refunds::PREFIX)),
    ("POST", "v1/subscriptions", Call::CreateSubscription),
    ("GET", "v1/subscriptions/*", Call::Get(subscriptions::PREFIX)),
    ("POST", "v1/subscriptions/*/cancel", Call::CancelSubscription),
    ("GET", "v1/ledger/entries", Call::ListEntries),
    ("GET", "v1/ledger/balance", Call::Balance),
    ("GET", "v1/webhook_endpoints", Call::ListEndpoints),
    ("POST", "v1/webhook_endpoints", Call::CreateEndpoint),
    ("DELETE", "v1/webhook_endpoints/*", Call::DeleteEndpoint),
    ("POST", "v1/webhook_endpoints/*", Call::SetSecrets),
    ("GET", "v1/events", Call::ListEvents),
    ("GET", "v1/events/*", Call::Get(events::PREFIX)),
    ("POST", "v1/events/*/resend", Call::ResendEvent),
    ("GET", "v1/sandbox/executions/**", Call::CountExecutions),
    ("GET", "v1/sandbox/effects/**", Call::CountEffects),
    ("POST", "webhooks/*", Call::TakeIn),
];

/// A call, and what stood in its path in place of the stars.
pub(super) struct Route {
    call: Call,
    named: String,
}

impl Route {
    /// What is not in the table is answered 404, a wrong method 405.
    pub(super) fn of(method: &str, path: &str) -> Result<Self, Box<Refusal>> {
        let method = if method == "HEAD" { "GET" } else { method };
        let path = path.strip_prefix('/').unwrap_or(path);
        let mut allow = String::new();
        for (known, pattern, call) in &CALLS {
            let Some(named) = fit(pattern, path) else {
                continue;
            };
            if *known == method {
                return Ok(Self { call: *call, named: named.to_owned() });
            }
            for part in [if allow.is_empty() { "" } else { ", " }, known] {
                allow.push_str(part);
            }
            if *known == "GET" {
                allow.push_str(", HEAD");
            }
        }
        if allow.is_empty() {
            return Err(Refusal::missing("There is no such call in this API."));
        }
        Err(Refusal::wrong_method(allow))
    }

    /// Whether it goes to the object that the senders of events share, whoever calls.
    pub(super) fn is_of_senders(&self) -> bool {
        matches!(self.call, Call::TakeIn | Call::CountEffects)
    }

    pub(super) fn takes_body(&self) -> bool {
        matches!(
            self.call,
            Call::CreateOrder
                | Call::CreatePayment
                | Call::CreateRefund
                | Call::CreateSubscription
                | Call::CreateEndpoint
                | Call::SetSecrets
                | Call::TakeIn
        )
    }

    /// Checks what the call takes from the request: `body` where it takes one, else the URL's query.
    pub(super) fn operation(
        self,
        url: &str,
        body: Option<(BodyType, Vec<u8>)>,
        reach: Reach,
    ) -> Result<Operation, Box<Refusal>> {
        use Operation as O;
        let (kind, body) = body.unwrap_or((BodyType::Json, Vec::new()));
        let query = url.split_once('?').map_or("", |(_, query)| query);
        let query = |known: &[&str]| Fields::of_query(query, known);
        let named = self.named;
        let id = |prefix: &str| Id::parse(&named, prefix).ok_or_else(Refusal::no_such_object);
        let key = |param: &str| IdempotencyKey::parse(input::percent_decoded(&named), param);
        Ok(match self.call {
            Call::CreateOrder => {
                O::CreateOrder { id: OrderId::mint(), order: NewOrder::parse(kind, &body)? }
            }
            Call::FindOrder => {
                O::FindOrder { out_trade_no: query(&["out_trade_no"])?.take("out_trade_no")? }
            }
            Call::GetOrder => {
                O::GetOrder { id: OrderId::parse(named).ok_or_else(orders::no_such_order)? }
            }
            Call::CreatePayment => {
                let payment = NewPayment::parse(kind, &body)?;
                O::CreatePayment { id: Id::mint(payments::PREFIX), payment }
            }
            Call::ListPayments => {
                let mut fields = query(&["order_id", "cursor", "limit"])?;
                let order_id = fields.take("order_id")?;
                O::ListPayments { order_id, page: Page::take(&mut fields)? }
            }
            Call::CreateRefund => {
                let refund = NewRefund::parse(kind, &body)?;
                O::CreateRefund { id: Id::mint(refunds::PREFIX), refund }
            }
            Call::FindRefund => {
                O::FindRefund { out_refund_no: query(&["out_refund_no"])?.take("out_refund_no")? }
            }
            Call::CreateSubscription => {
                let subscription = NewSubscription::parse(kind, &body)?;
                O::CreateSubscription { id: Id::mint(subscriptions::PREFIX), subscription }
            }
            Call::CancelSubscription => O::CancelSubscription { id: id(subscriptions::PREFIX)? },
            Call::Get(prefix) => O::Get { id: id(prefix)? },
            Call::ListEntries => {
                let mut fields = query(&["order_id", "cursor", "limit"])?;
                let order_id = fields.optional("order_id")?;
                O::ListEntries { order_id, page: Page::take(&mut fields)? }
            }
            Call::Balance => O::Balance,
            Call::CreateEndpoint => {
                let endpoint = NewEndpoint::parse(kind, &body, reach)?;
                O::CreateEndpoint { id: Id::mint(endpoints::PREFIX), endpoint }
            }
            Call::ListEndpoints => O::ListEndpoints,
            Call::SetSecrets => {
                let id = id(endpoints::PREFIX)?;
                O::SetSecrets { id, secrets: Secrets::parse(kind, &body)? }
            }
            Call::DeleteEndpoint => O::DeleteEndpoint { id: id(endpoints::PREFIX)? },
            Call::ListEvents => {
                O::ListEvents { page: Page::take(&mut query(&["cursor", "limit"])?)? }
            }
            Call::ResendEvent => O::ResendEvent { id: id(events::PREFIX)? },
            Call::CountExecutions => O::CountExecutions { key: key("idempotency_key")? },
            Call::TakeIn => O::TakeIn { event: Inbound::parse(named, &body)? },
            // An event's id is its key, and in the senders' object nothing else is one.
            Call::CountEffects => O::CountExecutions { key: key("event_id")? },
        })
    }
}

/// What stands in a path in place of a pattern's stars, if it fits.
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
