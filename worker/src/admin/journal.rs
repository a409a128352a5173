//! `GET /_oncekey/journal`: the changes of keys, as JSON lines, for reconciliation.
//!
//! A query for one key goes to its shard, and any other query goes from shard to shard. The rows of a
//! shard are in the order in which they were written. A page ends at its limit, and its `Link` header is
//! the URL of the next page. The cursor is the id of the last row: shard, time and number.

use crate::admin::query::{self, LATEST, Query};
use crate::http::context::Caller;
use crate::http::request::HttpRequest;
use crate::http::response::HttpResponse;
use crate::shard::client::{self, AT_ONCE};
use crate::shard::protocol::{Row, RowQuery};
use oncekey::{KeyState, Rejection, ScopedKey};

/// Returns a page of the journal.
pub(super) async fn page(
    caller: &Caller,
    request: &HttpRequest,
) -> Result<HttpResponse, Rejection> {
    const CURSOR: &str = "the cursor in the Link header of an earlier page";
    let known = ["from", "to", "key", "request_id", "state", "limit", "cursor"];
    let query = Query::parse(request, &known)?;
    let (first, after) = query.parsed("cursor", CURSOR, parse_cursor)?.unwrap_or_default();
    let (from, limit) = ((query.time("from", 0)?, 0), query.limit(500, 5000)?);
    let question = RowQuery {
        shard: first,
        after: from,
        before: query.time("to", LATEST)?,
        key: query.name("key")?,
        request_id: Some(query.text("request_id").to_owned()).filter(|id| !id.is_empty()),
        state: query.state()?,
        limit: limit as u32,
    };
    let shards: Vec<u8> = match question.key {
        Some(key) => vec![key.shard()],
        None => (first..=u8::MAX).collect(),
    };
    let mut found: Vec<Row> = Vec::new();
    for (round, shards) in shards.chunks(AT_ONCE).enumerate() {
        let left = limit - found.len();
        let questions = shards.iter().enumerate().map(|(place, shard)| {
            let is_first = round == 0 && place == 0;
            let after = if is_first { after.max(from) } else { from };
            (*shard, RowQuery { shard: *shard, after, limit: left as u32, ..question.clone() })
        });
        let rows = client::ask(&caller.env(), questions).await?.into_iter().flatten();
        found.extend(rows.take(left));
        if found.len() == limit {
            break;
        }
    }
    let lines: String = found.iter().flat_map(|row| [&row.json, "\n"]).collect();
    let mut response = caller.json(200, lines.into_bytes());
    response.set("content-type", "application/x-ndjson");
    if let Some(last) = found.last().filter(|_| found.len() == limit) {
        response.set("link", &query::next_page(request, &last.id));
    }
    Ok(response)
}

/// Returns the shard, and the time and number of the last row of the earlier page.
fn parse_cursor(cursor: &str) -> Option<(u8, (u64, u64))> {
    let mut parts = cursor.splitn(3, '-');
    let shard = parts.next()?.parse().ok()?;
    let mut number = || parts.next()?.parse().ok();
    Some((shard, (number()?, number()?)))
}

/// Returns the query for the rows of a key.
pub(super) fn of_key(key: ScopedKey, state: Option<KeyState>, limit: u32) -> RowQuery {
    let (shard, key) = (key.shard(), Some(key));
    RowQuery { shard, after: (0, 0), before: LATEST, key, request_id: None, state, limit }
}
