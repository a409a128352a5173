//! A merchant's tables. Each step of `STEPS` is applied once, in order, and never changed again:
//! what comes later is a new step at the end.

use super::error::{Failure, Refusal};
use super::store::{self, Tx};
use worker::Storage;

const STEPS: &[&str] = &[
    // 1: orders, and the log of what took effect.
    "CREATE TABLE orders (
        id           TEXT PRIMARY KEY,
        out_trade_no TEXT NOT NULL UNIQUE,
        amount       INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 99999999999),
        currency     TEXT NOT NULL,
        subject      TEXT NOT NULL,
        status       TEXT NOT NULL,
        created_at   INTEGER NOT NULL
    ) STRICT;
    CREATE TRIGGER orders_are_kept BEFORE DELETE ON orders
        BEGIN SELECT RAISE(ABORT, 'an order is permanent'); END;
    CREATE TRIGGER orders_keep_their_content
        BEFORE UPDATE OF id, out_trade_no, amount, currency, subject, created_at ON orders
        BEGIN SELECT RAISE(ABORT, 'the content of an order is permanent'); END;

    CREATE TABLE executions (
        id              INTEGER PRIMARY KEY,
        idempotency_key TEXT,
        operation       TEXT NOT NULL,
        object_id       TEXT NOT NULL,
        request_id      TEXT NOT NULL,
        executed_at     INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX executions_by_key ON executions (idempotency_key)
        WHERE idempotency_key IS NOT NULL;
    CREATE TRIGGER executions_are_kept BEFORE DELETE ON executions
        BEGIN SELECT RAISE(ABORT, 'executions are append-only'); END;
    CREATE TRIGGER executions_do_not_change BEFORE UPDATE ON executions
        BEGIN SELECT RAISE(ABORT, 'executions are append-only'); END;",
];

/// Brings the tables up to this code's version, in one transaction.
///
/// A database that newer code has written is not touched: this code does not know which rules were
/// added (an order may by then need an event beside it). While a version is rolled out, the next
/// try may meet the newer code.
pub(super) fn bring_up_to_date(storage: &Storage) -> Result<(), Failure> {
    store::transaction(storage, |tx| {
        tx.run(
            "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL) STRICT",
            vec![],
        )?;
        let stored = version(tx)?;
        let Some(missing) = STEPS.get(stored..) else {
            worker::console_error!("merchant: the database was written by newer code");
            return Err(Refusal::unavailable().into());
        };
        if missing.is_empty() {
            return Ok(());
        }
        for step in missing {
            tx.run(step, vec![])?;
        }
        tx.run("DELETE FROM schema_version", vec![])?;
        // A handful of steps: far from what an i32 can't hold.
        let current = STEPS.len() as i32;
        tx.run("INSERT INTO schema_version VALUES (?)", vec![current.into()])?;
        Ok(())
    })
}

fn version(tx: &Tx) -> worker::Result<usize> {
    match tx.rows("SELECT version FROM schema_version", vec![])?.first_mut() {
        None => Ok(0),
        Some(row) => usize::try_from(row.integer()?).map_err(|_| "no such schema version".into()),
    }
}
