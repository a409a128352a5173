-- A row of the journal does not change or go until it is older than `kept_from`, which only grows. An id is the time in
-- milliseconds and three more digits, so it is an index by time. (Rows of earlier versions were numbered from 1.)
CREATE TABLE IF NOT EXISTS journal (
    id          INTEGER PRIMARY KEY,
    at          INTEGER NOT NULL,
    name        BLOB NOT NULL,
    scope       TEXT,
    of          TEXT NOT NULL,
    operation   TEXT NOT NULL,
    kind        TEXT NOT NULL,
    attempt     INTEGER NOT NULL,
    request_id  TEXT,
    http_status INTEGER,
    cause       TEXT,
    state       TEXT,
    created_at  INTEGER
) STRICT;
CREATE TABLE IF NOT EXISTS journal_end (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    kept_from INTEGER NOT NULL
) STRICT;
INSERT OR IGNORE INTO journal_end (id, kept_from) VALUES (1, 0);
CREATE TRIGGER IF NOT EXISTS journal_end_goes_on BEFORE UPDATE ON journal_end
    WHEN NEW.kept_from < OLD.kept_from
    BEGIN SELECT RAISE(ABORT, 'what the journal has let go does not come back'); END;
CREATE TRIGGER IF NOT EXISTS journal_does_not_change BEFORE UPDATE ON journal
    BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER IF NOT EXISTS journal_is_kept BEFORE DELETE ON journal
    WHEN OLD.at >= (SELECT kept_from FROM journal_end)
    BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
-- A replacement deletes without asking the trigger on deletes.
CREATE TRIGGER IF NOT EXISTS journal_is_not_replaced BEFORE INSERT ON journal
    WHEN EXISTS (SELECT 1 FROM journal WHERE id = NEW.id)
    BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
