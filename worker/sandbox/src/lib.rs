//! The sandbox: a small merchant API, the default origin behind the gateway.
//!
//! ```text
//! request -> merchant (X-Api-Key) -> faults that the caller asks for
//!         -> the merchant's Durable Object: operation, checked input, one transaction -> response
//! ```
//!
//! The sandbox gets a request as any origin would: with the bare `Idempotency-Key` and the gateway's
//! `X-Request-Id`. It has what an API behind a gateway needs: permanent business keys
//! (`out_trade_no`, `out_refund_no`), one successful payment for each order, and a log of executions.
//! Where there is no business key, the log shows whether an idempotency key was used before. The
//! business row, the ledger entries and the event of an operation are one transaction.
//!
//! | file | |
//! |---|---|
//! | this one | what the Worker does with a request before a merchant's object gets it |
//! | `client.rs`, `merchant.rs` | sends requests to a merchant's object; the Durable Object |
//! | `route.rs` | the operations: path, method and function |
//! | `request.rs`, `response.rs`, `error.rs` | a request as an operation reads it; responses and errors |
//! | `fields.rs`, `input.rs`, `body_type.rs` | the fields of a request, the types of their values, and the types of bodies |
//! | `schema.rs`, `store.rs`, `columns.rs` | the tables and their versions; SQL in a transaction; columns that several queries select |
//! | `orders.rs`, `payments.rs`, `refunds.rs`, `subscriptions.rs`, `endpoints.rs` | the operations |
//! | `cards.rs` | test cards |
//! | `ledger.rs`, `executions.rs` | movements of money; the log of executions |
//! | `effects.rs` | webhooks that the gateway received |
//! | `events.rs`, `deliveries.rs`, `sending.rs` | events, their deliveries to endpoints, and sending |
//! | `pages.rs` | long lists |
//! | `reconcile.rs` | whether everything that belongs to a payment is stored |
//! | `fault.rs` | `Sandbox-Fault` |

mod body_type;
mod cards;
mod client;
mod columns;
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
mod request;
mod response;
mod route;
mod schema;
mod sending;
mod store;
mod subscriptions;

use client::Owner;
use error::{Failure, Refusal};
use fault::Faults;
use input::ApiKey;
use oncekey::webhook;
use request::{header, request_id};
use response::ApiResponse;
use worker::{Env, Request, Response};

pub use reconcile::operations;

/// Responds to one request to the sandbox. An `Err` means that no response could be built.
pub async fn serve(env: &Env, request: Request) -> worker::Result<Response> {
    let request_id = request_id(request.headers());
    let response = respond(env, request).await;
    response.or_else(|failure| ApiResponse::failed(failure, &request_id).into_response(&request_id))
}

async fn respond(env: &Env, request: Request) -> Result<Response, Failure> {
    let path = request.path();
    let merchant = header(request.headers(), "X-Api-Key").and_then(ApiKey::parse);
    let owner = match merchant {
        // The gateway has verified the sender of a webhook.
        _ if path.starts_with(webhook::PATH) => Owner::Senders,
        None => return Err(Refusal::unauthenticated().into()),
        Some(_) if path.starts_with(effects::PATH) => Owner::Senders,
        Some(merchant) => Owner::Merchant(merchant),
    };
    if path == reconcile::PATH {
        return Err(Refusal::no_such_path().into());
    }
    let faults = match header(request.headers(), "Sandbox-Fault") {
        Some(value) => Faults::parse(&value)?,
        None => Faults::default(),
    };
    faults.before().await?;
    let response = client::send(env, &owner, request).await;
    // A fault also replaces the response to a request that was refused.
    faults.after().await?;
    response
}
