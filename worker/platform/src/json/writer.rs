//! Answers as callers see them, written member by member. Objects come from the database as JSON:
//! their queries say what is shown of them. Both are a small part of what a type with a derived
//! serializer for each would weigh in the bundle.

use crate::platform::clock;
use oncekey::UnixMillis;

/// In a query: a column with a time, as callers see times. Null stays null.
macro_rules! time {
    ($column:literal) => {
        concat!("strftime('%Y-%m-%dT%H:%M:%fZ', ", $column, " / 1000.0, 'unixepoch')")
    };
}
pub(crate) use time;

/// A JSON object that is being written.
pub(crate) struct Shown(String);

impl Shown {
    pub(crate) fn new() -> Self {
        Self("{".to_owned())
    }

    /// An object of a kind, with its id.
    pub(crate) fn object(kind: &str, id: &str) -> Self {
        Self::new().text("id", id).text("object", kind)
    }

    /// A member whose value is JSON already.
    pub(crate) fn json(mut self, name: &str, value: &str) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        for part in ["\"", name, "\":", value] {
            self.0.push_str(part);
        }
        self
    }

    pub(crate) fn text(self, name: &str, value: &str) -> Self {
        self.json(name, &quoted(value))
    }

    /// A text, or null.
    pub(crate) fn maybe(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self.json(name, "null"),
        }
    }

    pub(crate) fn integer(self, name: &str, value: i64) -> Self {
        self.json(name, &value.to_string())
    }

    pub(crate) fn time(self, name: &str, time: UnixMillis) -> Self {
        self.text(name, &clock::rfc3339(time))
    }

    pub(crate) fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// Values in a JSON array.
pub(crate) fn array(items: &[String]) -> String {
    ["[", &items.join(","), "]"].concat()
}

/// A text as JSON.
pub(crate) fn quoted(text: &str) -> String {
    // A text always has a form in JSON.
    serde_json::to_string(text).unwrap_or_default()
}
