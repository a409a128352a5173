-- Events that came in, and what they did.
CREATE TABLE effects (
    seq         INTEGER PRIMARY KEY,
    source      TEXT NOT NULL,
    event       TEXT NOT NULL,
    type        TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    UNIQUE (source, event)
) STRICT;
CREATE TRIGGER effects_are_kept BEFORE DELETE ON effects
    BEGIN SELECT RAISE(ABORT, 'effects are append-only'); END;
CREATE TRIGGER effects_do_not_change BEFORE UPDATE ON effects
    BEGIN SELECT RAISE(ABORT, 'effects are append-only'); END;

CREATE TABLE credits (
    source   TEXT NOT NULL,
    customer TEXT NOT NULL,
    balance  INTEGER NOT NULL CHECK (balance > 0),
    PRIMARY KEY (source, customer)
) STRICT;
