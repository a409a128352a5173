//! The sandbox: a small merchant API, the default origin behind the gateway.
//!
//! ```text
//! request -> merchant (X-Api-Key) -> faults asked for -> route -> checked input
//!         -> one transaction in the merchant's Durable Object -> answer
//! ```
//!
//! It sees a request as any origin would: with the bare `Idempotency-Key` and the gateway's
//! `X-Request-Id`. Answers are the gateway's to keep; what is here is what an API should have behind
//! any gateway: permanent business numbers (`out_trade_no`, `out_refund_no`), one success an order,
//! and a log of what really took effect, by which a forwarded key is recognised where there is no
//! number. Whatever an operation does (business row, ledger, event) is one transaction.
//!
//! | file | |
//! |---|---|
//! | this one | the flow of a call |
//! | `route.rs` | the calls, and what each takes from a request |
//! | `command.rs` | what the object is asked, and how it gets there |
//! | `client.rs` | sends a command to a merchant's object |
//! | `merchant.rs` | the Durable Object: a merchant's database, one transaction an operation |
//! | `context.rs` | what an operation knows of the call |
//! | `schema.rs`, `store.rs`, `row.rs`, `columns.rs` | its tables and their versions; SQL in a transaction; rows; columns that several queries show |
//! | `orders.rs`, `payments.rs`, `refunds.rs`, `subscriptions.rs`, `endpoints.rs` | the operations |
//! | `cards.rs` | test cards |
//! | `ledger.rs`, `executions.rs` | what moved, and what took effect |
//! | `effects.rs` | what events do that come in |
//! | `events.rs`, `deliveries.rs`, `sending.rs` | what happened, to whom it is to be told, and telling it |
//! | `input.rs` | what may be in a request, as types |
//! | `body_type.rs` | which bodies an operation takes |
//! | `fields.rs`, `pages.rs` | the members of a body, each known and none twice; lists |
//! | `reconcile.rs` | whether all that belongs to a payment is there |
//! | `fault.rs` | `Sandbox-Fault` |
//! | `answer.rs`, `error.rs` | what the caller gets |
//! | `settings.rs` | the one setting that is the sandbox's own |

mod answer;
mod body_type;
mod cards;
mod client;
mod columns;
mod command;
mod context;
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
mod route;
mod row;
mod schema;
mod sending;
mod settings;
mod store;
mod subscriptions;

use answer::Answer;
use body_type::BodyType;
use client::Owner;
use command::{Command, Operation};
use error::{Failure, Refusal};
use fault::Faults;
use input::{ApiKey, IdempotencyKey, RequestId};
use oncekey::webhook;
use route::Route;
use worker::{Env, Headers, Request, Response};

pub use reconcile::page as operations;

/// Every body of this API is small; one beyond this is refused unread by the parser, and the refusal
/// names this number.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Answers one request to the sandbox. An `Err` is a failure to build the answer itself.
pub async fn serve(env: &Env, mut request: Request) -> worker::Result<Response> {
    let request_id = match header(request.headers(), "X-Request-Id").and_then(RequestId::parse) {
        Some(given) => given,
        None => RequestId::mint(),
    };
    let answer = match answer(env, &mut request, &request_id).await {
        Ok(answer) => answer,
        Err(failure) => Answer::failed(failure, &request_id),
    };
    answer.into_response(&request_id)
}

async fn answer(
    env: &Env,
    request: &mut Request,
    request_id: &RequestId,
) -> Result<Answer, Failure> {
    let path = request.path();
    let owner = match header(request.headers(), "X-Api-Key").and_then(ApiKey::parse) {
        Some(merchant) => Owner::Merchant(merchant),
        // The gateway has checked who sends it.
        None if path.starts_with(webhook::PATH) => Owner::Senders,
        None => return Err(Refusal::unauthenticated().into()),
    };
    let faults = match header(request.headers(), "Sandbox-Fault") {
        Some(value) => Faults::parse(&value)?,
        None => Faults::default(),
    };
    let route = Route::of(&request.inner().method(), &path)?;
    let owner = if route.is_of_senders() { Owner::Senders } else { owner };

    faults.before().await?;
    let answer = perform(env, &owner, route, request, request_id).await;
    // Also a refusal is lost when its answer was to be lost.
    faults.after().await?;
    answer
}

async fn perform(
    env: &Env,
    owner: &Owner,
    route: Route,
    request: &mut Request,
    request_id: &RequestId,
) -> Result<Answer, Failure> {
    let idempotency_key = match header(request.headers(), "Idempotency-Key") {
        Some(value) => Some(IdempotencyKey::parse(value, "Idempotency-Key")?),
        None => None,
    };
    let body = if route.takes_body() { Some(read_body(request).await?) } else { None };
    let operation =
        route.operation(&request.inner().url(), body, settings::webhook_targets(env))?;
    let delay = match &operation {
        Operation::CreatePayment { payment, .. } => payment.card().delay(),
        _ => None,
    };
    let command = Command::new(operation, idempotency_key, request_id.clone());
    let answer = client::send(env, owner, &command).await;
    fault::wait(delay).await;
    answer
}

async fn read_body(request: &mut Request) -> Result<(BodyType, Vec<u8>), Failure> {
    let media_type = header(request.headers(), "Content-Type").unwrap_or_default();
    let kind = BodyType::of(&media_type)
        .ok_or_else(|| Refusal::invalid("Content-Type", BodyType::RULE))?;
    let body = request.bytes().await.map_err(|_| Refusal::cut())?;
    if body.len() > MAX_BODY_BYTES {
        return Err(Refusal::too_large().into());
    }
    Ok((kind, body))
}

/// A header's value; none when it is absent. The names used here are all legal.
fn header(headers: &Headers, name: &str) -> Option<String> {
    headers.get(name).ok().flatten()
}
