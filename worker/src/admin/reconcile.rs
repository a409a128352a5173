//! `GET /_oncekey/reconcile`: compares what the sandbox has made with what the journal says of the
//! keys that it was made under. What is listed lacks something; an empty list is a clean one.

use crate::admin::fan_out::{AT_ONCE, Inquiry, Question};
use crate::admin::journal;
use crate::admin::keys;
use crate::admin::query::{self, Query};
use crate::config::Upstream;
use crate::gateway::caller::admin_scope;
use crate::http::context::Caller;
use crate::http::request::Incoming;
use crate::http::response::Answer;
use crate::sandbox;
use oncekey::{IdempotencyKey, Rejection, Scope, ScopedKey};
use platform::json::writer::{Shown, array};
use worker::Env;

/// Where refunds are made, whose number may stand in for a key.
const REFUNDS: (&str, &str) = ("POST", "/v1/refunds");

/// A page of a merchant's payments and refunds, on its way to be compared.
pub(crate) struct Reconciliation {
    made: Vec<Made>,
    /// How many were asked about, and answered for.
    asked: usize,
    told: usize,
    limit: usize,
    lacking: Vec<String>,
}

/// One payment or refund.
struct Made {
    /// Its place in the list, its id, the operation, the request id, and what it lacks at the
    /// merchant's, in JSON with a comma behind each.
    parts: [String; 5],
    key: Option<ScopedKey>,
}

impl Reconciliation {
    pub(crate) async fn asked(
        env: &Env,
        caller: &Caller,
        incoming: &Incoming,
    ) -> Result<Self, Rejection> {
        const CURSOR: &str = "cursor must be the next_cursor of an earlier page.";
        if !matches!(caller.config.upstream, Upstream::Sandbox) {
            return Err(Rejection::NotFound);
        }
        let query = Query::parse(incoming, &["limit", "cursor"])?;
        let cursor = match query.text("cursor") {
            "" => 0,
            cursor => cursor.parse().map_err(|_| query::invalid(&[CURSOR]))?,
        };
        let limit = query.limit(100, 500)?;
        let merchant = incoming.header("x-api-key").unwrap_or_default();
        let scope = admin_scope(caller, incoming)?;
        let text = sandbox::operations(env, merchant, &caller.request_id, cursor, limit).await?;
        let lines = text.lines().filter(|line| !line.is_empty());
        let made = lines.map(|line| Made::of_line(line, caller, &scope)).collect();
        Ok(Self { made, asked: 0, told: 0, limit, lacking: Vec::new() })
    }
}

impl Inquiry for Reconciliation {
    /// For each key, whether it was ever completed, and how it stands now.
    fn next(&mut self) -> Vec<Question> {
        let mut questions = Vec::new();
        while let Some(made) = self.made.get(self.asked)
            && questions.len() < AT_ONCE
        {
            // Who has no key is listed with the answers to the others.
            let key = made.key.unwrap_or(ScopedKey::in_shard(0));
            questions.push(journal::of_key(key, "completed", 1));
            questions.push(keys::question(key));
            self.asked += 1;
        }
        questions
    }

    fn answered(&mut self, texts: Vec<String>) {
        for told in texts.chunks(2) {
            if let (Some(made), [rows, record]) = (self.made.get(self.told), told) {
                self.lacking.extend(made.listed(!rows.is_empty(), record));
            }
            self.told += 1;
        }
    }

    /// `{"checked":…,"lacking":[…],"next_cursor":…}`
    fn finish(&self, caller: &Caller, incoming: &Incoming) -> Result<Answer, Rejection> {
        let next = self.made.last().filter(|_| self.made.len() == self.limit);
        let next = next.map(|made| made.parts[0].as_str());
        let body = Shown::new()
            .integer("checked", self.made.len() as i64)
            .json("lacking", &array(&self.lacking))
            .maybe("next_cursor", next)
            .finish();
        let mut answer = caller.json(200, body.into_bytes());
        if let Some(next) = next {
            answer.set("link", &query::next_page(incoming, next));
        }
        Ok(answer)
    }
}

impl Made {
    fn of_line(line: &str, caller: &Caller, scope: &Scope) -> Self {
        let mut parts = line.split('\t');
        let mut next = || parts.next().unwrap_or_default().to_owned();
        let shown = [next(), next(), next(), next(), next()];
        let (own, key) = (next(), next());
        let of_number = || {
            let (method, path) = REFUNDS;
            let number = caller.config.business_keys.number_of(method, path, &own)?;
            Some(ScopedKey::of_number(scope, &number))
        };
        let key = IdempotencyKey::parse_bare(&key).ok().map(|key| ScopedKey::new(scope, &key));
        Self { parts: shown, key: key.or_else(of_number) }
    }

    /// In JSON, if it lacks something.
    fn listed(&self, is_completed: bool, record: &str) -> Option<String> {
        let [_, id, operation, request_id, lacks] = &self.parts;
        let mut lacks = lacks.clone();
        if !is_completed {
            lacks.push_str("\"key\",");
        }
        // Takes the last comma off, if there is one.
        lacks.pop()?;
        let state = record.split_once("\"state\":\"").and_then(|(_, rest)| rest.split('"').next());
        let shown = Shown::new()
            .text("id", id)
            .text("operation", operation)
            .json("lacks", &["[", &lacks, "]"].concat())
            .maybe("key", self.key.map(|key| key.hex()).as_deref())
            .maybe("key_state", state)
            .maybe("request_id", Some(request_id.as_str()).filter(|id| !id.is_empty()));
        Some(shown.finish())
    }
}
