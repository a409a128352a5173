//! The merchant's Durable Object: one a merchant, with all its business data in one SQLite
//! database, so that an operation with everything that belongs to it is one transaction.

use super::answer::Answer;
use super::error::{Failure, Refusal};
use super::executions;
use super::input::{ApiKey, IdempotencyKey, OutTradeNo, RequestId};
use super::orders::{self, NewOrder, OrderId};
use super::schema;
use super::store::{self, Tx};
use crate::object::Object;
use crate::panic::{Panicked, contain};
use crate::{clock, random};
use minicbor::{Decode, Encode};
use oncekey::UnixMillis;
use sha2::{Digest, Sha256};
use std::cell::Cell;
use std::rc::Rc;
use worker::{DurableObject, Env, Request, Response, State, Storage, durable_object, wasm_bindgen};

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
#[derive(Encode, Decode)]
pub(super) struct Command {
    #[n(0)]
    form: u8,
    #[n(1)]
    request_id: RequestId,
    #[n(2)]
    idempotency_key: Option<IdempotencyKey>,
    #[n(3)]
    operation: Operation,
}

/// The operations, with input that has been checked. Ids are minted by the Worker.
#[derive(Encode, Decode)]
pub(super) enum Operation {
    #[n(0)]
    CreateOrder {
        #[n(0)]
        id: OrderId,
        #[n(1)]
        order: NewOrder,
    },
    #[n(1)]
    GetOrder {
        #[n(0)]
        id: OrderId,
    },
    #[n(2)]
    FindOrder {
        #[n(0)]
        out_trade_no: OutTradeNo,
    },
    #[n(3)]
    CountExecutions {
        #[n(0)]
        key: IdempotencyKey,
    },
}

/// What an operation knows of the call beside its input.
pub(super) struct Context {
    pub(super) request_id: RequestId,
    pub(super) idempotency_key: Option<IdempotencyKey>,
    pub(super) now: UnixMillis,
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
    let object = Object::named(env, BINDING, &object_name(merchant))?;
    let bytes =
        minicbor::to_vec(command).map_err(|error| worker::Error::RustError(error.to_string()))?;
    let (status, body) = object.post(&bytes).await.map_err(|error| {
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
    random::hex(&digest)
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
        let command = match minicbor::decode::<Command>(body) {
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
            now: clock::now(),
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
