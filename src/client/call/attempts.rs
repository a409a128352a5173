//! The attempts of a submit: which request is sent, and what its result leads to.

use super::step::{
    CallStep, Command, End, EndReason, Hints, SentRequest, WaitReason, end, out_of_turn,
};
use super::{Call, CallInput, Goal, Phase};
use crate::client::entry::{Entry, IntentState, Stored};
use crate::client::intent::{
    SendError, Start, Submit, note_not_sent, note_outcome, note_sending, remint, start,
};
use crate::client::offer;
use crate::client::resolve::Report;
use crate::client::retry::{
    AttemptResult, Context, Outcome, Progress, RetryDecision, Stop, UnknownReason, attempt_timeout,
    classify, expires_at, next, retry_after,
};
use crate::key::IdempotencyKey;
use crate::time::{Millis, UnixMillis};

impl Call {
    /// Continues after the attempt that was sent. `result` says how it ended.
    pub fn attempt_ended(
        &mut self,
        result: &AttemptResult<'_>,
        hints: &Hints<'_>,
        input: &CallInput,
    ) -> CallStep {
        let Phase::Sent { entry: sent, request } = self.take_phase() else {
            return out_of_turn();
        };
        let now = input.now;
        // Another tab may have continued. The stored entry counts if it still has the same key.
        let before = input.stored.with_key(&sent.key);
        let known = before.unwrap_or(&sent);
        let context = Context {
            final_statuses: &self.settings.final_statuses,
            ..known.context(self.settings.sends_proof, &self.settings.expects)
        };
        let outcome = classify(result, &context);
        let noted = note_outcome(&input.stored, &sent.key, sent.attempts, &outcome, now);
        let mut entry = noted.unwrap_or_else(|| known.clone());
        entry.sends_proof |= self.settings.sends_proof || hints.state.is_some();
        if entry.sends_proof {
            let expires = hints.expires.and_then(|value| expires_at(value, hints.date, now));
            entry.note_expiry(hints.state, expires, self.settings.retention, now);
        }
        let write = before.is_some_and(|before| *before != entry).then(|| entry.clone());
        self.after_outcome(outcome, &entry, request, self.wait_wanted(hints, now), input)
            .after(write)
    }

    /// Ends a call whose request was not sent: the browser proved that nothing left the page.
    pub fn not_sent(&mut self, input: &CallInput) -> CallStep {
        let Phase::Sent { entry, .. } = self.take_phase() else { return out_of_turn() };
        let write = note_not_sent(&input.stored, &entry.key, entry.attempts, input.now);
        let known = write.as_ref().or(input.stored.with_key(&entry.key));
        end(End::Status(known.map(|entry| entry.state))).after(write)
    }

    /// Sends the request again after a wait.
    pub(super) fn send_again(
        &mut self,
        key: &IdempotencyKey,
        request: SentRequest,
        reason: Option<UnknownReason>,
        input: &CallInput,
    ) -> CallStep {
        self.send(&input.stored, Sending { key, request, rotated: false, reason }, input)
    }

    pub(super) fn start(&mut self, stored: &Stored, input: &CallInput) -> CallStep {
        let Some(submit) = self.submit(stored, input) else { return out_of_turn() };
        match start(stored, &submit, input.now) {
            Start::Send { entry, fresh } => {
                let rotated = fresh && *stored != Stored::Nothing;
                self.send_first(entry, rotated, input)
            }
            Start::ResolveFirst => match stored {
                Stored::Entry(entry) => self.resolve(entry, input),
                _ => out_of_turn(),
            },
            Start::PayloadChanged { http_status } => end(End::PayloadChanged { http_status }),
            Start::ResponseGone { http_status } => end(End::ResponseGone { http_status }),
            Start::TooOld => end(End::Unknown { reason: None, why: EndReason::TooOld }),
            Start::Unreadable(_) => end(End::Unknown { reason: None, why: EndReason::Unreadable }),
        }
    }

    fn send_first(&mut self, entry: Entry, rotated: bool, input: &CallInput) -> CallStep {
        let key = entry.key.clone();
        let sending = Sending { key: &key, request: SentRequest::Own, rotated, reason: None };
        self.send(&Stored::Entry(entry), sending, input)
    }

    pub(super) fn send(
        &mut self,
        stored: &Stored,
        sending: Sending<'_>,
        input: &CallInput,
    ) -> CallStep {
        let Sending { key, request, rotated, reason } = sending;
        let unknown = |why| end(End::Unknown { reason, why });
        let mut entry = match note_sending(stored, key, self.settings.retention, input.now) {
            Ok(entry) => entry,
            Err(SendError::Voided) if request == SentRequest::Own => return end(End::KeyVoided),
            // Another tab has resolved the earlier request.
            Err(SendError::Voided) => return self.start(stored, input),
            Err(SendError::Overtaken) => return unknown(EndReason::Overtaken),
            Err(SendError::TooOld) => return unknown(EndReason::TooOld),
        };
        let timeout = attempt_timeout(&self.settings.retry, self.progress(&entry, input));
        if timeout == Millis::new(0) {
            return unknown(EndReason::Stopped(Stop::TimeUsedUp));
        }
        entry.sends_proof |= self.settings.sends_proof;
        // The earlier request keeps its own credential, which is noted already.
        if let (SentRequest::Own, Some(credential)) = (request, &self.credential) {
            entry.sent_by.note(credential.mark(&entry.key), entry.maybe_executed);
        }
        let (key, attempt) = (entry.key.clone(), entry.attempts);
        self.phase = Phase::Sent { entry: entry.clone(), request };
        let command = Command::Send { key, attempt, timeout, request, rotated };
        CallStep { write: Some(entry), command }
    }

