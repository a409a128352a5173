//! A layer for axum that makes writes safe to retry. Its records are in SQLite.

mod http;
mod store;

pub use store::SqliteStore;

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::{Router, response::Response};
use http::{Reply, Whole, compared, current, list, now, response, whole};
use oncekey::store::Store;
use oncekey::*;
use std::{sync::Arc, time::Duration};

const LIMIT: usize = 1 << 20;
type Keys = (Arc<SqliteStore>, Policy);

/// Protects all routes: each write needs an idempotency key, and is executed once.
pub fn protect(routes: Router, store: SqliteStore, policy: Policy) -> Router {
    routes.layer(from_fn_with_state((Arc::new(store), policy), layer))
}

async fn layer(State(keys): State<Keys>, request: Request, next: Next) -> Response {
    if request.method().is_safe() {
        return next.run(request).await;
    }
    let id = format!("req_{:016x}", getrandom::u64().expect("the system has random bytes"));
    write(keys, request, next, id.clone()).await.unwrap_or_else(|why| http::error(&why, &id))
}

async fn write(keys: Keys, request: Request, next: Next, id: String) -> Reply {
    let ((store, policy), (parts, body)) = (keys, request.into_parts());
    let headers = list(&parts.headers);
    let missing = || Rejection::KeyMissing("Idempotency-Key".to_owned());
    let key = headers.joined("idempotency-key").ok_or_else(missing)?;
    let key = IdempotencyKey::parse_header(&key).map_err(Rejection::KeyMalformed)?;
    let scope = Scope::derive(&ScopeSources::default(), &ScopeAliases::default(), headers.iter());
    let name = ScopedKey::new(&scope.map_err(Rejection::NoScope)?, &key);
    let body = to_bytes(body, LIMIT).await.map_err(|_| Rejection::BodyTooLarge(LIMIT as u64))?;
    let compared = compared(&parts, &headers, &body);
    let fingerprints = &Fingerprints::compute(&compared, &FingerprintSecrets::none());
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|_| Rejection::Internal)?;
    let (token, sent_at) = (AttemptToken::new(random), now());
    let attempt = Attempt { fingerprints, token, minted_at: key.minted_at(), policy: &policy };
    let begun = store.begin(&name, &attempt, sent_at).map_err(|_| Rejection::StoreUnavailable)?;
    let Decision::Execute(execution) = begun.decision else { return current(begun.decision) };
    if !execution.may_dispatch(sent_at, now()) {
        let _ = store.fail(&name, token, FailCause::NotDispatched, now());
        return Err(Rejection::TooLateToDispatch);
    }
    let response = next.run(Request::from_parts(parts, body.into()));
    // Tasks go on when the caller disconnects. A panic of the handler ends only its own task.
    let mut handler = tokio::spawn(async { whole(response.await).await });
    let ending = tokio::spawn(async move {
        let half_a_lease = Duration::from_millis(execution.renew_after().as_u64());
        loop {
            match tokio::time::timeout(half_a_lease, &mut handler).await {
                Ok(ended) => return end(&store, &name, token, ended.ok().flatten(), &id),
                Err(_) => drop(store.renew(&name, token, now())),
            }
        }
    });
    ending.await.unwrap_or(Err(Rejection::Internal))
}

/// Records the end of an attempt, and returns what its caller gets.
fn end(
    store: &SqliteStore,
    name: &ScopedKey,
    token: AttemptToken,
    ended: Option<Whole>,
    id: &str,
) -> Reply {
    let Some((status, mut headers, body)) = ended else {
        // The handler panicked, but may have done its work.
        let failed = store.fail(name, token, FailCause::ConnectionLost, now());
        return match failed.map(|failed| failed.decision) {
            Ok(Completion::LeaseLost(decision)) => current(*decision),
            _ => Err(Rejection::OriginUnreachable(Recourse::OnHold)),
        };
    };
    let kept = StoredResponse::keep(status, headers.clone(), body.clone(), id, LIMIT).0;
    match store.complete(name, token, kept, now()).map(|completed| completed.decision) {
        Ok(Completion::Recorded) => {}
        // The attempt was overtaken, so the caller gets the key's response or state.
        Ok(Completion::LeaseLost(decision)) => return current(*decision),
        // An error could lead to a second execution, so the caller gets the response.
        Ok(Completion::RecordGone) | Err(_) => {
            let _ = store.fail(name, token, FailCause::NotStored, now());
            headers.push(("idempotency-stored".to_owned(), "false".to_owned()));
        }
    }
    Ok(response(status, headers, body))
}
