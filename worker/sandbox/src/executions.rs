//! What really took effect: one row an operation, written in the operation's own transaction.
//!
//! A call that was refused, or that found what an earlier one had made, adds none. So a key under
//! which something ran twice counts 2, however it came about.
//!
//! What has no number of its own (a payment, a subscription, an endpoint) is recognised by the key
//! that the gateway forwards: a retry after a lost answer finds here what was made under it. The
//! gateway remembers a key for its retention, and this log for good.

use super::context::Context;
use super::error::{Failure, Refusal};
use super::input::IdempotencyKey;
use super::row::{Row, Value};
use super::store::Tx;
use platform::json::writer::Shown;

/// Notes that `operation` made `object_id`.
pub(super) fn note(
    tx: &Tx,
    context: &Context,
    operation: &str,
    object_id: &str,
) -> Result<(), Failure> {
    let key = context.idempotency_key.as_ref();
    tx.run(
        "INSERT INTO executions (idempotency_key, operation, object_id, request_id, executed_at)
         VALUES (?, ?, ?, ?, ?)",
        &[
            key.map(IdempotencyKey::as_str).into(),
            operation.into(),
            object_id.into(),
            context.request_id.as_str().into(),
            context.now.into(),
        ],
    )
}

/// The id of what `operation` has made under this call's key, if it carries one that made something.
/// It is the answer to the same request and to no other: `is_same` is a query that compares the
/// object with `content`, and takes its id as the last value.
pub(super) fn made(
    tx: &Tx,
    context: &Context,
    operation: &str,
    is_same: &str,
    content: &[Value],
) -> Result<Option<String>, Failure> {
    let Some(key) = &context.idempotency_key else {
        return Ok(None);
    };
    let query = "SELECT object_id FROM executions WHERE idempotency_key = ? AND operation = ?";
    let Some(id) = tx.first(query, &[key.as_str().into(), operation.into()], Row::text)? else {
        return Ok(None);
    };
    match tx.first(is_same, &[content, &[id.as_str().into()]].concat(), Row::integer)? {
        Some(1) => Ok(Some(id)),
        _ => Err(Refusal::key_taken().into()),
    }
}

/// How often something took effect under a key.
pub(super) fn count(tx: &Tx, key: &IdempotencyKey) -> Result<String, Failure> {
    let query = "SELECT COUNT(*) FROM executions WHERE idempotency_key = ?";
    let count = tx.first(query, &[key.as_str().into()], Row::integer)?.unwrap_or(0);
    Ok(Shown::new().integer("count", count).finish())
}
