-- A record has one entry in one b-tree, and one more while it has no response (`open`): the price of a write counts
-- entries. `due_at` has no index, because the sweep reads the table by name.
CREATE TABLE IF NOT EXISTS records (
    name BLOB PRIMARY KEY, due_at INTEGER, scope TEXT, of TEXT, open INTEGER, record BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS records_open ON records (open) WHERE open = 1;
CREATE TABLE IF NOT EXISTS meta (id INTEGER PRIMARY KEY CHECK (id = 1), last_seen INTEGER NOT NULL);
INSERT OR IGNORE INTO meta (id, last_seen) VALUES (1, 0);
-- By this view, one statement writes a record and its row of the journal. Objects keep the trigger that they have, so a
-- trigger with another body needs another name.
CREATE VIEW IF NOT EXISTS record_and_row AS SELECT name, due_at, scope, of, open, record, NULL AS at,
    NULL AS operation, NULL AS kind, NULL AS attempt, NULL AS request_id, NULL AS http_status, NULL AS cause,
    NULL AS state, NULL AS created_at FROM records;
CREATE TRIGGER IF NOT EXISTS record_and_row_are_written INSTEAD OF INSERT ON record_and_row BEGIN
    INSERT INTO records (name, due_at, scope, of, open, record)
        VALUES (NEW.name, NEW.due_at, NEW.scope, NEW.of, NEW.open, NEW.record)
        ON CONFLICT (name) DO UPDATE SET record = excluded.record, due_at = excluded.due_at, open = excluded.open,
            scope = ifnull(excluded.scope, scope), of = ifnull(excluded.of, of);
    INSERT INTO journal (id, at, name, scope, of, operation, kind, attempt, request_id, http_status, cause, state,
            created_at)
        SELECT max(CAST(NEW.at AS INTEGER) * 1000, (SELECT ifnull(max(id), 0) + 1 FROM journal)), NEW.at, name, scope,
            ifnull(of, 'key'), NEW.operation, NEW.kind, NEW.attempt, NEW.request_id, NEW.http_status, NEW.cause,
            NEW.state, NEW.created_at
        FROM records WHERE name = NEW.name;
END;
