//! The flow of a request, top-down: scope → key → fingerprint → begin → origin → complete → answer.

use crate::answer::{Answer, Caller};
use crate::attempt::Attempting;
use crate::authority::{Authority, Patience, Unavailable};
use crate::budget::Reservation;
use crate::clock;
use crate::incoming::Incoming;
use crate::inspect::is_admin;
use crate::panic;
use crate::protocol::{Operation, Reply};
use crate::random;
use crate::replica;
use crate::upstream::{self, Deadline, Outgoing};
use futures_util::future::{Either, LocalBoxFuture, select};
use oncekey::fingerprint::RequestParts;
use oncekey::form::{Taken, one_key};
use oncekey::{
    Attempt, Decision, Execution, FailCause, Fingerprints, IdempotencyKey, KeyStatus, Millis,
    Rejection, Scope, ScopeError, ScopeSource, ScopedKey, Step, Token, UnixMillis,
};
use std::pin::pin;
use std::rc::Rc;
use worker::Env;

/// How long the authority may take before the replica is asked as well.
const SLOW: Millis = Millis::new(50);

const HIDDEN: &str = "Connection may not name the credential, a cookie or the body's type of a request with an idempotency key.";

const OVERRIDDEN: &str = "A request with an idempotency key cannot carry X-HTTP-Method-Override; send it with the method itself.";

/// An answer, and what is left to do once it has gone out.
pub(crate) struct Outcome {
    pub(crate) answer: Answer,
    pub(crate) after: Option<LocalBoxFuture<'static, ()>>,
}

impl From<Answer> for Outcome {
    fn from(answer: Answer) -> Self {
        Self { answer, after: None }
    }
}

/// Answers a request to the origin.
pub(crate) async fn handle(env: &Env, caller: &Caller, mut incoming: Incoming) -> Outcome {
    panic::point("gateway");
    // The operator's own token is nobody's credential, and no business of the origin.
    if is_admin(caller, &incoming) {
        incoming.headers.retain(|(name, _)| name != "authorization");
    }
    let outcome = if incoming.is_write() {
        write(env, caller, incoming).await
    } else {
        read(env, caller, &incoming).await
    };
    outcome.unwrap_or_else(|rejection| caller.reject(&rejection).into())
}

async fn read(env: &Env, caller: &Caller, incoming: &Incoming) -> Result<Outcome, Rejection> {
    no_body(incoming).await?;
    Ok(pass_through(env, caller, incoming, None).await.into())
}

/// A write: a form has to be read before it is known whether there is a key.
async fn write(env: &Env, caller: &Caller, incoming: Incoming) -> Result<Outcome, Rejection> {
    let reservation = Reservation::of_request();
    let form = incoming.read_form(&caller.config, &reservation).await?;
    let in_form = form.as_ref().is_some_and(|form| form.key.is_some());
    if in_form || incoming.header("idempotency-key").is_some() {
        return keyed_write(env, caller, incoming, form, &reservation).await;
    }
    if caller.config.requires_key(&incoming.method, &incoming.path) {
        return Err(Rejection::KeyMissing);
    }
    let read = form.map(|form| form.body);
    Ok(pass_through(env, caller, &incoming, read.as_deref()).await.into())
}

