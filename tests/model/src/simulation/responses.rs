//! What leaves a gateway: the answer of an exchange, and the work that is left to do after it.

use super::calls::Patience;
use super::coverage::Met;
use super::gateway::{Claim, Purpose};
use super::message::{Event, Said, To};
use super::requests;
use super::shard::Operation;
use super::world::{Clock, World};
use oncekey::write_flow::{CallerResponse, FollowUp, Target, WriteOutcome};
use oncekey::{FailCause, KeyStatus, Millis, Rejection};
use std::rc::Rc;

/// The shortest time that the replica keeps a thing.
const SHORTEST: Millis = Millis::from_seconds(60);

impl World<'_> {
    pub(super) fn answer(&mut self, exchange: u32, answered: WriteOutcome) {
        let Some(running) = self.running(exchange) else { return };
        if std::mem::replace(&mut running.is_answered, true) {
            return;
        }
        let (to, gateway) = (running.request.to, running.request.gateway);
        let adopted = running.numbered && running.number.is_some();
        let WriteOutcome { response, status, follow_ups } = answered;
        let said = self.said(exchange, &response, status.as_ref());
        if adopted && matches!(response, CallerResponse::Replay(_)) {
            self.note(Met::AdoptedAnswer);
        }
        self.check_answer(exchange, &response, &said, status.as_ref());
        self.tell(|_| format!("exchange {exchange}: answers {}", shown(&said)));
        self.answer_leaves(to, said);
        let Some(running) = self.running(exchange) else { return };
        let (first, prints) = (running.first, running.prints);
        let number = running.number.unwrap_or(first);
        for follow_up in follow_ups {
            match follow_up {
                FollowUp::Fail(of, cause) => {
                    self.note(if cause == FailCause::NotStored {
                        Met::AfterNotStored
                    } else {
                        Met::AfterFail
                    });
                    let Claim { name, token, .. } =
                        if of == Target::First { first } else { number };
                    let fail = Operation::Fail { token, cause };
                    self.call(gateway, name, fail, Patience::in_background(), Purpose::Nobody);
                }
                FollowUp::Copy(response) => {
                    let (print, now) = (prints.signing(), self.time(Clock::Gateway(gateway)));
                    let Some(status) = &status else { continue };
                    let copy = self.rules.copy(print, &response, status, SHORTEST, now);
                    if let (Some((record, left)), true) = (copy, self.settings.replica) {
                        self.note(Met::AfterCopy);
                        self.put_copy(first.name, &record, left);
                    }
                }
            }
        }
    }

    /// What the caller sees.
    fn said(&mut self, exchange: u32, answer: &CallerResponse, status: Option<&KeyStatus>) -> Said {
        let own =
            self.running(exchange).and_then(|running| running.own.as_ref().map(|own| own.answer));
        let head = Said {
            state: status.map(|status| status.state),
            expires: status.and_then(|status| status.expires_at),
            ..Said::default()
        };
        let status_of = |world: &Self, own: usize| world.origin.answers[own].status;
        match (answer, own) {
            (CallerResponse::Own, Some(own)) => {
                self.note(Met::OwnAnswer);
                Said { status: status_of(self, own), answer: Some(own), ..head }
            }
            (CallerResponse::NotStored, Some(own)) => {
                self.note(Met::NotStoredAnswer);
                Said { status: status_of(self, own), answer: Some(own), not_stored: true, ..head }
            }
            (CallerResponse::Replay(response), _) => {
                self.note(Met::ReplayAnswer);
                let answer = self.origin.answer_of(response);
                if answer.is_none() {
                    let what =
                        format!("a replay of {} is no answer of the origin", response.status);
                    self.breaks("2: every replay is byte-equal", what);
                }
                Said { status: response.status, answer, replayed: true, ..head }
            }
            (CallerResponse::Duplicate, _) => {
                self.note(Met::DuplicateAnswer);
                Said { status: 200, replayed: true, ..head }
            }
            (CallerResponse::Rejected(why), _) => {
                self.note(match why {
                    Rejection::StoreUnavailable => Met::StoreDownAnswer,
                    Rejection::TooLateToDispatch => Met::TooLateAnswer,
                    Rejection::OriginTimedOut(_) => Met::TimedOutAnswer,
                    Rejection::OriginUnreachable(_) => Met::UnreachableAnswer,
                    Rejection::RecordUnreadable => Met::UnreadableAnswer,
                    Rejection::OfBusinessKey { .. } => Met::NumberAnswer,
                    _ => Met::RejectedAnswer,
                });
                let (status, code, retry_after) = requests::told(why);
                Said { status, code: Some(code), retry_after, ..head }
            }
            (CallerResponse::Own | CallerResponse::NotStored, None) => {
                self.breaks(
                    "answer: an own answer is the origin's",
                    format!("exchange {exchange}"),
                );
                Said { status: 500, code: Some("api_error"), ..head }
            }
        }
    }

    pub(super) fn answer_leaves(&mut self, to: To, mut said: Said) {
        let after = self.transit();
        if !self.goes_wrong(self.settings.weather.front) {
            return self.later(after, Event::Hear(to, Rc::new(said)));
        }
        match self.choices.below(3) {
            0 => {
                self.note(Met::AnswerLost);
                self.tell(|_| "  this answer is lost".to_owned());
            }
            1 => {
                self.note(Met::AnswerLate);
                let after = self.lateness();
                self.later(after, Event::Hear(to, Rc::new(said)));
            }
            _ => {
                self.note(Met::AnswerCut);
                self.tell(|_| "  this answer breaks off".to_owned());
                said.cut = true;
                self.later(after, Event::Hear(to, Rc::new(said)));
            }
        }
    }
}

pub(super) fn shown(said: &Said) -> String {
    let mut text = said.status.to_string();
    if let Some(code) = said.code {
        text += &format!(" {code}");
    }
    if let Some(state) = said.state {
        text += &format!(", state {}", state.as_str());
    }
    if let Some(answer) = said.answer {
        text += &format!(", the origin's answer {answer}");
    }
    text += if said.replayed { ", a replay" } else { "" };
    text + if said.not_stored { ", not stored" } else { "" }
}
