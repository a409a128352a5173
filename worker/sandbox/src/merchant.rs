//! The Durable Object of a merchant. All its business data is in one SQLite database, so each
//! operation is one transaction.

use super::error::{Failure, Refusal};
use super::request::{ApiRequest, request_id};
use super::response::ApiResponse;
use super::{deliveries, fault, route, schema, sending, store};
use oncekey::UnixMillis;
use oncekey::webhook::target::Reach;
use platform::task::{Panicked, contain};
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

    async fn fetch(&self, request: Request) -> worker::Result<Response> {
        let request_id = request_id(request.headers());
        let (database, id) = (Rc::clone(&self.database), request_id.clone());
        let reach = webhook_targets(&self.env);
        let response = contain(async move {
            // The transaction and the alarm follow without a wait in between, so both are stored or,
            // after a trap, neither.
            let (response, due_at) = database
                .execute(request, &id, reach)
                .await
                .unwrap_or_else(|failure| (ApiResponse::failed(failure, &id), None));
            database.wake_at(due_at).await;
            fault::wait(response.delay).await;
            response.into_response(&id)
        });
        response.await.unwrap_or_else(|Panicked| {
            let failure = Refusal::internal().into();
            ApiResponse::failed(failure, &request_id).into_response(&request_id)
        })
    }

    /// Sends the deliveries that are due.
    async fn alarm(&self) -> worker::Result<Response> {
        let database = Rc::clone(&self.database);
        let reach = webhook_targets(&self.env);
        let sent = contain(async move { database.send_due(reach).await });
        match sent.await {
            Ok(Ok(())) => Response::empty(),
            // The platform repeats an alarm that fails.
            Ok(Err(failure)) => Err(["webhooks: ", &failure.to_string()].concat().into()),
            Err(Panicked) => Err("webhooks: lost to an internal error".into()),
        }
    }
}

struct Database {
    storage: Rc<Storage>,
    schema_is_current: Cell<bool>,
    /// The time of the next alarm, or [`NEVER`] if it is unknown. Then the next call with a delivery
    /// due sets the alarm.
    alarm_at: Cell<UnixMillis>,
}

const NEVER: UnixMillis = UnixMillis::new(u64::MAX);

impl Database {
    /// Carries out a request. Returns the response, and when the next delivery is due.
    async fn execute(
        &self,
        request: Request,
        id: &str,
        reach: Reach,
    ) -> Result<(ApiResponse, Option<UnixMillis>), Failure> {
        self.bring_up_to_date()?;
        let path = request.path();
        let (handler, named) = route::find(&request.inner().method(), &path)?;
        let request = ApiRequest::read(request, id, named, reach).await?;
        store::transaction(&self.storage, |tx| {
            let response = handler(tx, &request)?;
            Ok((response, deliveries::first_due(tx)?))
        })
    }

    async fn send_due(&self, reach: Reach) -> Result<(), Failure> {
        self.alarm_at.set(NEVER);
        // Only newer code may use a database that newer code wrote.
        self.bring_up_to_date()?;
        sending::send_due(Rc::clone(&self.storage), reach).await?;
        let due_at = store::transaction(&self.storage, deliveries::first_due)?;
        self.wake_at(due_at).await;
        Ok(())
    }

    /// Sets the alarm, unless it is set for this time or earlier. If that fails, the next call tries
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

/// Returns to which targets webhooks may be sent: `WEBHOOK_TARGETS=local` allows every target, loopback and plain
/// http included, for local development. The gateway checks this setting with its own.
fn webhook_targets(env: &Env) -> Reach {
    match env.var("WEBHOOK_TARGETS") {
        Ok(value) if value.to_string().trim() == "local" => Reach::Local,
        _ => Reach::Public,
    }
}
