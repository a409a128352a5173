//! A merchant's tables. Each step of `STEPS` is applied once, in order, and is never changed again.
//! A later change is a new step at the end.

use super::error::{Failure, Refusal};
use super::store::{self, Row, Tx, UNREADABLE};
use worker::Storage;

const STEPS: &[&str] = &[
    include_str!("schema/1_orders.sql"),
    include_str!("schema/2_payments.sql"),
    include_str!("schema/3_events.sql"),
    include_str!("schema/4_effects.sql"),
];

/// Brings the tables up to this code's version, in one transaction.
///
/// A database that newer code has written is not touched: this code does not know which rules were
/// added (an order may by then need an event beside it). While a version is rolled out, the next
/// try may meet the newer code.
pub(super) fn bring_up_to_date(storage: &Storage) -> Result<(), Failure> {
    store::transaction(storage, |tx| {
        tx.run("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL) STRICT", &[])?;
        let stored = version(tx)?;
        let Some(missing) = STEPS.get(stored..) else {
            worker::console_error!("merchant: the database was written by newer code");
            return Err(Refusal::unavailable().into());
        };
        if missing.is_empty() {
            return Ok(());
        }
        for step in missing {
            tx.run(step, &[])?;
        }
        tx.run("DELETE FROM schema_version", &[])?;
        // There are few steps, so their number always fits into an i64.
        let current = STEPS.len() as i64;
        tx.run("INSERT INTO schema_version VALUES (?)", &[current.into()])?;
        Ok(())
    })
}

fn version(tx: &Tx) -> Result<usize, Failure> {
    let stored = tx.first("SELECT version FROM schema_version", &[], Row::integer)?.unwrap_or(0);
    usize::try_from(stored).map_err(|_| UNREADABLE.into())
}