    fn after_outcome(
        &mut self,
        outcome: Outcome,
        entry: &Entry,
        request: SentRequest,
        wait: Option<Millis>,
        input: &CallInput,
    ) -> CallStep {
        let progress = self.progress(entry, input);
        match next(&self.settings.retry, &outcome, progress, wait, bits(input)) {
            // The server refused a fresh key as too old. It is replaced by a key without a time.
            RetryDecision::Again { .. } if outcome == Outcome::KeyExpired => {
                let stored = Stored::Entry(entry.clone());
                let without_time = self
                    .submit(&stored, input)
                    .and_then(|submit| remint(&stored, &entry.key, &submit, input.now));
                match without_time {
                    Some(entry) => self.send_first(entry, true, input),
                    None => end(ended(&outcome, Stop::Outcome, entry)),
                }
            }
            RetryDecision::Again { after, counts } => {
                self.retries += u32::from(counts);
                let why = match outcome {
                    Outcome::InProgress => WaitReason::InProgress,
                    _ => WaitReason::Retry,
                };
                let reason = unknown_reason(&outcome);
                self.phase = Phase::Pausing { key: entry.key.clone(), request, reason };
                CallStep { write: None, command: Command::Wait { after, why } }
            }
            RetryDecision::Stop(_)
                if request == SentRequest::Own && self.may_confirm(&outcome, entry) =>
            {
                self.phase = Phase::Confirming { sent: entry.clone() };
                CallStep { write: None, command: Command::AskState { key: entry.key.clone() } }
            }
            RetryDecision::Stop(why) if request == SentRequest::Own => {
                end(ended(&outcome, why, entry))
            }
            // The outcome of the earlier payload is known, so the new payload can be sent.
            RetryDecision::Stop(_) if entry.state.is_settled() => {
                self.retries = 0;
                self.start(&Stored::Entry(entry.clone()), input)
            }
            RetryDecision::Stop(_) => end(End::NotResolved),
        }
    }

    fn may_confirm(&self, outcome: &Outcome, entry: &Entry) -> bool {
        let is_redirected = *outcome == Outcome::Unsettled(UnknownReason::Redirected);
        is_redirected && self.settings.key_calls && !entry.state.is_settled()
    }

    fn submit(&self, stored: &Stored, input: &CallInput) -> Option<Submit<'_>> {
        let Goal::Submit { payload, own_key, waited_since } = &self.goal else { return None };
        Some(Submit {
            payload,
            own_key: own_key
                .as_ref()
                .or_else(|| offer::taken(self.offered.as_ref(), stored, input.now)),
            waited_since: *waited_since,
            retention: self.settings.retention,
            random: input.random,
        })
    }

    pub(super) fn progress(&self, entry: &Entry, input: &CallInput) -> Progress {
        let began = self.began.unwrap_or(input.ticks).as_u64();
        Progress {
            retries: self.retries,
            elapsed: Millis::new(input.ticks.as_u64().saturating_sub(began)),
            left: entry.time_left(input.now),
        }
    }

    fn wait_wanted(&self, hints: &Hints<'_>, now: UnixMillis) -> Option<Millis> {
        let max = self.settings.retry.settings().max_retry_after;
        retry_after(hints.retry_after?, hints.date, now, max)
    }
}

pub(super) struct Sending<'a> {
    pub(super) key: &'a IdempotencyKey,
    pub(super) request: SentRequest,
    pub(super) rotated: bool,
    pub(super) reason: Option<UnknownReason>,
}

/// Returns how the call ends when no further attempt is made.
fn ended(outcome: &Outcome, why: Stop, entry: &Entry) -> End {
    match (*outcome, entry.state) {
        (Outcome::Succeeded { .. }, _) => End::Response(*outcome),
        // A success stays a success, whatever the last attempt returned.
        (_, IntentState::Succeeded { http_status }) => End::ResponseGone { http_status },
        (Outcome::Refused { .. }, _) | (Outcome::NotExecuted { .. }, IntentState::Prepared) => {
            End::Response(*outcome)
        }
        (Outcome::KeyReused { .. }, _) => End::KeyReused,
        (Outcome::KeyVoided, _) => End::KeyVoided,
        _ => End::Unknown { reason: unknown_reason(outcome), why: EndReason::Stopped(why) },
    }
}

/// Ends a call whose response came after a redirect. The response belongs to the key only if the
/// redirect was the key's response; after any other report the outcome stays unknown.
pub(super) fn confirmed(sent: &Entry, report: Report, input: &CallInput) -> CallStep {
    let outcome = match report {
        Report::Completed { http_status: http_status @ 300..400 } => {
            Outcome::Succeeded { http_status }
        }
        _ => Outcome::Unsettled(UnknownReason::Redirected),
    };
    let write = note_outcome(&input.stored, &sent.key, sent.attempts, &outcome, input.now);
    end(ended(&outcome, Stop::Outcome, write.as_ref().unwrap_or(sent))).after(write)
}

fn unknown_reason(outcome: &Outcome) -> Option<UnknownReason> {
    match *outcome {
        Outcome::Ambiguous(reason) | Outcome::Unsettled(reason) => Some(reason),
        Outcome::NotExecuted { http_status, .. } => Some(UnknownReason::Status(http_status)),
        Outcome::KeyExpired => Some(UnknownReason::Expired),
        _ => None,
    }
}

/// Returns 32 random bits that are not part of a key. A UUIDv7 uses the first ten bytes.
pub(super) fn bits(input: &CallInput) -> u32 {
    let [.., a, b, c, d] = input.random;
    u32::from_be_bytes([a, b, c, d])
}
