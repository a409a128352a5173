//! The resolving of an outcome: key calls, the caller's look-up, and the earlier request sent
//! again.

use super::attempts::{Sending, bits, confirmed};
use super::step::{CallStep, Command, End, SentRequest, WaitReason, end, out_of_turn};
use super::{Call, CallInput, Goal, Phase};
use crate::client::entry::{Entry, IntentState, Stored};
use crate::client::resolve::{
    KeyCall, Means, Purpose, Report, ResolveStep, after_report, first_step,
};
use crate::client::retry::{Outcome, RetryDecision, next};
use crate::key::IdempotencyKey;

impl Call {
    /// Continues after a key call or the caller's look-up.
    pub fn report(&mut self, report: Report, input: &CallInput) -> CallStep {
        let (key_call, report, entry) = match self.take_phase() {
            Phase::Asking { key, key_call } => (key_call, report, input.stored.with_key(&key)),
            Phase::LookingUp { key, attempts } => {
                let Stored::Entry(entry) = &input.stored else {
                    // There is no entry to write it to. The call returns it anyway.
                    return end(End::Status(Some(proven(report).unwrap_or(IntentState::Unknown))));
                };
                let report = match proven(report) {
                    // A request that was sent since the look-up began may have arrived after it.
                    Some(IntentState::Refused { .. }) if entry.attempts != attempts => {
                        Report::NoResponse
                    }
                    Some(_) => report,
                    // Finding nothing proves nothing: the request may still be in progress.
                    None => Report::NoResponse,
                };
                (
                    KeyCall::State,
                    report,
                    Some(entry).filter(|entry| Some(&entry.key) == key.as_ref()),
                )
            }
            Phase::Confirming { sent } => return confirmed(&sent, report, input),
            _ => return out_of_turn(),
        };
        // Another tab has continued with another key, so the call starts again from the current
        // entry.
        let Some(entry) = entry else { return self.begin(input) };
        let means = self.means(entry, input);
        let (write, step) = after_report(entry, key_call, report, self.purpose(), means, input.now);
        let entry = write.as_ref().unwrap_or(entry).clone();
        self.follow(&entry, step, input).after(write)
    }

    pub(super) fn resolve(&mut self, entry: &Entry, input: &CallInput) -> CallStep {
        let means = self.means(entry, input);
        let (write, step) = first_step(entry, self.purpose(), means, input.now);
        let entry = write.as_ref().unwrap_or(entry).clone();
        self.follow(&entry, step, input).after(write)
    }

    fn follow(&mut self, entry: &Entry, step: ResolveStep, input: &CallInput) -> CallStep {
        let key = entry.key.clone();
        let stored = || Stored::Entry(entry.clone());
        match step {
            ResolveStep::AskState => self.ask(key, KeyCall::State),
            ResolveStep::Void => self.ask(key, KeyCall::Void),
            ResolveStep::AskAgain => {
                let progress = self.progress(entry, input);
                let again =
                    next(&self.settings.retry, &Outcome::InProgress, progress, None, bits(input));
                match again {
                    RetryDecision::Again { after, .. } => {
                        self.phase = Phase::PausingToAsk { key };
                        let command = Command::Wait { after, why: WaitReason::InProgress };
                        CallStep { write: None, command }
                    }
                    RetryDecision::Stop(_) => self.still_unknown(&stored()),
                }
            }
            ResolveStep::SendAgain => {
                let request = SentRequest::Earlier;
                let sending = Sending { key: &key, request, rotated: false, reason: None };
                self.send(&stored(), sending, input)
            }
            ResolveStep::Settled => match self.goal {
                Goal::Submit { .. } => self.start(&stored(), input),
                Goal::Resolve { .. } | Goal::Abandon => end(End::Status(Some(entry.state))),
            },
            ResolveStep::StillUnknown => self.still_unknown(&stored()),
        }
    }

    pub(super) fn ask(&mut self, key: IdempotencyKey, key_call: KeyCall) -> CallStep {
        self.phase = Phase::Asking { key: key.clone(), key_call };
        let command = match key_call {
            KeyCall::State => Command::AskState { key },
            KeyCall::Void => Command::Void { key },
        };
        CallStep { write: None, command }
    }

    pub(super) fn still_unknown(&mut self, stored: &Stored) -> CallStep {
        match (&self.goal, stored) {
            (Goal::Resolve { look_up: true }, _) if !self.looked_up => {
                self.looked_up = true;
                self.phase = match stored {
                    Stored::Entry(entry) => {
                        Phase::LookingUp { key: Some(entry.key.clone()), attempts: entry.attempts }
                    }
                    _ => Phase::LookingUp { key: None, attempts: 0 },
                };
                CallStep { write: None, command: Command::LookUp }
            }
            (Goal::Submit { .. }, _) => end(End::NotResolved),
            (_, Stored::Entry(entry)) => end(End::Status(Some(entry.state))),
            _ => end(End::Status(Some(IntentState::Unknown))),
        }
    }

    fn purpose(&self) -> Purpose {
        match self.goal {
            Goal::Resolve { .. } => Purpose::Resolve,
            Goal::Submit { .. } | Goal::Abandon => Purpose::MakeRoom,
        }
    }

    fn means(&self, entry: &Entry, input: &CallInput) -> Means {
        let is_submit = matches!(self.goal, Goal::Submit { .. });
        Means {
            key_calls: self.settings.key_calls,
            old_body: is_submit && input.in_memory.as_ref() == Some(&entry.key),
        }
    }
}

/// Returns the state that the caller's look-up proves.
fn proven(report: Report) -> Option<IntentState> {
    match report {
        Report::Completed { http_status: http_status @ 200..400 } => {
            Some(IntentState::Succeeded { http_status })
        }
        Report::Completed { http_status: http_status @ 400..500 } => {
            Some(IntentState::Refused { http_status })
        }
        _ => None,
    }
}