/// A write with a key: executed once, however often it comes.
async fn keyed_write(
    env: &Env,
    caller: &Caller,
    incoming: Incoming,
    form: Option<Taken>,
    reservation: &Reservation,
) -> Result<Outcome, Rejection> {
    let config = &caller.config;
    if incoming.header("x-http-method-override").is_some() {
        // The fingerprint says POST, the origin would do something else.
        return Err(Rejection::Invalid(OVERRIDDEN.to_owned()));
    }
    if hides_identity(caller, &incoming) {
        return Err(Rejection::Invalid(HIDDEN.to_owned()));
    }
    let scope = scope_of(caller, &incoming)?;
    let (in_form, read) = form.map(|form| (form.key, form.body)).unzip();
    let key = key_of(&incoming, in_form.flatten())?;
    let body = match read {
        Some(body) => body,
        None => incoming.read_body(config.max_request, reservation).await?,
    };
    let fingerprints = Fingerprints::compute(
        &RequestParts {
            method: &incoming.method,
            path: &incoming.path,
            query: incoming.query.as_deref(),
            content_type: incoming.header("content-type"),
            body: &body,
            ignore: &config.ignored(&incoming.method, &incoming.path),
        },
        &config.fingerprint_secrets,
    );
    let name = ScopedKey::new(&scope, &key);
    let write = KeyedWrite {
        authority: Rc::new(Authority::new(env, name)),
        name,
        token: random::token(),
        sent_at: clock::now(),
        key,
        fingerprints,
    };
    Ok(match write.begin(env, caller).await {
        Begun::Execute(execution) => {
            Attempting {
                env,
                caller,
                incoming: &incoming,
                body,
                answers: Reservation::of_answer(),
                write,
                execution,
            }
            .run()
            .await
        }
        Begun::Answered(outcome) => outcome,
    })
}

/// A read has no body to pass on: the platform makes no request of one that has.
async fn no_body(incoming: &Incoming) -> Result<(), Rejection> {
    const NO_BODY: &str = "A GET or HEAD request with a body cannot be passed on; send it without.";
    if !matches!(incoming.method.as_str(), "GET" | "HEAD") {
        return Ok(());
    }
    let body = incoming.read_body(0, &Reservation::of_request()).await;
    body.map(drop).map_err(|_| Rejection::Invalid(NO_BODY.to_owned()))
}

/// Whether `Connection` takes away, on the way to the origin, what says whose the request is or
/// what it is: the caller would be somebody here and somebody else there.
fn hides_identity(caller: &Caller, incoming: &Incoming) -> bool {
    let scope = |name: &str| {
        caller.config.scope.iter().any(|source| *source == ScopeSource::Header(name.to_owned()))
    };
    let named = incoming.header("connection").unwrap_or_default().split(',');
    named.map(|name| name.trim().to_ascii_lowercase()).any(|name| {
        scope(&name) || matches!(name.as_str(), "cookie" | "content-type" | "content-encoding")
    })
}

/// A request that nobody needs to remember.
async fn pass_through(
    env: &Env,
    caller: &Caller,
    incoming: &Incoming,
    read: Option<&[u8]>,
) -> Answer {
    let outgoing = Outgoing::keyless(incoming, read, &caller.request_id);
    let deadline = Deadline::after(caller.config.origin_timeout);
    match upstream::call(env, &caller.config, outgoing, &deadline).await {
        Ok(answer) => answer.pass_on(),
        Err(upstream::OriginError::TimedOut) => {
            deadline.abort();
            caller.reject(&Rejection::OriginTimedOut)
        }
        Err(_) => caller.reject(&Rejection::OriginUnreachable),
    }
}

/// Which key it is: the header's, or that of a form.
fn key_of(
    incoming: &Incoming,
    in_form: Option<IdempotencyKey>,
) -> Result<IdempotencyKey, Rejection> {
    let header = incoming.header("idempotency-key").map(IdempotencyKey::parse_header);
    let header = header.transpose().map_err(Rejection::KeyMalformed)?;
    one_key(header, in_form).map_err(Rejection::FormKey)?.ok_or(Rejection::KeyMissing)
}

/// Whose key it is.
pub(crate) fn scope_of(caller: &Caller, incoming: &Incoming) -> Result<Scope, Rejection> {
    let config = &caller.config;
    let scope =
        Scope::derive(&config.scope, &config.scope_aliases, |source| incoming.scope_value(source));
    match scope {
        Err(ScopeError::Missing) if config.anonymous => Ok(Scope::anonymous()),
        scope => scope.map_err(Rejection::NoScope),
    }
}

