//! Workers KV as a replica of responses, for replays while a shard is slow or unavailable.

use crate::http::body_budget::Reservation;
use crate::http::bridge::{Bridge, Source};
use oncekey::budget::SMALL;
use oncekey::{Attempt, Decision, Millis, Record, ScopedKey, Transition, replica};
use platform::clock;
use platform::operation::{DONE, FAILED};
use wasm_bindgen::JsCast;

/// The shortest time for which KV keeps a value. A copy with less time left is not written.
pub(crate) const SHORTEST: Millis = Millis::from_seconds(60);

/// How long a read may take.
const PATIENCE: Millis = Millis::new(1000);

/// Writes a copy of a new response. No caller waits for it, and a failure is only logged.
pub(crate) async fn put(bridge: &Bridge, name: ScopedKey, record: &Record, left: Millis) {
    let reply = bridge.put_copy(&key(name), &record.encode(), left).await;
    if reply.status == FAILED {
        platform::console_warn!("replica not written: {}", reply.text);
    }
}

/// Returns the decision that the replica's copy proves. `None` proves nothing about the key: there may
/// be no copy, no memory for it, or no reply in time.
pub(crate) async fn ask(
    bridge: &Bridge,
    name: ScopedKey,
    attempt: &Attempt<'_>,
    room: &Reservation,
) -> Option<Transition<Decision>> {
    let read = async {
        let found = bridge.get_copy(&key(name), PATIENCE).await.object;
        let pieces = found.is_object().then(|| found.unchecked_into::<Source>())?;
        let (mut bytes, mut counted) = (Vec::new(), 0);
        loop {
            let piece = pieces.read(Some(PATIENCE)).await;
            let Some(piece) = (piece.status == DONE).then_some(piece.bytes)? else {
                return Some(bytes);
            };
            bytes.extend_from_slice(&piece);
            let size = bytes.len() as u64;
            if size > SMALL {
                // A copy that does not fit into memory is not used.
                room.fits_replay(size - counted).then_some(())?;
                counted = size;
            }
        }
    };
    let bytes = clock::within(PATIENCE, read).await??;
    let copy = Record::decode(&bytes).ok()?;
    replica::verify(copy, attempt, clock::now())
}

fn key(name: ScopedKey) -> String {
    format!("answer-1/{}", name.hex())
}
