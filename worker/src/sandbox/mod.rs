//! The sandbox: a small merchant API, the default origin behind the gateway.
//!
//! ```text
//! request -> merchant (X-Api-Key) -> faults asked for -> route -> checked input
//!         -> one transaction in the merchant's Durable Object -> answer
//! ```
//!
//! It sees a request as any origin would: with the bare `Idempotency-Key` and the gateway's
//! `X-Request-Id`. It does **not** deduplicate by the key; that is the gateway's work. What it has
//! of its own is permanent business numbers (`out_trade_no`) and a log of what really took effect.
//!
//! | file | |
//! |---|---|
//! | this one | the routes and the flow of a call |
//! | `merchant.rs` | the Durable Object: a merchant's database, one transaction an operation |
//! | `schema.rs`, `store.rs` | its tables and their versions; SQL in a transaction |
//! | `orders.rs`, `executions.rs` | the operations |
//! | `input.rs` | what may be in a request, as types |
//! | `fields.rs` | the members of a body, each known and none twice |
//! | `fault.rs` | `Sandbox-Fault` |
//! | `answer.rs`, `error.rs` | what the caller gets |

mod answer;
mod error;
mod executions;
mod fault;
mod fields;
mod input;
mod merchant;
mod orders;
mod schema;
mod store;

use answer::Answer;
use error::{Failure, Refusal};
use fault::Faults;
use fields::Fields;
use input::{ApiKey, BodyType, IdempotencyKey, OutTradeNo, RequestId};
use merchant::{Command, Operation};
use orders::{NewOrder, OrderId};
use worker::{Env, Headers, Request, Response};

/// Every body of this API is small; one beyond this is refused unread by the parser.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Answers one request to the sandbox. An `Err` is a failure to build the answer itself.
pub(crate) async fn serve(env: &Env, mut request: Request) -> worker::Result<Response> {
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
    let merchant = header(request.headers(), "X-Api-Key")
        .and_then(ApiKey::parse)
        .ok_or_else(Refusal::unauthenticated)?;
    let faults = match header(request.headers(), "Sandbox-Fault") {
        Some(value) => Faults::parse(&value)?,
        None => Faults::default(),
    };
    let route = Route::of(&request.inner().method(), &request.path())?;

    faults.before().await?;
    let answer = perform(env, &merchant, route, request, request_id).await;
    // Also a refusal is lost when its answer was to be lost.
    faults.after().await?;
    answer
}

async fn perform(
    env: &Env,
    merchant: &ApiKey,
    route: Route,
    request: &mut Request,
    request_id: &RequestId,
) -> Result<Answer, Failure> {
    let idempotency_key = match header(request.headers(), "Idempotency-Key") {
        Some(value) => Some(IdempotencyKey::parse(value, "Idempotency-Key")?),
        None => None,
    };
    let operation = route.operation(request).await?;
    let command = Command::new(operation, idempotency_key, request_id.clone());
    merchant::send(env, merchant, &command).await
}

/// The calls there are. What is not here is answered 404, a wrong method 405.
enum Route {
    CreateOrder,
    FindOrder,
    GetOrder { id: String },
    CountExecutions { key: String },
}

impl Route {
    fn of(method: &str, path: &str) -> Result<Self, Refusal> {
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        let method = if method == "HEAD" { "GET" } else { method };
        match (method, &segments[..]) {
            ("POST", ["v1", "orders"]) => Ok(Self::CreateOrder),
            ("GET", ["v1", "orders"]) => Ok(Self::FindOrder),
            (_, ["v1", "orders"]) => Err(Refusal::wrong_method("GET, HEAD, POST")),

            ("GET", ["v1", "orders", id]) => Ok(Self::GetOrder { id: (*id).to_owned() }),
            (_, ["v1", "orders", _]) => Err(Refusal::wrong_method("GET, HEAD")),

            // A key may hold a slash, so all the rest of the path is the key.
            ("GET", ["v1", "sandbox", "executions", key @ ..]) => {
                Ok(Self::CountExecutions { key: input::percent_decoded(&key.join("/")) })
            }
            (_, ["v1", "sandbox", "executions", ..]) => Err(Refusal::wrong_method("GET, HEAD")),

            _ => Err(Refusal::missing("There is no such call in this API.")),
        }
    }

    /// Reads and checks what the call needs from the request.
    async fn operation(self, request: &mut Request) -> Result<Operation, Failure> {
        Ok(match self {
            Self::CreateOrder => {
                let (kind, body) = read_body(request).await?;
                let order = NewOrder::parse(kind, &body)?;
                Operation::CreateOrder { id: OrderId::mint(), order }
            }
            Self::FindOrder => Operation::FindOrder {
                out_trade_no: out_trade_no_asked_for(&request.inner().url())?,
            },
            Self::GetOrder { id } => {
                Operation::GetOrder { id: OrderId::parse(id).ok_or_else(orders::no_such_order)? }
            }
            Self::CountExecutions { key } => {
                Operation::CountExecutions { key: IdempotencyKey::parse(key, "idempotency_key")? }
            }
        })
    }
}

fn out_trade_no_asked_for(url: &str) -> Result<OutTradeNo, Refusal> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let mut fields = Fields::of_query(query, &["out_trade_no"])?;
    fields.take("out_trade_no")
}

async fn read_body(request: &mut Request) -> Result<(BodyType, Vec<u8>), Failure> {
    let media_type = header(request.headers(), "Content-Type").unwrap_or_default();
    let kind = BodyType::of(&media_type)
        .ok_or_else(|| Refusal::invalid("Content-Type", BodyType::RULE))?;
    let body = request.bytes().await?;
    if body.len() > MAX_BODY_BYTES {
        return Err(Refusal::too_large(MAX_BODY_BYTES).into());
    }
    Ok((kind, body))
}

/// A header's value; none when it is absent. The names used here are all legal.
fn header(headers: &Headers, name: &str) -> Option<String> {
    headers.get(name).ok().flatten()
}