/// What a caller is told who does not execute.
pub(crate) fn answer_to(caller: &Caller, decision: Decision, status: Option<&KeyStatus>) -> Answer {
    let answer = match decision.rejection() {
        Some(rejection) => caller.reject(&rejection),
        None => match decision {
            Decision::Replay(response) => Answer::replay(response)
                .unwrap_or_else(|| caller.reject(&Rejection::NotReplayable(None))),
            _ => caller.reject(&Rejection::Internal),
        },
    };
    answer.with_key_status(status)
}

/// One attempt at a keyed write.
pub(crate) struct KeyedWrite {
    pub(crate) authority: Rc<Authority>,
    pub(crate) name: ScopedKey,
    pub(crate) token: Token,
    /// When `begin` was first sent, by the clock here.
    pub(crate) sent_at: UnixMillis,
    pub(crate) key: IdempotencyKey,
    pub(crate) fingerprints: Fingerprints,
}

enum Begun {
    Execute(Execution),
    Answered(Outcome),
}

impl KeyedWrite {
    /// Asks the authority, and the replica too when the authority is slow or down.
    async fn begin(&self, env: &Env, caller: &Caller) -> Begun {
        let attempt = Attempt {
            fingerprints: &self.fingerprints,
            token: self.token,
            minted_at: self.key.minted_at(),
            policy: &caller.config.policy,
        };
        let operation = Operation::Begin {
            fingerprints: self.fingerprints.clone(),
            token: self.token,
            minted_at: attempt.minted_at,
            policy: *attempt.policy,
        };
        // Past half the lease nothing may be dispatched, so there is no use in waiting for longer.
        let patience = Patience::within(attempt.policy.lease.half());
        let asked = pin!(self.authority.call(operation, patience));
        // The replica gets its head start only where the authority is slow.
        let copied = pin!(async {
            clock::sleep(SLOW).await;
            replica::ask(env, self.name, &attempt).await
        });
        let reply = match select(asked, copied).await {
            Either::Left((reply, _)) => reply,
            // Final, so nothing that the authority could still say counts for more.
            Either::Right((Some(step), _)) => return self.answered_without_authority(caller, step),
            Either::Right((None, asked)) => asked.await,
        };
        let rejection = match reply {
            Ok(Reply::Begun { decision: Decision::Execute(execution), .. }) => {
                return Begun::Execute(execution);
            }
            Ok(Reply::Begun { decision, status }) => {
                let answer = answer_to(caller, decision, status.as_ref());
                // A first call may have got the key, and its reply be lost with the lease.
                let is_late = clock::now().since(self.sent_at) >= attempt.policy.lease.half();
                let after = is_late.then(|| self.give_up());
                return Begun::Answered(Outcome { answer, after });
            }
            Ok(Reply::Unreadable) => Rejection::RecordUnreadable,
            Ok(_) | Err(Unavailable) => Rejection::StoreUnavailable,
        };
        match replica::ask(env, self.name, &attempt).await {
            Some(step) => self.answered_without_authority(caller, step),
            None => Begun::Answered(Outcome {
                answer: caller.reject(&rejection),
                after: Some(self.give_up()),
            }),
        }
    }

    fn answered_without_authority(&self, caller: &Caller, step: Step<Decision>) -> Begun {
        Begun::Answered(Outcome {
            answer: answer_to(caller, step.decision, step.status.as_ref()),
            after: Some(self.give_up()),
        })
    }

    /// Tells the authority that this attempt does not execute, should its `begin` still arrive or
    /// have arrived: otherwise the key would count as dispatched once the lease dies.
    fn give_up(&self) -> LocalBoxFuture<'static, ()> {
        let authority = Rc::clone(&self.authority);
        let operation = Operation::Fail { token: self.token, cause: FailCause::NotDispatched };
        Box::pin(async move {
            let _ = authority.call(operation, Patience::in_background()).await;
        })
    }
}
