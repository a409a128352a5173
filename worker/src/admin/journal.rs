//! `GET /_oncekey/journal`: what changed keys, as JSON lines, for reconciliation.
//!
//! A question about one key goes to its shard, any other from shard to shard; the rows of a shard
//! come in the order in which they were written. A page ends at its limit, and its `Link` leads to
//! the next. The cursor is the id of the last row: shard, time and number.

use crate::admin::fan_out::{AT_ONCE, Inquiry, Question};
use crate::admin::query::{self, LATEST, Query};
use crate::http::context::Caller;
use crate::http::request::Incoming;
use crate::http::response::Answer;
use oncekey::{Rejection, ScopedKey};

/// A page of the journal.
pub(crate) struct Journal {
    from: u64,
    to: u64,
    key: Option<ScopedKey>,
    request_id: String,
    /// The state that the key had after it.
    state: String,
    /// The next shard, and the time and number of the row that its rows lie behind.
    next: usize,
    after: (u64, u64),
    lines: String,
    last: String,
    left: usize,
}

impl Journal {
    pub(crate) fn asked(incoming: &Incoming) -> Result<Self, Rejection> {
        const CURSOR: &str = "cursor must be the one of an earlier page's Link.";
        let known = ["from", "to", "key", "request_id", "state", "limit", "cursor"];
        let query = Query::parse(incoming, &known)?;
        let (next, after) = match query.text("cursor") {
            "" => (0, (0, 0)),
            cursor => parse_cursor(cursor).ok_or_else(|| query::invalid(&[CURSOR]))?,
        };
        let key = query.name("key")?;
        Ok(Self {
            from: query.time("from", 0)?,
            to: query.time("to", LATEST)?,
            key,
            request_id: query.text("request_id").to_owned(),
            state: query.state()?.to_owned(),
            next: key.map_or(next, |key| key.shard().into()),
            after,
            lines: String::new(),
            last: String::new(),
            left: query.limit(500, 5000)?,
        })
    }

    fn question(&mut self) -> Question {
        let (at, id) = std::mem::take(&mut self.after).max((self.from, 0));
        let key = self.key.map_or(String::new(), |key| key.hex());
        let number = self.next as u8;
        let question =
            question(number, (at, id), self.to, &key, &self.request_id, &self.state, self.left);
        self.next = if self.key.is_some() { usize::from(ScopedKey::SHARDS) } else { self.next + 1 };
        question
    }
}

impl Inquiry for Journal {
    fn next(&mut self) -> Vec<Question> {
        let mut questions = Vec::new();
        while self.left > 0 && self.next < ScopedKey::SHARDS.into() && questions.len() < AT_ONCE {
            questions.push(self.question());
        }
        questions
    }

    fn answered(&mut self, texts: Vec<String>) {
        for text in texts {
            for line in text.lines().take(self.left) {
                self.lines.extend([line, "\n"]);
                // The id is the first member of a row.
                self.last = line.split('"').nth(3).unwrap_or_default().to_owned();
                self.left -= 1;
            }
        }
    }

    fn finish(&self, caller: &Caller, incoming: &Incoming) -> Result<Answer, Rejection> {
        let mut answer = caller.json(200, self.lines.clone().into_bytes());
        answer.set("content-type", "application/x-ndjson");
        if self.left == 0 {
            answer.set("link", &query::next_page(incoming, &self.last));
        }
        Ok(answer)
    }
}

fn parse_cursor(cursor: &str) -> Option<(usize, (u64, u64))> {
    let mut parts = cursor.split('-');
    let mut next = || parts.next()?.parse::<u64>().ok();
    let (shard, at, id) = (next()?, next()?, next()?);
    (shard < ScopedKey::SHARDS.into() && parts.next().is_none())
        .then_some((shard as usize, (at, id)))
}

/// The question for rows behind a time and number, and before a time.
fn question(
    shard: u8,
    after: (u64, u64),
    to: u64,
    key: &str,
    request_id: &str,
    state: &str,
    limit: usize,
) -> Question {
    let numbers = [shard.into(), after.0, after.1, to, limit as u64];
    let [number, at, id, to, limit] = numbers.map(|number: u64| number.to_string());
    (shard, ["journal", &number, &at, &id, &to, key, request_id, state, &limit].join("\t"))
}

/// The question for the rows of a key, of those with this state if one is given.
pub(crate) fn of_key(key: ScopedKey, state: &str, limit: usize) -> Question {
    question(key.shard(), (0, 0), LATEST, &key.hex(), "", state, limit)
}
