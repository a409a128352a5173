//! The outbox: deliveries of events to endpoints, and their attempts. Each function here is part of one
//! transaction; `sending.rs` sends in between.
//!
//! Of the pending deliveries of one subject to one endpoint, only the first is due. The next one
//! becomes due when the first has ended. So an endpoint receives a payment before its refund, and a
//! delivery that fails delays no other subject.

use super::columns::{event, time};
use super::error::Failure;
use super::store::Tx;
use oncekey::client::retry::{
    self, Outcome, Progress, RetryDecision, RetryPolicy, RetrySettings, UnknownReason,
};
use oncekey::{Millis, UnixMillis};

/// How long a delivery is attempted after the event happened or was resent.
const GIVEN_UP_AFTER: Millis = Millis::from_days(3);

/// How long a claimed delivery cannot be claimed again. An attempt is shorter.
const CLAIM: Millis = Millis::from_seconds(30);

/// In a query of events: the deliveries of an event, each with its latest fifty attempts, newest
/// first.
macro_rules! of_event {
    () => {
        concat!(
            ", 'deliveries', (SELECT json_group_array(json_object('endpoint_id', endpoint,
            'state', state, 'next_attempt_at', ",
            time!("due_at"),
            ", 'attempts', (SELECT json_group_array(json_object('at', ",
            time!("at"),
            ", 'duration_ms', duration, 'status', status, 'error', error)) FROM (
                SELECT * FROM attempts WHERE delivery = deliveries.id ORDER BY id DESC LIMIT 50))
            )) FROM (SELECT * FROM deliveries WHERE event = events.id ORDER BY id) deliveries)"
        )
    };
}
pub(super) use of_event;

/// A delivery that is due now.
pub(super) struct Claimed {
    delivery: i64,
    /// The number of this attempt.
    tries: i64,
    begun_at: UnixMillis,
    pub(super) url: String,
    /// The secrets that sign the event, separated by spaces.
    pub(super) secrets: String,
    pub(super) event: String,
    /// The body, which is the same for each attempt.
    pub(super) body: String,
}

/// The result of an attempt.
pub(super) struct DeliveryAttempt {
    pub(super) at: UnixMillis,
    pub(super) duration: Millis,
    /// The status of the response, if there was one.
    pub(super) status: Option<u16>,
    /// Why there was no response.
    pub(super) error: Option<&'static str>,
}

impl DeliveryAttempt {
    fn succeeded(&self) -> bool {
        matches!(self.status, Some(200..=299))
    }
}

/// Queues an event for each endpoint that has no delivery of it.
pub(super) fn enqueue(tx: &Tx, event: &str, subject: &str, now: UnixMillis) -> Result<(), Failure> {
    tx.run(
        "INSERT INTO deliveries (event, endpoint, subject, state, tries, begun_at, due_at)
         SELECT ?1, id, ?2, 'pending', 0, ?3, CASE WHEN EXISTS (
             SELECT 1 FROM deliveries
             WHERE endpoint = endpoints.id AND subject = ?2 AND state = 'pending'
         ) THEN NULL ELSE ?3 END
         FROM endpoints WHERE deleted_at IS NULL ORDER BY seq
         ON CONFLICT (event, endpoint) DO NOTHING",
        &[event.into(), subject.into(), now.into()],
    )
}

/// Restarts the deliveries of an event. A delivery that waits for an earlier one continues to wait.
pub(super) fn restart(tx: &Tx, event: &str, now: UnixMillis) -> Result<(), Failure> {
    tx.run(
        "UPDATE deliveries SET tries = 0, begun_at = ?1, state = 'pending',
             due_at = CASE WHEN state = 'pending' AND due_at IS NULL THEN NULL ELSE ?1 END
         WHERE event = ?2 AND endpoint IN (SELECT id FROM endpoints WHERE deleted_at IS NULL)",
        &[now.into(), event.into()],
    )
}

/// Cancels the pending deliveries to an endpoint.
pub(super) fn cancel(tx: &Tx, endpoint: &str) -> Result<(), Failure> {
    tx.run(
        "UPDATE deliveries SET state = 'cancelled', due_at = NULL
         WHERE endpoint = ? AND state = 'pending'",
        &[endpoint.into()],
    )
}

/// Returns when the next delivery is due.
pub(super) fn first_due(tx: &Tx) -> Result<Option<UnixMillis>, Failure> {
    let query = "SELECT due_at FROM deliveries WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1";
    tx.first(query, &[], |[time]| time.as_time())
}

