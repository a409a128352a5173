//! Pages of long lists. A cursor is the number of the last row of the page before it, so rows that
//! are added meanwhile do not shift a page.

use super::error::{Failure, Refusal};
use super::fields::{Field, Fields};
use super::store::Tx;
use platform::json::Json;
use platform::sql::Value;

/// The largest integer that a JavaScript number holds exactly.
const MAX_NUMBER: i64 = (1 << 53) - 1;

/// The page that a caller requests.
pub(super) struct Page {
    pub(super) cursor: Option<i64>,
    pub(super) limit: i64,
}

/// A page: its rows in JSON, and the cursor of the next page, if there is one.
pub(super) struct Listed {
    pub(super) items: Vec<String>,
    pub(super) next: Option<i64>,
}

impl Page {
    /// Takes `cursor` and `limit`.
    pub(super) fn take(fields: &mut Fields) -> Result<Self, Box<Refusal>> {
        let cursor = fields.optional::<PageCursor>("cursor")?.map(|PageCursor(number)| number);
        let limit = fields.optional::<PageLimit>("limit")?.map_or(50, |PageLimit(number)| number);
        Ok(Self { cursor, limit })
    }

    /// Runs a query for this page. The query selects a row's number and its JSON. It ends in a
    /// condition that compares the number with the cursor, an order by it, and `LIMIT ?`. `start` is
    /// the cursor of the first page.
    pub(super) fn list(
        &self,
        tx: &Tx,
        query: &str,
        value: Option<&str>,
        start: i64,
    ) -> Result<Listed, Failure> {
        let mut values: Vec<Value<'_>> = value.map(Into::into).into_iter().collect();
        values.push(self.cursor.unwrap_or(start).into());
        // One row more than the page has, to find out whether there is a next page.
        values.push((self.limit + 1).into());
        let mut rows =
            tx.all(query, &values, |[seq, json]| Some((seq.as_i64()?, json.to_text()?)))?;
        let limit = self.limit as usize;
        let next = (rows.len() > limit).then(|| rows[limit - 1].0);
        rows.truncate(limit);
        Ok(Listed { items: rows.into_iter().map(|(_, item)| item).collect(), next })
    }
}

/// The start of lists with the newest row first.
pub(super) const NEWEST: i64 = MAX_NUMBER;
/// The start of lists with the oldest row first.
pub(super) const OLDEST: i64 = 0;

struct PageCursor(i64);

impl Field for PageCursor {
    const RULE: &'static str = "must be the next_cursor of an earlier page";

    fn read(value: Json) -> Option<Self> {
        number(value, MAX_NUMBER).map(Self)
    }
}

struct PageLimit(i64);

impl Field for PageLimit {
    const RULE: &'static str = "must be a whole number from 1 to 100";

    fn read(value: Json) -> Option<Self> {
        number(value, 100).map(Self)
    }
}

/// Reads an integer from 1 to `most`, in digits.
fn number(value: Json, most: i64) -> Option<i64> {
    let Json::Text(text) = value else {
        return None;
    };
    let digits = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|number| digits && (1..=most).contains(number))
}
