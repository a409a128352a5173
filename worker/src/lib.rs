//! The oncekey gateway as a Cloudflare Worker: it deduplicates the writes of the API behind it.
//!
//! This crate is a shell. It reads requests, calls the shard that stores a key's record, calls the
//! origin and writes responses. The `oncekey` crate holds the rules. Start reading at `gateway/mod.rs`.
//!
//! Some words are used only here. *Room* is memory for bodies, which a `Reservation` counts. *Patience*
//! is how often and how long a call to a shard is tried. *Odd* headers have values that are not UTF-8,
//! and stay in the platform's own objects. An *isolate* is one running copy of this Worker. The *bridge* is
//! the JavaScript side of a request: it reads, sends and waits, and each of these is one call.

mod admin;
mod config;
mod gateway;
mod http;
mod metrics;
mod pages;
mod sandbox;
mod shard;

use futures_util::future::{OptionFuture, join};
use gateway::outcome::GatewayOutcome;
use gateway::refusal::Refusal;
use gateway::webhook;
use http::bridge::Bridge;
use http::context::Caller;
use http::cors;
use http::request::HttpRequest;
use http::response::HttpResponse;
use oncekey::request::path::leaves_root;
use oncekey::{Dialect, Rejection, RequestKind};
use platform::{panic, random, task};
use std::rc::Rc;
use wasm_bindgen::prelude::wasm_bindgen;

/// Handles a request to the Worker. `worker/entry.mjs` calls it at the time `now`. In a Worker with oncekey inside,
/// `options` are those of the handler: names and values, with a NUL between them.
#[wasm_bindgen(js_name = oncekeyFetch)]
#[expect(private_interfaces, reason = "only JavaScript calls it")]
pub fn fetch(bridge: Bridge, now: f64, head: &str, options: Option<String>) {
    task::turn(now, || receive(&Rc::new(bridge), head, options.as_deref()));
}

/// Starts the task that responds to a request. The task continues after the caller has hung up, because the gateway
/// must record the origin's response.
fn receive(bridge: &Rc<Bridge>, head: &str, options: Option<&str>) {
    let mut request = HttpRequest::new(bridge, head);
    panic::arm(|name| request.header(name));
    let request_id = random::request_id();
    let config = match config::load(bridge, options) {
        Ok(config) => config,
        Err(error) => {
            misconfigured(error, &request, &request_id).send(bridge);
            return bridge.end();
        }
    };
    if let Some(mut response) = cors::preflight(&config, &request) {
        response.set("x-request-id", &request_id);
        response.send(bridge);
        return bridge.end();
    }
    if config.ignores_blank_key {
        config.key_headers.remove_blank(&mut request.headers);
    }
    let caller = Rc::new(Caller::new(Rc::clone(bridge), config, &request, request_id));
    let inside = Rc::clone(&caller);
    let work = async move {
        let outcome = respond(&inside, request).await;
        let GatewayOutcome { response, after } =
            outcome.unwrap_or_else(|refusal| refusal.into_response(&inside).into());
        let response = metrics::report(&inside, response);
        let delivery = OptionFuture::from(inside.send(response));
        let after = async {
            for work in after {
                work.await;
            }
        };
        join(delivery, after).await;
        inside.bridge.end();
    };
    task::spawn(work, move || {
        caller.send(caller.reject(&Rejection::Internal));
        caller.bridge.end();
    });
}

/// The error for a path that some origins would resolve to a place outside of this API.
const NO_WAY_OUT: &str =
    "The path contains `..` segments that leave this API. Send it without them.";

/// Returns the response to a request, and the work to do after the response was sent.
async fn respond(caller: &Caller, request: HttpRequest) -> Result<GatewayOutcome, Refusal> {
    if leaves_root(&request.path) {
        Err(Rejection::Invalid(NO_WAY_OUT.to_owned()).into())
    } else if let Some(page) = pages::serve(caller, &request).await {
        Ok(page.into())
    } else if request.path.starts_with("/_oncekey/") {
        admin::handle(caller, &request).await.map(GatewayOutcome::from)
    } else if caller.config.receives(&request.path) {
        Ok(webhook::handle(caller, &request).await?)
    } else {
        gateway::handle(caller, request).await
    }
}

/// Returns the error response of a Worker whose settings are wrong. Such a Worker returns it for every
/// request.
fn misconfigured(error: String, request: &HttpRequest, request_id: &str) -> HttpResponse {
    platform::console_error!("{error}");
    let rejection = Rejection::Misconfigured(error);
    let is_keyed = request.is_write() && request.header("idempotency-key").is_some();
    let asked = if is_keyed { RequestKind::KeyedWrite } else { RequestKind::Write };
    let accept = request.header("accept");
    let mut response =
        HttpResponse::of_rejection(&rejection, Dialect::Kukopay, accept, request_id, asked);
    response.set("x-request-id", request_id);
    response
}
