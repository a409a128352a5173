//! `GET /_oncekey/journal`: the changes of keys, as JSON lines, for reconciliation.
//!
//! A query for one key goes to its shard, and any other query goes from shard to shard. The rows of a
//! shard are in the order in which they were written. A page ends at its limit, and its `Link` header is
//! the URL of the next page. The cursor is the id of the last row: shard, time and number.
//!
//! A shard reads a limited number of rows for one question about a key, a request or a state. It then says
//! where it stopped, and is asked again. So a page may be short, or empty, and have a next page.

use crate::admin::query::{self, LATEST, QueryParams};
use crate::http::context::Caller;
use crate::http::request::HttpRequest;
use crate::http::response::HttpResponse;
use crate::shard::client::{self, AT_ONCE};
use crate::shard::protocol::{Row, RowQuery};
use oncekey::{KeyState, Rejection, ScopedKey};

/// The most calls to shards that one page makes. A Worker may make 1000 calls for a request.
pub(super) const MOST_CALLS: usize = 600;

/// Returns a page of the journal.
pub(super) async fn page(
    caller: &Caller,
    request: &HttpRequest,
) -> Result<HttpResponse, Rejection> {
    const CURSOR: &str = "the cursor in the Link header of an earlier page";
    let known = ["from", "to", "key", "request_id", "state", "limit", "cursor"];
    let query = QueryParams::parse(request, &known)?;
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
    let mut calls = MOST_CALLS;
    let mut found: Vec<Row> = Vec::new();
    for (round, shards) in shards.chunks(AT_ONCE).enumerate() {
        let left = limit - found.len();
        let questions = shards.iter().enumerate().map(|(place, shard)| {
            let is_first = round == 0 && place == 0;
            let after = if is_first { after.max(from) } else { from };
            RowQuery { shard: *shard, after, limit: left as u32, ..question.clone() }
        });
        let rows = ask(caller, questions.collect(), &mut calls).await?.into_iter().flatten();
        // A mark ends the page: the next page goes on there.
        for row in rows.take(left) {
            if !found.last().is_some_and(is_mark) {
                found.push(row);
            }
        }
        if found.len() == limit || found.last().is_some_and(is_mark) {
            break;
        }
    }
    let lines = found.iter().filter(|row| !is_mark(row));
    let lines: String = lines.flat_map(|row| [&row.json, "\n"]).collect();
    let mut response = caller.json(200, lines.into_bytes());
    response.set("content-type", "application/x-ndjson");
    let has_next = |last: &&Row| found.len() == limit || is_mark(last);
    if let Some(last) = found.last().filter(has_next) {
        response.set("link", &query::next_page(request, &last.id));
    }
    Ok(response)
}

/// Asks several shards, and asks each again while it has read only a part of its rows. When `calls` are
/// used up, the last row of a shard may be a mark, where the next question has to go on.
pub(super) async fn ask(
    caller: &Caller,
    questions: Vec<RowQuery>,
    calls: &mut usize,
) -> Result<Vec<Vec<Row>>, Rejection> {
    let mut found: Vec<Vec<Row>> = questions.iter().map(|_| Vec::new()).collect();
    let mut open: Vec<(usize, RowQuery)> = questions.into_iter().enumerate().collect();
    while !open.is_empty() {
        *calls = calls.saturating_sub(open.len());
        let asked = open.iter().map(|(_, question)| (question.shard, question.clone()));
        let replies = client::ask(&caller.bridge, asked).await?;
        let mut unread = Vec::new();
        for ((place, mut question), mut rows) in open.into_iter().zip(replies) {
            let mark = rows.pop_if(|row| is_mark(row));
            question.limit = question.limit.saturating_sub(rows.len() as u32);
            found[place].extend(rows);
            let Some(mark) = mark else { continue };
            match parse_cursor(&mark.id) {
                Some((_, after)) if *calls > 0 => {
                    unread.push((place, RowQuery { after, ..question }));
                }
                _ => found[place].push(mark),
            }
        }
        open = unread;
    }
    Ok(found)
}

/// Returns whether a row only says where a shard stopped to read.
pub(super) fn is_mark(row: &Row) -> bool {
    row.json.is_empty()
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
