//! The merchant's Durable Object: one a merchant, with all its business data in one SQLite
//! database, so that an operation with everything that belongs to it is one transaction.

use super::answer::Answer;
use super::client::{LOST, NOT_UNDERSTOOD};
use super::command::{Command, Operation};
use super::context::Context;
use super::error::{Failure, Refusal};
use super::input::Id;
use super::pages::Listed;
use super::store::{self, Tx};
use super::{
    deliveries, effects, endpoints, events, executions, ledger, orders, payments, reconcile,
    refunds, schema, sending, settings, subscriptions,
};
use oncekey::UnixMillis;
use oncekey::webhook_target::Reach;
use platform::clock;
use platform::panic::{Panicked, contain};
use std::cell::Cell;
use std::rc::Rc;
use worker::{
    DurableObject, Env, Request, Response, ScheduledTime, State, Storage, durable_object,
    wasm_bindgen,
};

/// One merchant of the sandbox.
#[durable_object(alarm)]
pub struct Merchant {
    database: Rc<Database>,
    env: Env,
}

impl DurableObject for Merchant {
    fn new(state: State, env: Env) -> Self {
        let storage = Rc::new(state.storage());
        let schema_is_current = Cell::new(false);
        let database = Database { storage, schema_is_current, alarm_at: Cell::new(NEVER) };
        Self { database: Rc::new(database), env }
    }

    async fn fetch(&self, mut request: Request) -> worker::Result<Response> {
        let database = Rc::clone(&self.database);
        let answer = contain(async move {
            let body = request.bytes().await?;
            // From here on nothing waits: read, decide and write are one transaction, and should
            // anything in it trap, nothing of it is stored. The alarm is set without a wait between
            // too, and so is stored with it or not at all.
            let (answer, due_at) = database.answer(&body)?;
            database.wake_at(due_at).await;
            Ok(answer)
        });
        answer.await.unwrap_or_else(|Panicked| Ok(Response::empty()?.with_status(LOST)))
    }

    /// Sends the events that are due.
    async fn alarm(&self) -> worker::Result<Response> {
        let database = Rc::clone(&self.database);
        let reach = settings::webhook_targets(&self.env);
        let sent = contain(async move { database.send_due(reach).await });
        match sent.await {
            Ok(Ok(())) => Response::empty(),
            // The platform rings again after an error.
            Ok(Err(failure)) => Err(["webhooks: ", &failure.to_string()].concat().into()),
            Err(Panicked) => Err("webhooks: lost to an internal error".into()),
        }
    }
}

struct Database {
    storage: Rc<Storage>,
    schema_is_current: Cell<bool>,
    /// When the next alarm is set for, or [`NEVER`] while none is known: then the next call that
    /// finds something due sets it, whatever became of an earlier one.
    alarm_at: Cell<UnixMillis>,
}

const NEVER: UnixMillis = UnixMillis::new(u64::MAX);

impl Database {
    /// The answer, and when the first event is due.
    fn answer(&self, body: &[u8]) -> worker::Result<(Response, Option<UnixMillis>)> {
        let Some(command) = Command::decode(body) else {
            return Ok((Response::empty()?.with_status(NOT_UNDERSTOOD), None));
        };
        let request_id = command.request_id.clone();
        let (answer, due_at) = self
            .execute(command)
            .unwrap_or_else(|failure| (Answer::failed(failure, &request_id), None));
        Ok((answer.into_response(&request_id)?, due_at))
    }

    fn execute(&self, command: Command) -> Result<(Answer, Option<UnixMillis>), Failure> {
        self.bring_up_to_date()?;
        let context = Context {
            request_id: command.request_id,
            idempotency_key: command.idempotency_key,
            now: clock::now(),
        };
        store::transaction(&self.storage, |tx| {
            let answer = apply(tx, &context, &command.operation)?;
            Ok((answer, deliveries::first_due(tx)?))
        })
    }

