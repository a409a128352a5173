//! Payments. An order has one successful payment at most, whatever the keys; a declined one is kept
//! as a failed try, and another card may follow.

use super::answer::Answer;
use super::body_type::BodyType;
use super::cards::{Card, Fate};
use super::columns::time;
use super::context::Context;
use super::error::{Failure, Refusal};
use super::fields::Fields;
use super::input::Id;
use super::orders::{self, OrderId};
use super::pages::{Listed, OLDEST, Page};
use super::row::{Row, Value};
use super::store::Tx;
use super::{events, executions, ledger};

/// What the ids begin with.
pub(super) const PREFIX: &str = "pay_";
const CREATE: &str = "payment.create";

/// What a caller says of a payment. The amount is the order's.
pub(super) struct NewPayment {
    order_id: OrderId,
    card: Card,
}

impl NewPayment {
    pub(super) fn parse(kind: BodyType, body: &[u8]) -> Result<Self, Box<Refusal>> {
        let mut fields = Fields::of_body(kind, body, Card::fields(kind))?;
        Ok(Self { order_id: fields.take("order_id")?, card: Card::take(&mut fields, kind)? })
    }

    pub(super) fn values(&self) -> [Value<'_>; 2] {
        [self.order_id.as_str().into(), self.card.last4().into()]
    }

    pub(super) fn of_row(row: &mut Row) -> Option<Self> {
        Some(Self { order_id: row.parsed()?, card: row.parsed()? })
    }

    pub(super) fn card(&self) -> Card {
        self.card
    }
}

/// A payment as callers see it.
const SHOWN: &str = concat!(
    "json_object('id', id, 'object', 'payment', 'order_id', order_id, 'amount', amount,
        'currency', currency, 'status', iif(failure IS NULL, 'succeeded', 'failed'),
        'failure_code', failure, 'card', json_object('brand', card_brand, 'last4', card_last4),
        'created_at', ",
    time!("created_at"),
    ") FROM payments WHERE ",
);

/// Pays an order, or finds what this call's key has paid before.
pub(super) fn create(
    tx: &Tx,
    context: &Context,
    id: &Id,
    new: &NewPayment,
) -> Result<Answer, Failure> {
    let [order, last4] = new.values();
    let query = "SELECT order_id = ? AND card_last4 = ? FROM payments WHERE id = ?";
    if let Some(made) = executions::made(tx, context, CREATE, query, &[order, last4])? {
        return answer(tx, context, &made, new.card);
    }
    let order_id = new.order_id.as_str();
    if orders::paid_and_refunded(tx, order_id)?.is_none() {
        return Err(Refusal::no_referent("order_id").into());
    }
    let query = "SELECT id FROM payments WHERE order_id = ? AND failure IS NULL";
    if let Some(first) = tx.first(query, &[order], Row::text)? {
        return Err(Refusal::already_paid(&first).into());
    }
    let failure = match new.card.fate() {
        Fate::Declines(code) => Some(code),
        _ => None,
    };
    let (id, brand) = (id.as_str(), new.card.brand());
    tx.run(
        "INSERT INTO payments
             (id, order_id, amount, currency, card_brand, card_last4, failure, created_at)
         SELECT ?, id, amount, currency, ?, ?, ?, ? FROM orders WHERE id = ?",
        &[id.into(), brand.into(), last4, failure.into(), context.now.into(), order],
    )?;
    let event = if failure.is_some() {
        "payment.failed"
    } else {
        ledger::post(tx, "payments", id, ledger::CASH, ledger::SALES)?;
        orders::set_status(tx, order_id, "paid")?;
        "payment.succeeded"
    };
    events::emit(tx, context, event, id, order_id, &shown(tx, id)?)?;
    executions::note(tx, context, CREATE, id)?;
    if new.card.fate() == Fate::LosesAnswer {
        // What was done stays done: the error is the answer, not the transaction's.
        return Ok(Answer::failed(Refusal::answer_lost().into(), &context.request_id));
    }
    answer(tx, context, id, new.card)
}

/// 201, or the 402 of a failed one: now and whenever the same request comes again.
fn answer(tx: &Tx, context: &Context, id: &str, card: Card) -> Result<Answer, Failure> {
    Ok(match card.fate() {
        Fate::Declines(code) => {
            Answer::failed(Refusal::declined(code, id).into(), &context.request_id)
        }
        _ => Answer::data(201, &shown(tx, id)?, &context.request_id),
    })
}

pub(super) fn shown(tx: &Tx, id: &str) -> Result<String, Failure> {
    tx.shown(&["SELECT ", SHOWN, "id = ?"].concat(), id)
}

/// The tries to pay an order, in their order.
pub(super) fn list(tx: &Tx, order_id: &OrderId, page: &Page) -> Result<Listed, Failure> {
    let query = ["SELECT seq, ", SHOWN, "order_id = ? AND seq > ? ORDER BY seq LIMIT ?"];
    page.list(tx, &query.concat(), Some(order_id.as_str()), OLDEST)
}
