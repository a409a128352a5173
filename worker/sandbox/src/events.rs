//! Events: what happened, written in the transaction in which it happened, with one delivery for
//! each endpoint there is. An event's id is made of what it tells, so one fact has one id.

use super::columns::{event, time};
use super::context::Context;
use super::error::{Failure, Refusal};
use super::input::Id;
use super::pages::{Listed, NEWEST, Page};
use super::row::Row;
use super::store::Tx;
use super::{deliveries, executions};
use oncekey::codec::hex::hex;
use sha2::{Digest, Sha256};

/// What the ids begin with.
pub(super) const PREFIX: &str = "evt_";

/// An event as callers see it. Of its deliveries the state is shown that needs most attention.
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
    context: &Context,
    kind: &str,
    object_id: &str,
    subject: &str,
    data: &str,
) -> Result<(), Failure> {
    let digest = Sha256::new().chain_update(kind).chain_update(object_id).finalize();
    let id = PREFIX.to_owned() + &hex(&digest[..16]);
    tx.run(
        "INSERT INTO events (id, type, subject, data, created_at) VALUES (?, ?, ?, ?, ?)",
        &[id.as_str().into(), kind.into(), subject.into(), data.into(), context.now.into()],
    )?;
    deliveries::enqueue(tx, &id, subject, context.now)
}

/// The newest first.
pub(super) fn list(tx: &Tx, page: &Page) -> Result<Listed, Failure> {
    let query = concat!("SELECT seq, ", shown!(""), "seq < ? ORDER BY seq DESC LIMIT ?");
    page.list(tx, query, None, NEWEST)
}

/// One event, with every try to deliver it.
pub(super) fn shown(tx: &Tx, id: &str) -> Result<String, Failure> {
    let query = concat!("SELECT ", shown!(deliveries::shown!()), "id = ?");
    tx.shown(query, id)
}

/// Sends it again to all endpoints there are now, also to those that have got it.
pub(super) fn resend(tx: &Tx, context: &Context, id: &Id) -> Result<String, Failure> {
    let id = id.as_str();
    let subject = tx.first("SELECT subject FROM events WHERE id = ?", &[id.into()], Row::text)?;
    let subject = subject.ok_or_else(Refusal::no_such_object)?;
    deliveries::again(tx, id, context.now)?;
    deliveries::enqueue(tx, id, &subject, context.now)?;
    executions::note(tx, context, "event.resend", id)?;
    shown(tx, id)
}
