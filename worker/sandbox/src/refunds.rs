//! Refunds. `out_refund_no` is a permanent business key: it names one refund with one content for
//! ever. The refunds of an order never exceed the amount paid.

use super::columns::time;
use super::error::{Failure, Refusal};
use super::input::{Amount, BusinessKey};
use super::orders::{self, OrderId};
use super::request::ApiRequest;
use super::response::ApiResponse;
use super::store::Tx;
use super::{events, executions, ledger};
use platform::random;

/// The beginning of the ids.
const PREFIX: &str = "rfd_";

/// Selects a refund as callers see it.
const SELECT: &str = concat!(
    "SELECT json_object('id', id, 'object', 'refund', 'out_refund_no', out_refund_no,
        'order_id', order_id, 'amount', amount, 'currency', currency, 'status', 'succeeded',
        'created_at', ",
    time!("created_at"),
    ") FROM refunds WHERE id = ?",
);

pub(super) fn find(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    let key: BusinessKey = request.parameters(&["out_refund_no"])?.take("out_refund_no")?;
    let query = "SELECT id FROM refunds WHERE out_refund_no = ?";
    let id = tx.first(query, &[key.as_str().into()], |[id]| id.to_text())?;
    Ok(request.found(&tx.object(SELECT, &id.ok_or_else(Refusal::no_such_object)?)?))
}

pub(super) fn get(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    Ok(request.found(&tx.object(SELECT, request.object_id(PREFIX)?)?))
}

/// Makes a refund. The same `out_refund_no` with the same content returns the same refund, at any
/// later time; other content is refused. A refused request stores nothing.
pub(super) fn create(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    let mut fields = request.fields(&["out_refund_no", "order_id", "out_trade_no", "amount"])?;
    let business_key: BusinessKey = fields.take("out_refund_no")?;
    let no = business_key.as_str();
    let by_id: Option<OrderId> = fields.optional("order_id")?;
    let by_key: Option<BusinessKey> = fields.optional("out_trade_no")?;
    let amount = fields.take::<Amount>("amount")?.units();
    let (param, query, order) = match (&by_id, &by_key) {
        (Some(id), None) => ("order_id", "SELECT id FROM orders WHERE id = ?", id.into()),
        (None, Some(key)) => {
            ("out_trade_no", "SELECT id FROM orders WHERE out_trade_no = ?", key.into())
        }
        _ => {
            let rule = "or out_trade_no must name the order. Send exactly one of them";
            return Err(Refusal::invalid("order_id", rule).into());
        }
    };
    let order = tx.first(query, &[order], |[id]| id.to_text())?;
    let order = order.as_deref();
    let existing = tx.first(
        "SELECT id, COALESCE(order_id = ? AND amount = ?, 0) FROM refunds WHERE out_refund_no = ?",
        &[order.into(), amount.into(), no.into()],
        |[id, is_same]| Some((id.to_text()?, is_same.as_i64()? == 1)),
    )?;
    match existing {
        Some((id, true)) => return Ok(request.created(&tx.object(SELECT, &id)?)),
        Some(_) => return Err(Refusal::business_key_taken("out_refund_no", no, "a refund").into()),
        None => {}
    }
    let order = order.ok_or_else(|| Refusal::no_such_order(param))?;
    let (paid, refunded) = orders::paid_and_refunded(tx, order)?.unwrap_or((0, 0));
    if paid == 0 {
        return Err(Refusal::invalid(param, "must name an order that was paid").into());
    }
    let left = paid - refunded;
    if amount > left {
        let rule = format!("must not exceed the amount that is left to refund, which is {left}");
        return Err(Refusal::invalid("amount", &rule).into());
    }
    let id = random::id::<16>(PREFIX);
    let id = id.as_str();
    tx.run(
        "INSERT INTO refunds (id, out_refund_no, order_id, amount, currency, created_at)
         SELECT ?, ?, id, ?, currency, ? FROM orders WHERE id = ?",
        &[id.into(), no.into(), amount.into(), request.now.into(), order.into()],
    )?;
    ledger::post(tx, "refunds", id, ledger::REFUNDS, ledger::CASH)?;
    let status = if amount == left { "refunded" } else { "partially_refunded" };
    orders::set_status(tx, order, status)?;
    let refund = tx.object(SELECT, id)?;
    events::emit(tx, request, "refund.succeeded", id, order, &refund)?;
    executions::record(tx, request, "refund.create", id)?;
    Ok(request.created(&refund))
}
