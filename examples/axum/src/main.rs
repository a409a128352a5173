//! An API that creates orders. `cargo run`, and then:
//!
//! curl -i http://127.0.0.1:3000/v1/orders -H 'X-Api-Key: me' -H 'Idempotency-Key: order-1' \
//!     -H 'Content-Type: application/json' -d '{"amount":2990}'

use axum::{Json, Router, http::StatusCode, routing::post};
use oncekey::Policy;
use oncekey_axum_example::{SqliteStore, protect};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

static ORDERS: AtomicU64 = AtomicU64::new(0);

async fn create_order(Json(order): Json<Value>) -> (StatusCode, Json<Value>) {
    let id = ORDERS.fetch_add(1, Ordering::Relaxed) + 1;
    (StatusCode::CREATED, Json(json!({ "id": id, "amount": order["amount"] })))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let routes = Router::new().route("/v1/orders", post(create_order));
    let app = protect(routes, SqliteStore::open("records.db")?, Policy::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    Ok(axum::serve(listener, app).await?)
}
