//! Payments. An order has at most one successful payment, whatever the keys. A declined payment is
//! kept as a failed one, and another card may follow.

use super::call::Call;
use super::cards::{Card, Fate};
use super::columns::time;
use super::error::{Failure, Refusal};
use super::orders::{self, OrderId};
use super::pages::{OLDEST, Page};
use super::reply::Reply;
use super::store::{Row, Tx};
use super::{events, executions, ledger};
use platform::random;

/// The beginning of the ids.
const PREFIX: &str = "pay_";
const CREATE: &str = "payment.create";

/// A payment as callers see it.
const SHOWN: &str = concat!(
    "json_object('id', id, 'object', 'payment', 'order_id', order_id, 'amount', amount,
        'currency', currency, 'status', iif(failure IS NULL, 'succeeded', 'failed'),
        'failure_code', failure, 'card', json_object('brand', card_brand, 'last4', card_last4),
        'created_at', ",
    time!("created_at"),
    ") FROM payments WHERE ",
);

/// Pays an order, or finds the payment that this call's key made before. The amount is the order's.
pub(super) fn create(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    let mut fields = call.body(Card::fields(call))?;
    let (order_id, card): (OrderId, _) = (fields.take("order_id")?, Card::take(&mut fields, call)?);
    let (order_id, last4) = (order_id.as_str(), card.last4().into());
    let order = order_id.into();
    let query = "SELECT order_id = ? AND card_last4 = ? FROM payments WHERE id = ?";
    if let Some(made) = executions::made(tx, call, CREATE, query, &[order, last4])? {
        return reply(tx, call, &made, card);
    }
    if orders::paid_and_refunded(tx, order_id)?.is_none() {
        return Err(Refusal::no_referent("order_id").into());
    }
    let query = "SELECT id FROM payments WHERE order_id = ? AND failure IS NULL";
    if let Some(first) = tx.first(query, &[order], Row::text)? {
        return Err(Refusal::already_paid(&first).into());
    }
    let failure = match card.fate() {
        Fate::Declines(code) => Some(code),
        _ => None,
    };
    let id = &random::id::<16>(PREFIX);
    tx.run(
        "INSERT INTO payments
             (id, order_id, amount, currency, card_brand, card_last4, failure, created_at)
         SELECT ?, id, amount, currency, ?, ?, ?, ? FROM orders WHERE id = ?",
        &[id.into(), card.brand().into(), last4, failure.into(), call.now.into(), order],
    )?;
    let event = if failure.is_some() {
        "payment.failed"
    } else {
        ledger::post(tx, "payments", id, ledger::CASH, ledger::SALES)?;
        orders::set_status(tx, order_id, "paid")?;
        "payment.succeeded"
    };
    events::emit(tx, call, event, id, order_id, &shown(tx, id)?)?;
    executions::record(tx, call, CREATE, id)?;
    if card.fate() == Fate::LosesResponse {
        // The payment is stored: only the response is an error.
        let failure = Refusal::response_lost().into();
        return Ok(Reply::failed(failure, &call.command.request_id));
    }
    reply(tx, call, id, card)
}

/// Responds with 201, or for a declined card with 402. A retry gets the same response.
fn reply(tx: &Tx, call: &Call, id: &str, card: Card) -> Result<Reply, Failure> {
    let reply = match card.fate() {
        Fate::Declines(code) => {
            Reply::failed(Refusal::declined(code, id).into(), &call.command.request_id)
        }
        _ => call.created(&shown(tx, id)?),
    };
    Ok(reply.after(card.delay()))
}

pub(super) fn get(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    Ok(call.found(&shown(tx, call.id(PREFIX)?)?))
}

fn shown(tx: &Tx, id: &str) -> Result<String, Failure> {
    tx.shown(&["SELECT ", SHOWN, "id = ?"].concat(), id)
}

/// Lists the payments of an order, declined ones included, oldest first.
pub(super) fn list(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    let mut fields = call.query(&["order_id", "cursor", "limit"])?;
    let order_id: OrderId = fields.take("order_id")?;
    let page = Page::take(&mut fields)?;
    let query = ["SELECT seq, ", SHOWN, "order_id = ? AND seq > ? ORDER BY seq LIMIT ?"].concat();
    Ok(call.page(&page.list(tx, &query, Some(order_id.as_str()), OLDEST)?))
}
