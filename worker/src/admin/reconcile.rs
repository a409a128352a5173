//! `GET /_oncekey/reconcile`: compares the payments and refunds of the sandbox with the journal of the
//! keys under which they were made, and lists those for which a record or event is missing.

use crate::admin::journal;
use crate::admin::keys;
use crate::admin::query::{self, QueryParams};
use crate::config::Upstream;
use crate::gateway::caller::admin_scope;
use crate::gateway::refusal::Refusal;
use crate::http::context::Caller;
use crate::http::request::HttpRequest;
use crate::http::response::HttpResponse;
use crate::sandbox;
use crate::shard::client::{self, AT_ONCE};
use futures_util::future::try_join;
use oncekey::{IdempotencyKey, KeyState, Rejection, Scope, ScopedKey};
use platform::json::writer::{JsonObject, array};

/// The route of refunds. A refund may have a business key instead of an idempotency key.
const REFUNDS: (&str, &str) = ("POST", "/v1/refunds");

/// Compares a page of a merchant's payments and refunds: `{"checked":…,"lacking":[…],"next_cursor":…}`.
pub(super) async fn page(caller: &Caller, request: &HttpRequest) -> Result<HttpResponse, Refusal> {
    const CURSOR: &str = "the next_cursor of an earlier page";
    if !matches!(caller.config.upstream, Upstream::Sandbox) {
        return Err(Rejection::NotFound.into());
    }
    let query = QueryParams::parse(request, &["limit", "cursor"])?;
    let cursor = query.parsed("cursor", CURSOR, |text| text.parse().ok())?.unwrap_or(0);
    let limit = query.limit(100, 500)?;
    let merchant = request.header("x-api-key").unwrap_or_default();
    let scope = admin_scope(caller, request).await?;
    let text = sandbox::operations(caller.bridge.env(), merchant, cursor, limit).await?;
    let lines = text.lines().filter(|line| !line.is_empty());
    let made: Vec<Made> = lines.map(|line| Made::of_line(line, caller, &scope)).collect();
    let mut lacking = Vec::new();
    let mut calls = journal::MOST_CALLS;
    for made in made.chunks(AT_ONCE) {
        // Without a key, nothing can be in the journal.
        let keys = || made.iter().filter_map(|made| made.key);
        let completed = keys().map(|key| journal::of_key(key, Some(KeyState::Completed), 1));
        let entries = keys().map(|key| (key.shard(), keys::of_key(key)));
        let (completed, entries) = try_join(
            journal::ask(caller, completed.collect(), &mut calls),
            client::ask(&caller.bridge, entries),
        )
        .await?;
        let mut found = completed.into_iter().zip(entries);
        for made in made {
            let (completed, entry) = made.key.and_then(|_| found.next()).unzip();
            let is_completed =
                completed.is_some_and(|rows| rows.iter().any(|row| !journal::is_mark(row)));
            let state = entry.and_then(|entry| entry.first().map(|entry| entry.state));
            lacking.extend(made.listed(is_completed, state));
        }
    }
    let next = made.last().filter(|_| made.len() == limit).map(|made| made.parts[0].as_str());
    let json = JsonObject::new()
        .integer("checked", made.len() as i64)
        .json("lacking", &array(&lacking))
        .maybe("next_cursor", next);
    let mut response = caller.json(200, json.finish().into_bytes());
    if let Some(next) = next {
        response.set("link", &query::next_page(request, next));
    }
    Ok(response)
}

/// One payment or refund.
struct Made {
    /// Its place in the list, its id, the operation, the request id, and what the sandbox's data lacks,
    /// in JSON with a comma after each.
    parts: [String; 5],
    key: Option<ScopedKey>,
}

impl Made {
    fn of_line(line: &str, caller: &Caller, scope: &Scope) -> Self {
        let mut parts = line.split('\t');
        let mut next = || parts.next().unwrap_or_default().to_owned();
        let columns = [next(), next(), next(), next(), next()];
        let (own, key) = (next(), next());
        let of_business_key = || {
            let (method, path) = REFUNDS;
            let business_key = caller.config.business_keys.with_value(method, path, &own)?;
            Some(ScopedKey::of_business_key(scope, &business_key))
        };
        let key = IdempotencyKey::parse_bare(&key).ok().map(|key| ScopedKey::new(scope, &key));
        Self { parts: columns, key: key.or_else(of_business_key) }
    }

    /// Returns the entry in JSON, if it lacks something.
    fn listed(&self, is_completed: bool, state: Option<KeyState>) -> Option<String> {
        let [_, id, operation, request_id, lacks] = &self.parts;
        let mut lacks = lacks.clone();
        if !is_completed {
            lacks.push_str("\"key\",");
        }
        // Takes the last comma off, if there is one.
        lacks.pop()?;
        let json = JsonObject::new()
            .text("id", id)
            .text("operation", operation)
            .json("lacks", &["[", &lacks, "]"].concat())
            .maybe("key", self.key.map(|key| key.hex()).as_deref())
            .maybe("key_state", state.map(KeyState::as_str))
            .maybe("request_id", Some(request_id.as_str()).filter(|id| !id.is_empty()));
        Some(json.finish())
    }
}
