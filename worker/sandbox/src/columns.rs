//! Parts of queries that several tables show.

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
