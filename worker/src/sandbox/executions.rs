//! What really took effect: one row an operation, written in the operation's own transaction.
//!
//! A call that was refused, or that found what an earlier one had made, adds none. So a key under
//! which something ran twice counts 2, however it came about.

use super::input::IdempotencyKey;
use super::merchant::Context;
use super::store::Tx;
use crate::clock;
use serde::Serialize;

/// Notes that `operation` made `object_id`.
pub(super) fn note(
    tx: &Tx,
    context: &Context,
    operation: &str,
    object_id: &str,
) -> worker::Result<()> {
    let key = context.idempotency_key.as_ref();
    tx.run(
        "INSERT INTO executions (idempotency_key, operation, object_id, request_id, executed_at)
         VALUES (?, ?, ?, ?, ?)",
        vec![
            key.map(IdempotencyKey::as_str).into(),
            operation.into(),
            object_id.into(),
            context.request_id.as_str().into(),
            clock::column(context.now),
        ],
    )
}

#[derive(Serialize)]
pub(super) struct Count {
    count: i64,
}

/// How often something took effect under a key.
pub(super) fn count(tx: &Tx, key: &IdempotencyKey) -> worker::Result<Count> {
    let mut rows = tx.rows(
        "SELECT COUNT(*) FROM executions WHERE idempotency_key = ?",
        vec![key.as_str().into()],
    )?;
    let row = rows.first_mut().ok_or("COUNT without a row")?;
    Ok(Count { count: row.integer()? })
}
