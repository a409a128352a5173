//! The flow of a request, top-down: scope → key → fingerprint → begin → origin → complete → answer.
//!
//! A business number is a second record, and what it has to say stands in `number.rs`.

use crate::answer::{Answer, Caller};
use crate::attempt::Attempting;
use crate::authority::Authority;
use crate::budget::Reservation;
use crate::claim::{After, Claim};
use crate::clock;
use crate::incoming::Incoming;
use crate::inspect::is_admin;
use crate::panic;
use crate::replica;
use crate::upstream::{self, Deadline, Outgoing};
use crate::webhooks;
use futures_util::future::{Either, select};
use oncekey::fingerprint::RequestParts;
use oncekey::form::{Taken, one_key};
use oncekey::{
    Attempt, Decision, Disguise, Execution, FailCause, Fingerprints, IdempotencyKey, KeyStatus,
    Millis, Number, Rejection, Scope, ScopeError, ScopedKey, Step, StoredResponse, UnixMillis,
};
use std::pin::pin;
use worker::Env;

/// How long the authority may take before the replica is asked as well.
const SLOW: Millis = Millis::new(50);

/// An answer, and what is left to do once it has gone out.
pub(crate) struct Outcome {
    pub(crate) answer: Answer,
    pub(crate) after: Option<After>,
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
    let named_by = if in_form || incoming.header("idempotency-key").is_some() {
        NamedBy::Key
    } else if caller.config.requires_key(&incoming.method, &incoming.path) {
        return Err(Rejection::KeyMissing);
    } else if may_be_numbered(caller, &incoming)? {
        NamedBy::Number
    } else {
        let read = form.map(|form| form.body);
        return Ok(pass_through(env, caller, &incoming, read.as_deref()).await.into());
    };
    once(env, caller, incoming, form, named_by, &reservation).await
}

/// What tells one intent from another.
#[derive(PartialEq)]
enum NamedBy {
    /// The idempotency key, and the business number too where there is one.
    Key,
    /// The business number alone, if there is one.
    Number,
}

/// A write that is executed once, however often it comes.
async fn once(
    env: &Env,
    caller: &Caller,
    incoming: Incoming,
    form: Option<Taken>,
    named_by: NamedBy,
    reservation: &Reservation,
) -> Result<Outcome, Rejection> {
    let config = &caller.config;
    let (method, path) = (&incoming.method, &incoming.path);
    if named_by == NamedBy::Key {
        caller.measure.counts();
        no_disguise(caller, &incoming)?;
    }
    let scope = scope_of(caller, &incoming)?;
    let (in_form, read) = form.map(|form| (form.key, form.body)).unzip();
    let key = match named_by {
        NamedBy::Key => Some(key_of(&incoming, in_form.flatten())?),
        NamedBy::Number => None,
    };
    let body = match read {
        Some(body) => body,
        None => incoming.read_body(config.max_request, reservation).await?,
    };
    let content_type = incoming.header("content-type");
    let number = config.business_keys.number(method, path, content_type, &body);
    let number = number.map_err(|unreadable| Rejection::Invalid(unreadable.to_string()))?;
    if key.is_none() {
        if number.is_none() {
            return Ok(pass_through(env, caller, &incoming, Some(&body)).await.into());
        }
        caller.measure.counts();
        no_disguise(caller, &incoming)?;
    }
    let fingerprints = Fingerprints::compute(
        &RequestParts {
            method,
            path,
            query: incoming.query.as_deref(),
            content_type,
            body: &body,
            ignore: &config.ignored(method, path),
        },
        &config.fingerprint_secrets,
    );
    let authority = |name, of| Authority::new(env, name).for_caller(caller, &scope, of);
    let of_key = key.as_ref().map(|key| {
        let authority = authority(ScopedKey::new(&scope, key), "key");
        Claim::new(authority, key.minted_at(), config.policy)
    });
    let of_number = number.as_ref().map(|number| {
        let name = ScopedKey::of_number(&scope, method, path, number);
        Claim::new(authority(name, "number"), None, config.policy.of_numbers())
    });
    let (first, second) = match (of_key, of_number) {
        (Some(key), number) => (key, number),
        (None, Some(number)) => (number, None),
        (None, None) => return Err(Rejection::Internal),
    };
    let sent_at = clock::now();
    let write = Write { first, second, key, number, is_event: false, fingerprints, sent_at };
    let answers = Reservation::of_answer();
    let attempt = Attempting { env, caller, incoming: &incoming, body, answers, write };
    Ok(match attempt.write.begin(env, caller).await {
        Begun::Execute(execution) => attempt.run(execution).await,
        Begun::Told(decision, status) => attempt.told(decision, status).await,
        Begun::Answered(outcome) => outcome,
    })
}

