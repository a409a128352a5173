//! Refunds. `out_refund_no` is a permanent business key: it names one refund with one content for
//! ever. The refunds of an order never exceed the amount paid.

use super::call::Call;
use super::columns::time;
use super::error::{Failure, Refusal};
use super::input::{Amount, BusinessKey};
use super::orders::{self, OrderId};
use super::reply::Reply;
use super::store::{Row, Tx, Value};
use super::{events, executions, ledger};
use platform::random;

/// The beginning of the ids.
const PREFIX: &str = "rfd_";

/// A refund as callers see it.
const SHOWN: &str = concat!(
    "SELECT json_object('id', id, 'object', 'refund', 'out_refund_no', out_refund_no,
        'order_id', order_id, 'amount', amount, 'currency', currency, 'status', 'succeeded',
        'created_at', ",
    time!("created_at"),
    ") FROM refunds WHERE id = ?",
);

pub(super) fn find(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    let key: BusinessKey = call.query(&["out_refund_no"])?.take("out_refund_no")?;
    let query = "SELECT id FROM refunds WHERE out_refund_no = ?";
    let id = tx.first(query, &[key.as_str().into()], Row::text)?;
    Ok(call.found(&tx.shown(SHOWN, &id.ok_or_else(Refusal::no_such_object)?)?))
}

pub(super) fn get(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    Ok(call.found(&tx.shown(SHOWN, call.id(PREFIX)?)?))
}

/// Makes a refund. The same `out_refund_no` with the same content returns the same refund, at any
/// later time; other content is refused. A refused call stores nothing.
pub(super) fn create(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    let mut fields = call.body(&["out_refund_no", "order_id", "out_trade_no", "amount"])?;
    let business_key: BusinessKey = fields.take("out_refund_no")?;
    // A request names the order either by its id or by its business key.
    let by_id: Option<OrderId> = fields.optional("order_id")?;
    let by_key: Option<BusinessKey> = fields.optional("out_trade_no")?;
    let amount = fields.take::<Amount>("amount")?.units();
    let param = match (&by_id, &by_key) {
        (Some(_), None) => "order_id",
        (None, Some(_)) => "out_trade_no",
        _ => {
            let rule = "or out_trade_no must name the order. Send exactly one of them";
            return Err(Refusal::invalid("order_id", rule).into());
        }
    };
    let query = "SELECT id FROM orders WHERE id = ? OR out_trade_no = ?";
    let by_id = by_id.as_ref().map(OrderId::as_str).into();
    let by_key = by_key.as_ref().map(BusinessKey::as_str).into();
    let order = tx.first(query, &[by_id, by_key], Row::text)?;
    let order_value = Value::from(order.as_deref());
    let no = Value::from(&business_key);
    let existing = tx.first(
        "SELECT id, COALESCE(order_id = ? AND amount = ?, 0) FROM refunds WHERE out_refund_no = ?",
        &[order_value, amount.into(), no],
        |row| Some((row.text()?, row.integer()? == 1)),
    )?;
    if let Some((existing, is_same)) = existing {
        if !is_same {
            let key = business_key.as_str();
            return Err(Refusal::business_key_taken("out_refund_no", key, "a refund").into());
        }
        return Ok(call.created(&tx.shown(SHOWN, &existing)?));
    }
    let order = order.as_deref().ok_or_else(|| Refusal::no_referent(param))?;
    let (paid, refunded) = orders::paid_and_refunded(tx, order)?.unwrap_or((0, 0));
    if paid == 0 {
        return Err(Refusal::invalid(param, "must name an order that was paid").into());
    }
    let left = paid - refunded;
    if amount > left {
        let rule = format!("must not exceed the amount that is left to refund, which is {left}");
        return Err(Refusal::invalid("amount", &rule).into());
    }
    let id = &random::id::<16>(PREFIX);
    tx.run(
        "INSERT INTO refunds (id, out_refund_no, order_id, amount, currency, created_at)
         SELECT ?, ?, id, ?, currency, ? FROM orders WHERE id = ?",
        &[id.into(), no, amount.into(), call.now.into(), order_value],
    )?;
    ledger::post(tx, "refunds", id, ledger::REFUNDS, ledger::CASH)?;
    let status = if amount == left { "refunded" } else { "partially_refunded" };
    orders::set_status(tx, order, status)?;
    let shown = tx.shown(SHOWN, id)?;
    events::emit(tx, call, "refund.succeeded", id, order, &shown)?;
    executions::record(tx, call, "refund.create", id)?;
    Ok(call.created(&shown))
}
