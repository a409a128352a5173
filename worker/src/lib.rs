//! The oncekey gateway as a Cloudflare Worker: it deduplicates the writes of the API behind it.
//!
//! This crate is a shell. It reads requests, asks the shard of a key, calls the origin and writes
//! answers; what a key may do is decided by the `oncekey` crate. Start reading at
//! `gateway/mod.rs`.

mod admin;
mod config;
mod gateway;
mod http;
mod metrics;
mod pages;
mod sandbox;
mod shard;

use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use gateway::outcome::Outcome;
use gateway::webhook;
use http::context::Caller;
use http::cors;
use http::request::Incoming;
use http::response::Answer;
use oncekey::request::path::leaves_root;
use oncekey::webhook::is_inbound;
use oncekey::{Dialect, Rejection, RequestKind};
use platform::{panic, random};
use std::rc::Rc;
use worker::{Context, Env, Request, Response, Result, event};

/// Every request to the Worker.
///
/// The work is a task of its own, given to `wait_until`: it goes on to its end when the caller hangs
/// up, because what the origin does must be recorded whoever still listens.
#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> Result<Response> {
    panic::arm(request.headers());
    let incoming = Incoming::new(request);
    let request_id = random::request_id();
    let config = match config::load(&env) {
        Ok(config) => config,
        Err(error) => return Ok(misconfigured(error, &incoming, &request_id)),
    };
    if let Some(mut answer) = cors::preflight(&config.cors, &incoming) {
        answer.set("x-request-id", &request_id);
        return Ok(answer.into_response());
    }
    let caller = Rc::new(Caller::new(env, config, &incoming, request_id));
    let (sender, receiver) = oneshot::channel();
    let inside = Rc::clone(&caller);
    let work = panic::contain(async move {
        let Outcome { answer, after } = respond(&inside, incoming).await;
        let answer = metrics::tell(&inside, answer);
        // The caller may have gone; the rest is done all the same.
        let _ = sender.send(answer);
        if let Some(after) = after {
            after.await;
        }
    })
    .shared();
    context.wait_until(work.clone().map(drop));
    let answer = match select(receiver, work).await {
        Either::Left((Ok(answer), _)) => answer,
        _ => caller.reject(&Rejection::Internal),
    };
    let (response, delivery) = caller.finish(answer);
    if let Some(delivery) = delivery {
        context.wait_until(panic::contain(delivery).map(drop));
    }
    Ok(response)
}

/// What a path is told that goes up over its start where it is read carelessly.
const NO_WAY_OUT: &str =
    "The path contains `..` segments that leave this API. Send it without them.";

/// The answer to a request, and what is left to do once it has gone out.
async fn respond(caller: &Caller, incoming: Incoming) -> Outcome {
    if leaves_root(&incoming.path) {
        caller.reject(&Rejection::Invalid(NO_WAY_OUT.to_owned())).into()
    } else if let Some(page) = pages::answer(caller, &incoming).await {
        page.into()
    } else if incoming.path.starts_with("/_oncekey/") {
        admin::handle(caller, &incoming).await.into()
    } else if is_inbound(&incoming.path) {
        webhook::handle(caller, &incoming).await
    } else {
        gateway::handle(caller, incoming).await
    }
}

/// A Worker that is not set up right serves nothing: it says what is wrong.
fn misconfigured(error: String, incoming: &Incoming, request_id: &str) -> Response {
    worker::console_error!("{error}");
    let rejection = Rejection::Misconfigured(error);
    let is_keyed = incoming.is_write() && incoming.header("idempotency-key").is_some();
    let asked = if is_keyed { RequestKind::KeyedWrite } else { RequestKind::Write };
    let accept = incoming.header("accept");
    let mut answer = Answer::of_rejection(&rejection, Dialect::Kukopay, accept, request_id, asked);
    answer.set("x-request-id", request_id);
    answer.into_response()
}
