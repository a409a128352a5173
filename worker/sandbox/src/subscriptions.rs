//! Subscriptions. Nothing is charged for them, so they move nothing in the ledger.

use super::call::Call;
use super::columns::time;
use super::error::Failure;
use super::input::{Amount, Currency, Subject};
use super::reply::Reply;
use super::store::{Row, Tx};
use super::{events, executions};
use platform::random;

/// The beginning of the ids.
const PREFIX: &str = "sub_";
const CREATE: &str = "subscription.create";

/// A subscription as callers see it.
const SHOWN: &str = concat!(
    "SELECT json_object('id', id, 'object', 'subscription', 'plan', plan, 'customer', customer,
        'amount', amount, 'currency', currency,
        'status', iif(cancelled_at IS NULL, 'active', 'cancelled'), 'created_at', ",
    time!("created_at"),
    ", 'cancelled_at', ",
    time!("cancelled_at"),
    ") FROM subscriptions WHERE id = ?",
);

/// Makes a subscription, or finds the one that this call's key made before.
pub(super) fn create(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    let mut fields = call.body(&["plan", "customer", "amount", "currency"])?;
    let (plan, customer): (Subject, Subject) = (fields.take("plan")?, fields.take("customer")?);
    let (amount, currency): (Amount, Currency) = (fields.take("amount")?, fields.take("currency")?);
    let (plan, customer) = ((&plan).into(), (&customer).into());
    let (amount, currency) = (amount.units().into(), (&currency).into());
    let query = "SELECT plan = ? AND customer = ? AND amount = ? AND currency = ?
         FROM subscriptions WHERE id = ?";
    let content = [plan, customer, amount, currency];
    if let Some(made) = executions::made(tx, call, CREATE, query, &content)? {
        return Ok(call.created(&tx.shown(SHOWN, &made)?));
    }
    let id = &random::id::<16>(PREFIX);
    tx.run(
        "INSERT INTO subscriptions (id, plan, customer, amount, currency, created_at)
         VALUES (?, ?, ?, ?, ?, ?)",
        &[id.into(), plan, customer, amount, currency, call.now.into()],
    )?;
    executions::record(tx, call, CREATE, id)?;
    Ok(call.created(&emit(tx, call, "subscription.created", id)?))
}

/// Cancels a subscription. A second call changes nothing.
pub(super) fn cancel(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    let id = call.id(PREFIX)?;
    let is_new = tx.first(
        "UPDATE subscriptions SET cancelled_at = ? WHERE id = ? AND cancelled_at IS NULL
         RETURNING seq",
        &[call.now.into(), id.into()],
        Row::integer,
    )?;
    if is_new.is_none() {
        return get(tx, call);
    }
    executions::record(tx, call, "subscription.cancel", id)?;
    Ok(call.found(&emit(tx, call, "subscription.cancelled", id)?))
}

pub(super) fn get(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    Ok(call.found(&tx.shown(SHOWN, call.id(PREFIX)?)?))
}

fn emit(tx: &Tx, call: &Call, event: &str, id: &str) -> Result<String, Failure> {
    let shown = tx.shown(SHOWN, id)?;
    events::emit(tx, call, event, id, id, &shown)?;
    Ok(shown)
}
