//! Checks a merchant's payments and refunds: whether each has its pair of entries, its event and one
//! execution, and under which key it was made. The gateway compares the result with the records of
//! these keys (`worker/src/admin/reconcile.rs`).

use super::client::{self, Owner};
use super::error::{Failure, Refusal};
use super::input::ApiKey;
use super::pages::{OLDEST, Page};
use super::request::ApiRequest;
use super::response::ApiResponse;
use super::store::Tx;
use oncekey::Rejection;
use worker::{Env, Method, Request};

/// Lists payments and refunds as lines, in one sequence: payments have even numbers, refunds odd ones.
/// A declined payment moved nothing.
const OPERATIONS: &str = "
    WITH made AS (
        SELECT seq * 2 AS number, id, order_id, amount, currency, failure IS NULL AS moved,
            'payment.create' AS operation, 'cash' AS debit, 'sales' AS credit, '' AS own,
            iif(failure IS NULL, 'payment.succeeded', 'payment.failed') AS event FROM payments
        UNION ALL SELECT seq * 2 + 1, id, order_id, amount, currency, 1,
            'refund.create', 'refunds', 'cash', out_refund_no, 'refund.succeeded' FROM refunds)
    SELECT number, number || char(9) || made.id || char(9) || made.operation || char(9)
        || ifnull(max(executions.request_id), '') || char(9)
        || iif(moved = (SELECT count(*) FROM ledger WHERE operation = made.id)
            AND moved = (SELECT count(*) FROM ledger WHERE operation = made.id
                AND (order_id, amount, currency, debit, credit)
                = (made.order_id, made.amount, made.currency, made.debit, made.credit)),
            '', '\"entries\",')
        || iif(EXISTS (SELECT 1 FROM events WHERE subject = order_id AND type = made.event
            AND data ->> 'id' = made.id), '', '\"event\",')
        || iif(count(executions.id) = 1, '', '\"execution\",') || char(9)
        || own || char(9) || ifnull(max(executions.idempotency_key), '')
    FROM made LEFT JOIN executions
        ON executions.object_id = made.id AND executions.operation = made.operation
    WHERE number > ? GROUP BY number ORDER BY number LIMIT ?";

/// The path of this list in the object. The sandbox refuses it to callers.
pub(super) const PATH: &str = "/reconcile";

/// Returns lines of `number, id, operation, request id, what is missing, business key, idempotency
/// key`, separated by tabs. The query is `CURSOR,LIMIT`.
pub(super) fn list(tx: &Tx, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    let query = request.query.split_once(',');
    let query = query.and_then(|(cursor, limit)| Some((cursor.parse().ok()?, limit.parse().ok()?)));
    let (cursor, limit) = query.ok_or("a page without cursor and limit")?;
    let page = Page { cursor: Some(cursor), limit };
    let listed = page.list(tx, OPERATIONS, None, OLDEST)?;
    Ok(ApiResponse::new(200, listed.items.join("\n").into_bytes()))
}

/// Returns a page of a merchant's payments and refunds, as lines.
pub async fn operations(
    env: &Env,
    merchant: &str,
    cursor: i64,
    limit: usize,
) -> Result<String, Rejection> {
    const RULE: &str = "X-Api-Key must be a merchant of the sandbox.";
    let merchant = ApiKey::parse(merchant.to_owned());
    let merchant = merchant.ok_or_else(|| Rejection::Invalid(RULE.to_owned()))?;
    let list = async {
        let url = format!("https://merchant{PATH}?{cursor},{limit}");
        let request = Request::new(&url, Method::Get)?;
        let mut response = client::send(env, &Owner::Merchant(merchant), request).await?;
        match response.status_code() {
            200 => Ok(response.text().await?),
            _ => Err(Refusal::unavailable().into()),
        }
    };
    list.await.map_err(|_: Failure| Rejection::StoreUnavailable)
}
