//! The business number of a write: a second record beside its key's, or the only one. And look-ups,
//! which settle what is unknown.
//!
//! What becomes of key and number is decided by the core (`business.rs`); here it is carried out.

use crate::attempt::Attempting;
use crate::claim::{After, Claim, both};
use crate::clock;
use crate::gateway::{Outcome, replay};
use crate::protocol::{Operation, Reply};
use crate::upstream::{Deadline, OriginBody, OriginError, Outgoing};
use oncekey::business::{self, KeyEnd, Pairing};
use oncekey::lookup::proves_execution;
use oncekey::{
    Completion, Decision, Execution, FailCause, KeyStatus, Millis, Rejection, Settlement, Settling,
    StoredResponse,
};

/// How long a look-up may take in all.
const LOOK_UP: Millis = Millis::from_seconds(10);

/// What becomes of an attempt that owns its key when it asks for the number.
pub(crate) enum Pair {
    /// It may call the origin, as long as both leases live.
    Dispatch(Execution),
    Answered(Outcome),
}

/// The number's part of an attempt is over.
pub(crate) struct Bound {
    /// What becomes of the key.
    pub(crate) end: KeyEnd,
    /// Whether the number has the attempt's answer.
    pub(crate) is_bound: bool,
    pub(crate) after: Option<After>,
}

/// How a request stands that does not call the origin.
#[derive(Default)]
struct Stands<'a> {
    /// It owns its key, whose part has to end.
    owns_key: bool,
    /// Its key is held.
    is_held: bool,
    /// The first record, where its outcome is unknown, and how it was told.
    first: Option<&'a Claim>,
    status: Option<KeyStatus>,
    /// The number beside it, where its outcome is unknown.
    number: Option<&'a Claim>,
}

