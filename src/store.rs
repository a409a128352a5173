//! A store of records, for a server that runs the lifecycle itself.
//!
//! The functions of [`lifecycle`] take a record and return the record to store. A [`Store`] connects them
//! with a database: it reads the record, lets the lifecycle decide, and stores the result, in one
//! transaction. This example keeps records in memory; `examples/axum` in the repository keeps them in
//! SQLite.
//!
//! ```
//! use oncekey::store::Store;
//! use oncekey::{Record, RecordError, RecordUpdate, ScopedKey, Transition};
//! use std::collections::BTreeMap;
//! use std::sync::Mutex;
//!
//! #[derive(Default)]
//! struct MemoryStore(Mutex<BTreeMap<ScopedKey, Vec<u8>>>);
//!
//! impl Store for MemoryStore {
//!     type Error = RecordError;
//!
//!     fn transact<D>(
//!         &self,
//!         name: &ScopedKey,
//!         decide: impl FnOnce(Option<Record>) -> Transition<D>,
//!     ) -> Result<Transition<D>, RecordError> {
//!         // Nobody else changes the record while the lock is held.
//!         let mut records = self.0.lock().expect("no call has panicked");
//!         let record = records.get(name).map(|bytes| Record::decode(bytes)).transpose()?;
//!         let transition = decide(record);
//!         match &transition.next {
//!             RecordUpdate::Keep => {}
//!             RecordUpdate::Write(record) => {
//!                 records.insert(*name, record.encode());
//!             }
//!             RecordUpdate::Remove => {
//!                 records.remove(name);
//!             }
//!         }
//!         Ok(transition)
//!     }
//! }
//! # use oncekey::{Decision, FailCause, Attempt, Fingerprints, FingerprintSecrets, IdempotencyKey, Completion};
//! # use oncekey::{AttemptToken, Policy, Renewal, Scope, StoredResponse, UnixMillis, fingerprint::RequestParts};
//! # let store = MemoryStore::default();
//! # let request = RequestParts { method: "POST", path: "/", query: None, content_type: None,
//! #     content_encoding: None, body: b"", ignore: &[] };
//! # let fingerprints = &Fingerprints::compute(&request, &FingerprintSecrets::none());
//! # let policy = Policy::default();
//! # let key = IdempotencyKey::parse_header("k").unwrap();
//! # let name = ScopedKey::new(&Scope::of_tenant("acme"), &key);
//! # let attempt = |byte| Attempt {
//! #     fingerprints, token: AttemptToken::new([byte; 16]), minted_at: None, policy: &policy,
//! # };
//! # let now = UnixMillis::new(1_764_000_000_000);
//! # let response = || StoredResponse::keep(201, [], vec![], "req_1", 100).0;
//! # let begun = store.begin(&name, &attempt(1), now).unwrap().decision;
//! # assert!(matches!(begun, Decision::Execute(_)));
//! # assert_eq!(store.begin(&name, &attempt(2), now).unwrap().decision, Decision::InProgress);
//! # assert_eq!(store.renew(&name, AttemptToken::new([1; 16]), now).unwrap().decision, Renewal::Renewed);
//! # // A clock that went back changes nothing.
//! # let ended = store.complete(&name, AttemptToken::new([1; 16]), response(), UnixMillis::new(0)).unwrap();
//! # assert_eq!(ended.decision, Completion::Recorded);
//! # let replay = store.begin(&name, &attempt(2), now).unwrap().decision;
//! # assert_eq!(replay, Decision::Replay(response()));
//! # let other = ScopedKey::new(&Scope::of_tenant("other"), &key);
//! # let gone = store.fail(&other, AttemptToken::new([1; 16]), FailCause::TimedOut, now).unwrap();
//! # assert_eq!(gone.decision, Completion::RecordGone);
//! ```

use crate::decision::{Completion, Decision, FailCause, Renewal, Transition};
use crate::lifecycle::{self, Attempt};
use crate::record::{AttemptToken, Record};
use crate::response::StoredResponse;
use crate::scope::ScopedKey;
use crate::time::UnixMillis;

/// A database that keeps records.
///
/// An asynchronous server calls a store on a thread that may wait, such as tokio's `spawn_blocking`. A
/// database with only an asynchronous driver needs a function of its own with the steps of
/// [`transact`](Self::transact): load, decide and store, in one transaction.
pub trait Store {
    /// Why a record cannot be read or stored.
    type Error;

    /// Reads the record of a key, calls `decide` with it, and updates the record as
    /// [`Transition::next`] says.
    ///
    /// - Nothing else may change the record in between, in this process or another: use a lock, `BEGIN
    ///   IMMEDIATE` in SQLite, or in other databases an advisory lock on the name. A lock on the row
    ///   is not enough, because a new key has no row.
    /// - Return only when the change is durable. Otherwise a crash could forget an attempt that the
    ///   caller has started.
    /// - If a stored record cannot be decoded, return the error. It must not count as absent, because its
    ///   request would then be executed again.
    /// - `decide` is called at most once. If the database asks to repeat the transaction, return an error,
    ///   and let the caller call again with the same token.
    fn transact<D>(
        &self,
        name: &ScopedKey,
        decide: impl FnOnce(Option<Record>) -> Transition<D>,
    ) -> Result<Transition<D>, Self::Error>;

    /// Runs [`lifecycle::begin`].
    fn begin(
        &self,
        name: &ScopedKey,
        attempt: &Attempt<'_>,
        now: UnixMillis,
    ) -> Result<Transition<Decision>, Self::Error> {
        self.transact(name, |record| {
            let now = time(record.as_ref(), now);
            lifecycle::begin(record, attempt, now)
        })
    }

    /// Runs [`lifecycle::renew`].
    fn renew(
        &self,
        name: &ScopedKey,
        token: AttemptToken,
        now: UnixMillis,
    ) -> Result<Transition<Renewal>, Self::Error> {
        self.transact(name, |record| {
            let now = time(record.as_ref(), now);
            lifecycle::renew(record, token, now)
        })
    }

    /// Runs [`lifecycle::complete`].
    fn complete(
        &self,
        name: &ScopedKey,
        token: AttemptToken,
        response: StoredResponse,
        now: UnixMillis,
    ) -> Result<Transition<Completion>, Self::Error> {
        self.transact(name, |record| {
            let now = time(record.as_ref(), now);
            lifecycle::complete(record, token, response, now)
        })
    }

    /// Runs [`lifecycle::fail`].
    fn fail(
        &self,
        name: &ScopedKey,
        token: AttemptToken,
        cause: FailCause,
        now: UnixMillis,
    ) -> Result<Transition<Completion>, Self::Error> {
        self.transact(name, |record| {
            let now = time(record.as_ref(), now);
            lifecycle::fail(record, token, cause, now)
        })
    }
}

/// Returns the time of a decision. It is never before the record's last change, so a clock that was set back
/// does not revive a lease.
fn time(record: Option<&Record>, now: UnixMillis) -> UnixMillis {
    lifecycle::decision_time(now, UnixMillis::new(0), record)
}
