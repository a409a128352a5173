//! Orders. `out_trade_no` is permanent: it names one order with one content for ever.

use super::body_type::BodyType;
use super::columns::time;
use super::context::Context;
use super::error::{Failure, Refusal};
use super::fields::{Field, Fields};
use super::input::{Amount, Currency, OwnNumber, Subject, is_id_part, text};
use super::row::{Row, Value};
use super::store::Tx;
use super::{events, executions};
use platform::json::Json;
use platform::random;

text!(OrderId, "must be the id of an order: ord_ and 32 hexadecimal digits", |text| {
    text.strip_prefix("ord_").is_some_and(is_id_part)
});

impl OrderId {
    pub(super) fn mint() -> Self {
        Self(random::id::<16>("ord_"))
    }

    pub(super) fn parse(text: String) -> Option<Self> {
        Self::try_from(text).ok()
    }
}

/// What a caller says of an order: its content.
pub(super) struct NewOrder {
    out_trade_no: OwnNumber,
    amount: Amount,
    currency: Currency,
    subject: Subject,
}

impl NewOrder {
    pub(super) fn parse(kind: BodyType, body: &[u8]) -> Result<Self, Box<Refusal>> {
        let known = ["out_trade_no", "amount", "currency", "subject"];
        let mut fields = Fields::of_body(kind, body, &known)?;
        Ok(Self {
            out_trade_no: fields.take("out_trade_no")?,
            amount: fields.take("amount")?,
            currency: fields.take("currency")?,
            subject: fields.take("subject")?,
        })
    }

    pub(super) fn values(&self) -> [Value<'_>; 4] {
        [
            self.out_trade_no.as_str().into(),
            self.amount.value(),
            self.currency.as_str().into(),
            self.subject.as_str().into(),
        ]
    }

    pub(super) fn of_row(row: &mut Row) -> Option<Self> {
        Some(Self {
            out_trade_no: row.parsed()?,
            amount: Amount::of_row(row)?,
            currency: row.parsed()?,
            subject: row.parsed()?,
        })
    }
}

/// In a query of orders: what was paid.
macro_rules! paid {
    () => {
        "(SELECT COALESCE(SUM(amount), 0) FROM payments
            WHERE order_id = orders.id AND failure IS NULL)"
    };
}

/// In a query of orders: what of that was given back.
macro_rules! refunded {
    () => {
        "(SELECT COALESCE(SUM(amount), 0) FROM refunds WHERE order_id = orders.id)"
    };
}

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

/// Makes the order, or finds it: the same number with the same content is the same order, however
/// late. Other content is refused, and a refused try leaves nothing behind.
pub(super) fn create(
    tx: &Tx,
    context: &Context,
    id: &OrderId,
    content: &NewOrder,
) -> Result<String, Failure> {
    let number = content.out_trade_no.as_str();
    let values = content.values();
    let is_same = tx.first(
        "SELECT amount = ?2 AND currency = ?3 AND subject = ?4 FROM orders WHERE out_trade_no = ?1",
        &values,
        Row::integer,
    )?;
    match is_same {
        Some(1) => return find(tx, &content.out_trade_no),
        Some(_) => return Err(Refusal::number_taken("out_trade_no", number, "an order").into()),
        None => {}
    }
    let [number, amount, currency, subject] = values;
    let order_id = id.as_str();
    tx.run(
        "INSERT INTO orders (id, out_trade_no, amount, currency, subject, status, created_at)
         VALUES (?, ?, ?, ?, ?, 'pending', ?)",
        &[order_id.into(), number, amount, currency, subject, context.now.into()],
    )?;
    let shown = get(tx, id)?;
    events::emit(tx, context, "order.created", order_id, order_id, &shown)?;
    executions::note(tx, context, "order.create", order_id)?;
    Ok(shown)
}

pub(super) fn get(tx: &Tx, id: &OrderId) -> Result<String, Failure> {
    one(tx, "id = ?", id.as_str())
}

pub(super) fn find(tx: &Tx, number: &OwnNumber) -> Result<String, Failure> {
    one(tx, "out_trade_no = ?", number.as_str())
}

fn one(tx: &Tx, condition: &str, value: &str) -> Result<String, Failure> {
    let found = tx.first(&[SHOWN, condition].concat(), &[value.into()], Row::text)?;
    Ok(found.ok_or_else(no_such_order)?)
}

pub(super) fn no_such_order() -> Box<Refusal> {
    Refusal::missing("There is no such order.")
}

/// What of an order was paid, and what of that was given back.
pub(super) fn paid_and_refunded(tx: &Tx, id: &str) -> Result<Option<(i64, i64)>, Failure> {
    tx.first(
        concat!("SELECT ", paid!(), ", ", refunded!(), " FROM orders WHERE id = ?"),
        &[id.into()],
        |row| Some((row.integer()?, row.integer()?)),
    )
}

/// What became of an order's payment.
pub(super) fn set_status(tx: &Tx, id: &str, status: &str) -> Result<(), Failure> {
    tx.run("UPDATE orders SET status = ? WHERE id = ?", &[status.into(), id.into()])
}
