//! The response of a write flow, and the work that is left after it.

use super::calls::Patience;
use super::coverage::Milestone;
use super::gateway::{Purpose, RecordHandle};
use super::message::{Event, SeenResponse, To};
use super::requests;
use super::shard::ShardOperation;
use super::world::{Clock, World};
use oncekey::write_flow::{CallerResponse, FollowUp, Target, WriteOutcome};
use oncekey::{FailCause, KeyStatus, Millis, Rejection};
use std::rc::Rc;

/// The shortest time for which the replica can keep a copy.
const SHORTEST: Millis = Millis::from_seconds(60);

impl World<'_> {
    pub(super) fn respond(&mut self, flow: u32, outcome: WriteOutcome) {
        let Some(running) = self.running(flow) else { return };
        if std::mem::replace(&mut running.has_response, true) {
            return;
        }
        let (to, gateway) = (running.request.to, running.request.gateway);
        let adopted = running.has_business_key && running.business_key.is_some();
        let WriteOutcome { response, status, follow_ups } = outcome;
        let seen = self.seen(flow, &response, status.as_ref());
        if adopted && matches!(response, CallerResponse::Replay(_)) {
            self.note(Milestone::AdoptedResponse);
        }
        self.check_response(flow, &response, &seen, status.as_ref());
        self.log(|_| format!("write flow {flow}: responds with {}", shown(&seen)));
        self.response_leaves(to, seen);
        let Some(running) = self.running(flow) else { return };
        let (first, prints) = (running.first, running.prints);
        let business_key = running.business_key.unwrap_or(first);
        for follow_up in follow_ups {
            match follow_up {
                FollowUp::Fail(of, cause) => {
                    self.note(if cause == FailCause::NotStored {
                        Milestone::AfterNotStored
                    } else {
                        Milestone::AfterFail
                    });
                    let RecordHandle { name, token, .. } =
                        if of == Target::First { first } else { business_key };
                    let fail = ShardOperation::Fail { token, cause };
                    self.call(gateway, name, fail, Patience::in_background(), Purpose::None);
                }
                FollowUp::Copy(response) => {
                    self.keep(flow, &response, status.as_ref());
                    let (print, now) = (prints.signing(), self.time(Clock::Gateway(gateway)));
                    let Some(status) = &status else { continue };
                    let copy = self.rules.copy(&print, &response, status, SHORTEST, now);
                    if let (Some((record, left)), true) = (copy, self.settings.replica) {
                        self.note(Milestone::AfterCopy);
                        self.put_copy(first.name, &record, left);
                    }
                }
            }
        }
    }

    /// Returns what the caller sees.
    fn seen(
        &mut self,
        flow: u32,
        response: &CallerResponse,
        status: Option<&KeyStatus>,
    ) -> SeenResponse {
        let own =
            self.running(flow).and_then(|running| running.own.as_ref().map(|own| own.response));
        let head = SeenResponse {
            state: status.map(|status| status.state),
            expires: status.and_then(|status| status.expires_at),
            ..SeenResponse::default()
        };
        let status_of = |world: &Self, own: usize| world.origin.responses[own].status;
        match (response, own) {
            (CallerResponse::Own, Some(own)) => {
                self.note(Milestone::OwnResponse);
                SeenResponse { status: status_of(self, own), from_origin: Some(own), ..head }
            }
            (CallerResponse::NotStored, Some(own)) => {
                self.note(Milestone::NotStoredResponse);
                SeenResponse {
                    status: status_of(self, own),
                    from_origin: Some(own),
                    not_stored: true,
                    ..head
                }
            }
            (CallerResponse::Replay(response), _) => {
                self.note(Milestone::ReplayResponse);
                let from_origin = self.origin.response_of(response);
                if from_origin.is_none() {
                    let what =
                        format!("a replay of {} is no response of the origin", response.status);
                    self.breaks("2: every replay is byte-equal", what);
                }
                SeenResponse { status: response.status, from_origin, replayed: true, ..head }
            }
            (CallerResponse::Duplicate, _) => {
                self.note(Milestone::DuplicateResponse);
                SeenResponse { status: 200, replayed: true, ..head }
            }
            (CallerResponse::Rejected(why), _) => {
                self.note(match why {
                    Rejection::StoreUnavailable => Milestone::StoreDownResponse,
                    Rejection::TooLateToDispatch => Milestone::TooLateResponse,
                    Rejection::OriginTimedOut(_) => Milestone::TimedOutResponse,
                    Rejection::OriginUnreachable(_) => Milestone::UnreachableResponse,
                    Rejection::RecordUnreadable => Milestone::UnreadableResponse,
                    Rejection::OfBusinessKey { .. } => Milestone::BusinessKeyResponse,
                    _ => Milestone::RejectedResponse,
                });
                let (status, code, retry_after) = requests::error_of(why);
                SeenResponse { status, code: Some(code), retry_after, ..head }
            }
            (CallerResponse::Own | CallerResponse::NotStored, None) => {
                self.breaks(
                    "response: an own response is the origin's",
                    format!("write flow {flow}"),
                );
                SeenResponse { status: 500, code: Some("api_error"), ..head }
            }
        }
    }

    pub(super) fn response_leaves(&mut self, to: To, mut seen: SeenResponse) {
        let after = self.transit();
        if !self.goes_wrong(self.settings.fault_rates.front) {
            return self.later(after, Event::Response(to, Rc::new(seen)));
        }
        match self.choices.below(3) {
            0 => {
                self.note(Milestone::ResponseLost);
                self.log(|_| "  this response is lost".to_owned());
            }
            1 => {
                self.note(Milestone::ResponseLate);
                let after = self.lateness();
                self.later(after, Event::Response(to, Rc::new(seen)));
            }
            _ => {
                self.note(Milestone::ResponseCut);
                self.log(|_| "  this response breaks off".to_owned());
                seen.cut = true;
                self.later(after, Event::Response(to, Rc::new(seen)));
            }
        }
    }
}

pub(super) fn shown(seen: &SeenResponse) -> String {
    let mut text = seen.status.to_string();
    if let Some(code) = seen.code {
        text += &format!(" {code}");
    }
    if let Some(state) = seen.state {
        text += &format!(", state {}", state.as_str());
    }
    if let Some(from_origin) = seen.from_origin {
        text += &format!(", the origin's response {from_origin}");
    }
    text += if seen.replayed { ", a replay" } else { "" };
    text + if seen.not_stored { ", not stored" } else { "" }
}
