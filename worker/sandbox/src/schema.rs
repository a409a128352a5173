//! A merchant's tables. Each step of `STEPS` is applied once, in order, and never changed. A change of
//! the tables is a new step at the end.

use super::error::{Failure, Refusal};
use super::store::{self, UNREADABLE};
use worker::Storage;

const STEPS: &[&str] = &[
    include_str!("schema/1_orders.sql"),
    include_str!("schema/2_payments.sql"),
    include_str!("schema/3_events.sql"),
    include_str!("schema/4_effects.sql"),
];

/// Brings the tables up to this code's version, in one transaction.
///
/// A database that newer code has written is refused, because this code does not know its rules (an
/// order may need an event beside it). While a new version is rolled out, the next attempt may reach the
/// newer code.
pub(super) fn bring_up_to_date(storage: &Storage) -> Result<(), Failure> {
    store::transaction(storage, |tx| {
        tx.run("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL) STRICT", &[])?;
        let stored =
            tx.first("SELECT version FROM schema_version", &[], |[number]| number.as_i64())?;
        let stored = usize::try_from(stored.unwrap_or(0)).map_err(|_| UNREADABLE)?;
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
        tx.run("INSERT INTO schema_version VALUES (?)", &[(STEPS.len() as i64).into()])
    })
}
