-- Orders, and the log of what took effect.
CREATE TABLE orders (
    id           TEXT PRIMARY KEY,
    out_trade_no TEXT NOT NULL UNIQUE,
    amount       INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 99999999999),
    currency     TEXT NOT NULL,
    subject      TEXT NOT NULL,
    status       TEXT NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;
CREATE TRIGGER orders_are_kept BEFORE DELETE ON orders
    BEGIN SELECT RAISE(ABORT, 'an order is permanent'); END;
CREATE TRIGGER orders_keep_their_content
    BEFORE UPDATE OF id, out_trade_no, amount, currency, subject, created_at ON orders
    BEGIN SELECT RAISE(ABORT, 'the content of an order is permanent'); END;

CREATE TABLE executions (
    id              INTEGER PRIMARY KEY,
    idempotency_key TEXT,
    operation       TEXT NOT NULL,
    object_id       TEXT NOT NULL,
    request_id      TEXT NOT NULL,
    executed_at     INTEGER NOT NULL
) STRICT;
CREATE INDEX executions_by_key ON executions (idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE TRIGGER executions_are_kept BEFORE DELETE ON executions
    BEGIN SELECT RAISE(ABORT, 'executions are append-only'); END;
CREATE TRIGGER executions_do_not_change BEFORE UPDATE ON executions
    BEGIN SELECT RAISE(ABORT, 'executions are append-only'); END;
