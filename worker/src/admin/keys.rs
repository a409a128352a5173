//! Keys for operators: `GET /_oncekey/keys` lists them, `GET /_oncekey/keys/{hash}` shows the history of
//! one key. Both show hashes, and never a body.

use crate::admin::journal;
use crate::admin::query::QueryParams;
use crate::http::context::Caller;
use crate::http::request::HttpRequest;
use crate::http::response::HttpResponse;
use crate::shard::client::{self, AT_ONCE};
use crate::shard::protocol::{KeyEntry, KeyQuery};
use futures_util::future::try_join;
use oncekey::{Rejection, ScopedKey};
use platform::json::writer::{JsonObject, array};

/// How many rows of the journal the history of a key shows.
const ROWS: u32 = 1000;

/// Lists the newest keys: `{"data":[…],"has_more":…}`.
pub(super) async fn list(
    caller: &Caller,
    request: &HttpRequest,
) -> Result<HttpResponse, Rejection> {
    let query = QueryParams::parse(request, &["state", "limit"])?;
    let limit = query.limit(50, 200)?;
    // One more than the limit, to know whether there are more.
    let question = KeyQuery { key: None, state: query.state()?, limit: limit as u32 + 1 };
    let mut newest: Vec<KeyEntry> = Vec::new();
    let shards: Vec<u8> = (0..=u8::MAX).collect();
    for shards in shards.chunks(AT_ONCE) {
        let questions = shards.iter().map(|shard| (*shard, question.clone()));
        newest.extend(client::ask(&caller.bridge, questions).await?.into_iter().flatten());
        newest.sort_unstable_by(|one, other| {
            (other.created_at, &other.json).cmp(&(one.created_at, &one.json))
        });
        newest.truncate(limit + 1);
    }
    let has_more = newest.len() > limit;
    newest.truncate(limit);
    let data: Vec<String> = newest.into_iter().map(|entry| entry.json).collect();
    let json = JsonObject::new()
        .json("data", &array(&data))
        .json("has_more", if has_more { "true" } else { "false" });
    Ok(caller.json(200, json.finish().into_bytes()))
}

/// Shows the history of one key: `{"key":{…},"journal":[…]}`. `key` is null if there is no record.
pub(super) async fn history(caller: &Caller, name: &str) -> Result<HttpResponse, Rejection> {
    let key = ScopedKey::from_hex(name).ok_or(Rejection::NotFound)?;
    let rows = vec![journal::of_key(key, None, ROWS)];
    let mut calls = journal::MOST_CALLS;
    let (entry, rows) = try_join(
        client::ask(&caller.bridge, [(key.shard(), of_key(key))]),
        journal::ask(caller, rows, &mut calls),
    )
    .await?;
    let entry = entry.into_iter().flatten().next().map(|entry| entry.json);
    let rows = rows.into_iter().flatten().filter(|row| !journal::is_mark(row));
    let rows: Vec<String> = rows.map(|row| row.json).collect();
    if entry.is_none() && rows.is_empty() {
        return Err(Rejection::NoRecord);
    }
    let entry = entry.as_deref().unwrap_or("null");
    let json = JsonObject::new().json("key", entry).json("journal", &array(&rows));
    Ok(caller.json(200, json.finish().into_bytes()))
}

/// Returns the query for one key.
pub(super) fn of_key(key: ScopedKey) -> KeyQuery {
    KeyQuery { key: Some(key), state: None, limit: 1 }
}
