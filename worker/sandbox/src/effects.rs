//! Webhooks that the gateway received and whose signatures it checked. Here an event gives a customer
//! credits.
//!
//! One transaction stores that the event arrived and what it did, and the event's row is unique. So
//! an event takes effect once, however often the gateway sends it. The data is in an object of its
//! own, because an event comes from a source and not from a merchant. Merchants can only ask how often
//! an event took effect.

use super::call::Call;
use super::error::{Failure, Refusal};
use super::executions;
use super::fields::Field;
use super::input::{Amount, Subject};
use super::reply::Reply;
use super::store::{Row, Tx, Value};
use platform::json::writer::JsonObject;
use platform::json::{Json, take};

/// Lets an event take effect, unless it did before: `{"type": …, "data": {"customer": …, "credits":
/// …}}`. Other members, and data without credits, are the sender's own.
pub(super) fn receive(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    let source = Subject::parse(call.named.to_owned()).ok_or_else(Refusal::no_such_object)?;
    let Ok(Json::Object(mut members)) = serde_json::from_slice(call.bytes()) else {
        return Err(Refusal::unreadable("The body must be a JSON object.").into());
    };
    let kind: Subject = read(take(&mut members, "type"), "type")?;
    let credits = match take(&mut members, "data") {
        Some(Json::Object(mut data)) => credits(&mut data)?,
        _ => None,
    };
    let id = call.idempotency_key().ok_or("an event without its id")?;
    let source = Value::from(source.as_str());
    let is_new = tx.first(
        "INSERT INTO effects (source, event, type, received_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (source, event) DO NOTHING RETURNING seq",
        &[source, id.into(), kind.as_str().into(), call.now.into()],
        Row::integer,
    )?;
    if is_new.is_some() {
        executions::record(tx, call, "event.effect", id)?;
    }
    let json = JsonObject::object("effect", id);
    let Some((customer, amount)) = credits else {
        return Ok(call.found(&json.finish()));
    };
    let customer = customer.as_str();
    if is_new.is_some() {
        tx.run(
            "INSERT INTO credits (source, customer, balance) VALUES (?, ?, ?)
             ON CONFLICT (source, customer) DO UPDATE SET balance = balance + excluded.balance",
            &[source, customer.into(), amount.units().into()],
        )?;
    }
    let query = "SELECT balance FROM credits WHERE source = ? AND customer = ?";
    let balance = tx.first(query, &[source, customer.into()], Row::integer)?.unwrap_or(0);
    let json = json.text("customer", customer).integer("balance", balance);
    Ok(call.found(&json.finish()))
}

/// Counts how often an event took effect. The id of an event is its key, and the senders' object
/// holds no other keys.
pub(super) fn count(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    executions::count_under(tx, call, "event_id")
}

/// Reads who gets how many credits.
fn credits(data: &mut Vec<(String, Json)>) -> Result<Option<(Subject, Amount)>, Box<Refusal>> {
    let Some(amount) = take(data, "credits") else {
        return Ok(None);
    };
    let amount = read(Some(amount), "data.credits")?;
    Ok(Some((read(take(data, "customer"), "data.customer")?, amount)))
}

fn read<T: Field>(value: Option<Json>, name: &str) -> Result<T, Box<Refusal>> {
    value.and_then(T::read).ok_or_else(|| Refusal::invalid(name, T::RULE))
}
