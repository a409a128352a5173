//! Keys for operators: `GET /_oncekey/keys` lists what is there, `GET /_oncekey/keys/{hash}` tells
//! the life of one. They show hashes and never a body.

use crate::admin::fan_out::{AT_ONCE, Inquiry, Question};
use crate::admin::journal;
use crate::admin::query::Query;
use crate::http::context::Caller;
use crate::http::request::Incoming;
use crate::http::response::Answer;
use oncekey::{Rejection, ScopedKey};

/// How many rows of the journal a life shows.
const ROWS: usize = 1000;

/// The newest keys.
pub(crate) struct Keys {
    question: String,
    next: usize,
    limit: usize,
    /// Each with the time when it was begun in front, the newest first.
    found: Vec<String>,
}

/// All that is known of one key.
pub(crate) struct Life {
    key: Option<ScopedKey>,
    found: Vec<String>,
}

impl Keys {
    pub(crate) fn asked(incoming: &Incoming) -> Result<Self, Rejection> {
        let query = Query::parse(incoming, &["state", "limit"])?;
        let limit = query.limit(50, 200)?;
        // One more, to know whether there are more.
        let question = ["keys", "", query.state()?, &(limit + 1).to_string()].join("\t");
        Ok(Self { question, next: 0, limit, found: Vec::new() })
    }
}

impl Inquiry for Keys {
    fn next(&mut self) -> Vec<Question> {
        let mut questions = Vec::new();
        while self.next < ScopedKey::SHARDS.into() && questions.len() < AT_ONCE {
            questions.push((self.next as u8, self.question.clone()));
            self.next += 1;
        }
        questions
    }

    fn answered(&mut self, texts: Vec<String>) {
        for text in texts {
            for line in text.lines() {
                let place = self.found.partition_point(|known| known.as_str() > line);
                if place <= self.limit {
                    self.found.insert(place, line.to_owned());
                    self.found.truncate(self.limit + 1);
                }
            }
        }
    }

    /// `{"data":[…],"has_more":…}`
    fn finish(&self, caller: &Caller, _: &Incoming) -> Result<Answer, Rejection> {
        let mut body = "{\"data\":[".to_owned();
        for (place, line) in self.found.iter().take(self.limit).enumerate() {
            body.extend([if place == 0 { "" } else { "," }, shown(line)]);
        }
        let has_more = if self.found.len() > self.limit { "true}" } else { "false}" };
        body.extend(["],\"has_more\":", has_more]);
        Ok(caller.json(200, body.into_bytes()))
    }
}

impl Life {
    pub(crate) fn asked(name: &str) -> Result<Self, Rejection> {
        let key = Some(ScopedKey::from_hex(name).ok_or(Rejection::NotFound)?);
        Ok(Self { key, found: Vec::new() })
    }
}

impl Inquiry for Life {
    fn next(&mut self) -> Vec<Question> {
        match self.key.take() {
            Some(key) => vec![question(key), journal::of_key(key, "", ROWS)],
            None => Vec::new(),
        }
    }

    fn answered(&mut self, texts: Vec<String>) {
        self.found = texts;
    }

    /// `{"key":{…},"journal":[…]}`; `key` is null once there is no record.
    fn finish(&self, caller: &Caller, _: &Incoming) -> Result<Answer, Rejection> {
        let [record, rows] = &self.found[..] else {
            return Err(Rejection::Internal);
        };
        if record.is_empty() && rows.is_empty() {
            return Err(Rejection::NoRecord);
        }
        let record = if record.is_empty() { "null" } else { shown(record).trim_end() };
        let rows = rows.trim_end().replace('\n', ",");
        let body = ["{\"key\":", record, ",\"journal\":[", &rows, "]}"].concat();
        Ok(caller.json(200, body.into_bytes()))
    }
}

/// The question about one key.
pub(crate) fn question(key: ScopedKey) -> Question {
    (key.shard(), ["keys", &key.hex(), "", "1"].join("\t"))
}

/// A line without what it is sorted by.
fn shown(line: &str) -> &str {
    line.split_once('\t').map_or("", |(_, shown)| shown)
}