impl Attempting<'_> {
    /// The attempt owns its key and asks for the number.
    pub(crate) async fn pair(&self, number: &Claim, key: Execution) -> Pair {
        let sent_at = clock::now();
        let (begun, given_up) = match number.begin(&self.write.fingerprints).await {
            Ok((decision, _)) => {
                (Ok(business::pair(key, decision)), number.give_up_if_late(sent_at))
            }
            Err(rejection) => (Err(rejection), Some(number.fail_later(FailCause::NotDispatched))),
        };
        let pairing = match begun {
            Ok(Pairing::Dispatch(execution)) => return Pair::Dispatch(execution),
            begun => begun,
        };
        let is_unknown = matches!(pairing, Ok(Pairing::LookUp(Decision::OutcomeUnknown)));
        let number = Some(number).filter(|_| is_unknown);
        let stands = Stands { owns_key: true, number, ..Stands::default() };
        let outcome = self.carry_out(pairing, stands).await;
        Pair::Answered(Outcome { after: both(outcome.after, given_up), ..outcome })
    }

    /// The origin has answered: the number is completed before the key.
    pub(crate) async fn bind(&self, stored: &StoredResponse) -> Bound {
        let Some(number) = &self.write.second else {
            return Bound { end: KeyEnd::Own, is_bound: false, after: None };
        };
        match number.complete(stored.clone()).await {
            Ok((completion, _)) => Bound {
                is_bound: completion == Completion::Recorded && stored.is_success(),
                end: business::end_of_key(completion, stored),
                after: None,
            },
            Err(_) => Bound {
                end: KeyEnd::Own,
                is_bound: false,
                after: Some(number.fail_later(FailCause::NotStored)),
            },
        }
    }

    /// The attempt does not execute, for this is how its first record stands.
    pub(crate) async fn told(&self, decision: Decision, status: Option<KeyStatus>) -> Outcome {
        let given_up = self.write.first.give_up_if_late(self.write.sent_at);
        let is_unknown = decision == Decision::OutcomeUnknown;
        let first = Some(&self.write.first).filter(|_| is_unknown);
        let mut stands = Stands { first, status, ..Stands::default() };
        let pairing = if self.write.key.is_none() {
            Ok(business::alone(decision))
        } else if is_unknown {
            // The key is held: its number may know, or the origin.
            stands.is_held = true;
            self.recall().await.map(|number| {
                let is_unknown = number == Some(Decision::OutcomeUnknown);
                stands.number = self.write.second.as_ref().filter(|_| is_unknown);
                business::held(number)
            })
        } else {
            Ok(Pairing::End(decision))
        };
        let outcome = self.carry_out(pairing, stands).await;
        Outcome { after: both(outcome.after, given_up), ..outcome }
    }

    /// What the number's `begin` would be told; `None` where there is no number.
    async fn recall(&self) -> Result<Option<Decision>, Rejection> {
        let Some(number) = &self.write.second else {
            return Ok(None);
        };
        let fingerprints = self.write.fingerprints.clone();
        match number.ask(Operation::Recall { fingerprints }).await? {
            Reply::Recalled { decision } => Ok(decision),
            _ => Err(Rejection::StoreUnavailable),
        }
    }

    /// Answers a request that does not call the origin: with what was found, or by what stands.
    async fn carry_out(&self, pairing: Result<Pairing, Rejection>, stands: Stands<'_>) -> Outcome {
        let (found, unknown, otherwise) = match pairing {
            Ok(Pairing::Adopt(response)) => (Some(response), [None, stands.first], None),
            Ok(Pairing::LookUp(decision)) => {
                let found = self.look_up(&decision).await;
                (found, [stands.number, stands.first], Some(decision))
            }
            Ok(Pairing::End(decision)) => (None, [None; 2], Some(decision)),
            // Who may execute is not here.
            Ok(Pairing::Dispatch(_)) => (None, [None; 2], None),
            Err(rejection) => return self.refuse(rejection, stands).await,
        };
        let Some(found) = found else {
            let decision = otherwise.unwrap_or(Decision::InProgress);
            let is_of_number = stands.is_held && decision != Decision::OutcomeUnknown;
            if !stands.owns_key && !is_of_number {
                return self.write.answer_to(self.caller, decision, stands.status.as_ref()).into();
            }
            let why = decision.rejection().unwrap_or(Rejection::Internal);
            return self.refuse(self.write.of_number(why), stands).await;
        };
        let mut settled = None;
        for claim in unknown.into_iter().flatten() {
            let settlement = Settlement::Executed(found.clone());
            let rejection = match claim.ask(Operation::Settle { settlement }).await {
                Ok(Reply::Settled { settling: Settling::Settled, status }) => {
                    settled = Some(status);
                    continue;
                }
                // Somebody else has found out: the caller comes again.
                Ok(Reply::Settled { .. }) => Rejection::InProgress,
                Ok(_) => Rejection::StoreUnavailable,
                Err(rejection) => rejection,
            };
            return self.refuse(rejection, stands).await;
        }
        if stands.owns_key {
            return self.adopt(found).await;
        }
        match settled {
            Some(status) => self.replayed(found, status),
            None => replay(self.caller, found).with_key_status(stands.status.as_ref()).into(),
        }
    }

    async fn refuse(&self, rejection: Rejection, stands: Stands<'_>) -> Outcome {
        if stands.owns_key {
            return self.end_first(FailCause::NotDispatched, &rejection).await;
        }
        self.caller.reject(&rejection).with_key_status(stands.status.as_ref()).into()
    }

    /// Asks the origin what became of the request; `None` where there is no look-up for it, or where
    /// it proves nothing. The caller's own credential is the only one there is.
    async fn look_up(&self, told: &Decision) -> Option<StoredResponse> {
        let (config, incoming) = (&self.caller.config, self.incoming);
        let look_ups = match told {
            Decision::OutcomeUnknown => &config.resolve,
            _ => &config.resolve_numbers,
        };
        let (method, path) = (&incoming.method, &incoming.path);
        let content_type = incoming.header("content-type");
        let target = look_ups.target(method, path, content_type, &self.body)?;
        let request_id = &self.caller.request_id;
        let outgoing = Outgoing::look_up(incoming, target, &config.scope, request_id);
        let deadline = Deadline::after(LOOK_UP);
        match self.ask_origin(outgoing, &deadline).await {
            Ok((answer, OriginBody::Whole(bytes))) if proves_execution(answer.status, &bytes) => {
                let found = self.stored(&answer, &OriginBody::Whole(bytes));
                Some(found).filter(|found| found.body().is_some())
            }
            Err(OriginError::TimedOut) => {
                deadline.abort();
                None
            }
            _ => None,
        }
    }
}
