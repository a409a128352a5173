//! The oncekey gateway as a Cloudflare Worker: it deduplicates the writes of the API behind it.
//!
//! This crate is a shell. It reads requests, calls the shard that stores a key's record, calls the
//! origin and writes responses. The `oncekey` crate holds the rules. Start reading at `gateway/mod.rs`.
//!
//! Some words are used only here. *Room* is memory for bodies, which a `Reservation` counts. *Patience*
//! is how often and how long a call to a shard is tried. *Odd* headers have values that are not UTF-8,
//! and stay in the platform's own objects. An *isolate* is one running copy of this Worker.

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
use gateway::outcome::GatewayOutcome;
use gateway::webhook;
use http::context::Caller;
use http::cors;
use http::request::HttpRequest;
use http::response::HttpResponse;
use oncekey::request::path::leaves_root;
use oncekey::webhook::is_inbound;
use oncekey::{Dialect, Rejection, RequestKind};
use platform::{panic, random};
use std::rc::Rc;
use worker::{Context, Env, Request, Response, event};

/// Handles every request to the Worker.
///
/// The work runs as a task that is given to `wait_until`. It continues after the caller has hung up,
/// because the gateway must record the origin's response.
#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> worker::Result<Response> {
    panic::arm(request.headers());
    let request = HttpRequest::new(request);
    let request_id = random::request_id();
    let config = match config::load(&env) {
        Ok(config) => config,
        Err(error) => return Ok(misconfigured(error, &request, &request_id)),
    };
    if let Some(mut response) = cors::preflight(&config.cors, &request) {
        response.set("x-request-id", &request_id);
        return Ok(response.into_response());
    }
    let caller = Rc::new(Caller::new(env, config, &request, request_id));
    let (sender, receiver) = oneshot::channel();
    let inside = Rc::clone(&caller);
    let work = panic::contain(async move {
        let outcome = respond(&inside, request).await;
        let GatewayOutcome { response, after } =
            outcome.unwrap_or_else(|rejection| inside.reject(&rejection).into());
        let response = metrics::report(&inside, response);
        // The work continues even if the caller has gone.
        let _ = sender.send(response);
        for work in after {
            work.await;
        }
    })
    .shared();
    context.wait_until(work.clone().map(drop));
    let response = match select(receiver, work).await {
        Either::Left((Ok(response), _)) => response,
        _ => caller.reject(&Rejection::Internal),
    };
    let (response, delivery) = caller.finish(response);
    if let Some(delivery) = delivery {
        context.wait_until(panic::contain(delivery).map(drop));
    }
    Ok(response)
}

/// The error for a path that some origins would resolve to a place outside of this API.
const NO_WAY_OUT: &str =
    "The path contains `..` segments that leave this API. Send it without them.";

/// Returns the response to a request, and the work to do after the response was sent.
async fn respond(caller: &Caller, request: HttpRequest) -> Result<GatewayOutcome, Rejection> {
    if leaves_root(&request.path) {
        Err(Rejection::Invalid(NO_WAY_OUT.to_owned()))
    } else if let Some(page) = pages::serve(caller, &request).await {
        Ok(page.into())
    } else if request.path.starts_with("/_oncekey/") {
        admin::handle(caller, &request).await.map(GatewayOutcome::from)
    } else if is_inbound(&request.path) {
        webhook::handle(caller, &request).await
    } else {
        gateway::handle(caller, request).await
    }
}

/// Returns the error response of a Worker whose settings are wrong. Such a Worker returns it for every
/// request.
fn misconfigured(error: String, request: &HttpRequest, request_id: &str) -> Response {
    worker::console_error!("{error}");
    let rejection = Rejection::Misconfigured(error);
    let is_keyed = request.is_write() && request.header("idempotency-key").is_some();
    let asked = if is_keyed { RequestKind::KeyedWrite } else { RequestKind::Write };
    let accept = request.header("accept");
    let mut response =
        HttpResponse::of_rejection(&rejection, Dialect::Kukopay, accept, request_id, asked);
    response.set("x-request-id", request_id);
    response.into_response()
}
