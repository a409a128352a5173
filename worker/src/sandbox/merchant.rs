//! The merchant's Durable Object: one a merchant, with all its business data in one SQLite
//! database, so that an operation with everything that belongs to it is one transaction.

use super::answer::Answer;
use super::error::{Failure, Refusal};
use super::executions;
use super::input::{ApiKey, IdempotencyKey, OutTradeNo, RequestId};
use super::orders::{self, NewOrder, OrderId};
use super::platform::{self, Millis};
use super::schema;
use super::store::{self, Tx};
use crate::panic::{Panicked, contain};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::cell::Cell;
use std::rc::Rc;
use worker::{
    DurableObject, Env, Method, Request, RequestInit, Response, State, Storage, durable_object,
    wasm_bindgen,
};

/// The binding of the namespace of [`Merchant`] objects.
const BINDING: &str = "MERCHANTS";

/// Changes when old code would misread a new [`Command`]. Old and new code run at once while a
/// version is rolled out; an object that does not know the form says so with 503.
const COMMAND_FORM: u8 = 1;

/// The object's statuses, without a body, for trouble of its own: it does not know the command, so
/// it does not know whose answer it would give; or it lost the command to a panic.
const NOT_UNDERSTOOD: u16 = 503;
const LOST: u16 = 500;

/// What a Worker asks of the object.
#[derive(Serialize, Deserialize)]
pub(super) struct Command {
    form: u8,
    request_id: RequestId,
    idempotency_key: Option<IdempotencyKey>,
    operation: Operation,
}

/// The operations, with input that has been checked. Ids are minted by the Worker.
#[derive(Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub(super) enum Operation {
    CreateOrder { id: OrderId, order: NewOrder },
    GetOrder { id: OrderId },
    FindOrder { out_trade_no: OutTradeNo },
    CountExecutions { key: IdempotencyKey },
}

/// What an operation knows of the call beside its input.
pub(super) struct Context {
    pub(super) request_id: RequestId,
    pub(super) idempotency_key: Option<IdempotencyKey>,
    pub(super) now: Millis,
}

impl Command {
    pub(super) fn new(
        operation: Operation,
        idempotency_key: Option<IdempotencyKey>,
        request_id: RequestId,
    ) -> Self {
        Self { form: COMMAND_FORM, request_id, idempotency_key, operation }
    }
}

/// Sends a command to the merchant's object and passes its answer on. It is sent once: after a lost
/// reply nobody here knows whether it took effect, and the caller, who has the key, decides.
pub(super) async fn send(
    env: &Env,
    merchant: &ApiKey,
    command: &Command,
) -> Result<Answer, Failure> {
    let stub = env.durable_object(BINDING)?.get_by_name(&object_name(merchant))?;
    let body = serde_json::to_string(command).map_err(worker::Error::from)?;
    let mut init = RequestInit::new();
    init.with_method(Method::Post).with_body(Some(body.into()));
    let request = Request::new_with_init("https://merchant/", &init)?;

    let reply = async {
        let mut response = stub.fetch_with_request(request).await?;
        let body = response.bytes().await?;
        Ok((response.status_code(), body))
    };
    let (status, body) = reply.await.map_err(|error: worker::Error| {
        worker::console_error!("merchant, {}: {error}", command.request_id.as_str());
        Refusal::unavailable()
    })?;
    match status {
        _ if !body.is_empty() => Ok(Answer::ready(status, body)),
        NOT_UNDERSTOOD => Err(Refusal::unavailable().into()),
        _ => Err(Refusal::internal().into()),
    }
}

/// The object's name: the credential itself must not be found in names, logs or dashboards.
fn object_name(merchant: &ApiKey) -> String {
    let digest = Sha256::new()
        .chain_update(b"oncekey sandbox merchant 1\0")
        .chain_update(merchant.as_str())
        .finalize();
    platform::hex(&digest)
}

/// One merchant of the sandbox.
#[durable_object(fetch)]
pub struct Merchant {
    database: Rc<Database>,
}

impl DurableObject for Merchant {
    fn new(state: State, _: Env) -> Self {
        let database = Database { storage: state.storage(), schema_is_current: Cell::new(false) };
        Self { database: Rc::new(database) }
    }

    async fn fetch(&self, mut request: Request) -> worker::Result<Response> {
        let database = Rc::clone(&self.database);
        let answer = contain(async move {
            let body = request.bytes().await?;
            // From here on nothing waits: read, decide and write are one transaction, and should
            // anything in it trap, nothing of it is stored.
            database.answer(&body)
        });
        answer.await.unwrap_or_else(|Panicked| Ok(Response::empty()?.with_status(LOST)))
    }
}

struct Database {
    storage: Storage,
    schema_is_current: Cell<bool>,
}

impl Database {
    fn answer(&self, body: &[u8]) -> worker::Result<Response> {
        let command = match serde_json::from_slice::<Command>(body) {
            Ok(command) if command.form == COMMAND_FORM => command,
            _ => return Ok(Response::empty()?.with_status(NOT_UNDERSTOOD)),
        };
        let request_id = command.request_id.clone();
        self.execute(command)
            .unwrap_or_else(|failure| Answer::failed(failure, &request_id))
            .into_response(&request_id)
    }

    fn execute(&self, command: Command) -> Result<Answer, Failure> {
        if !self.schema_is_current.get() {
            schema::bring_up_to_date(&self.storage)?;
            self.schema_is_current.set(true);
        }
        let context = Context {
            request_id: command.request_id,
            idempotency_key: command.idempotency_key,
            now: platform::now(),
        };
        store::transaction(&self.storage, |tx| apply(tx, &context, command.operation))
    }
}

fn apply(tx: &Tx, context: &Context, operation: Operation) -> Result<Answer, Failure> {
    let id = &context.request_id;
    let answer = match operation {
        Operation::CreateOrder { id: new, order } => {
            Answer::data(201, &orders::create(tx, context, new, order)?, id)
        }
        Operation::GetOrder { id: wanted } => Answer::data(200, &orders::get(tx, &wanted)?, id),
        Operation::FindOrder { out_trade_no } => {
            Answer::data(200, &orders::find(tx, &out_trade_no)?, id)
        }
        Operation::CountExecutions { key } => Answer::data(200, &executions::count(tx, &key)?, id),
    };
    Ok(answer?)
}
