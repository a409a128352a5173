//! The columns of a record in the database.

use crate::shard::protocol::{Subject, Whose};
use oncekey::{Record, RecordError, RecordState, UnixMillis};
use platform::sql::Value;

/// The columns that follow from a record.
pub(super) struct Columns {
    /// When the sweep looks at the record.
    pub(super) due_at: Option<UnixMillis>,
    /// Whether there is no response, so that the record may need attention.
    is_open: bool,
    bytes: Vec<u8>,
}

/// The scope and subject of a record, as columns. They are null where they are not known.
#[derive(Default)]
pub(super) struct WhoseColumns {
    pub(super) scope: Option<String>,
    pub(super) of: Value<'static>,
}

impl Columns {
    pub(super) fn of(record: &Record) -> Self {
        let is_open = matches!(
            record.state,
            RecordState::InFlight { .. }
                | RecordState::Unknown { .. }
                | RecordState::Released { .. }
        );
        Self { due_at: sweep_at(record), is_open, bytes: record.encode() }
    }

    /// Returns the values of `name, due_at, scope, of, open, record`.
    pub(super) fn values<'a>(&'a self, name: &'a [u8], whose: &'a WhoseColumns) -> [Value<'a>; 6] {
        [
            Value::Blob(name),
            self.due_at.map_or(Value::Null, Value::from),
            whose.scope.as_deref().into(),
            whose.of,
            Value::Number(f64::from(u8::from(self.is_open))),
            Value::Blob(&self.bytes),
        ]
    }
}

/// Reads the column that holds a record.
pub(super) fn decode(column: Value<'_>) -> Result<Record, RecordError> {
    match column {
        Value::Blob(bytes) => Record::decode(bytes),
        _ => Err(RecordError::NotARecord),
    }
}

/// Returns when the sweep should look at a record: when it is due or up to an hour later, so that records
/// that are due at about the same time have one alarm. The delay is at most a 24th of the time for which
/// the record is kept.
fn sweep_at(record: &Record) -> Option<UnixMillis> {
    const SECOND: u64 = 1000;
    let due_at = record.due_at()?;
    let kept = due_at.since(record.changed_at()).as_u64();
    let step = (kept / 24).clamp(SECOND, 3600 * SECOND);
    Some(UnixMillis::new(due_at.as_u64().div_ceil(step).saturating_mul(step)))
}

impl WhoseColumns {
    pub(super) fn new(whose: Option<Whose>) -> Self {
        let of = |subject| match subject {
            Subject::Key => "key",
            // Stored rows have this word, from when business keys were called numbers.
            Subject::BusinessKey => "number",
            Subject::Event => "event",
        };
        Self {
            scope: whose.map(|whose| whose.scope.hex()),
            of: whose.map(|whose| of(whose.subject)).into(),
        }
    }

    /// Reads the columns of a record.
    pub(super) fn read(scope: Value<'_>, of: Value<'_>) -> Self {
        let scope = match scope {
            Value::Text(scope) => Some(scope.to_owned()),
            _ => None,
        };
        let known = ["key", "number", "event"];
        let of = known.into_iter().find(|known| of == Value::Text(known));
        Self { scope, of: of.into() }
    }
}
