//! Webhook endpoints: the URLs to which a merchant's events are sent.

use super::columns::time;
use super::deliveries;
use super::error::{Failure, Refusal};
use super::executions;
use super::fields::Field;
use super::input::text;
use super::pages::Listed;
use super::request::ApiRequest;
use super::response::ApiResponse;
use super::store::Tx;
use oncekey::webhook::WebhookSecret;
use oncekey::webhook::target::check_target;
use platform::json::Json;
use platform::json::writer::JsonObject;
use platform::random;

/// The beginning of the ids.
const PREFIX: &str = "whe_";
const CREATE: &str = "webhook_endpoint.create";

/// How many endpoints a merchant may have. Each may use one of the object's six connections.
const MAX_ENDPOINTS: usize = 5;

/// How many secrets may sign an event.
const MAX_SECRETS: usize = 3;

text!(Url, "must be a URL", |_| true);

text!(
    /// One or more secrets that sign events, separated by spaces.
    Secrets,
    "must be up to three secrets, separated by spaces: each is whsec_ and then 24 to 64 bytes in base64",
    |text| {
        text.split(' ').count() <= MAX_SECRETS
            && text.split(' ').all(|secret| WebhookSecret::parse(secret).is_ok())
    }
);

/// Selects an endpoint as callers see it, with more members if there are any. Only the response that
/// creates an endpoint shows its secret.
macro_rules! select {
    ($more:literal) => {
        concat!(
            "SELECT json_object('id', id, 'object', 'webhook_endpoint', 'url', url, 'created_at', ",
            time!("created_at"),
            $more,
            ") FROM endpoints WHERE deleted_at IS NULL"
        )
    };
}

/// Makes an endpoint, or returns the one that this request's key made before.
pub(super) fn create(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    let mut fields = request.fields(&["url", "secret"])?;
    let url: Url = fields.take("url")?;
    check_target(url.as_str(), request.reach)
        .map_err(|error| Refusal::invalid("url", &error.to_string()))?;
    let given: Option<Secrets> = fields.optional("secret")?;
    // A caller who sends no secret gets another one with each attempt, so it is not compared.
    let is_generated = i64::from(given.is_none());
    let generate = || Secrets(WebhookSecret::from_random(random::bytes()).expose());
    let secrets = given.unwrap_or_else(generate);
    let with_secret = concat!(select!(", 'secret', secrets"), " AND id = ?");
    let query = "SELECT url = ? AND (secrets = ? OR ?) FROM endpoints WHERE id = ?";
    let content = [(&url).into(), (&secrets).into(), is_generated.into()];
    if let Some(made) = executions::made(tx, request, CREATE, query, &content)? {
        return Ok(request.created(&tx.object(with_secret, &made)?));
    }
    if current(tx)?.items.len() >= MAX_ENDPOINTS {
        let message =
            "This merchant has 5 endpoints already. Delete one, then send this request again.";
        return Err(Refusal::unreadable(message).into());
    }
    let id = random::id::<16>(PREFIX);
    tx.run(
        "INSERT INTO endpoints (id, url, secrets, created_at) VALUES (?, ?, ?, ?)",
        &[id.as_str().into(), (&url).into(), (&secrets).into(), request.now.into()],
    )?;
    executions::record(tx, request, CREATE, &id)?;
    Ok(request.created(&tx.object(with_secret, &id)?))
}

/// Replaces the secrets that sign. To rotate a secret without a gap, callers first send the old and the
/// new one together.
pub(super) fn set_secrets(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    let id = request.object_id(PREFIX)?;
    let secrets: Secrets = request.fields(&["secret"])?.take("secret")?;
    let is_new = tx.first(
        "UPDATE endpoints SET secrets = ?1 WHERE id = ?2 AND deleted_at IS NULL AND secrets <> ?1
         RETURNING seq",
        &[(&secrets).into(), id.into()],
        |[number]| number.as_i64(),
    )?;
    if is_new.is_some() {
        executions::record(tx, request, "webhook_endpoint.update", id)?;
    }
    Ok(request.found(&tx.object(concat!(select!(""), " AND id = ?"), id)?))
}

/// Lists the endpoints that were not deleted, oldest first.
pub(super) fn list(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    Ok(request.page(&current(tx)?))
}

fn current(tx: &Tx) -> Result<Listed, Failure> {
    let items = tx.all(concat!(select!(""), " ORDER BY seq"), &[], |[text]| text.to_text())?;
    Ok(Listed { items, next: None })
}

/// Deletes an endpoint: it receives no more events, and its secret is deleted. A second request changes
/// nothing.
pub(super) fn delete(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    let id = request.object_id(PREFIX)?;
    let mut deleted = tx.first(
        "UPDATE endpoints SET deleted_at = ?, secrets = '' WHERE id = ? AND deleted_at IS NULL
         RETURNING deleted_at",
        &[request.now.into(), id.into()],
        |[time]| time.as_time(),
    )?;
    if deleted.is_none() {
        let query = "SELECT deleted_at FROM endpoints WHERE id = ?";
        deleted = tx.first(query, &[id.into()], |[time]| time.as_time())?;
    } else {
        deliveries::cancel(tx, id)?;
        executions::record(tx, request, "webhook_endpoint.delete", id)?;
    }
    let deleted_at = deleted.ok_or_else(Refusal::no_such_object)?;
    let json = JsonObject::object("webhook_endpoint", id).time("deleted_at", deleted_at);
    Ok(request.found(&json.finish()))
}
