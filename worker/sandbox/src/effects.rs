//! Webhooks that come in, behind the gateway, which has checked their signatures: what an event does
//! here is to give a customer credits.
//!
//! That the event was seen and what it did are one transaction, and the event's row is unique: it
//! takes effect once, however often the gateway has to send it. All of it lives in an object of the
//! sandbox itself, since an event comes from a source and not from a merchant. Merchants are told
//! how often an event took effect, and nothing else of it.

use super::context::Context;
use super::error::{Failure, Refusal};
use super::executions;
use super::fields::Field;
use super::input::{Amount, IdempotencyKey, Subject};
use super::row::{Row, Value};
use super::store::Tx;
use platform::json::Json;
use platform::json::writer::Shown;

/// An event: who sent it, and what it says.
pub(super) struct Inbound {
    source: Subject,
    kind: Subject,
    /// Events of which nothing more is known here have none.
    credits: Option<Credits>,
}

struct Credits {
    customer: Subject,
    amount: Amount,
}

impl Inbound {
    /// `{"type": …, "data": {"customer": …, "credits": …}}`. Whatever else there is belongs to the
    /// sender.
    pub(super) fn parse(source: String, body: &[u8]) -> Result<Self, Box<Refusal>> {
        let source = Subject::try_from(source).map_err(|_| Refusal::no_such_object())?;
        let Ok(Json::Object(mut members)) = serde_json::from_slice(body) else {
            return Err(Refusal::unreadable("The body must be a JSON object."));
        };
        let kind = read(take(&mut members, "type"), "type")?;
        let credits = match take(&mut members, "data") {
            Some(Json::Object(mut data)) => Credits::take(&mut data)?,
            _ => None,
        };
        Ok(Self { source, kind, credits })
    }

    pub(super) fn values(&self) -> [Value<'_>; 4] {
        let credits = self.credits.as_ref();
        [
            self.source.as_str().into(),
            self.kind.as_str().into(),
            credits.map(|credits| credits.customer.as_str()).into(),
            credits.map(|credits| i64::from(credits.amount)).into(),
        ]
    }

    pub(super) fn of_row(row: &mut Row) -> Option<Self> {
        let (source, kind, customer) = (row.parsed()?, row.parsed()?, row.maybe(Row::parsed)?);
        let amount = row.maybe(Amount::of_row)?;
        let credits = customer.zip(amount).map(|(customer, amount)| Credits { customer, amount });
        Some(Self { source, kind, credits })
    }
}

impl Credits {
    fn take(data: &mut Vec<(String, Json)>) -> Result<Option<Self>, Box<Refusal>> {
        let Some(amount) = take(data, "credits") else {
            return Ok(None);
        };
        let amount = read(Some(amount), "data.credits")?;
        let customer = read(take(data, "customer"), "data.customer")?;
        Ok(Some(Self { customer, amount }))
    }
}

/// Of members with one name the last one counts.
fn take(members: &mut Vec<(String, Json)>, name: &str) -> Option<Json> {
    let place = members.iter().rposition(|(member, _)| member == name)?;
    Some(members.swap_remove(place).1)
}

fn read<T: Field>(value: Option<Json>, name: &str) -> Result<T, Box<Refusal>> {
    value.and_then(T::read).ok_or_else(|| Refusal::invalid(name, T::RULE))
}

/// Lets the event take effect, unless it has.
pub(super) fn take_in(tx: &Tx, context: &Context, event: &Inbound) -> Result<String, Failure> {
    let id = context.idempotency_key.as_ref().map(IdempotencyKey::as_str);
    let id = id.ok_or("an event without its id")?;
    let source = Value::from(event.source.as_str());
    let is_new = tx.first(
        "INSERT INTO effects (source, event, type, received_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (source, event) DO NOTHING RETURNING seq",
        &[source, id.into(), event.kind.as_str().into(), context.now.into()],
        Row::integer,
    )?;
    if is_new.is_some() {
        executions::note(tx, context, "event.effect", id)?;
    }
    let shown = Shown::object("effect", id);
    let Some(credits) = &event.credits else {
        return Ok(shown.finish());
    };
    let customer = Value::from(credits.customer.as_str());
    if is_new.is_some() {
        tx.run(
            "INSERT INTO credits (source, customer, balance) VALUES (?, ?, ?)
             ON CONFLICT (source, customer) DO UPDATE SET balance = balance + excluded.balance",
            &[source, customer, i64::from(credits.amount).into()],
        )?;
    }
    let query = "SELECT balance FROM credits WHERE source = ? AND customer = ?";
    let balance = tx.first(query, &[source, customer], Row::integer)?.unwrap_or(0);
    Ok(shown.text("customer", credits.customer.as_str()).integer("balance", balance).finish())
}
