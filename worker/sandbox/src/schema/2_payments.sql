-- Payments, refunds, subscriptions, and the ledger. The tables check once more what the
-- operations check, so that a mistake in an operation cannot store a wrong row.
CREATE TABLE payments (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    order_id   TEXT NOT NULL,
    amount     INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 99999999999),
    currency   TEXT NOT NULL,
    card_brand TEXT NOT NULL,
    card_last4 TEXT NOT NULL CHECK (length(card_last4) = 4),
    failure    TEXT,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX payments_of_order ON payments (order_id, seq);
CREATE UNIQUE INDEX one_success_an_order ON payments (order_id) WHERE failure IS NULL;
CREATE TRIGGER payments_are_kept BEFORE DELETE ON payments
    BEGIN SELECT RAISE(ABORT, 'a payment is permanent'); END;
CREATE TRIGGER payments_do_not_change BEFORE UPDATE ON payments
    BEGIN SELECT RAISE(ABORT, 'a payment is permanent'); END;

CREATE TABLE refunds (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    out_refund_no TEXT NOT NULL UNIQUE,
    order_id      TEXT NOT NULL,
    amount        INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 99999999999),
    currency      TEXT NOT NULL,
    created_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX refunds_of_order ON refunds (order_id);
CREATE TRIGGER refunds_are_kept BEFORE DELETE ON refunds
    BEGIN SELECT RAISE(ABORT, 'a refund is permanent'); END;
CREATE TRIGGER refunds_do_not_change BEFORE UPDATE ON refunds
    BEGIN SELECT RAISE(ABORT, 'a refund is permanent'); END;
CREATE TRIGGER refunds_are_of_what_was_paid BEFORE INSERT ON refunds WHEN NEW.amount
    + (SELECT COALESCE(SUM(amount), 0) FROM refunds WHERE order_id = NEW.order_id)
    > (SELECT COALESCE(SUM(amount), 0) FROM payments
        WHERE order_id = NEW.order_id AND failure IS NULL)
    BEGIN SELECT RAISE(ABORT, 'more would be refunded than was paid'); END;

CREATE TABLE subscriptions (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    plan         TEXT NOT NULL,
    customer     TEXT NOT NULL,
    amount       INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 99999999999),
    currency     TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    cancelled_at INTEGER
) STRICT;

CREATE TABLE ledger (
    id         INTEGER PRIMARY KEY,
    operation  TEXT NOT NULL UNIQUE,
    order_id   TEXT NOT NULL,
    amount     INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 99999999999),
    currency   TEXT NOT NULL,
    debit      TEXT NOT NULL,
    credit     TEXT NOT NULL CHECK (credit <> debit),
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX ledger_of_order ON ledger (order_id, id);
CREATE TRIGGER ledger_is_kept BEFORE DELETE ON ledger
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_does_not_change BEFORE UPDATE ON ledger
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
-- A replacement deletes without asking the triggers on deletes.
CREATE TRIGGER ledger_is_not_replaced BEFORE INSERT ON ledger
    WHEN EXISTS (SELECT 1 FROM ledger WHERE id = NEW.id OR operation = NEW.operation)
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

CREATE UNIQUE INDEX executions_of_numberless ON executions (idempotency_key, operation)
    WHERE operation IN ('payment.create', 'subscription.create', 'webhook_endpoint.create');
