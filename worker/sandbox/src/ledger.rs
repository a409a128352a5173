//! The ledger: double entry, append only.
//!
//! One row is one movement: an amount, the account that is debited and the one that is credited. Its
//! two entries are what a caller sees of it, so half a pair cannot be stored, and the sum of all
//! entries is 0 whatever happens between two steps. The operation's id is unique: who comes again
//! with it writes nothing. Updates, deletes and replacements are refused by the schema.
//!
//! A positive amount is a debit. Accounts: `cash` is what the merchant has, `sales` what customers
//! have bought, `refunds` what they were given back.

use super::columns::time;
use super::error::Failure;
use super::orders::OrderId;
use super::pages::{Listed, OLDEST, Page};
use super::store::{Tx, UNREADABLE};
use platform::json::writer::{Shown, array};

pub(super) const CASH: &str = "cash";
pub(super) const SALES: &str = "sales";
pub(super) const REFUNDS: &str = "refunds";

/// Writes the movement of a stored operation: a row of `payments` or of `refunds`.
pub(super) fn post(
    tx: &Tx,
    table: &str,
    operation: &str,
    debit: &str,
    credit: &str,
) -> Result<(), Failure> {
    let statement = [
        "INSERT INTO ledger (operation, order_id, amount, currency, debit, credit, created_at)
         SELECT id, order_id, amount, currency, ?, ?, created_at FROM ",
        table,
        " WHERE id = ?",
    ];
    tx.run(&statement.concat(), &[debit.into(), credit.into(), operation.into()])
}

/// One side of a movement as callers see it: the side's letter, its account, its amount.
macro_rules! entry {
    ($side:literal, $account:literal, $amount:literal) => {
        concat!(
            "json_object('id', 'ent_' || id || '",
            $side,
            "', 'object', 'ledger_entry', 'operation', operation, 'order_id', order_id,
            'account', ",
            $account,
            ", 'amount', ",
            $amount,
            ", 'currency', currency, 'created_at', ",
            time!("created_at"),
            ")"
        )
    };
}

/// Entries in the order in which they were written, of one order or of all. A page holds both
/// entries of a movement or none.
pub(super) fn entries(tx: &Tx, order_id: Option<&OrderId>, page: &Page) -> Result<Listed, Failure> {
    let query = [
        concat!(
            "SELECT id, ",
            entry!("d", "debit", "amount"),
            " || ',' || ",
            entry!("c", "credit", "-amount"),
            " FROM ledger WHERE "
        ),
        if order_id.is_some() { "order_id = ? AND" } else { "" },
        " id > ? ORDER BY id LIMIT ?",
    ];
    page.list(tx, &query.concat(), order_id.map(OrderId::as_str), OLDEST)
}

/// What each account holds, and the sum of all.
pub(super) fn balance(tx: &Tx) -> Result<String, Failure> {
    // As text: beyond 2^53 a number would not come through exactly. It cannot leave 64 bits, as that
    // takes 92 million movements of the largest amount, more than a database holds.
    let query = "SELECT CAST(SUM(amount) AS TEXT), json_object('account', account,
             'currency', currency, 'balance', SUM(amount)) FROM (
             SELECT debit AS account, currency, amount FROM ledger UNION ALL
             SELECT credit AS account, currency, -amount AS amount FROM ledger)
         GROUP BY account, currency ORDER BY account, currency";
    let accounts =
        tx.all(query, &[], |row| Some((row.text()?.parse::<i64>().ok()?, row.text()?)))?;
    let sum = accounts.iter().try_fold(0_i64, |sum, (balance, _)| sum.checked_add(*balance));
    let accounts: Vec<_> = accounts.into_iter().map(|(_, shown)| shown).collect();
    let shown = Shown::new().json("accounts", &array(&accounts));
    Ok(shown.integer("sum", sum.ok_or(UNREADABLE)?).finish())
}
