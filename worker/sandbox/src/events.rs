//! Events. The transaction of an operation also writes its event, with one delivery for each endpoint.
//! The id of an event is a hash of its type and object, so one fact has one id.

use super::columns::{event, time};
use super::error::{Failure, Refusal};
use super::pages::{NEWEST, Page};
use super::request::ApiRequest;
use super::response::ApiResponse;
use super::store::Tx;
use super::{deliveries, executions};
use oncekey::codec::hex::hex;
use sha2::{Digest, Sha256};

/// The beginning of the ids.
const PREFIX: &str = "evt_";

/// Selects an event as callers see it, without the `SELECT`. Of the states of its deliveries, it has the
/// one that needs most attention.
macro_rules! columns {
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
    request: &ApiRequest,
    kind: &str,
    object_id: &str,
    subject: &str,
    data: &str,
) -> Result<(), Failure> {
    let digest = Sha256::new().chain_update(kind).chain_update(object_id).finalize();
    let id = PREFIX.to_owned() + &hex(&digest[..16]);
    tx.run(
        "INSERT INTO events (id, type, subject, data, created_at) VALUES (?, ?, ?, ?, ?)",
        &[id.as_str().into(), kind.into(), subject.into(), data.into(), request.now.into()],
    )?;
    deliveries::enqueue(tx, &id, subject, request.now)
}

/// Lists the events, newest first.
pub(super) fn list(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    let page = Page::take(&mut request.parameters(&["cursor", "limit"])?)?;
    let query = concat!("SELECT seq, ", columns!(""), "seq < ? ORDER BY seq DESC LIMIT ?");
    Ok(request.page(&page.list(tx, query, None, NEWEST)?))
}

/// Returns one event, with every attempt to deliver it.
pub(super) fn get(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    let query = concat!("SELECT ", columns!(deliveries::of_event!()), "id = ?");
    Ok(request.found(&tx.object(query, request.object_id(PREFIX)?)?))
}

/// Sends an event again to all current endpoints, also to those that received it.
pub(super) fn resend(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    let id = request.object_id(PREFIX)?;
    let subject =
        tx.first("SELECT subject FROM events WHERE id = ?", &[id.into()], |[text]| text.to_text())?;
    let subject = subject.ok_or_else(Refusal::no_such_object)?;
    deliveries::restart(tx, id, request.now)?;
    deliveries::enqueue(tx, id, &subject, request.now)?;
    executions::record(tx, request, "event.resend", id)?;
    get(tx, request)
}
