//! Events. The transaction of an operation also writes its event, with one delivery for each endpoint.
//! The id of an event is a hash of its type and object, so one fact has one id.

use super::call::Call;
use super::columns::{event, time};
use super::error::{Failure, Refusal};
use super::pages::{NEWEST, Page};
use super::reply::Reply;
use super::store::{Row, Tx};
use super::{deliveries, executions};
use oncekey::codec::hex::hex;
use sha2::{Digest, Sha256};

/// The beginning of the ids.
const PREFIX: &str = "evt_";

/// An event as callers see it. `delivery` is the state of the delivery that needs most attention.
macro_rules! shown {
    ($more:expr) => {
        concat!(
            "json_object(",
            event!(),
            ", 'delivery', COALESCE((SELECT state FROM deliveries WHERE event = events.id
            ORDER BY state <> 'pending', state <> 'dead', state <> 'delivered' LIMIT 1), 'none')",
            $more,
            ") FROM events WHERE "
        )
    };
}

/// Writes an event about an object. Events with the same `subject` reach an endpoint in the order in
/// which they happened.
pub(super) fn emit(
    tx: &Tx,
    call: &Call,
    kind: &str,
    object_id: &str,
    subject: &str,
    data: &str,
) -> Result<(), Failure> {
    let digest = Sha256::new().chain_update(kind).chain_update(object_id).finalize();
    let id = PREFIX.to_owned() + &hex(&digest[..16]);
    tx.run(
        "INSERT INTO events (id, type, subject, data, created_at) VALUES (?, ?, ?, ?, ?)",
        &[id.as_str().into(), kind.into(), subject.into(), data.into(), call.now.into()],
    )?;
    deliveries::enqueue(tx, &id, subject, call.now)
}

/// Lists the events, newest first.
pub(super) fn list(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    let page = Page::take(&mut call.query(&["cursor", "limit"])?)?;
    let query = concat!("SELECT seq, ", shown!(""), "seq < ? ORDER BY seq DESC LIMIT ?");
    Ok(call.page(&page.list(tx, query, None, NEWEST)?))
}

/// Returns one event, with every attempt to deliver it.
pub(super) fn get(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    let query = concat!("SELECT ", shown!(deliveries::shown!()), "id = ?");
    Ok(call.found(&tx.shown(query, call.id(PREFIX)?)?))
}

/// Sends an event again to all current endpoints, also to those that received it.
pub(super) fn resend(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    let id = call.id(PREFIX)?;
    let subject = tx.first("SELECT subject FROM events WHERE id = ?", &[id.into()], Row::text)?;
    let subject = subject.ok_or_else(Refusal::no_such_object)?;
    deliveries::restart(tx, id, call.now)?;
    deliveries::enqueue(tx, id, &subject, call.now)?;
    executions::record(tx, call, "event.resend", id)?;
    get(tx, call)
}
