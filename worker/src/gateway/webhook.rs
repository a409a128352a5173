//! Webhooks that come in: source → headers → body → signature → begin → origin → complete → response.
//!
//! The id of an event is its key, and its source is the scope. From `begin` on, an event is handled
//! like a keyed write. Until the signature is checked, no shard is called and nothing is stored.

use crate::gateway::outcome::GatewayOutcome;
use crate::gateway::record::RecordHandle;
use crate::gateway::run::WriteRun;
use crate::http::body_budget::Reservation;
use crate::http::context::Caller;
use crate::http::request::HttpRequest;
use crate::shard::client::ShardClient;
use crate::shard::protocol::{Subject, Whose};
use oncekey::policy::ResponseRules;
use oncekey::request::key_headers::KeyHeaders;
use oncekey::webhook::{self, WebhookMessage};
use oncekey::write_flow::{Identity, Write};
use oncekey::{Rejection, Scope, ScopedKey};
use platform::clock;

/// Responds to a delivery of an event.
pub(crate) async fn handle(
    caller: &Caller,
    request: &HttpRequest,
) -> Result<GatewayOutcome, Rejection> {
    let config = &caller.config;
    let source = request.path.strip_prefix(webhook::PATH).unwrap_or_default();
    let secrets = config.webhook_sources.secrets_of(source).ok_or(Rejection::NotFound)?;
    if request.method != "POST" {
        return Err(Rejection::MethodNotAllowed("POST"));
    }
    let message = WebhookMessage::read(|name| request.header(name), clock::now());
    let message = message.map_err(Rejection::Webhook)?;
    let reservation = Reservation::of_request();
    let body = request.read_body(config.max_request, &reservation).await?;
    let id = message.verify(secrets, &body).map_err(Rejection::Webhook)?;

    let scope = Scope::of_source(source);
    let whose = Whose { scope, subject: Subject::Event };
    let shard = ShardClient::new(caller, ScopedKey::new(&scope, &id), Some(whose));
    caller.measure.counts();
    let names = KeyHeaders::default();
    let write_run = WriteRun {
        caller,
        request,
        body,
        write: Write {
            identity: Identity::Event,
            business_key: None,
            lease: config.policy.lease,
            unreachable: config.unreachable,
            unknown_outcome: config.policy.of_events().unknown_outcome,
            rules: ResponseRules::default(),
        },
        fingerprints: webhook::fingerprints(),
        // The receiver finds the id in `Idempotency-Key`, whatever `KEY_HEADERS` lists.
        key: Some((id, &names)),
        first: RecordHandle::new(shard, None, config.policy.of_events(), &caller.measure),
        second: None,
    };
    Ok(write_run.execute().await)
}
