//! Workers KV as a replica of answers: for replays while the authority is slow or down.

use crate::clock;
use futures_util::future::{Either, select};
use oncekey::{Attempt, Decision, Millis, Record, ScopedKey, Step, replica};
use std::pin::pin;
use worker::{Env, KvStore};

/// The binding of the namespace; a Worker without it has no replica.
const BINDING: &str = "REPLICA";

/// The shortest time that KV keeps a thing.
const SHORTEST: Millis = Millis::from_seconds(60);

/// How long a read may take.
const PATIENCE: Millis = Millis::new(1000);

/// Writes the copy of a new answer. Nobody waits for it, and its failure is no failure.
pub(crate) async fn put(env: &Env, name: ScopedKey, record: &Record, left: Millis) {
    let Some(store) = store(env) else { return };
    let written = match store.put_bytes(&key(name), &record.encode()) {
        Ok(put) => put.expiration_ttl(left.as_u64() / 1000).execute().await,
        Err(error) => Err(error),
    };
    if let Err(error) = written {
        worker::console_warn!("replica not written: {error}");
    }
}

/// What the replica knows for sure, or `None`, which means nothing at all: also when it does not
/// answer soon, for nobody waits for a replica.
pub(crate) async fn ask(
    env: &Env,
    name: ScopedKey,
    attempt: &Attempt<'_>,
) -> Option<Step<Decision>> {
    let store = store(env)?;
    let key = key(name);
    let read = pin!(store.get(&key).bytes());
    let bytes = match select(read, pin!(clock::sleep(PATIENCE))).await {
        Either::Left((bytes, _)) => bytes.ok()??,
        Either::Right(_) => return None,
    };
    let copy = Record::decode(&bytes).ok()?;
    replica::believe(copy, attempt, clock::now())
}

/// The shortest life worth a copy.
pub(crate) const fn shortest() -> Millis {
    SHORTEST
}

fn store(env: &Env) -> Option<KvStore> {
    env.kv(BINDING).ok()
}

fn key(name: ScopedKey) -> String {
    format!("answer-1/{}", name.hex())
}
