//! The ledger: double entry, append only.
//!
//! One row is one movement: an amount, a debited account and a credited account. Callers see it as two
//! entries. So one entry without the other cannot be stored, and the sum of all entries is always 0. The
//! operation's id is unique, so a second movement of one operation cannot be stored either. The schema
//! refuses updates, deletes and replacements.
//!
//! A positive amount is a debit. The accounts are `cash` (the merchant's money), `sales` (what
//! customers bought) and `refunds` (what they got back).

use super::columns::time;
use super::error::Failure;
use super::orders::OrderId;
use super::pages::{OLDEST, Page};
use super::request::ApiRequest;
use super::response::ApiResponse;
use super::store::{Tx, UNREADABLE};

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

/// Selects one side of a movement as callers see it: the side's letter, its account, its amount.
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
pub(super) fn entries(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    let mut fields = request.parameters(&["order_id", "cursor", "limit"])?;
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
    Ok(request.page(&page.list(tx, &query.concat(), order_id, OLDEST)?))
}

/// Returns the balance of each account, and the sum of all. SQLite writes the JSON itself, because numbers
/// beyond 2^53 would not be exact in JavaScript. The sum fits into 64 bits: only 92 million movements of
/// the largest amount exceed them, more than a database holds.
pub(super) fn balance(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    let query = "SELECT json_object('accounts', json_group_array(json_object('account', account,
             'currency', currency, 'balance', balance)), 'sum', COALESCE(SUM(balance), 0)) FROM (
             SELECT account, currency, SUM(amount) AS balance FROM (
                 SELECT debit AS account, currency, amount FROM ledger UNION ALL
                 SELECT credit AS account, currency, -amount AS amount FROM ledger)
             GROUP BY account, currency ORDER BY account, currency)";
    let balance = tx.first(query, &[], |[text]| text.to_text())?.ok_or(UNREADABLE)?;
    Ok(request.found(&balance))
}
