//! Parts of queries that several tables use.

/// In a query: a column with a time, as callers see times. Null stays null.
macro_rules! time {
    ($column:literal) => {
        concat!("strftime('%Y-%m-%dT%H:%M:%fZ', ", $column, " / 1000.0, 'unixepoch')")
    };
}
pub(super) use time;

/// In a query of events: the members of an event, without the parentheses round them.
macro_rules! event {
    () => {
        concat!(
            "'id', events.id, 'type', type, 'created_at', ",
            time!("events.created_at"),
            ", 'data', json(data)"
        )
    };
}
pub(super) use event;