/// Returns the endpoints that have a delivery due.
pub(super) fn endpoints_due(tx: &Tx, now: UnixMillis) -> Result<Vec<String>, Failure> {
    let query = "SELECT id FROM endpoints WHERE EXISTS (
        SELECT 1 FROM deliveries WHERE endpoint = endpoints.id AND due_at <= ?)";
    tx.all(query, &[now.into()], |[text]| text.to_text())
}

/// Claims the next delivery to an endpoint, if one is due. If the object stops before it records an
/// attempt, the delivery is due again after [`CLAIM`]: an event may be sent twice, but is not lost.
pub(super) fn claim(tx: &Tx, endpoint: &str, now: UnixMillis) -> Result<Option<Claimed>, Failure> {
    let query = concat!(
        "SELECT deliveries.id, tries, begun_at, url, secrets, event, json_object(",
        event!(),
        ") FROM deliveries JOIN events ON events.id = event
             JOIN endpoints ON endpoints.id = endpoint
         WHERE endpoint = ? AND due_at <= ? ORDER BY due_at, deliveries.id LIMIT 1",
    );
    let claimed = tx.first(
        query,
        &[endpoint.into(), now.into()],
        |[delivery, tries, begun_at, url, secrets, event, body]| {
            Some(Claimed {
                delivery: delivery.as_i64()?,
                tries: tries.as_i64()? + 1,
                begun_at: begun_at.as_time()?,
                url: url.to_text()?,
                secrets: secrets.to_text()?,
                event: event.to_text()?,
                body: body.to_text()?,
            })
        },
    )?;
    let Some(claimed) = claimed else {
        return Ok(None);
    };
    tx.run(
        "UPDATE deliveries SET tries = ?, due_at = ? WHERE id = ?",
        &[claimed.tries.into(), now.plus(CLAIM).into(), claimed.delivery.into()],
    )?;
    Ok(Some(claimed))
}

/// Records an attempt and updates the delivery, unless it was restarted or cancelled meanwhile.
pub(super) fn record(
    tx: &Tx,
    claimed: &Claimed,
    attempt: &DeliveryAttempt,
    now: UnixMillis,
    random: u32,
) -> Result<(), Failure> {
    tx.run(
        "INSERT INTO attempts (delivery, at, duration, status, error) VALUES (?, ?, ?, ?, ?)",
        &[
            claimed.delivery.into(),
            attempt.at.into(),
            (attempt.duration.as_u64() as i64).into(),
            attempt.status.map(i64::from).into(),
            attempt.error.into(),
        ],
    )?;
    let (state, due_at) = match next_attempt_after(claimed, now, random) {
        _ if attempt.succeeded() => ("delivered", None),
        Some(wait) => ("pending", Some(now.plus(wait))),
        None => ("dead", None),
    };
    let line = tx.first(
        "UPDATE deliveries SET state = ?, due_at = ?
         WHERE id = ? AND state = 'pending' AND tries = ? RETURNING endpoint, subject",
        &[state.into(), due_at.into(), claimed.delivery.into(), claimed.tries.into()],
        |[endpoint, subject]| Some((endpoint.to_text()?, subject.to_text()?)),
    )?;
    let (Some((endpoint, subject)), None) = (line, due_at) else {
        return Ok(());
    };
    // The delivery has ended, so the next one of its subject is due.
    tx.run(
        "UPDATE deliveries SET due_at = ? WHERE due_at IS NULL AND id = (
             SELECT MIN(id) FROM deliveries
             WHERE endpoint = ? AND subject = ? AND state = 'pending')",
        &[now.into(), endpoint.as_str().into(), subject.as_str().into()],
    )
}

/// Returns how long to wait before the next attempt, or `None` to stop.
fn next_attempt_after(claimed: &Claimed, now: UnixMillis, random: u32) -> Option<Millis> {
    const MINUTE: u64 = 60;
    let policy = RetryPolicy::new(RetrySettings {
        limit: RetryPolicy::MAX_LIMIT,
        // The last delay repeats: about thirty attempts in all.
        delays: [5, 30, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 60 * MINUTE, 240 * MINUTE]
            .map(Millis::from_seconds)
            .to_vec(),
        total_time: GIVEN_UP_AFTER,
        ..RetrySettings::default()
    });
    let progress = Progress {
        retries: u32::try_from(claimed.tries - 1).unwrap_or(u32::MAX),
        elapsed: now.since(claimed.begun_at),
        left: GIVEN_UP_AFTER,
    };
    // The endpoint may have received the event. It can recognize the event by its id.
    let outcome = Outcome::Ambiguous(UnknownReason::Network);
    match retry::next(&policy.unwrap_or_default(), &outcome, progress, None, random) {
        RetryDecision::Again { after, .. } => Some(after),
        RetryDecision::Stop(_) => None,
    }
}
