//! Sends the deliveries that are due, from the object's alarm.
//!
//! Each endpoint has a lane of its own with one request at a time. So an endpoint that hangs does not
//! delay other endpoints, and an object has at most as many open connections as endpoints. A lane claims a delivery in
//! one transaction, sends it, and records the attempt in another.

use super::deliveries::{self, Claimed, DeliveryAttempt};
use super::error::Failure;
use super::store;
use oncekey::webhook::target::{Reach, check_target};
use oncekey::webhook::{self, WebhookSecret};
use oncekey::{Millis, UnixMillis};
use platform::task::contain;
use platform::{clock, random};
use std::cell::Cell;
use std::rc::Rc;
use worker::js_sys;
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{
    AbortSignal, Request, RequestInit, RequestRedirect, Response, WorkerGlobalScope,
};
use worker::{Headers, Storage};

/// How long an attempt may take.
const TIMEOUT: Millis = Millis::from_seconds(10);

/// How long one alarm claims deliveries. The next alarm follows at once and sends the rest. The platform
/// allows an alarm 15 minutes.
const ALARM_TIME: Millis = Millis::from_seconds(60);

/// How often a lane without work looks for new deliveries while other lanes wait for their endpoints.
const IDLE: Millis = Millis::new(250);

struct Sender {
    storage: Rc<Storage>,
    reach: Reach,
    until: UnixMillis,
    /// The number of lanes that wait for their endpoints.
    busy: Cell<u32>,
}

/// Sends the deliveries that are due.
pub(super) async fn send_due(storage: Rc<Storage>, reach: Reach) -> Result<(), Failure> {
    let now = clock::now();
    let endpoints = store::transaction(&storage, |tx| deliveries::endpoints_due(tx, now))?;
    let until = now.plus(ALARM_TIME);
    let sender = Rc::new(Sender { storage, reach, until, busy: Cell::new(0) });
    // Each lane is a task of its own, so a panic in one does not stop the others.
    let lanes: Vec<_> =
        endpoints.into_iter().map(|endpoint| contain(lane(Rc::clone(&sender), endpoint))).collect();
    for lane in lanes {
        if let Ok(Err(error)) = lane.await {
            worker::console_error!("webhooks: {error}");
        }
    }
    Ok(())
}

async fn lane(sender: Rc<Sender>, endpoint: String) -> Result<(), Failure> {
    loop {
        let now = clock::now();
        if now >= sender.until {
            return Ok(());
        }
        match store::transaction(&sender.storage, |tx| deliveries::claim(tx, &endpoint, now))? {
            Some(claimed) => {
                sender.busy.set(sender.busy.get() + 1);
                let attempt = attempt(&claimed, sender.reach).await;
                sender.busy.set(sender.busy.get() - 1);
                let random = u32::from_le_bytes(random::bytes());
                store::transaction(&sender.storage, |tx| {
                    deliveries::record(tx, &claimed, &attempt, clock::now(), random)
                })?;
            }
            None if sender.busy.get() == 0 => return Ok(()),
            None => clock::sleep(IDLE).await,
        }
    }
}

async fn attempt(claimed: &Claimed, reach: Reach) -> DeliveryAttempt {
    let at = clock::now();
    // Checked again, because WEBHOOK_TARGETS may have changed since the endpoint was created.
    let (status, error) = match check_target(&claimed.url, reach) {
        Err(_) => (None, Some("target_refused")),
        Ok(()) => match post(claimed, at).await {
            Ok(status) => (Some(status), None),
            Err(_) if clock::now().since(at) >= TIMEOUT => (None, Some("timed_out")),
            Err(_) => (None, Some("no_response")),
        },
    };
    DeliveryAttempt { at, duration: clock::now().since(at), status, error }
}

/// Sends an event and returns the status of the response, whose body is not read.
async fn post(claimed: &Claimed, now: UnixMillis) -> worker::Result<u16> {
    let (id, body) = (claimed.event.as_str(), claimed.body.as_str());
    let seconds = now.as_u64() / 1000;
    let secrets = claimed.secrets.split(' ').filter_map(|secret| WebhookSecret::parse(secret).ok());
    let signatures: Vec<_> =
        secrets.map(|secret| webhook::sign(&secret, id, seconds, body.as_bytes())).collect();
    let headers = Headers::new();
    for (name, value) in [
        ("content-type", "application/json"),
        ("user-agent", "oncekey-sandbox"),
        ("webhook-id", id),
        ("webhook-timestamp", &seconds.to_string()),
        ("webhook-signature", &signatures.join(" ")),
    ] {
        headers.set(name, value)?;
    }
    let init = RequestInit::new();
    init.set_method("POST");
    init.set_headers(headers.as_ref());
    init.set_body(&JsValue::from_str(body));
    // A redirect could lead to a forbidden target.
    init.set_redirect(RequestRedirect::Manual);
    init.set_signal(Some(&AbortSignal::timeout_with_u32(TIMEOUT.as_u64() as u32)));
    let request = Request::new_with_str_and_init(&claimed.url, &init)?;
    let scope: WorkerGlobalScope = js_sys::global().unchecked_into();
    let response = JsFuture::from(scope.fetch_with_request(&request)).await?;
    let response: Response = response.dyn_into()?;
    if let Some(body) = response.body() {
        let _ = JsFuture::from(body.cancel()).await;
    }
    Ok(response.status())
}
