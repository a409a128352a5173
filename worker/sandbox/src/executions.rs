//! The log of executions: one row for each operation that took effect, written in its transaction.
//!
//! A request that was refused, or that found what an earlier request had made, adds no row. If an
//! operation ran twice under one key, whatever the reason, the count of the key is 2.
//!
//! A payment, a subscription or an endpoint has no business key. The log recognizes it by the idempotency
//! key that the gateway forwards: a retry after a lost response finds the object that was made under the
//! key. The gateway remembers a key for its retention; this log is permanent.

use super::error::{Failure, Refusal};
use super::request::ApiRequest;
use super::response::ApiResponse;
use super::store::Tx;
use platform::json::writer::JsonObject;
use platform::sql::Value;

/// Records that `operation` made `object_id`.
pub(super) fn record(
    tx: &Tx,
    request: &ApiRequest,
    operation: &str,
    object_id: &str,
) -> Result<(), Failure> {
    tx.run(
        "INSERT INTO executions (idempotency_key, operation, object_id, request_id, executed_at)
         VALUES (?, ?, ?, ?, ?)",
        &[
            request.key().into(),
            operation.into(),
            object_id.into(),
            request.id.as_str().into(),
            request.now.into(),
        ],
    )
}

/// Returns the id of the object that `operation` made under this request's key, if there is one. A
/// request with other content is refused: `is_same` is a query that compares the object with `content`,
/// and takes its id as the last value.
pub(super) fn made(
    tx: &Tx,
    request: &ApiRequest,
    operation: &str,
    is_same: &str,
    content: &[Value<'_>],
) -> Result<Option<String>, Failure> {
    let Some(key) = request.key() else {
        return Ok(None);
    };
    let query = "SELECT object_id FROM executions WHERE idempotency_key = ? AND operation = ?";
    let Some(id) = tx.first(query, &[key.into(), operation.into()], |[text]| text.to_text())?
    else {
        return Ok(None);
    };
    match tx
        .first(is_same, &[content, &[id.as_str().into()]].concat(), |[number]| number.as_i64())?
    {
        Some(1) => Ok(Some(id)),
        _ => Err(Refusal::key_taken().into()),
    }
}

/// The path of the count of a key, which follows.
pub(super) const PATH: &str = "/v1/sandbox/executions/";

/// Counts the executions under the key in the path. `param` is the key's name in an error.
pub(super) fn count(tx: &Tx, request: &ApiRequest, param: &str) -> Result<ApiResponse, Failure> {
    let key = request.named_key(param)?;
    let query = "SELECT COUNT(*) FROM executions WHERE idempotency_key = ?";
    let count = tx.first(query, &[key.as_str().into()], |[number]| number.as_i64())?.unwrap_or(0);
    Ok(request.found(&JsonObject::new().integer("count", count).finish()))
}
