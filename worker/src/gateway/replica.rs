//! Workers KV as a replica of responses, for replays while a shard is slow or unavailable.

use crate::http::body_budget::Reservation;
use futures_util::StreamExt;
use oncekey::budget::SMALL;
use oncekey::{Attempt, Decision, Millis, Record, ScopedKey, Step, replica};
use platform::clock;
use worker::js_sys::{Object, Promise, Reflect, Uint8Array};
use worker::wasm_bindgen::{self, JsCast, JsValue, prelude::wasm_bindgen};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::ReadableStream;
use worker::{ByteStream, Env};

/// The binding of the namespace. A Worker without it has no replica.
const BINDING: &str = "REPLICA";

/// The shortest time for which KV keeps a value. A copy with less time left is not written.
pub(crate) const SHORTEST: Millis = Millis::from_seconds(60);

/// How long a read may take.
const PATIENCE: Millis = Millis::new(1000);

#[wasm_bindgen]
extern "C" {
    /// A KV namespace. The `worker` crate's own type writes its options through serde, which adds
    /// more code than this module.
    type Namespace;

    #[wasm_bindgen(method, catch)]
    fn put(
        this: &Namespace,
        key: &str,
        value: &Uint8Array,
        options: &Object,
    ) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn get(this: &Namespace, key: &str, kind: &str) -> Result<Promise, JsValue>;
}

/// Writes a copy of a new response. No caller waits for it, and a failure is only logged.
pub(crate) async fn put(env: &Env, name: ScopedKey, record: &Record, left: Millis) {
    let Some(namespace) = namespace(env) else { return };
    let written = async {
        let options = Object::new();
        let seconds = (left.as_u64() / 1000) as f64;
        Reflect::set(&options, &"expirationTtl".into(), &seconds.into())?;
        let bytes = Uint8Array::from(&record.encode()[..]);
        JsFuture::from(namespace.put(&key(name), &bytes, &options)?).await
    };
    if let Err(error) = written.await {
        worker::console_warn!("replica not written: {}", worker::Error::from(error));
    }
}

/// Returns the decision that the replica's copy proves. `None` proves nothing about the key: there may
/// be no copy, no memory for it, or no reply in time.
pub(crate) async fn ask(
    env: &Env,
    name: ScopedKey,
    attempt: &Attempt<'_>,
    room: &Reservation,
) -> Option<Step<Decision>> {
    let found = namespace(env)?.get(&key(name), "stream").ok()?;
    let read = async {
        let found = JsFuture::from(found).await.ok()?;
        let mut pieces = ByteStream::from(found.dyn_into::<ReadableStream>().ok()?);
        let (mut bytes, mut counted) = (Vec::new(), 0);
        while let Some(piece) = pieces.next().await {
            bytes.extend_from_slice(&piece.ok()?);
            let size = bytes.len() as u64;
            if size > SMALL {
                // A copy that does not fit into memory is not used.
                room.fits_replay(size - counted).then_some(())?;
                counted = size;
            }
        }
        Some(bytes)
    };
    let bytes = clock::within(PATIENCE, read).await??;
    let copy = Record::decode(&bytes).ok()?;
    replica::verify(copy, attempt, clock::now())
}

fn namespace(env: &Env) -> Option<Namespace> {
    let bound = Reflect::get(env, &BINDING.into()).ok()?;
    bound.is_object().then(|| bound.unchecked_into())
}

fn key(name: ScopedKey) -> String {
    format!("answer-1/{}", name.hex())
}
