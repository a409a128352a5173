//! The log of what took effect: one row for each operation, written in the operation's transaction.
//!
//! A call that was refused, or that found what an earlier call had made, adds no row. If an operation
//! ran twice under one key, whatever the reason, the key counts 2.
//!
//! A payment, a subscription or an endpoint has no business key. It is recognized by the idempotency
//! key that the gateway forwards: a retry after a lost response finds the object that was made under
//! it. The gateway remembers a key for its retention; this log is permanent.

use super::call::Call;
use super::error::{Failure, Refusal};
use super::reply::Reply;
use super::store::{Row, Tx, Value};
use platform::json::writer::JsonObject;

/// Records that `operation` made `object_id`.
pub(super) fn record(
    tx: &Tx,
    call: &Call,
    operation: &str,
    object_id: &str,
) -> Result<(), Failure> {
    tx.run(
        "INSERT INTO executions (idempotency_key, operation, object_id, request_id, executed_at)
         VALUES (?, ?, ?, ?, ?)",
        &[
            call.idempotency_key().into(),
            operation.into(),
            object_id.into(),
            (&call.command.request_id).into(),
            call.now.into(),
        ],
    )
}

/// Returns the id of the object that `operation` made under this call's key, if there is one. A call
/// with other content is refused: `is_same` is a query that compares the object with `content`, and
/// takes its id as the last value.
pub(super) fn made(
    tx: &Tx,
    call: &Call,
    operation: &str,
    is_same: &str,
    content: &[Value],
) -> Result<Option<String>, Failure> {
    let Some(key) = call.idempotency_key() else {
        return Ok(None);
    };
    let query = "SELECT object_id FROM executions WHERE idempotency_key = ? AND operation = ?";
    let Some(id) = tx.first(query, &[key.into(), operation.into()], Row::text)? else {
        return Ok(None);
    };
    match tx.first(is_same, &[content, &[id.as_str().into()]].concat(), Row::integer)? {
        Some(1) => Ok(Some(id)),
        _ => Err(Refusal::key_taken().into()),
    }
}

/// Counts how often something took effect under a key.
pub(super) fn count(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    count_under(tx, call, "idempotency_key")
}

/// The same count, for a path in which the key has another name.
pub(super) fn count_under(tx: &Tx, call: &Call, param: &str) -> Result<Reply, Failure> {
    let key = call.named_key(param)?;
    let query = "SELECT COUNT(*) FROM executions WHERE idempotency_key = ?";
    let count = tx.first(query, &[key.as_str().into()], Row::integer)?.unwrap_or(0);
    Ok(call.found(&JsonObject::new().integer("count", count).finish()))
}
