//! Handles the responses to a page, and ends its calls.

use super::{PageEvent, PageInput};
use crate::simulation::coverage::Milestone;
use crate::simulation::message::{Event, SeenResponse, To};
use crate::simulation::world::World;
use oncekey::client::intent::{self, End, EndReason, Report};
use oncekey::client::retry::{AttemptResult, BodyState, Outcome, ResponseSummary, UnknownReason};
use oncekey::{KeyState, UnixMillis};

impl World<'_> {
    pub(in crate::simulation) fn page_receives(&mut self, input: PageInput, seen: &SeenResponse) {
        if self.is_asleep(input) {
            let wakes = self.devices[input.device].tabs[input.tab].frozen_until;
            return self
                .later(wakes - self.now, Event::Response(To::Page(input), seen.clone().into()));
        }
        if self.is_awaited(input) {
            self.end_of_attempt(input, Some(seen));
        }
    }

    /// Handles the end of an attempt or a key call. Without a response, it has timed out.
    pub(super) fn end_of_attempt(&mut self, at: PageInput, seen: Option<&SeenResponse>) {
        if self.call_of(at).is_some_and(|running| running.in_key_call) {
            let report =
                seen.filter(|seen| !seen.cut && !seen.failed).map_or(Report::NoResponse, report);
            self.log(|_| format!("page {}, tab {}: the key call: {report:?}", at.device, at.tab));
            return self.report(at, report);
        }
        let input = self.input(at);
        let proof = self.settings.proof;
        let none = SeenResponse::default();
        let shown = seen.unwrap_or(&none);
        let response = ResponseSummary {
            status: shown.status,
            body: if shown.cut { BodyState::Cut } else { BodyState::Whole },
            content_type: Some(if shown.html { "text/html" } else { "application/json" }),
            error_code: shown.code.filter(|_| !shown.cut),
            state: shown.state.filter(|_| proof).map(KeyState::as_str),
            replayed: (shown.replayed && proof).then_some("true"),
            stored: (shown.not_stored && proof).then_some("false"),
            redirected: shown.redirected,
            ..ResponseSummary::default()
        };
        let result = match seen {
            None => AttemptResult::TimedOut,
            Some(seen) if seen.failed => AttemptResult::NetworkError,
            Some(_) => AttemptResult::Response(&response),
        };
        self.log(|_| {
            let what =
                seen.map_or("no response in time".to_owned(), crate::simulation::responses::shown);
            format!("page {}, tab {}, intent {}: gets {what}", at.device, at.tab, at.intent)
        });
        let expires = shown.expires.filter(|_| proof).map(crate::simulation::date::imf_fixdate);
        let date = crate::simulation::date::imf_fixdate(UnixMillis::new(self.now));
        let retry_after = shown.retry_after.map(|seconds| seconds.to_string());
        let head = intent::Hints {
            state: response.state,
            expires: expires.as_deref(),
            date: Some(&date),
            retry_after: retry_after.as_deref(),
        };
        let rules = self.rules;
        let Some(call) = self.call_of(at).and_then(|running| running.call.as_mut()) else { return };
        let ordered = rules.attempt_ended(call, &result, &head, &input);
        self.follow_page(at, &input.stored, ordered);
    }

    pub(super) fn report(&mut self, at: PageInput, report: Report) {
        let input = self.input(at);
        let rules = self.rules;
        let Some(call) = self.call_of(at).and_then(|running| running.call.as_mut()) else { return };
        let ordered = rules.report(call, report, &input);
        self.follow_page(at, &input.stored, ordered);
    }

    pub(super) fn end_call(&mut self, at: PageInput, end: End) {
        self.log(|_| {
            format!("page {}, tab {}, intent {}: ends: {end:?}", at.device, at.tab, at.intent)
        });
        self.note(met_end(&end));
        if let End::Unknown { reason: Some(reason), .. } = &end {
            self.note(met_reason(*reason));
        }
        let is_submit =
            self.call_of(at).is_some_and(|running| matches!(running.trigger, PageEvent::Submit(_)));
        self.check_end_of_call(at, &end);
        self.devices[at.device].tabs[at.tab].calls[at.intent] = None;
        if is_submit {
            self.intent(at).end = Some(end);
            self.leave_turn(at);
        }
    }
}

fn report(seen: &SeenResponse) -> Report {
    match seen.report {
        Some((state, http_status)) => {
            Report::read(seen.status, state.map(KeyState::as_str), http_status)
        }
        None => Report::NoResponse,
    }
}

fn met_end(end: &End) -> Milestone {
    match end {
        End::Response(Outcome::Succeeded { .. }) => Milestone::EndSucceeded,
        End::Response(Outcome::Refused { .. }) => Milestone::EndRefused,
        End::Response(_) => Milestone::EndNotExecuted,
        End::Unknown { why: EndReason::TooOld, .. } => Milestone::EndTooOld,
        End::Unknown { why: EndReason::Unreadable, .. } => Milestone::EndUnreadable,
        End::Unknown { why: EndReason::Overtaken, .. } => Milestone::EndOvertaken,
        End::Unknown { .. } => Milestone::EndStopped,
        End::PayloadChanged { .. } => Milestone::EndPayloadChanged,
        End::NotResolved => Milestone::EndNotResolved,
        End::ResponseGone { .. } => Milestone::EndResponseGone,
        End::KeyReused => Milestone::EndKeyReused,
        End::KeyVoided => Milestone::EndKeyVoided,
        End::Status(Some(_)) => Milestone::EndFound,
        End::Status(None) => Milestone::EndFoundNothing,
    }
}

fn met_reason(reason: UnknownReason) -> Milestone {
    match reason {
        UnknownReason::Network | UnknownReason::Aborted => Milestone::UnknownNetwork,
        UnknownReason::TimedOut => Milestone::UnknownTimedOut,
        UnknownReason::Cut => Milestone::UnknownCut,
        UnknownReason::NotTheApi => Milestone::UnknownNotTheApi,
        UnknownReason::Status(_) => Milestone::UnknownStatus,
        UnknownReason::Held => Milestone::UnknownHeld,
        UnknownReason::NotReplayable => Milestone::UnknownNotReplayable,
        UnknownReason::Mismatch => Milestone::UnknownMismatch,
        UnknownReason::Voided => Milestone::UnknownVoided,
        UnknownReason::Expired => Milestone::UnknownExpired,
        UnknownReason::NoProof | UnknownReason::Redirected => Milestone::UnknownNoProof,
    }
}