/// Whether a write without a key may have a business number, and it can be told whose. Without a
/// credential it is left to the origin.
fn may_be_numbered(caller: &Caller, incoming: &Incoming) -> Result<bool, Rejection> {
    let config = &caller.config;
    let content_type = incoming.header("content-type");
    if !config.business_keys.may_name(&incoming.method, &incoming.path, content_type) {
        return Ok(false);
    }
    match Scope::derive(&config.scope, &config.scope_aliases, |of| incoming.scope_value(of)) {
        Err(ScopeError::Missing) => Ok(false),
        scope => scope.map(|_| true).map_err(Rejection::NoScope),
    }
}

/// What would make the request another one at the origin than it is here.
fn no_disguise(caller: &Caller, incoming: &Incoming) -> Result<(), Rejection> {
    match Disguise::of(|name| incoming.header(name), &caller.config.scope) {
        Some(disguise) => Err(Rejection::Invalid(disguise.to_string())),
        None => Ok(()),
    }
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
            Decision::Replay(response) => replay(caller, response),
            _ => caller.reject(&Rejection::Internal),
        },
    };
    answer.with_key_status(status)
}

/// A stored answer, given again.
pub(crate) fn replay(caller: &Caller, response: StoredResponse) -> Answer {
    let gone = Rejection::NotReplayable { http_status: None, resource: None };
    Answer::replay(response).unwrap_or_else(|| caller.reject(&gone))
}

/// A write that is executed once.
pub(crate) struct Write {
    /// The record that decides first: the key's, or the number's where there is no key.
    pub(crate) first: Claim,
    /// The number's record, where there is a key too.
    pub(crate) second: Option<Claim>,
    pub(crate) key: Option<IdempotencyKey>,
    pub(crate) number: Option<Number>,
    /// Whether it is a webhook's event: it has no answer, it is done or not.
    pub(crate) is_event: bool,
    pub(crate) fingerprints: Fingerprints,
    /// When the first `begin` was first sent, by the clock here.
    pub(crate) sent_at: UnixMillis,
}

enum Begun {
    Execute(Execution),
    /// It does not execute, and this is how the first record stands.
    Told(Decision, Option<KeyStatus>),
    Answered(Outcome),
}

impl Write {
    /// Asks the authority, and the replica too when the authority is slow or down.
    async fn begin(&self, env: &Env, caller: &Caller) -> Begun {
        let attempt = Attempt {
            fingerprints: &self.fingerprints,
            token: self.first.token,
            minted_at: self.first.minted_at,
            policy: &self.first.policy,
        };
        let asked = pin!(self.first.begin(&self.fingerprints));
        // The replica gets its head start only where the authority is slow.
        let copied = pin!(async {
            clock::sleep(SLOW).await;
            replica::ask(env, self.first.name, &attempt).await
        });
        let reply = match select(asked, copied).await {
            Either::Left((reply, _)) => reply,
            // Final, so nothing that the authority could still say counts for more.
            Either::Right((Some(step), _)) => return self.answered_without_authority(caller, step),
            Either::Right((None, asked)) => asked.await,
        };
        let rejection = match reply {
            Ok((Decision::Execute(execution), _)) => return Begun::Execute(execution),
            Ok((decision, status)) => return Begun::Told(decision, status),
            Err(rejection) => rejection,
        };
        match replica::ask(env, self.first.name, &attempt).await {
            Some(step) => self.answered_without_authority(caller, step),
            None => Begun::Answered(Outcome {
                answer: caller.reject(&rejection),
                after: Some(self.first.fail_later(FailCause::NotDispatched)),
            }),
        }
    }

    fn answered_without_authority(&self, caller: &Caller, step: Step<Decision>) -> Begun {
        Begun::Answered(Outcome {
            answer: self.answer_to(caller, step.decision, step.status.as_ref()),
            after: Some(self.first.fail_later(FailCause::NotDispatched)),
        })
    }

    /// What a caller is told who does not execute, by how the first record stands.
    pub(crate) fn answer_to(
        &self,
        caller: &Caller,
        decision: Decision,
        status: Option<&KeyStatus>,
    ) -> Answer {
        let is_done = |decision: &Decision| {
            use Decision::{NotReplayable, Replay};
            matches!(decision, Replay(_) | NotReplayable { http_status: Some(_), .. })
        };
        match decision.rejection() {
            _ if self.is_event && is_done(&decision) => {
                webhooks::duplicate(caller).with_key_status(status)
            }
            Some(why) if self.key.is_none() => {
                caller.reject(&self.of_number(why)).with_key_status(status)
            }
            _ => answer_to(caller, decision, status),
        }
    }

    /// A rejection that is about the number, not the key.
    pub(crate) fn of_number(&self, why: Rejection) -> Rejection {
        match &self.number {
            Some(number) => Rejection::OfNumber { why: Box::new(why), number: number.clone() },
            None => why,
        }
    }
}
