//! Webhook endpoints: where a merchant wants to hear of events.

use super::body_type::BodyType;
use super::columns::time;
use super::context::Context;
use super::deliveries;
use super::error::{Failure, Refusal};
use super::executions;
use super::fields::{Field, Fields};
use super::input::{Id, text};
use super::pages::Listed;
use super::row::{Row, Value};
use super::store::Tx;
use oncekey::webhook::Secret;
use oncekey::webhook_target::{Reach, check_target};
use platform::json::Json;
use platform::json::writer::Shown;
use platform::random;

/// What the ids begin with.
pub(super) const PREFIX: &str = "whe_";
const CREATE: &str = "webhook_endpoint.create";

/// How many endpoints a merchant may have: each may cost a connection of the object's six.
const MOST: usize = 5;

/// How many secrets may sign at once.
const MOST_SECRETS: usize = 3;

text!(Url, "must be an URL", |_| true);

text!(
    /// One or more secrets that sign, with spaces between.
    Secrets,
    "must be whsec_ and then 24 to 64 bytes in base64; up to three of them, with spaces between",
    |text| {
        text.split(' ').count() <= MOST_SECRETS
            && text.split(' ').all(|secret| Secret::parse(secret).is_ok())
    }
);

/// What a caller says of an endpoint.
pub(super) struct NewEndpoint {
    url: Url,
    secrets: Secrets,
    /// The caller named no secret, so a retry comes with another one.
    is_minted: bool,
}

impl NewEndpoint {
    pub(super) fn parse(kind: BodyType, body: &[u8], reach: Reach) -> Result<Self, Box<Refusal>> {
        let mut fields = Fields::of_body(kind, body, &["url", "secret"])?;
        let url: Url = fields.take("url")?;
        check_target(url.as_str(), reach)
            .map_err(|error| Refusal::invalid("url", &error.to_string()))?;
        let given = fields.optional("secret")?;
        let is_minted = given.is_none();
        let secrets = given.unwrap_or_else(|| Secrets::of(&Secret::from_random(random::bytes())));
        Ok(Self { url, secrets, is_minted })
    }

    pub(super) fn values(&self) -> [Value<'_>; 3] {
        let is_minted = i64::from(self.is_minted);
        [self.url.as_str().into(), self.secrets.as_str().into(), is_minted.into()]
    }

    pub(super) fn of_row(row: &mut Row) -> Option<Self> {
        Some(Self { url: row.parsed()?, secrets: row.parsed()?, is_minted: row.integer()? != 0 })
    }
}

impl Secrets {
    fn of(secret: &Secret) -> Self {
        Self(secret.expose())
    }

    /// From a body that changes an endpoint.
    pub(super) fn parse(kind: BodyType, body: &[u8]) -> Result<Self, Box<Refusal>> {
        Fields::of_body(kind, body, &["secret"])?.take("secret")
    }
}

/// An endpoint as callers see it, in a query that goes on with more columns or with `FROM`. Its
/// secret is only for whoever has just made it.
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

/// Makes the endpoint, or finds what this call's key has made before.
pub(super) fn create(
    tx: &Tx,
    context: &Context,
    id: &Id,
    new: &NewEndpoint,
) -> Result<String, Failure> {
    let [url, secrets, is_minted] = new.values();
    let query = "SELECT url = ? AND (secrets = ? OR ?) FROM endpoints WHERE id = ?";
    let shown = concat!(shown!(", 'secret', secrets"), " AND id = ?");
    if let Some(made) = executions::made(tx, context, CREATE, query, &[url, secrets, is_minted])? {
        return tx.shown(shown, &made);
    }
    if list(tx)?.items.len() >= MOST {
        return Err(Refusal::unreadable("There are 5 endpoints; delete one first.").into());
    }
    let id = id.as_str();
    tx.run(
        "INSERT INTO endpoints (id, url, secrets, created_at) VALUES (?, ?, ?, ?)",
        &[id.into(), url, secrets, context.now.into()],
    )?;
    executions::note(tx, context, CREATE, id)?;
    tx.shown(shown, id)
}

/// Changes what signs. To change it without a gap, the new secret goes beside the old one first.
pub(super) fn set_secrets(
    tx: &Tx,
    context: &Context,
    id: &Id,
    secrets: &Secrets,
) -> Result<String, Failure> {
    let id = id.as_str();
    let is_new = tx.first(
        "UPDATE endpoints SET secrets = ?1 WHERE id = ?2 AND deleted_at IS NULL AND secrets <> ?1
         RETURNING seq",
        &[secrets.as_str().into(), id.into()],
        Row::integer,
    )?;
    if is_new.is_some() {
        executions::note(tx, context, "webhook_endpoint.update", id)?;
    }
    tx.shown(concat!(shown!(""), " AND id = ?"), id)
}

/// Those that were not deleted, in the order in which they were made.
pub(super) fn list(tx: &Tx) -> Result<Listed, Failure> {
    let items = tx.all(concat!(shown!(""), " ORDER BY seq"), &[], Row::text)?;
    Ok(Listed { items, next: None })
}

/// Deletes it: it hears nothing any more, its secret is forgotten. A second time changes nothing.
pub(super) fn delete(tx: &Tx, context: &Context, id: &Id) -> Result<String, Failure> {
    let id_value = id.as_str().into();
    let mut deleted = tx.first(
        "UPDATE endpoints SET deleted_at = ?, secrets = '' WHERE id = ? AND deleted_at IS NULL
         RETURNING deleted_at",
        &[context.now.into(), id_value],
        Row::time,
    )?;
    if deleted.is_none() {
        let query = "SELECT deleted_at FROM endpoints WHERE id = ?";
        deleted = tx.first(query, &[id_value], Row::time)?;
    } else {
        deliveries::cancel(tx, id.as_str())?;
        executions::note(tx, context, "webhook_endpoint.delete", id.as_str())?;
    }
    let deleted_at = deleted.ok_or_else(Refusal::no_such_object)?;
    let shown = Shown::object("webhook_endpoint", id.as_str());
    Ok(shown.time("deleted_at", deleted_at).finish())
}
