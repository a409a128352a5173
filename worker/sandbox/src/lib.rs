//! The sandbox: a small merchant API, the default origin behind the gateway.
//!
//! ```text
//! request -> merchant (X-Api-Key) -> faults asked for -> operation
//!         -> the merchant's Durable Object: checked input, one transaction -> response
//! ```
//!
//! It gets a request as any origin would: with the `Idempotency-Key` without quotes and the gateway's
//! `X-Request-Id`. It has what an API behind a gateway needs: permanent business keys
//! (`out_trade_no`, `out_refund_no`), one successful payment for each order, and a log of what took
//! effect. By that log it recognizes a forwarded idempotency key where there is no business key. The
//! business row, the ledger entries and the event of an operation are one transaction.
//!
//! | file | |
//! |---|---|
//! | this one | the flow of a call in the Worker |
//! | `route.rs` | the operations: method, path and function |
//! | `command.rs`, `client.rs` | what a merchant's object is asked, and how it gets there |
//! | `merchant.rs`, `call.rs` | the Durable Object; what an operation takes from a call |
//! | `schema.rs`, `store.rs`, `columns.rs` | its tables and their versions; SQL in a transaction; columns that several queries show |
//! | `orders.rs`, `payments.rs`, `refunds.rs`, `subscriptions.rs`, `endpoints.rs` | the operations |
//! | `cards.rs` | test cards |
//! | `ledger.rs`, `executions.rs` | movements of money; the log of what took effect |
//! | `effects.rs` | webhooks that the gateway received |
//! | `events.rs`, `deliveries.rs`, `sending.rs` | events, their deliveries to endpoints, and sending |
//! | `fields.rs`, `input.rs`, `body_type.rs` | the fields of a request, the types of their values, and the types of bodies |
//! | `pages.rs` | long lists |
//! | `reconcile.rs` | whether everything that belongs to a payment is stored |
//! | `fault.rs` | `Sandbox-Fault` |
//! | `reply.rs`, `error.rs` | responses and errors |

mod body_type;
mod call;
mod cards;
mod client;
mod columns;
mod command;
mod deliveries;
mod effects;
mod endpoints;
mod error;
mod events;
mod executions;
mod fault;
mod fields;
mod input;
mod ledger;
mod merchant;
mod orders;
mod pages;
mod payments;
mod reconcile;
mod refunds;
mod reply;
mod route;
mod schema;
mod sending;
mod store;
mod subscriptions;

use body_type::BodyType;
use client::Owner;
use command::{Body, Command};
use error::{Failure, Refusal};
use fault::Faults;
use input::{ApiKey, IdempotencyKey};
use oncekey::webhook;
use reply::Reply;
use route::Operation;
use worker::{Env, Headers, Request, Response};

pub use reconcile::operations;

/// The largest body, in bytes. The refusal of a larger one names this number.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Responds to one request to the sandbox. An `Err` means that no response could be built.
pub async fn serve(env: &Env, mut request: Request) -> worker::Result<Response> {
    let request_id = input::request_id(header(request.headers(), "X-Request-Id"));
    let reply = respond(env, &mut request, &request_id).await;
    reply.unwrap_or_else(|failure| Reply::failed(failure, &request_id)).into_response(&request_id)
}

async fn respond(env: &Env, request: &mut Request, request_id: &str) -> Result<Reply, Failure> {
    let path = request.path();
    let owner = match header(request.headers(), "X-Api-Key").and_then(ApiKey::parse) {
        Some(merchant) => Owner::Merchant(merchant),
        // The gateway has verified the sender of a webhook.
        None if path.starts_with(webhook::PATH) => Owner::Senders,
        None => return Err(Refusal::unauthenticated().into()),
    };
    let faults = match header(request.headers(), "Sandbox-Fault") {
        Some(value) => Faults::parse(&value)?,
        None => Faults::default(),
    };
    let (operation, _) = route::find(&request.inner().method(), &path)?;
    let owner = if operation.is_of_senders { Owner::Senders } else { owner };

    faults.before().await?;
    let reply = perform(env, &owner, operation, request, request_id).await;
    // A fault replaces a refusal too.
    faults.after().await?;
    reply
}

async fn perform(
    env: &Env,
    owner: &Owner,
    operation: &Operation,
    request: &mut Request,
    request_id: &str,
) -> Result<Reply, Failure> {
    let url = request.inner().url();
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let mut command = Command::new(request_id, &request.inner().method(), &request.path(), query);
    if let Some(key) = header(request.headers(), "Idempotency-Key") {
        let key = IdempotencyKey::check(key, "Idempotency-Key")?;
        command.idempotency_key = Some(key.as_str().to_owned());
    }
    if operation.takes_body {
        command.body = Some(read_body(request).await?);
    }
    client::send(env, owner, &command).await
}

async fn read_body(request: &mut Request) -> Result<Body, Failure> {
    let media_type = header(request.headers(), "Content-Type").unwrap_or_default();
    let kind = BodyType::of(&media_type)
        .ok_or_else(|| Refusal::invalid("Content-Type", BodyType::RULE))?;
    let bytes = request.bytes().await.map_err(|_| Refusal::cut())?;
    if bytes.len() > MAX_BODY_BYTES {
        return Err(Refusal::too_large().into());
    }
    Ok(Body { kind, bytes })
}

/// Returns a header's value. The names used here are all valid.
fn header(headers: &Headers, name: &str) -> Option<String> {
    headers.get(name).ok().flatten()
}
