//! What a Worker asks of a merchant's object, and how it gets there.

use super::effects::Inbound;
use super::endpoints::{NewEndpoint, Secrets};
use super::input::{Id, IdempotencyKey, OwnNumber, RequestId};
use super::orders::{NewOrder, OrderId};
use super::pages::Page;
use super::payments::NewPayment;
use super::refunds::NewRefund;
use super::row::{self, Row, Value};
use super::subscriptions::NewSubscription;

/// Changes when old code would misread a new [`Command`]. Old and new code run at once while a
/// version is rolled out; an object that does not know the form says so with 503.
const COMMAND_FORM: i64 = 2;

/// What a Worker asks of the object.
pub(super) struct Command {
    pub(super) request_id: RequestId,
    pub(super) idempotency_key: Option<IdempotencyKey>,
    pub(super) operation: Operation,
}

/// The operations, with input that has been checked. Ids are minted by the Worker.
pub(super) enum Operation {
    CreateOrder {
        id: OrderId,
        order: NewOrder,
    },
    GetOrder {
        id: OrderId,
    },
    FindOrder {
        out_trade_no: OwnNumber,
    },
    CountExecutions {
        key: IdempotencyKey,
    },
    CreatePayment {
        id: Id,
        payment: NewPayment,
    },
    ListPayments {
        order_id: OrderId,
        page: Page,
    },
    CreateRefund {
        id: Id,
        refund: NewRefund,
    },
    FindRefund {
        out_refund_no: OwnNumber,
    },
    CreateSubscription {
        id: Id,
        subscription: NewSubscription,
    },
    CancelSubscription {
        id: Id,
    },
    Reconcile {
        page: Page,
    },
    /// Whatever the id is of.
    Get {
        id: Id,
    },
    ListEntries {
        order_id: Option<OrderId>,
        page: Page,
    },
    Balance,
    CreateEndpoint {
        id: Id,
        endpoint: NewEndpoint,
    },
    ListEndpoints,
    SetSecrets {
        id: Id,
        secrets: Secrets,
    },
    DeleteEndpoint {
        id: Id,
    },
    ListEvents {
        page: Page,
    },
    ResendEvent {
        id: Id,
    },
    TakeIn {
        event: Inbound,
    },
}

impl Command {
    pub(super) fn new(
        operation: Operation,
        idempotency_key: Option<IdempotencyKey>,
        request_id: RequestId,
    ) -> Self {
        Self { request_id, idempotency_key, operation }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let key = self.idempotency_key.as_ref().map(IdempotencyKey::as_str);
        let mut values = vec![COMMAND_FORM.into(), self.request_id.as_str().into(), key.into()];
        self.operation.write(&mut values);
        row::encode(&values)
    }

    /// Nothing, if it is of another form.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut row = row::decode(bytes)?;
        if row.integer()? != COMMAND_FORM {
            return None;
        }
        Some(Self {
            request_id: row.parsed()?,
            idempotency_key: row.maybe(Row::parsed)?,
            operation: Operation::of_row(&mut row)?,
        })
    }
}

impl Operation {
    /// Adds its number and its input.
    fn write<'a>(&'a self, to: &mut Vec<Value<'a>>) {
        let mut add = |number: i64, id: Option<&'a str>, input: &[Value<'a>]| {
            to.push(number.into());
            to.extend(id.map(Value::Text));
            to.extend_from_slice(input);
        };
        match self {
            Self::CreateOrder { id, order } => add(0, Some(id.as_str()), &order.values()),
            Self::GetOrder { id } => add(1, Some(id.as_str()), &[]),
            Self::FindOrder { out_trade_no } => add(2, Some(out_trade_no.as_str()), &[]),
            Self::CountExecutions { key } => add(3, Some(key.as_str()), &[]),
            Self::CreatePayment { id, payment } => add(4, Some(id.as_str()), &payment.values()),
            Self::ListPayments { order_id, page } => {
                add(5, Some(order_id.as_str()), &page.values());
            }
            Self::CreateRefund { id, refund } => add(6, Some(id.as_str()), &refund.values()),
            Self::FindRefund { out_refund_no } => add(18, Some(out_refund_no.as_str()), &[]),
            Self::CreateSubscription { id, subscription } => {
                add(7, Some(id.as_str()), &subscription.values());
            }
            Self::CancelSubscription { id } => add(8, Some(id.as_str()), &[]),
            Self::Get { id } => add(9, Some(id.as_str()), &[]),
            Self::ListEntries { order_id, page } => {
                let [cursor, limit] = page.values();
                add(10, None, &[order_id.as_ref().map(OrderId::as_str).into(), cursor, limit]);
            }
            Self::Balance => add(11, None, &[]),
            Self::CreateEndpoint { id, endpoint } => add(12, Some(id.as_str()), &endpoint.values()),
            Self::ListEndpoints => add(13, None, &[]),
            Self::SetSecrets { id, secrets } => {
                add(14, Some(id.as_str()), &[secrets.as_str().into()]);
            }
            Self::DeleteEndpoint { id } => add(15, Some(id.as_str()), &[]),
            Self::ListEvents { page } => add(16, None, &page.values()),
            Self::ResendEvent { id } => add(17, Some(id.as_str()), &[]),
            Self::Reconcile { page } => add(30, None, &page.values()),
            Self::TakeIn { event } => add(20, None, &event.values()),
        }
    }

    fn of_row(row: &mut Row) -> Option<Self> {
        Some(match row.integer()? {
            0 => Self::CreateOrder { id: row.parsed()?, order: NewOrder::of_row(row)? },
            1 => Self::GetOrder { id: row.parsed()? },
            2 => Self::FindOrder { out_trade_no: row.parsed()? },
            3 => Self::CountExecutions { key: row.parsed()? },
            4 => Self::CreatePayment { id: row.parsed()?, payment: NewPayment::of_row(row)? },
            5 => Self::ListPayments { order_id: row.parsed()?, page: Page::of_row(row)? },
            6 => Self::CreateRefund { id: row.parsed()?, refund: NewRefund::of_row(row)? },
            7 => Self::CreateSubscription {
                id: row.parsed()?,
                subscription: NewSubscription::of_row(row)?,
            },
            8 => Self::CancelSubscription { id: row.parsed()? },
            9 => Self::Get { id: row.parsed()? },
            10 => Self::ListEntries { order_id: row.maybe(Row::parsed)?, page: Page::of_row(row)? },
            11 => Self::Balance,
            12 => Self::CreateEndpoint { id: row.parsed()?, endpoint: NewEndpoint::of_row(row)? },
            13 => Self::ListEndpoints,
            14 => Self::SetSecrets { id: row.parsed()?, secrets: row.parsed()? },
            15 => Self::DeleteEndpoint { id: row.parsed()? },
            16 => Self::ListEvents { page: Page::of_row(row)? },
            17 => Self::ResendEvent { id: row.parsed()? },
            18 => Self::FindRefund { out_refund_no: row.parsed()? },
            30 => Self::Reconcile { page: Page::of_row(row)? },
            20 => Self::TakeIn { event: Inbound::of_row(row)? },
            _ => return None,
        })
    }
}
