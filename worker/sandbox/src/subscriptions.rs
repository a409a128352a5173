//! Subscriptions. Nothing is charged for them, so they move nothing in the ledger.

use super::columns::time;
use super::error::Failure;
use super::input::{Amount, Currency, ShortText};
use super::request::ApiRequest;
use super::response::ApiResponse;
use super::store::Tx;
use super::{events, executions};
use platform::random;

/// The beginning of the ids.
const PREFIX: &str = "sub_";
const CREATE: &str = "subscription.create";

/// Selects a subscription as callers see it.
const SELECT: &str = concat!(
    "SELECT json_object('id', id, 'object', 'subscription', 'plan', plan, 'customer', customer,
        'amount', amount, 'currency', currency,
        'status', iif(cancelled_at IS NULL, 'active', 'cancelled'), 'created_at', ",
    time!("created_at"),
    ", 'cancelled_at', ",
    time!("cancelled_at"),
    ") FROM subscriptions WHERE id = ?",
);

/// Makes a subscription, or returns the one that this request's key made before.
pub(super) fn create(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    let mut fields = request.fields(&["plan", "customer", "amount", "currency"])?;
    let plan: ShortText = fields.take("plan")?;
    let customer: ShortText = fields.take("customer")?;
    let amount: Amount = fields.take("amount")?;
    let currency: Currency = fields.take("currency")?;
    let content = [(&plan).into(), (&customer).into(), amount.units().into(), (&currency).into()];
    let query = "SELECT plan = ? AND customer = ? AND amount = ? AND currency = ?
         FROM subscriptions WHERE id = ?";
    if let Some(made) = executions::made(tx, request, CREATE, query, &content)? {
        return Ok(request.created(&tx.object(SELECT, &made)?));
    }
    let id = random::id::<16>(PREFIX);
    tx.run(
        "INSERT INTO subscriptions (plan, customer, amount, currency, id, created_at)
         VALUES (?, ?, ?, ?, ?, ?)",
        &[&content[..], &[id.as_str().into(), request.now.into()]].concat(),
    )?;
    executions::record(tx, request, CREATE, &id)?;
    Ok(request.created(&emit(tx, request, "subscription.created", &id)?))
}

/// Cancels a subscription. A second call changes nothing.
pub(super) fn cancel(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    let id = request.object_id(PREFIX)?;
    let is_new = tx.first(
        "UPDATE subscriptions SET cancelled_at = ? WHERE id = ? AND cancelled_at IS NULL
         RETURNING seq",
        &[request.now.into(), id.into()],
        |[number]| number.as_i64(),
    )?;
    if is_new.is_none() {
        return get(tx, request);
    }
    executions::record(tx, request, "subscription.cancel", id)?;
    Ok(request.found(&emit(tx, request, "subscription.cancelled", id)?))
}

pub(super) fn get(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    Ok(request.found(&tx.object(SELECT, request.object_id(PREFIX)?)?))
}

fn emit(tx: &Tx, request: &ApiRequest, event: &str, id: &str) -> Result<String, Failure> {
    let subscription = tx.object(SELECT, id)?;
    events::emit(tx, request, event, id, id, &subscription)?;
    Ok(subscription)
}
