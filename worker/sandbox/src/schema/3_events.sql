-- Events and where they go.
CREATE TABLE events (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    type       TEXT NOT NULL,
    subject    TEXT NOT NULL,
    data       TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE TRIGGER events_are_kept BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_do_not_change BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TABLE endpoints (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    url        TEXT NOT NULL,
    secrets    TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    deleted_at INTEGER
) STRICT;

CREATE TABLE deliveries (
    id       INTEGER PRIMARY KEY,
    event    TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    subject  TEXT NOT NULL,
    state    TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'dead', 'cancelled')),
    tries    INTEGER NOT NULL,
    begun_at INTEGER NOT NULL,
    due_at   INTEGER CHECK (due_at IS NULL OR state = 'pending'),
    UNIQUE (event, endpoint)
) STRICT;
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_due_there ON deliveries (endpoint, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_in_line ON deliveries (endpoint, subject, id) WHERE state = 'pending';

CREATE TABLE attempts (
    id       INTEGER PRIMARY KEY,
    delivery INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    duration INTEGER NOT NULL,
    status   INTEGER,
    error    TEXT
) STRICT;
CREATE INDEX attempts_of_delivery ON attempts (delivery, id);
CREATE TRIGGER attempts_are_kept BEFORE DELETE ON attempts
    BEGIN SELECT RAISE(ABORT, 'attempts are append-only'); END;
CREATE TRIGGER attempts_do_not_change BEFORE UPDATE ON attempts
    BEGIN SELECT RAISE(ABORT, 'attempts are append-only'); END;
