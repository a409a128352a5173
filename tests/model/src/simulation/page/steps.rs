//! Carries out the steps of a page's call.

use super::{KEY_CALL, PageEvent, PageInput};
use crate::rules::Ordered;
use crate::simulation::coverage::Milestone;
use crate::simulation::message::{Endpoint, Event, Request, SeenResponse, To};
use crate::simulation::world::World;
use oncekey::IdempotencyKey;
use oncekey::client::intent::{Command, Report, SentRequest, Stored, WaitReason};
use oncekey::write_flow::Identity;

impl World<'_> {
    pub(super) fn follow_page(&mut self, at: PageInput, before: &Stored, ordered: Ordered) {
        self.note_limit(at, before, &ordered);
        if let Some(entry) = &ordered.write {
            self.store(at, entry);
        }
        let life = self.devices[at.device].tabs[at.tab].life;
        let Some(running) = self.call_of(at) else { return };
        running.number += 1;
        let number = running.number;
        running.in_key_call =
            matches!(ordered.command, Command::AskState { .. } | Command::Void { .. });
        if let Some(entry) = ordered.write_after {
            running.late = Some(entry);
            self.later(50, Event::Page(PageInput { life, number, what: PageEvent::Late, ..at }));
        }
        let next = |what| PageInput { life, number, what, ..at };
        match ordered.command {
            Command::Send { key, attempt, timeout, request, rotated } => {
                self.note(match request {
                    SentRequest::Earlier => Milestone::SendEarlier,
                    SentRequest::Own if attempt == 1 || rotated => Milestone::SendFresh,
                    SentRequest::Own => Milestone::SendSame,
                });
                let trigger = self.call_of(at).map(|running| running.trigger);
                if let (SentRequest::Own, Some(PageEvent::Submit(version))) = (request, trigger) {
                    self.intent(at).sent = version;
                }
                if attempt == 1 {
                    self.intent(at).keyed_at = self.now;
                }
                if self.goes_wrong(self.settings.fault_rates.machines / 8) {
                    self.note(Milestone::CrashedStoring);
                    return self.reload(at.device, at.tab);
                }
                self.later(timeout.as_u64(), Event::Page(next(PageEvent::TimedOut)));
                self.send_of_page(next(PageEvent::Response), key, attempt, request);
            }
            Command::Wait { after, why } => {
                self.note(match why {
                    WaitReason::Retry => Milestone::WaitsToRetry,
                    WaitReason::InProgress => Milestone::WaitsForResponse,
                });
                self.later(after.as_u64(), Event::Page(next(PageEvent::Waited)));
            }
            Command::AskState { key } => {
                self.note(Milestone::RequestsState);
                self.send_key_call(next(PageEvent::Response), key, Endpoint::State);
            }
            Command::Void { key } => {
                self.note(Milestone::Voids);
                self.send_key_call(next(PageEvent::Response), key, Endpoint::Void);
            }
            Command::LookUp => {
                self.note(Milestone::LooksUp);
                let content = self.intent(at).content;
                let of_intent = |given: &&crate::simulation::origin::Given| {
                    given.charged && given.content / 4 == content / 4
                };
                let found = self.origin.responses.iter().find(of_intent);
                let report =
                    found.and_then(|given| Report::looked_up("succeeded", Some(given.status)));
                self.report(at, report.unwrap_or(Report::NoResponse));
            }
            Command::End(end) => self.end_call(at, end),
        }
    }

    pub(super) fn send_of_page(
        &mut self,
        to: PageInput,
        key: IdempotencyKey,
        attempt: u32,
        which: SentRequest,
    ) {
        let trigger = self.call_of(to).map(|running| running.trigger);
        let version = match (which, trigger) {
            (SentRequest::Own, Some(PageEvent::Submit(version))) => version,
            _ => self.devices[to.device].tabs[to.tab].body[to.intent]
                .as_ref()
                .map_or(0, |body| body.1),
        };
        let content = self.intent(to).content + version;
        self.log(|_| format!("  sends attempt {attempt} with {}, content {content}", key.as_str()));
        let stored = self.stored(to);
        if !matches!(&stored, Stored::Entry(entry) if entry.key == key && entry.attempts == attempt)
        {
            return self
                .breaks("client: a key is stored before it is sent", key.as_str().to_owned());
        }
        self.check_one_key(to, &key, content);
        let device = &mut self.devices[to.device];
        device.tabs[to.tab].body[to.intent] = Some((key.clone(), version));
        let tenant = device.tenant;
        let gateway = if self.calm { 0 } else { usize::from(self.choices.below(2)) };
        if self.goes_wrong(self.settings.fault_rates.front / 4) {
            return self.intercept(to);
        }
        let (endpoint, identity) = (Endpoint::Write, Identity::Key);
        let to = To::Page(to);
        self.send(
            Request { to, endpoint, tenant, key: Some(key), content, identity, gateway },
            true,
        );
    }

    /// Lets an intermediary respond in place of the gateway.
    pub(super) fn intercept(&mut self, to: PageInput) {
        self.note(Milestone::Intercepted);
        let blank =
            |status, code| SeenResponse { status, code: Some(code), ..SeenResponse::default() };
        // Without proof, the page cannot distinguish a made-up 400 or 202 from the response of the key.
        let knows = self.settings.key_calls && self.settings.proof;
        let may_be_executed =
            matches!(self.stored(to), Stored::Entry(entry) if entry.maybe_executed);
        let seen = match self.choices.below(if knows {
            6
        } else if may_be_executed {
            5
        } else {
            4
        }) {
            0 => blank(503, "api_connection_error"),
            1 => blank(401, "authentication_error"),
            2 => SeenResponse { status: 200, html: true, ..SeenResponse::default() },
            3 => SeenResponse { status: 200, redirected: true, ..SeenResponse::default() },
            4 => blank(400, "invalid_request_error"),
            _ => SeenResponse { status: 202, ..SeenResponse::default() },
        };
        self.log(|_| format!("  an intermediary responds with {}", seen.status));
        self.later(20, Event::Response(To::Page(to), seen.into()));
    }

    pub(super) fn send_key_call(&mut self, to: PageInput, key: IdempotencyKey, endpoint: Endpoint) {
        let tenant = self.devices[to.device].tenant;
        self.later(KEY_CALL, Event::Page(PageInput { what: PageEvent::TimedOut, ..to }));
        let identity = Identity::Key;
        let request = Request {
            to: To::Page(to),
            endpoint,
            tenant,
            key: Some(key),
            content: 0,
            identity,
            gateway: 0,
        };
        self.send(request, false);
    }
}
