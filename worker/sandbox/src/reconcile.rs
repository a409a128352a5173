//! What a merchant's database says of its payments and refunds: whether each has its pair of
//! entries, its event and one execution, and under which key it was made. Whether that key knows of
//! it is the gateway's part (`worker/src/admin/reconcile.rs`).

use super::answer::Answer;
use super::client::{self, Owner};
use super::command::{Command, Operation};
use super::error::Failure;
use super::input::{ApiKey, RequestId};
use super::pages::{OLDEST, Page};
use super::store::Tx;
use oncekey::Rejection;
use worker::Env;

/// Payments and refunds in one row of numbers, the even ones and the odd ones, as lines. A payment
/// that was declined moved nothing.
const OPERATIONS: &str = "
    WITH made AS (
        SELECT seq * 2 AS number, id, order_id, amount, currency, failure IS NULL AS moved,
            'payment.create' AS operation, 'cash' AS debit, 'sales' AS credit, '' AS own,
            iif(failure IS NULL, 'payment.succeeded', 'payment.failed') AS told FROM payments
        UNION ALL SELECT seq * 2 + 1, id, order_id, amount, currency, 1,
            'refund.create', 'refunds', 'cash', out_refund_no, 'refund.succeeded' FROM refunds)
    SELECT number, number || char(9) || made.id || char(9) || made.operation || char(9)
        || ifnull(max(executions.request_id), '') || char(9)
        || iif(moved = (SELECT count(*) FROM ledger WHERE operation = made.id)
            AND moved = (SELECT count(*) FROM ledger WHERE operation = made.id
                AND (order_id, amount, currency, debit, credit)
                = (made.order_id, made.amount, made.currency, made.debit, made.credit)),
            '', '\"entries\",')
        || iif(EXISTS (SELECT 1 FROM events WHERE subject = order_id AND type = told
            AND data ->> 'id' = made.id), '', '\"event\",')
        || iif(count(executions.id) = 1, '', '\"execution\",') || char(9)
        || own || char(9) || ifnull(max(executions.idempotency_key), '')
    FROM made LEFT JOIN executions
        ON executions.object_id = made.id AND executions.operation = made.operation
    WHERE number > ? GROUP BY number ORDER BY number LIMIT ?";

/// Lines, each `number, id, operation, request id, what it lacks, own number, key` with tabs between.
pub(super) fn list(tx: &Tx, page: &Page) -> Result<Answer, Failure> {
    let listed = page.list(tx, OPERATIONS, None, OLDEST)?;
    // Never empty: an answer without a body would be none.
    Ok(Answer::ready(200, (listed.items.join("\n") + "\n").into_bytes()))
}

/// Returns a page of a merchant's payments and refunds: the lines of `list`.
pub async fn page(
    env: &Env,
    merchant: &str,
    request_id: &str,
    cursor: i64,
    limit: usize,
) -> Result<String, Rejection> {
    const WHO: &str = "X-Api-Key must be a merchant of the sandbox.";
    let merchant = ApiKey::parse(merchant.to_owned());
    let merchant = merchant.ok_or_else(|| Rejection::Invalid(WHO.to_owned()))?;
    let request_id = RequestId::parse(request_id.to_owned()).ok_or(Rejection::Internal)?;
    let operation = Operation::Reconcile { page: Page::new(cursor, limit as i64) };
    let command = Command::new(operation, None, request_id);
    let answer = client::send(env, &Owner::Merchant(merchant), &command).await;
    let lines = answer.ok().and_then(|answer| answer.lines());
    lines.ok_or(Rejection::StoreUnavailable)
}
