//! Orders. `out_trade_no` is permanent: it names one order with one content for ever.

use super::error::{Failure, Refusal};
use super::executions;
use super::fields::{Field, Fields};
use super::input::{Amount, BodyType, Currency, OutTradeNo, Subject, text};
use super::merchant::Context;
use super::store::{Row, Tx};
use crate::json::Json;
use crate::{clock, random};
use minicbor::{Decode, Decoder, Encode, Encoder, decode, encode};
use oncekey::UnixMillis;
use serde::Serialize;

text!(OrderId, "must be the id of an order: ord_ and 32 hexadecimal digits", |text| {
    let digits = text.strip_prefix("ord_").unwrap_or_default();
    digits.len() == 32 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
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
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(super) struct NewOrder {
    #[n(0)]
    out_trade_no: OutTradeNo,
    #[n(1)]
    amount: Amount,
    #[n(2)]
    currency: Currency,
    #[n(3)]
    subject: Subject,
}

impl NewOrder {
    pub(super) fn parse(kind: BodyType, body: &[u8]) -> Result<Self, Refusal> {
        let known = ["out_trade_no", "amount", "currency", "subject"];
        let mut fields = Fields::of_body(kind, body, &known)?;
        Ok(Self {
            out_trade_no: fields.take("out_trade_no")?,
            amount: fields.take("amount")?,
            currency: fields.take("currency")?,
            subject: fields.take("subject")?,
        })
    }
}

/// A stored order.
pub(super) struct Order {
    id: OrderId,
    content: NewOrder,
    status: String,
    created_at: UnixMillis,
}

impl Order {
    const COLUMNS: &'static str = "id, out_trade_no, amount, currency, subject, status, created_at";

    fn of_row(row: &mut Row) -> worker::Result<Self> {
        Ok(Self {
            id: row.parsed()?,
            content: NewOrder {
                out_trade_no: row.parsed()?,
                amount: Amount::try_from(row.integer()?)?,
                currency: row.parsed()?,
                subject: row.parsed()?,
            },
            status: row.text()?,
            created_at: row.time()?,
        })
    }
}

impl Serialize for Order {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            id: &'a OrderId,
            object: &'static str,
            out_trade_no: &'a OutTradeNo,
            amount: Amount,
            currency: &'a Currency,
            subject: &'a Subject,
            status: &'a str,
            created_at: String,
        }
        Shown {
            id: &self.id,
            object: "order",
            out_trade_no: &self.content.out_trade_no,
            amount: self.content.amount,
            currency: &self.content.currency,
            subject: &self.content.subject,
            status: &self.status,
            created_at: clock::rfc3339(self.created_at),
        }
        .serialize(serializer)
    }
}

/// Makes the order, or finds it: the same number with the same content is the same order, however
/// late. Other content is refused, and a refused try leaves nothing behind.
pub(super) fn create(
    tx: &Tx,
    context: &Context,
    id: OrderId,
    content: NewOrder,
) -> Result<Order, Failure> {
    let number = &content.out_trade_no;
    if let Some(existing) = with_number(tx, number)? {
        if existing.content != content {
            return Err(Refusal::number_taken("out_trade_no", number.as_str(), "order").into());
        }
        return Ok(existing);
    }
    let order = Order { id, content, status: "pending".to_owned(), created_at: context.now };
    tx.run(
        "INSERT INTO orders (id, out_trade_no, amount, currency, subject, status, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?)",
        vec![
            order.id.as_str().into(),
            order.content.out_trade_no.as_str().into(),
            i64::from(order.content.amount).into(),
            order.content.currency.as_str().into(),
            order.content.subject.as_str().into(),
            order.status.as_str().into(),
            clock::column(order.created_at),
        ],
    )?;
    executions::note(tx, context, "order.create", order.id.as_str())?;
    Ok(order)
}

pub(super) fn get(tx: &Tx, id: &OrderId) -> Result<Order, Failure> {
    one(tx, "id", id.as_str())?.ok_or_else(|| no_such_order().into())
}

pub(super) fn find(tx: &Tx, number: &OutTradeNo) -> Result<Order, Failure> {
    with_number(tx, number)?.ok_or_else(|| no_such_order().into())
}

pub(super) fn no_such_order() -> Refusal {
    Refusal::missing("There is no such order.")
}

fn with_number(tx: &Tx, number: &OutTradeNo) -> worker::Result<Option<Order>> {
    one(tx, "out_trade_no", number.as_str())
}

fn one(tx: &Tx, column: &'static str, value: &str) -> worker::Result<Option<Order>> {
    let query = format!("SELECT {} FROM orders WHERE {column} = ?", Order::COLUMNS);
    let mut rows = tx.rows(&query, vec![value.into()])?;
    rows.first_mut().map(Order::of_row).transpose()
}
