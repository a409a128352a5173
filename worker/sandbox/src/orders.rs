//! Orders. `out_trade_no` is a permanent business key: it names one order with one content for ever.

use super::call::Call;
use super::columns::time;
use super::error::{Failure, Refusal};
use super::fields::Field;
use super::input::{Amount, BusinessKey, Currency, Subject, is_id_part, text};
use super::reply::Reply;
use super::store::{Row, Tx, Value};
use super::{events, executions};
use platform::json::Json;
use platform::random;

/// The beginning of the ids.
const PREFIX: &str = "ord_";

text!(OrderId, "must be the id of an order: ord_ followed by 32 hexadecimal digits", |text| {
    text.strip_prefix(PREFIX).is_some_and(is_id_part)
});

/// In a query of orders: the amount that was paid.
macro_rules! paid {
    () => {
        "(SELECT COALESCE(SUM(amount), 0) FROM payments
            WHERE order_id = orders.id AND failure IS NULL)"
    };
}

/// In a query of orders: the amount that was refunded.
macro_rules! refunded {
    () => {
        "(SELECT COALESCE(SUM(amount), 0) FROM refunds WHERE order_id = orders.id)"
    };
}

/// An order as callers see it.
const SHOWN: &str = concat!(
    "SELECT json_object('id', id, 'object', 'order', 'out_trade_no', out_trade_no,
        'amount', amount, 'currency', currency, 'subject', subject, 'status', status,
        'amount_paid', ",
    paid!(),
    ", 'amount_refunded', ",
    refunded!(),
    ", 'created_at', ",
    time!("created_at"),
    ") FROM orders WHERE ",
);

/// Makes an order. The same `out_trade_no` with the same content returns the same order, at any later
/// time; other content is refused. A refused call stores nothing.
pub(super) fn create(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    let mut fields = call.body(&["out_trade_no", "amount", "currency", "subject"])?;
    let business_key: BusinessKey = fields.take("out_trade_no")?;
    let amount = fields.take::<Amount>("amount")?.units().into();
    let currency: Currency = fields.take("currency")?;
    let subject: Subject = fields.take("subject")?;
    let (no, currency, subject) = ((&business_key).into(), (&currency).into(), (&subject).into());
    let is_same = tx.first(
        "SELECT amount = ?2 AND currency = ?3 AND subject = ?4 FROM orders WHERE out_trade_no = ?1",
        &[no, amount, currency, subject],
        Row::integer,
    )?;
    match is_same {
        Some(1) => return Ok(call.created(&one(tx, "out_trade_no = ?", no)?)),
        Some(_) => {
            let key = business_key.as_str();
            return Err(Refusal::business_key_taken("out_trade_no", key, "an order").into());
        }
        None => {}
    }
    let id = random::id::<16>(PREFIX);
    tx.run(
        "INSERT INTO orders (id, out_trade_no, amount, currency, subject, status, created_at)
         VALUES (?, ?, ?, ?, ?, 'pending', ?)",
        &[(&id).into(), no, amount, currency, subject, call.now.into()],
    )?;
    let shown = one(tx, "id = ?", (&id).into())?;
    events::emit(tx, call, "order.created", &id, &id, &shown)?;
    executions::record(tx, call, "order.create", &id)?;
    Ok(call.created(&shown))
}

pub(super) fn get(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    let id = OrderId::parse(call.named.to_owned()).ok_or_else(no_such_order)?;
    Ok(call.found(&one(tx, "id = ?", (&id).into())?))
}

pub(super) fn find(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    let key: BusinessKey = call.query(&["out_trade_no"])?.take("out_trade_no")?;
    Ok(call.found(&one(tx, "out_trade_no = ?", (&key).into())?))
}

fn one(tx: &Tx, condition: &str, value: Value) -> Result<String, Failure> {
    let found = tx.first(&[SHOWN, condition].concat(), &[value], Row::text)?;
    Ok(found.ok_or_else(no_such_order)?)
}

fn no_such_order() -> Box<Refusal> {
    Refusal::missing("There is no such order.")
}

/// Returns the amounts of an order that were paid and refunded.
pub(super) fn paid_and_refunded(tx: &Tx, id: &str) -> Result<Option<(i64, i64)>, Failure> {
    tx.first(
        concat!("SELECT ", paid!(), ", ", refunded!(), " FROM orders WHERE id = ?"),
        &[id.into()],
        |row| Some((row.integer()?, row.integer()?)),
    )
}

pub(super) fn set_status(tx: &Tx, id: &str, status: &str) -> Result<(), Failure> {
    tx.run("UPDATE orders SET status = ? WHERE id = ?", &[status.into(), id.into()])
}
