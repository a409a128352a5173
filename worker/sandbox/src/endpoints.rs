//! Webhook endpoints: the URLs to which a merchant's events are sent.

use super::call::Call;
use super::columns::time;
use super::deliveries;
use super::error::{Failure, Refusal};
use super::executions;
use super::fields::Field;
use super::input::text;
use super::pages::Listed;
use super::reply::Reply;
use super::store::{Row, Tx};
use oncekey::webhook::WebhookSecret;
use oncekey::webhook::target::check_target;
use platform::json::Json;
use platform::json::writer::JsonObject;
use platform::random;

/// The beginning of the ids.
const PREFIX: &str = "whe_";
const CREATE: &str = "webhook_endpoint.create";

/// How many endpoints a merchant may have. Each may use one of the object's six connections.
const MOST: usize = 5;

/// How many secrets may sign an event.
const MOST_SECRETS: usize = 3;

text!(Url, "must be an URL", |_| true);

text!(
    /// One or more secrets that sign events, separated by spaces.
    Secrets,
    "must be one to three secrets separated by spaces, each of them whsec_ and 24 to 64 bytes in base64",
    |text| {
        text.split(' ').count() <= MOST_SECRETS
            && text.split(' ').all(|secret| WebhookSecret::parse(secret).is_ok())
    }
);

/// An endpoint as callers see it, with more members if there are any. Only the response that creates
/// an endpoint shows its secret.
macro_rules! shown {
    ($more:literal) => {
        concat!(
            "SELECT json_object('id', id, 'object', 'webhook_endpoint', 'url', url, 'created_at', ",
            time!("created_at"),
            $more,
            ") FROM endpoints WHERE deleted_at IS NULL"
        )
    };
}

/// Makes an endpoint, or finds the one that this call's key made before.
pub(super) fn create(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    let mut fields = call.body(&["url", "secret"])?;
    let url: Url = fields.take("url")?;
    check_target(url.as_str(), call.reach)
        .map_err(|error| Refusal::invalid("url", &error.to_string()))?;
    let given: Option<Secrets> = fields.optional("secret")?;
    // If the caller sends no secret, each attempt generates another one, so the secrets are not compared.
    let is_minted = i64::from(given.is_none());
    let minted = || Secrets(WebhookSecret::from_random(random::bytes()).expose());
    let secrets = given.unwrap_or_else(minted);
    let (url, secrets) = ((&url).into(), (&secrets).into());
    let query = "SELECT url = ? AND (secrets = ? OR ?) FROM endpoints WHERE id = ?";
    let shown = concat!(shown!(", 'secret', secrets"), " AND id = ?");
    let content = [url, secrets, is_minted.into()];
    if let Some(made) = executions::made(tx, call, CREATE, query, &content)? {
        return Ok(call.created(&tx.shown(shown, &made)?));
    }
    if current(tx)?.items.len() >= MOST {
        return Err(Refusal::unreadable(
            "There are already 5 endpoints. Delete one of them first.",
        )
        .into());
    }
    let id = &random::id::<16>(PREFIX);
    tx.run(
        "INSERT INTO endpoints (id, url, secrets, created_at) VALUES (?, ?, ?, ?)",
        &[id.into(), url, secrets, call.now.into()],
    )?;
    executions::record(tx, call, CREATE, id)?;
    Ok(call.created(&tx.shown(shown, id)?))
}

/// Replaces the secrets that sign events. To rotate a secret without a gap, callers first send the old
/// and the new secret together.
pub(super) fn set_secrets(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    let id = call.id(PREFIX)?;
    let secrets: Secrets = call.body(&["secret"])?.take("secret")?;
    let is_new = tx.first(
        "UPDATE endpoints SET secrets = ?1 WHERE id = ?2 AND deleted_at IS NULL AND secrets <> ?1
         RETURNING seq",
        &[(&secrets).into(), id.into()],
        Row::integer,
    )?;
    if is_new.is_some() {
        executions::record(tx, call, "webhook_endpoint.update", id)?;
    }
    Ok(call.found(&tx.shown(concat!(shown!(""), " AND id = ?"), id)?))
}

/// Lists the endpoints that were not deleted, oldest first.
pub(super) fn list(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    Ok(call.page(&current(tx)?))
}

fn current(tx: &Tx) -> Result<Listed, Failure> {
    let items = tx.all(concat!(shown!(""), " ORDER BY seq"), &[], Row::text)?;
    Ok(Listed { items, next: None })
}

/// Deletes an endpoint: it receives nothing more, and its secret is forgotten. A second call changes
/// nothing.
pub(super) fn delete(tx: &Tx, call: &Call) -> Result<Reply, Failure> {
    let id = call.id(PREFIX)?;
    let mut deleted = tx.first(
        "UPDATE endpoints SET deleted_at = ?, secrets = '' WHERE id = ? AND deleted_at IS NULL
         RETURNING deleted_at",
        &[call.now.into(), id.into()],
        Row::time,
    )?;
    if deleted.is_none() {
        let query = "SELECT deleted_at FROM endpoints WHERE id = ?";
        deleted = tx.first(query, &[id.into()], Row::time)?;
    } else {
        deliveries::cancel(tx, id)?;
        executions::record(tx, call, "webhook_endpoint.delete", id)?;
    }
    let deleted_at = deleted.ok_or_else(Refusal::no_such_object)?;
    let json = JsonObject::object("webhook_endpoint", id).time("deleted_at", deleted_at);
    Ok(call.found(&json.finish()))
}
