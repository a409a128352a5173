//! Subscriptions: that a customer is to be charged again and again. Nothing is charged here, so they
//! move nothing in the ledger.

use super::body_type::BodyType;
use super::columns::time;
use super::context::Context;
use super::error::{Failure, Refusal};
use super::fields::Fields;
use super::input::{Amount, Currency, Id, Subject};
use super::row::{Row, Value};
use super::store::Tx;
use super::{events, executions};

/// What the ids begin with.
pub(super) const PREFIX: &str = "sub_";
const CREATE: &str = "subscription.create";

/// What a caller says of a subscription: its content.
pub(super) struct NewSubscription {
    plan: Subject,
    customer: Subject,
    amount: Amount,
    currency: Currency,
}

impl NewSubscription {
    pub(super) fn parse(kind: BodyType, body: &[u8]) -> Result<Self, Box<Refusal>> {
        let known = ["plan", "customer", "amount", "currency"];
        let mut fields = Fields::of_body(kind, body, &known)?;
        Ok(Self {
            plan: fields.take("plan")?,
            customer: fields.take("customer")?,
            amount: fields.take("amount")?,
            currency: fields.take("currency")?,
        })
    }

    pub(super) fn values(&self) -> [Value<'_>; 4] {
        [
            self.plan.as_str().into(),
            self.customer.as_str().into(),
            self.amount.value(),
            self.currency.as_str().into(),
        ]
    }

    pub(super) fn of_row(row: &mut Row) -> Option<Self> {
        Some(Self {
            plan: row.parsed()?,
            customer: row.parsed()?,
            amount: Amount::of_row(row)?,
            currency: row.parsed()?,
        })
    }
}

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

/// Makes the subscription, or finds what this call's key has made before.
pub(super) fn create(
    tx: &Tx,
    context: &Context,
    id: &Id,
    content: &NewSubscription,
) -> Result<String, Failure> {
    let values = content.values();
    let query = "SELECT plan = ? AND customer = ? AND amount = ? AND currency = ?
         FROM subscriptions WHERE id = ?";
    if let Some(made) = executions::made(tx, context, CREATE, query, &values)? {
        return shown(tx, &made);
    }
    let id = id.as_str();
    let [plan, customer, amount, currency] = values;
    tx.run(
        "INSERT INTO subscriptions (id, plan, customer, amount, currency, created_at)
         VALUES (?, ?, ?, ?, ?, ?)",
        &[id.into(), plan, customer, amount, currency, context.now.into()],
    )?;
    executions::note(tx, context, CREATE, id)?;
    tell(tx, context, "subscription.created", id)
}

/// Cancels it. One that is cancelled stays as it is.
pub(super) fn cancel(tx: &Tx, context: &Context, id: &Id) -> Result<String, Failure> {
    let id = id.as_str();
    let is_new = tx.first(
        "UPDATE subscriptions SET cancelled_at = ? WHERE id = ? AND cancelled_at IS NULL
         RETURNING seq",
        &[context.now.into(), id.into()],
        Row::integer,
    )?;
    if is_new.is_none() {
        return shown(tx, id);
    }
    executions::note(tx, context, "subscription.cancel", id)?;
    tell(tx, context, "subscription.cancelled", id)
}

fn tell(tx: &Tx, context: &Context, event: &str, id: &str) -> Result<String, Failure> {
    let shown = shown(tx, id)?;
    events::emit(tx, context, event, id, id, &shown)?;
    Ok(shown)
}

pub(super) fn shown(tx: &Tx, id: &str) -> Result<String, Failure> {
    tx.shown(SHOWN, id)
}
