-- A record is one entry in one b-tree, because the price of a write counts entries. Records that have no response
-- (`open` is 1) are together, so that operators find them without an index. `due_at` has no index, because the sweep reads
-- the whole table.
CREATE TABLE IF NOT EXISTS records (
    open INTEGER NOT NULL, name BLOB NOT NULL, due_at INTEGER, scope TEXT, of TEXT, record BLOB NOT NULL,
    PRIMARY KEY (open, name)) WITHOUT ROWID;
-- What an earlier build adds, if it runs on this table in between.
DROP INDEX IF EXISTS records_open;
DROP VIEW IF EXISTS record_and_row;
-- By this view, one statement writes a record and, if it has a time, a row of the journal. A name has one record, so
-- the record with the name is changed before another is added. Objects keep the trigger that they have, so a trigger
-- with another body needs another name.
CREATE VIEW IF NOT EXISTS record_write AS SELECT name, due_at, scope, of, open, record, NULL AS at,
    NULL AS operation, NULL AS kind, NULL AS attempt, NULL AS request_id, NULL AS http_status, NULL AS cause,
    NULL AS state, NULL AS created_at FROM records;
CREATE TRIGGER IF NOT EXISTS record_write_is_done INSTEAD OF INSERT ON record_write BEGIN
    UPDATE records SET open = NEW.open, record = NEW.record, due_at = NEW.due_at, scope = ifnull(NEW.scope, scope),
            of = ifnull(NEW.of, of)
        WHERE name = NEW.name AND open = (SELECT open FROM records WHERE open = 0 AND name = NEW.name
            UNION ALL SELECT open FROM records WHERE open = 1 AND name = NEW.name);
    INSERT INTO records (open, name, due_at, scope, of, record)
        SELECT NEW.open, NEW.name, NEW.due_at, NEW.scope, NEW.of, NEW.record WHERE changes() = 0;
    INSERT INTO journal (id, at, name, scope, of, operation, kind, attempt, request_id, http_status, cause, state,
            created_at)
        SELECT max(CAST(NEW.at AS INTEGER) * 1000, (SELECT ifnull(max(id), 0) + 1 FROM journal)), NEW.at, name, scope,
            ifnull(of, 'key'), NEW.operation, NEW.kind, NEW.attempt, NEW.request_id, NEW.http_status, NEW.cause,
            NEW.state, NEW.created_at
        FROM records WHERE open = NEW.open AND name = NEW.name AND NEW.at IS NOT NULL;
END;
