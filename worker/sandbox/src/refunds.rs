//! Refunds. `out_refund_no` is permanent: it names one refund with one content for ever. All refunds
//! of an order together never exceed what was paid.

use super::body_type::BodyType;
use super::columns::time;
use super::context::Context;
use super::error::{Failure, Refusal};
use super::fields::Fields;
use super::input::{Amount, Id, OwnNumber};
use super::orders::{self, OrderId};
use super::row::{Row, Value};
use super::store::Tx;
use super::{events, executions, ledger};

/// What the ids begin with.
pub(super) const PREFIX: &str = "rfd_";

/// What a caller says of a refund. The order is named in one of two ways.
pub(super) struct NewRefund {
    out_refund_no: OwnNumber,
    order_id: Option<OrderId>,
    out_trade_no: Option<OwnNumber>,
    amount: Amount,
}

impl NewRefund {
    pub(super) fn parse(kind: BodyType, body: &[u8]) -> Result<Self, Box<Refusal>> {
        let known = ["out_refund_no", "order_id", "out_trade_no", "amount"];
        let mut fields = Fields::of_body(kind, body, &known)?;
        let new = Self {
            out_refund_no: fields.take("out_refund_no")?,
            order_id: fields.optional("order_id")?,
            out_trade_no: fields.optional("out_trade_no")?,
            amount: fields.take("amount")?,
        };
        if new.order_id.is_some() == new.out_trade_no.is_some() {
            let rule = "or out_trade_no must say which order, and only one of them";
            return Err(Refusal::invalid("order_id", rule));
        }
        Ok(new)
    }

    pub(super) fn values(&self) -> [Value<'_>; 4] {
        [
            self.out_refund_no.as_str().into(),
            self.order_id.as_ref().map(OrderId::as_str).into(),
            self.out_trade_no.as_ref().map(OwnNumber::as_str).into(),
            self.amount.value(),
        ]
    }

    pub(super) fn of_row(row: &mut Row) -> Option<Self> {
        Some(Self {
            out_refund_no: row.parsed()?,
            order_id: row.maybe(Row::parsed)?,
            out_trade_no: row.maybe(Row::parsed)?,
            amount: Amount::of_row(row)?,
        })
    }
}

/// The refund with this number.
pub(super) fn find(tx: &Tx, number: &OwnNumber) -> Result<String, Failure> {
    let query = "SELECT id FROM refunds WHERE out_refund_no = ?";
    let id = tx.first(query, &[number.as_str().into()], Row::text)?;
    shown(tx, &id.ok_or_else(Refusal::no_such_object)?)
}

/// A refund as callers see it.
const SHOWN: &str = concat!(
    "SELECT json_object('id', id, 'object', 'refund', 'out_refund_no', out_refund_no,
        'order_id', order_id, 'amount', amount, 'currency', currency, 'status', 'succeeded',
        'created_at', ",
    time!("created_at"),
    ") FROM refunds WHERE id = ?",
);

/// Makes the refund, or finds it: the same number with the same content is the same refund, however
/// late. Other content is refused, and a refused try leaves nothing behind.
pub(super) fn create(
    tx: &Tx,
    context: &Context,
    id: &Id,
    new: &NewRefund,
) -> Result<String, Failure> {
    let [number, by_id, by_number, amount] = new.values();
    let query = "SELECT id FROM orders WHERE id = ? OR out_trade_no = ?";
    let order = tx.first(query, &[by_id, by_number], Row::text)?;
    let order_value = Value::from(order.as_deref());
    let existing = tx.first(
        "SELECT id, COALESCE(order_id = ? AND amount = ?, 0) FROM refunds WHERE out_refund_no = ?",
        &[order_value, amount, number],
        |row| Some((row.text()?, row.integer()? == 1)),
    )?;
    if let Some((existing, is_same)) = existing {
        if !is_same {
            let number = new.out_refund_no.as_str();
            return Err(Refusal::number_taken("out_refund_no", number, "a refund").into());
        }
        return shown(tx, &existing);
    }
    let param = if new.order_id.is_some() { "order_id" } else { "out_trade_no" };
    let order = order.as_deref().ok_or_else(|| Refusal::no_referent(param))?;
    let (paid, refunded) = orders::paid_and_refunded(tx, order)?.unwrap_or((0, 0));
    if paid == 0 {
        return Err(Refusal::invalid(param, "must name an order that is paid").into());
    }
    let left = paid - refunded - i64::from(new.amount);
    if left < 0 {
        let left = (paid - refunded).to_string();
        let rule = ["must not be above what is left to refund, which is ", &left];
        return Err(Refusal::invalid("amount", &rule.concat()).into());
    }
    let id = id.as_str();
    tx.run(
        "INSERT INTO refunds (id, out_refund_no, order_id, amount, currency, created_at)
         SELECT ?, ?, id, ?, currency, ? FROM orders WHERE id = ?",
        &[id.into(), number, amount, context.now.into(), order_value],
    )?;
    ledger::post(tx, "refunds", id, ledger::REFUNDS, ledger::CASH)?;
    orders::set_status(tx, order, if left == 0 { "refunded" } else { "partially_refunded" })?;
    let shown = shown(tx, id)?;
    events::emit(tx, context, "refund.succeeded", id, order, &shown)?;
    executions::note(tx, context, "refund.create", id)?;
    Ok(shown)
}

pub(super) fn shown(tx: &Tx, id: &str) -> Result<String, Failure> {
    tx.shown(SHOWN, id)
}