    async fn send_due(&self, reach: Reach) -> Result<(), Failure> {
        self.alarm_at.set(NEVER);
        // What newer code has written is left to newer code.
        self.bring_up_to_date()?;
        sending::send_due(Rc::clone(&self.storage), reach).await?;
        let due_at = store::transaction(&self.storage, deliveries::first_due)?;
        self.wake_at(due_at).await;
        Ok(())
    }

    /// Sets the alarm, unless one is set for then or earlier. Should that fail, the next call tries
    /// again.
    async fn wake_at(&self, due_at: Option<UnixMillis>) {
        let Some(due_at) = due_at.filter(|due_at| *due_at < self.alarm_at.get()) else {
            return;
        };
        let date = worker::js_sys::Date::new(&(due_at.as_u64() as f64).into());
        match self.storage.set_alarm(ScheduledTime::new(date)).await {
            Ok(()) => self.alarm_at.set(due_at),
            Err(error) => worker::console_error!("webhooks: no alarm: {error}"),
        }
    }

    fn bring_up_to_date(&self) -> Result<(), Failure> {
        if !self.schema_is_current.get() {
            schema::bring_up_to_date(&self.storage)?;
            self.schema_is_current.set(true);
        }
        Ok(())
    }
}

fn apply(tx: &Tx, context: &Context, operation: &Operation) -> Result<Answer, Failure> {
    use Operation as O;
    let (status, data) = match operation {
        O::CreateOrder { id, order } => (201, orders::create(tx, context, id, order)?),
        O::GetOrder { id } => (200, orders::get(tx, id)?),
        O::FindOrder { out_trade_no } => (200, orders::find(tx, out_trade_no)?),
        O::CountExecutions { key } => (200, executions::count(tx, key)?),
        O::CreatePayment { id, payment } => return payments::create(tx, context, id, payment),
        O::ListPayments { order_id, page } => {
            return list(context, payments::list(tx, order_id, page)?);
        }
        O::CreateRefund { id, refund } => (201, refunds::create(tx, context, id, refund)?),
        O::FindRefund { out_refund_no } => (200, refunds::find(tx, out_refund_no)?),
        O::CreateSubscription { id, subscription } => {
            (201, subscriptions::create(tx, context, id, subscription)?)
        }
        O::CancelSubscription { id } => (200, subscriptions::cancel(tx, context, id)?),
        O::Get { id } => (200, get(tx, id)?),
        O::ListEntries { order_id, page } => {
            return list(context, ledger::entries(tx, order_id.as_ref(), page)?);
        }
        O::Balance => (200, ledger::balance(tx)?),
        O::CreateEndpoint { id, endpoint } => (201, endpoints::create(tx, context, id, endpoint)?),
        O::ListEndpoints => {
            return list(context, endpoints::list(tx)?);
        }
        O::SetSecrets { id, secrets } => (200, endpoints::set_secrets(tx, context, id, secrets)?),
        O::DeleteEndpoint { id } => (200, endpoints::delete(tx, context, id)?),
        O::ListEvents { page } => return list(context, events::list(tx, page)?),
        O::ResendEvent { id } => (200, events::resend(tx, context, id)?),
        O::Reconcile { page } => return reconcile::list(tx, page),
        O::TakeIn { event } => (200, effects::take_in(tx, context, event)?),
    };
    Ok(Answer::data(status, &data, &context.request_id))
}

fn list(context: &Context, listed: Listed) -> Result<Answer, Failure> {
    Ok(Answer::list(&listed, &context.request_id))
}

/// By what the id begins with.
fn get(tx: &Tx, id: &Id) -> Result<String, Failure> {
    let id = id.as_str();
    match id.get(..4) {
        Some(payments::PREFIX) => payments::shown(tx, id),
        Some(refunds::PREFIX) => refunds::shown(tx, id),
        Some(subscriptions::PREFIX) => subscriptions::shown(tx, id),
        Some(events::PREFIX) => events::shown(tx, id),
        _ => Err(Refusal::no_such_object().into()),
    }
}
