//! Questions to the origin about a caller: who it is (`SCOPE=origin:…`), and whether it may still read a
//! stored response (`REPLAY_AUTHORIZATION`). The core (`oncekey::scope`) says what an answer means.

use crate::gateway::origin::{self, Limits, OriginBody, OriginResponse};
use crate::gateway::origin_request::OriginRequest;
use crate::gateway::refusal::Refusal;
use crate::http::context::Caller;
use crate::http::request::HttpRequest;
use futures_util::future::LocalBoxFuture;
use oncekey::budget::SMALL;
use oncekey::scope::{KnownCallers, OriginAnswer, OriginScope, OriginVerdict};
use oncekey::{IdentitySource, Millis, Rejection, Scope};
use platform::clock;
use std::cell::RefCell;

/// How long an answer may take. It is short, because the platform lets a request run on for only 30 s after
/// its caller has gone, and the origin needs most of this time for its own work.
const ANSWER: Millis = Millis::from_seconds(4);

thread_local! {
    static KNOWN: RefCell<KnownCallers> = const { RefCell::new(KnownCallers::new()) };
}

/// Returns the scope of a request that the origin knows.
pub(crate) async fn scope_of(
    caller: &Caller,
    request: &HttpRequest,
    question: &OriginScope,
) -> Result<Scope, Refusal> {
    let (credential, asked_at) = (question.credential(), clock::now());
    let age = caller.config.scope_cache;
    if let Some(scope) = KNOWN.with_borrow(|known| known.recall(credential, age, asked_at)) {
        return Ok(scope);
    }
    let is_credential = |name: &str| question.is_credential(name);
    let unclear = || Rejection::IdentityUnavailable(IdentitySource::Origin);
    let (response, body) =
        ask(caller, request, question.path(), &is_credential).await.ok_or_else(unclear)?;
    let headers = response.headers_of_read_body(&body);
    let whole = match &body {
        OriginBody::Whole(bytes) => Some(&bytes[..]),
        OriginBody::Part(_) => None,
    };
    match question.answered(response.status, &headers, whole) {
        OriginAnswer::Is(scope) => {
            KNOWN.with_borrow_mut(|known| known.keep(*credential, scope, asked_at));
            Ok(scope)
        }
        OriginAnswer::Refused => Err(Refusal::ByOrigin(response.with_body(body))),
        OriginAnswer::Unclear => Err(unclear().into()),
    }
}

/// Asks whether the caller may read what an earlier request got. A caller without a credential has nothing
/// that could be revoked.
pub(crate) async fn may_read(caller: &Caller, request: &HttpRequest) -> Result<(), Refusal> {
    let Some(path) = &caller.config.replay_authorization else { return Ok(()) };
    let is_credential = |name: &str| caller.config.scope.is_credential(name);
    if !request.headers.iter().any(|(name, value)| is_credential(name) && !value.is_empty()) {
        return Ok(());
    }
    let unclear = || Rejection::IdentityUnavailable(IdentitySource::ReplayAuthorization);
    let (response, body) = ask(caller, request, path, &is_credential).await.ok_or_else(unclear)?;
    match OriginVerdict::of_status(response.status) {
        OriginVerdict::Accepted => Ok(()),
        OriginVerdict::Refused => Err(Refusal::ByOrigin(response.with_body(body))),
        OriginVerdict::Unclear => Err(unclear().into()),
    }
}

/// Sends the caller's credential to a path of the origin. Returns `None` if there is no response in time. The future is
/// in a box, because each caller would contain its code once more.
fn ask<'a>(
    caller: &'a Caller,
    request: &HttpRequest,
    path: &str,
    is_credential: &dyn Fn(&str) -> bool,
) -> LocalBoxFuture<'a, Option<(OriginResponse, OriginBody)>> {
    let question = OriginRequest::question(request, path, is_credential, &caller.request_id);
    Box::pin(async move {
        let limits = Limits { time: ANSWER, body: SMALL as usize };
        let mut response = origin::call(caller, question, Some(limits)).await.ok()?;
        let body = response.read_body(limits.body, &caller.room).await.ok()?;
        Some((response, body))
    })
}
