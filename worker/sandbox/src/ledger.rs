//! The ledger: double entry, append only.
//!
//! One row is one movement: an amount, a debited account and a credited account. Callers see it as two
//! entries. So an entry cannot be stored without its counterpart, and the sum of all entries is always 0. The operation's
//! id is unique, so a second movement of one operation cannot be stored either. The schema refuses
//! updates, deletes and replacements.
//!
//! A positive amount is a debit. The accounts are `cash` (the merchant's money), `sales` (what
//! customers bought) and `refunds` (what they got back).

use super::call::Call;
use super::columns::time;
use super::error::Failure;
use super::orders::OrderId;
use super::pages::{OLDEST, Page};
use super::reply::Reply;
use super::store::{Tx, UNREADABLE};
use platform::json::writer::{JsonObject, array};

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

/// Lists the entries of one order or of all, oldest first. A page contains both entries of a movement
/// or none.
pub(super) fn entries(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    let mut fields = call.query(&["order_id", "cursor", "limit"])?;
    let order_id: Option<OrderId> = fields.optional("order_id")?;
    let page = Page::take(&mut fields)?;
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
    let order_id = order_id.as_ref().map(OrderId::as_str);
    Ok(call.page(&page.list(tx, &query.concat(), order_id, OLDEST)?))
}

/// Returns the balance of each account, and the sum of all.
pub(super) fn balance(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    // As text, because a number beyond 2^53 would not be exact. The sum fits into 64 bits: to exceed
    // them takes 92 million movements of the largest amount, more than a database holds.
    let query = "SELECT CAST(SUM(amount) AS TEXT), json_object('account', account,
             'currency', currency, 'balance', SUM(amount)) FROM (
             SELECT debit AS account, currency, amount FROM ledger UNION ALL
             SELECT credit AS account, currency, -amount AS amount FROM ledger)
         GROUP BY account, currency ORDER BY account, currency";
    let accounts =
        tx.all(query, &[], |row| Some((row.text()?.parse::<i64>().ok()?, row.text()?)))?;
    let sum = accounts.iter().try_fold(0_i64, |sum, (balance, _)| sum.checked_add(*balance));
    let accounts: Vec<_> = accounts.into_iter().map(|(_, shown)| shown).collect();
    let json = JsonObject::new().json("accounts", &array(&accounts));
    Ok(call.found(&json.integer("sum", sum.ok_or(UNREADABLE)?).finish()))
}
