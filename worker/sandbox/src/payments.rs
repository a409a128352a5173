//! Payments. An order has at most one successful payment, whatever the keys. A declined payment is
//! kept as a failed one, and another card may follow.

use super::cards::{Card, Fate};
use super::columns::time;
use super::error::{Failure, Refusal};
use super::orders::{self, OrderId};
use super::pages::{OLDEST, Page};
use super::request::ApiRequest;
use super::response::ApiResponse;
use super::store::Tx;
use super::{events, executions, ledger};
use platform::random;

/// The beginning of the ids.
const PREFIX: &str = "pay_";
const CREATE: &str = "payment.create";

/// Selects a payment as callers see it, without the `SELECT`.
const COLUMNS: &str = concat!(
    "json_object('id', id, 'object', 'payment', 'order_id', order_id, 'amount', amount,
        'currency', currency, 'status', iif(failure IS NULL, 'succeeded', 'failed'),
        'failure_code', failure, 'card', json_object('brand', card_brand, 'last4', card_last4),
        'created_at', ",
    time!("created_at"),
    ") FROM payments WHERE ",
);

/// Pays an order, or returns the payment that this request's key made before. The amount is the order's.
pub(super) fn create(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    let mut fields = request.fields(Card::fields(request.body_type()?))?;
    let order_id: OrderId = fields.take("order_id")?;
    let card = Card::take(&mut fields)?;
    let order = order_id.as_str();
    let query = "SELECT order_id = ? AND card_last4 = ? FROM payments WHERE id = ?";
    let content = [order.into(), card.last4().into()];
    if let Some(made) = executions::made(tx, request, CREATE, query, &content)? {
        return respond(tx, request, &made, card);
    }
    if orders::paid_and_refunded(tx, order)?.is_none() {
        return Err(Refusal::no_such_order("order_id").into());
    }
    let query = "SELECT id FROM payments WHERE order_id = ? AND failure IS NULL";
    if let Some(first) = tx.first(query, &[order.into()], |[text]| text.to_text())? {
        return Err(Refusal::already_paid(&first).into());
    }
    let failure = match card.fate {
        Fate::Declines(code) => Some(code),
        _ => None,
    };
    let id = random::id::<16>(PREFIX);
    let id = id.as_str();
    tx.run(
        "INSERT INTO payments
             (id, order_id, amount, currency, card_brand, card_last4, failure, created_at)
         SELECT ?, id, amount, currency, ?, ?, ?, ? FROM orders WHERE id = ?",
        &[
            id.into(),
            card.brand.into(),
            card.last4().into(),
            failure.into(),
            request.now.into(),
            order.into(),
        ],
    )?;
    let event = if failure.is_some() {
        "payment.failed"
    } else {
        ledger::post(tx, "payments", id, ledger::CASH, ledger::SALES)?;
        orders::set_status(tx, order, "paid")?;
        "payment.succeeded"
    };
    events::emit(tx, request, event, id, order, &by_id(tx, id)?)?;
    executions::record(tx, request, CREATE, id)?;
    if card.fate == Fate::LosesResponse {
        // The payment is stored: only the response is an error.
        let message = "The payment was made, and this test card loses its response. Send the request again with the same key.";
        return Ok(ApiResponse::failed(Refusal::api_error(message).into(), &request.id));
    }
    respond(tx, request, id, card)
}

/// Returns a 201, or for a declined card a 402. A retry gets the same response.
fn respond(tx: &Tx, request: &ApiRequest, id: &str, card: Card) -> Result<ApiResponse, Failure> {
    let mut response = match card.fate {
        Fate::Declines(code) => {
            ApiResponse::failed(Refusal::declined(code, id).into(), &request.id)
        }
        _ => request.created(&by_id(tx, id)?),
    };
    response.delay = card.delay();
    Ok(response)
}

pub(super) fn get(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    Ok(request.found(&by_id(tx, request.object_id(PREFIX)?)?))
}

fn by_id(tx: &Tx, id: &str) -> Result<String, Failure> {
    tx.object(&["SELECT ", COLUMNS, "id = ?"].concat(), id)
}

/// Lists the payments of an order, declined ones included, oldest first.
pub(super) fn list(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    let mut fields = request.parameters(&["order_id", "cursor", "limit"])?;
    let order_id: OrderId = fields.take("order_id")?;
    let page = Page::take(&mut fields)?;
    let query = ["SELECT seq, ", COLUMNS, "order_id = ? AND seq > ? ORDER BY seq LIMIT ?"].concat();
    Ok(request.page(&page.list(tx, &query, Some(order_id.as_str()), OLDEST)?))
}
