//! A merchant's tables. Each step of `STEPS` is applied once, in order, and never changed again:
//! what comes later is a new step at the end.

use super::error::{Failure, Refusal};
use super::store::{self, Row, Tx, UNREADABLE};
use worker::Storage;

const STEPS: &[&str] = &[
    // 1: orders, and the log of what took effect.
    "CREATE TABLE orders (
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
        BEGIN SELECT RAISE(ABORT, 'executions are append-only'); END;",
    // 2: payments, refunds, subscriptions, and the ledger. What the operations check is checked once
    // more here, so that no mistake of theirs can store what must not be.
    "CREATE TABLE payments (
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
        WHERE operation IN ('payment.create', 'subscription.create', 'webhook_endpoint.create');",
    // 3: events and where they go.
    "CREATE TABLE events (
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
        BEGIN SELECT RAISE(ABORT, 'attempts are append-only'); END;",
    // 4: events that came in, and what they did.
    "CREATE TABLE effects (
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
    ) STRICT;",
];

/// Brings the tables up to this code's version, in one transaction.
///
/// A database that newer code has written is not touched: this code does not know which rules were
/// added (an order may by then need an event beside it). While a version is rolled out, the next
/// try may meet the newer code.
pub(super) fn bring_up_to_date(storage: &Storage) -> Result<(), Failure> {
    store::transaction(storage, |tx| {
        tx.run("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL) STRICT", &[])?;
        let stored = version(tx)?;
        let Some(missing) = STEPS.get(stored..) else {
            worker::console_error!("merchant: the database was written by newer code");
            return Err(Refusal::unavailable().into());
        };
        if missing.is_empty() {
            return Ok(());
        }
        for step in missing {
            tx.run(step, &[])?;
        }
        tx.run("DELETE FROM schema_version", &[])?;
        // A handful of steps: far from what an i64 can't hold.
        let current = STEPS.len() as i64;
        tx.run("INSERT INTO schema_version VALUES (?)", &[current.into()])?;
        Ok(())
    })
}

fn version(tx: &Tx) -> Result<usize, Failure> {
    let stored = tx.first("SELECT version FROM schema_version", &[], Row::integer)?.unwrap_or(0);
    usize::try_from(stored).map_err(|_| UNREADABLE.into())
}
