//! Orders. `out_trade_no` is a permanent business key: it names one order with one content for ever.

use super::columns::time;
use super::error::{Failure, Refusal};
use super::fields::Field;
use super::input::{Amount, BusinessKey, Currency, ShortText, is_id_part, text};
use super::request::ApiRequest;
use super::response::ApiResponse;
use super::store::Tx;
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

/// Selects an order as callers see it.
const SELECT: &str = concat!(
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
/// time; other content is refused. A refused request stores nothing.
pub(super) fn create(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    let mut fields = request.fields(&["out_trade_no", "amount", "currency", "subject"])?;
    let business_key: BusinessKey = fields.take("out_trade_no")?;
    let amount: Amount = fields.take("amount")?;
    let currency: Currency = fields.take("currency")?;
    let subject: ShortText = fields.take("subject")?;
    let no = business_key.as_str();
    let content = || [no.into(), amount.units().into(), (&currency).into(), (&subject).into()];
    let is_same = tx.first(
        "SELECT amount = ?2 AND currency = ?3 AND subject = ?4 FROM orders WHERE out_trade_no = ?1",
        &content(),
        |[number]| number.as_i64(),
    )?;
    match is_same {
        Some(1) => return Ok(request.created(&one(tx, "out_trade_no", no)?)),
        Some(_) => return Err(Refusal::business_key_taken("out_trade_no", no, "an order").into()),
        None => {}
    }
    let id = random::id::<16>(PREFIX);
    tx.run(
        "INSERT INTO orders (out_trade_no, amount, currency, subject, id, status, created_at)
         VALUES (?, ?, ?, ?, ?, 'pending', ?)",
        &[&content()[..], &[id.as_str().into(), request.now.into()]].concat(),
    )?;
    let order = one(tx, "id", &id)?;
    events::emit(tx, request, "order.created", &id, &id, &order)?;
    executions::record(tx, request, "order.create", &id)?;
    Ok(request.created(&order))
}

pub(super) fn get(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    Ok(request.found(&one(tx, "id", request.object_id(PREFIX)?)?))
}

pub(super) fn find(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    let key: BusinessKey = request.parameters(&["out_trade_no"])?.take("out_trade_no")?;
    Ok(request.found(&one(tx, "out_trade_no", key.as_str())?))
}

fn one(tx: &Tx, column: &str, value: &str) -> Result<String, Failure> {
    tx.object(&[SELECT, column, " = ?"].concat(), value)
}

/// Returns the amounts of an order that were paid and refunded.
pub(super) fn paid_and_refunded(tx: &Tx, id: &str) -> Result<Option<(i64, i64)>, Failure> {
    tx.first(
        concat!("SELECT ", paid!(), ", ", refunded!(), " FROM orders WHERE id = ?"),
        &[id.into()],
        |[paid, refunded]| Some((paid.as_i64()?, refunded.as_i64()?)),
    )
}

pub(super) fn set_status(tx: &Tx, id: &str, status: &str) -> Result<(), Failure> {
    tx.run("UPDATE orders SET status = ? WHERE id = ?", &[status.into(), id.into()])
}
