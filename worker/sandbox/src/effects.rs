//! Webhooks that the gateway received and whose signatures it checked. Here an event gives a customer
//! credits.
//!
//! One transaction stores the event and its effect, and the event's row is unique. So an event takes
//! effect once, however often the gateway sends it. The data is in an object of its own, because an
//! event comes from a source and not from a merchant. Merchants can only read how often an event took
//! effect.

use super::error::{Failure, Refusal};
use super::executions;
use super::fields::Field;
use super::input::{Amount, ShortText};
use super::request::ApiRequest;
use super::response::ApiResponse;
use super::store::Tx;
use platform::json::writer::JsonObject;
use platform::json::{Json, take};

/// Carries an event out, unless it took effect before: `{"type": …, "data": {"customer": …,
/// "credits": …}}`. Other members are ignored, and so is data without credits.
pub(super) fn receive(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    let source = ShortText::parse(request.named.clone()).ok_or_else(Refusal::no_such_object)?;
    let Ok(Json::Object(mut members)) = Json::parse(&request.body) else {
        return Err(Refusal::unreadable("The body must be a JSON object.").into());
    };
    let kind: ShortText = read(take(&mut members, "type"), "type")?;
    let credits = match take(&mut members, "data") {
        Some(Json::Object(mut data)) => credits(&mut data)?,
        _ => None,
    };
    let id = request.key().ok_or("an event without its id")?;
    let source = source.as_str();
    let is_new = tx.first(
        "INSERT INTO effects (source, event, type, received_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (source, event) DO NOTHING RETURNING seq",
        &[source.into(), id.into(), kind.as_str().into(), request.now.into()],
        |[number]| number.as_i64(),
    )?;
    if is_new.is_some() {
        executions::record(tx, request, "event.effect", id)?;
    }
    let json = JsonObject::object("effect", id);
    let Some((customer, amount)) = credits else {
        return Ok(request.found(&json.finish()));
    };
    let customer = customer.as_str();
    if is_new.is_some() {
        tx.run(
            "INSERT INTO credits (source, customer, balance) VALUES (?, ?, ?)
             ON CONFLICT (source, customer) DO UPDATE SET balance = balance + excluded.balance",
            &[source.into(), customer.into(), amount.units().into()],
        )?;
    }
    let query = "SELECT balance FROM credits WHERE source = ? AND customer = ?";
    let balance = tx
        .first(query, &[source.into(), customer.into()], |[number]| number.as_i64())?
        .unwrap_or(0);
    let json = json.text("customer", customer).integer("balance", balance);
    Ok(request.found(&json.finish()))
}

/// The path of the count of an event, whose id follows. The id of an event is its key, and the senders'
/// object has no other keys.
pub(super) const PATH: &str = "/v1/sandbox/effects/";

/// Reads the customer and the number of credits.
fn credits(data: &mut Vec<(String, Json)>) -> Result<Option<(ShortText, Amount)>, Box<Refusal>> {
    let Some(amount) = take(data, "credits") else {
        return Ok(None);
    };
    let amount = read(Some(amount), "data.credits")?;
    Ok(Some((read(take(data, "customer"), "data.customer")?, amount)))
}

fn read<T: Field>(value: Option<Json>, name: &str) -> Result<T, Box<Refusal>> {
    value.and_then(T::read).ok_or_else(|| Refusal::invalid(name, T::RULE))
}
