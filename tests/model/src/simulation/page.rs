//! Pages: devices with two tabs each, which carry out what the core's [`Call`] says, as `www/src` does.

use super::coverage::Met;
use super::message::{Event, Kind, Request, Said, To};
use super::requests::{self, FIRST_OF_PAGES};
use super::storage::Slot;
use super::world::{Clock, World};
use crate::rules::Ordered;
use oncekey::client::intent::{
    self, Call, CallInput, CallSettings, Command, End, EndReason, Entry, Goal, Report, SentRequest,
    Stored, TabToken, WaitReason,
};
use oncekey::client::retry::{
    AttemptResult, Body, Outcome, ResponseSummary, RetryPolicy, UnknownReason,
};
use oncekey::write_flow::Identity;
use oncekey::{IdempotencyKey, KeyState, Millis, UnixMillis};

/// How long a key call may take.
const KEY_CALL: u64 = 10_000;

pub(super) struct Device {
    tenant: u8,
    pub(super) clock: i64,
    pub(super) base: i64,
    pub(super) web_locks: bool,
    pub(super) is_full: bool,
    pub(super) intents: Vec<Intent>,
    pub(super) tabs: [Tab; 2],
}

pub(super) struct Intent {
    /// The first of its contents.
    pub(super) content: u8,
    pub(super) entry: Slot,
    pub(super) claim: Slot,
    /// Who has the lock, and who waits for it.
    pub(super) lock: Option<usize>,
    pub(super) waiting: Option<usize>,
    /// When its key was stored.
    pub(super) keyed_at: u64,
    /// Beyond what is promised: storage was cleared, say.
    pub(super) beyond: bool,
    /// The version that was submitted, and the one that was sent, last.
    pub(super) submitted: Option<u8>,
    pub(super) sent: u8,
    pub(super) end: Option<End>,
}

#[derive(Default)]
pub(super) struct Tab {
    pub(super) life: u32,
    /// The calls that it ever made, so that none hears what another one waited for.
    made: u32,
    pub(super) frozen_until: u64,
    pub(super) calls: [Option<Box<Running>>; 2],
    /// What storage did not take.
    pub(super) memory: [Option<String>; 2],
    /// The request that can be sent once more: its key, its version.
    pub(super) body: [Option<(IdempotencyKey, u8)>; 2],
}

/// A call.
pub(super) struct Running {
    /// `None` while it waits for its turn.
    pub(super) call: Option<Call>,
    wanted: What,
    pub(super) waited_since: Option<UnixMillis>,
    /// What it waits for; what comes of anything earlier is not heard.
    pub(super) number: u32,
    is_asking: bool,
    late: Option<Entry>,
}

/// Something that happens to a tab's call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageMoment {
    pub(super) device: usize,
    pub(super) tab: usize,
    pub(super) life: u32,
    pub(super) intent: usize,
    pub(super) number: u32,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Somebody wants something of the page.
    Submit(u8),
    FindOut {
        looks_up: bool,
    },
    GiveUp,
    /// What the call waited for.
    Answer,
    TimedOut,
    Waited,
    Late,
    /// Whose turn it is.
    LockIsFree,
    Seen,
    Confirm,
    LookAgain,
    Renew,
}

impl Running {
    pub(super) fn submits(&self) -> bool {
        matches!(self.wanted, What::Submit(_))
    }
}

impl World<'_> {
    /// Draws the devices and what people do with them.
    pub(super) fn pages(&mut self) {
        for device in 0..usize::from(self.choices.below(3)) {
            let base = self.choices.pick(&[0, 0, 0, 172_800_000, -172_800_000, 1_800_000]);
            let intents = (0..1 + self.choices.below(2) as u8).map(|number| Intent {
                content: FIRST_OF_PAGES + 4 * (2 * device as u8 + number),
                entry: Slot::default(),
                claim: Slot::default(),
                lock: None,
                waiting: None,
                keyed_at: 0,
                beyond: false,
                submitted: None,
                sent: 0,
                end: None,
            });
            let intents: Vec<_> = intents.collect();
            let count = intents.len() as u16;
            let web_locks = self.choices.below(2) == 0;
            let (tenant, is_full, tabs) = (device as u8 % 2, false, Default::default());
            self.devices.push(Device {
                tenant,
                clock: base,
                base,
                web_locks,
                is_full,
                intents,
                tabs,
            });
            for _ in 0..1 + self.choices.below(4) {
                let what = match self.choices.below(10) {
                    7 => What::FindOut { looks_up: self.choices.below(2) == 1 },
                    8 => What::GiveUp,
                    9 => What::Submit(1),
                    _ => What::Submit(0),
                };
                let tab = usize::from(self.choices.below(2));
                let intent = usize::from(self.choices.below(count));
                let after = self.pause();
                let life = u32::MAX;
                self.later(
                    after,
                    Event::Page(PageMoment { device, tab, life, intent, number: 0, what }),
                );
            }
        }
    }

    pub(super) fn page(&mut self, moment: PageMoment) {
        if self.is_asleep(moment) {
            let wakes = self.devices[moment.device].tabs[moment.tab].frozen_until;
            return self.later(wakes - self.now, Event::Page(moment));
        }
        match moment.what {
            What::Submit(_) | What::FindOut { .. } | What::GiveUp => self.want(moment),
            What::LockIsFree => self.lock_is_free(moment),
            _ if !self.is_awaited(moment) => {}
            What::TimedOut => self.end_of_attempt(moment, None),
            What::Waited => self.keep_turn(moment),
            What::Seen => self.go(moment),
            What::Confirm => self.confirm_claim(moment),
            What::LookAgain => self.claim(moment),
            What::Renew => self.renew_claim(moment),
            What::Late => {
                let late = self.call_of(moment).and_then(|running| running.late.take());
                if let Some(entry) = late {
                    self.store(moment, &entry);
                }
            }
            What::Answer => {}
        }
    }

    fn is_asleep(&self, moment: PageMoment) -> bool {
        self.devices[moment.device].tabs[moment.tab].frozen_until > self.now
    }

    /// Whether the call still waits for this.
    pub(super) fn is_awaited(&mut self, moment: PageMoment) -> bool {
        let life = self.devices[moment.device].tabs[moment.tab].life;
        let is_renewal = matches!(moment.what, What::Renew | What::Late);
        let number = self.call_of(moment).map(|running| running.number);
        life == moment.life && number.is_some_and(|number| is_renewal || number == moment.number)
    }

    pub(super) fn call_of(&mut self, at: PageMoment) -> Option<&mut Running> {
        self.devices[at.device].tabs[at.tab].calls[at.intent].as_deref_mut()
    }

    pub(super) fn intent(&mut self, at: PageMoment) -> &mut Intent {
        &mut self.devices[at.device].intents[at.intent]
    }

    /// Somebody submits, or wants to know.
    fn want(&mut self, mut at: PageMoment) {
        let tab = &mut self.devices[at.device].tabs[at.tab];
        at.life = tab.life;
        if tab.calls[at.intent].is_some() {
            return;
        }
        tab.made += 1;
        let number = tab.made * 1000;
        let (call, wanted, waited_since) = (None, at.what, None);
        let running = Running { call, wanted, waited_since, number, is_asking: false, late: None };
        tab.calls[at.intent] = Some(Box::new(running));
        self.tell(|_| {
            format!("page {}, tab {}, intent {}: {:?}", at.device, at.tab, at.intent, at.what)
        });
        match at.what {
            What::Submit(version) => {
                self.intent(at).submitted = Some(version);
                self.take_turn(at);
            }
            _ => self.go(at),
        }
    }

    /// It is the call's turn: it begins, or goes on.
    pub(super) fn go(&mut self, at: PageMoment) {
        let moment = self.moment(at);
        let rules = self.rules;
        let settings = CallSettings {
            retry: RetryPolicy::default(),
            retention: self.settings.retention,
            key_calls: self.settings.key_calls,
            sends_proof: self.settings.key_calls && self.settings.proof,
            final_statuses: vec![],
            expects: "application/json".to_owned(),
        };
        let content = self.intent(at).content;
        let others = self.devices[at.device].tabs[1 - at.tab].memory[at.intent].is_some();
        self.intent(at).beyond |= others;
        let Some(running) = self.call_of(at) else { return };
        let ordered = match &mut running.call {
            Some(call) => rules.waited(call, &moment),
            None => {
                let goal = match running.wanted {
                    What::FindOut { looks_up } => Goal::Resolve { look_up: looks_up },
                    What::GiveUp => Goal::Abandon,
                    What::Submit(version) => Goal::Submit {
                        payload: requests::payload(content + version).clone(),
                        own_key: None,
                        waited_since: running.waited_since,
                    },
                    _ => return,
                };
                let mut call = Call::new(goal, settings);
                let ordered = rules.begin_call(&mut call, &moment);
                running.call = Some(call);
                ordered
            }
        };
        self.follow_page(at, &moment.stored, ordered);
    }

    fn follow_page(&mut self, at: PageMoment, before: &Stored, ordered: Ordered) {
        self.note_limit(at, before, &ordered);
        if let Some(entry) = &ordered.write {
            self.store(at, entry);
        }
        let life = self.devices[at.device].tabs[at.tab].life;
        let Some(running) = self.call_of(at) else { return };
        running.number += 1;
        let number = running.number;
        running.is_asking =
            matches!(ordered.command, Command::AskState { .. } | Command::Void { .. });
        if let Some(entry) = ordered.write_after {
            running.late = Some(entry);
            self.later(50, Event::Page(PageMoment { life, number, what: What::Late, ..at }));
        }
        let next = |what| PageMoment { life, number, what, ..at };
        match ordered.command {
            Command::Send { key, attempt, timeout, request, rotated } => {
                self.note(match request {
                    SentRequest::Earlier => Met::SendEarlier,
                    SentRequest::Own if attempt == 1 || rotated => Met::SendFresh,
                    SentRequest::Own => Met::SendSame,
                });
                let wanted = self.call_of(at).map(|running| running.wanted);
                if let (SentRequest::Own, Some(What::Submit(version))) = (request, wanted) {
                    self.intent(at).sent = version;
                }
                if attempt == 1 {
                    self.intent(at).keyed_at = self.now;
                }
                if self.goes_wrong(self.settings.weather.machines / 8) {
                    self.note(Met::DiedStoring);
                    return self.reload(at.device, at.tab);
                }
                self.later(timeout.as_u64(), Event::Page(next(What::TimedOut)));
                self.send_of_page(next(What::Answer), key, attempt, request);
            }
            Command::Wait { after, why } => {
                self.note(match why {
                    WaitReason::Retry => Met::WaitsToRetry,
                    WaitReason::InProgress => Met::WaitsForAnswer,
                });
                self.later(after.as_u64(), Event::Page(next(What::Waited)));
            }
            Command::AskState { key } => {
                self.note(Met::AsksState);
                self.ask_key(next(What::Answer), key, Kind::State);
            }
            Command::Void { key } => {
                self.note(Met::AsksVoid);
                self.ask_key(next(What::Answer), key, Kind::Void);
            }
            Command::LookUp => {
                self.note(Met::LooksUp);
                let content = self.intent(at).content;
                let of_intent = |given: &&super::origin::Given| {
                    given.charged && given.content / 4 == content / 4
                };
                let found = self.origin.answers.iter().find(of_intent);
                let report =
                    found.and_then(|given| Report::looked_up("succeeded", Some(given.status)));
                self.report(at, report.unwrap_or(Report::NoResponse));
            }
            Command::End(end) => self.end_call(at, end),
        }
    }

    fn send_of_page(
        &mut self,
        to: PageMoment,
        key: IdempotencyKey,
        attempt: u32,
        which: SentRequest,
    ) {
        let wanted = self.call_of(to).map(|running| running.wanted);
        let version = match (which, wanted) {
            (SentRequest::Own, Some(What::Submit(version))) => version,
            _ => self.devices[to.device].tabs[to.tab].body[to.intent]
                .as_ref()
                .map_or(0, |body| body.1),
        };
        let content = self.intent(to).content + version;
        self.tell(|_| {
            format!("  sends attempt {attempt} with {}, content {content}", key.as_str())
        });
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
        if self.goes_wrong(self.settings.weather.front / 4) {
            return self.gate(to);
        }
        let (kind, identity) = (Kind::Write, Identity::Key);
        let to = To::Page(to);
        self.send(Request { to, kind, tenant, key: Some(key), content, identity, gateway }, true);
    }

    /// Somebody before the gateway answers.
    fn gate(&mut self, to: PageMoment) {
        self.note(Met::Gated);
        let blank = |status, code| Said { status, code: Some(code), ..Said::default() };
        // Of a first attempt, where no answer has proof, a made-up 400 or 202 cannot be told from the key's answer.
        let knows = self.settings.key_calls && self.settings.proof;
        let may_be_executed =
            matches!(self.stored(to), Stored::Entry(entry) if entry.maybe_executed);
        let said = match self.choices.below(if knows {
            6
        } else if may_be_executed {
            5
        } else {
            4
        }) {
            0 => blank(503, "api_connection_error"),
            1 => blank(401, "authentication_error"),
            2 => Said { status: 200, html: true, ..Said::default() },
            3 => Said { status: 200, redirected: true, ..Said::default() },
            4 => blank(400, "invalid_request_error"),
            _ => Said { status: 202, ..Said::default() },
        };
        self.tell(|_| format!("  somebody before the gateway answers {}", said.status));
        self.later(20, Event::Hear(To::Page(to), said.into()));
    }

    fn ask_key(&mut self, to: PageMoment, key: IdempotencyKey, kind: Kind) {
        let tenant = self.devices[to.device].tenant;
        self.later(KEY_CALL, Event::Page(PageMoment { what: What::TimedOut, ..to }));
        let identity = Identity::Key;
        let request = Request {
            to: To::Page(to),
            kind,
            tenant,
            key: Some(key),
            content: 0,
            identity,
            gateway: 0,
        };
        self.send(request, false);
    }

    pub(super) fn page_hears(&mut self, moment: PageMoment, said: &Said) {
        if self.is_asleep(moment) {
            let wakes = self.devices[moment.device].tabs[moment.tab].frozen_until;
            return self
                .later(wakes - self.now, Event::Hear(To::Page(moment), said.clone().into()));
        }
        if self.is_awaited(moment) {
            self.end_of_attempt(moment, Some(said));
        }
    }

    /// An attempt or a key call has ended; without an answer, its time was over.
    fn end_of_attempt(&mut self, at: PageMoment, said: Option<&Said>) {
        if self.call_of(at).is_some_and(|running| running.is_asking) {
            let report =
                said.filter(|said| !said.cut && !said.failed).map_or(Report::NoResponse, report);
            self.tell(|_| format!("page {}, tab {}: the key call: {report:?}", at.device, at.tab));
            return self.report(at, report);
        }
        let moment = self.moment(at);
        let proof = self.settings.proof;
        let none = Said::default();
        let seen = said.unwrap_or(&none);
        let answer = ResponseSummary {
            status: seen.status,
            body: if seen.cut { Body::Cut } else { Body::Whole },
            content_type: Some(if seen.html { "text/html" } else { "application/json" }),
            error_code: seen.code.filter(|_| !seen.cut),
            state: seen.state.filter(|_| proof).map(KeyState::as_str),
            replayed: (seen.replayed && proof).then_some("true"),
            stored: (seen.not_stored && proof).then_some("false"),
            redirected: seen.redirected,
            ..ResponseSummary::default()
        };
        let heard = match said {
            None => AttemptResult::TimedOut,
            Some(said) if said.failed => AttemptResult::NetworkError,
            Some(_) => AttemptResult::Response(&answer),
        };
        self.tell(|_| {
            let what = said.map_or("no answer in time".to_owned(), super::answers::shown);
            format!("page {}, tab {}, intent {}: hears {what}", at.device, at.tab, at.intent)
        });
        let expires = seen.expires.filter(|_| proof).map(super::date::imf_fixdate);
        let date = super::date::imf_fixdate(UnixMillis::new(self.now));
        let retry_after = seen.retry_after.map(|seconds| seconds.to_string());
        let head = intent::Hints {
            state: answer.state,
            expires: expires.as_deref(),
            date: Some(&date),
            retry_after: retry_after.as_deref(),
        };
        let rules = self.rules;
        let Some(call) = self.call_of(at).and_then(|running| running.call.as_mut()) else { return };
        let ordered = rules.attempt_ended(call, &heard, &head, &moment);
        self.follow_page(at, &moment.stored, ordered);
    }

    fn report(&mut self, at: PageMoment, report: Report) {
        let moment = self.moment(at);
        let rules = self.rules;
        let Some(call) = self.call_of(at).and_then(|running| running.call.as_mut()) else { return };
        let ordered = rules.report(call, report, &moment);
        self.follow_page(at, &moment.stored, ordered);
    }

    fn end_call(&mut self, at: PageMoment, end: End) {
        self.tell(|_| {
            format!("page {}, tab {}, intent {}: ends: {end:?}", at.device, at.tab, at.intent)
        });
        self.note(met_end(&end));
        if let End::Unknown { reason: Some(reason), .. } = &end {
            self.note(met_reason(*reason));
        }
        let is_submit =
            self.call_of(at).is_some_and(|running| matches!(running.wanted, What::Submit(_)));
        self.check_end_of_call(at, &end);
        self.devices[at.device].tabs[at.tab].calls[at.intent] = None;
        if is_submit {
            self.intent(at).end = Some(end);
            self.leave_turn(at);
        }
    }

    /// What the tab finds in storage.
    pub(super) fn stored(&self, at: PageMoment) -> Stored {
        let device = &self.devices[at.device];
        let memory = device.tabs[at.tab].memory[at.intent].as_deref();
        Stored::read(memory.or(device.intents[at.intent].entry.read(at.tab, self.now)))
    }

    fn store(&mut self, at: PageMoment, entry: &Entry) {
        let now = self.now;
        let device = &mut self.devices[at.device];
        let text = entry.encode();
        if device.is_full {
            device.tabs[at.tab].memory[at.intent] = Some(text);
        } else {
            device.tabs[at.tab].memory[at.intent] = None;
            device.intents[at.intent].entry.write(at.tab, Some(text), now);
        }
    }

    fn moment(&mut self, at: PageMoment) -> CallInput {
        let random = self.random();
        let in_memory = &self.devices[at.device].tabs[at.tab].body[at.intent];
        CallInput {
            stored: self.stored(at),
            now: self.time(Clock::Device(at.device)),
            ticks: Millis::new(self.now),
            random,
            in_memory: in_memory.as_ref().map(|(key, _)| key.clone()),
        }
    }
}

fn report(said: &Said) -> Report {
    match said.report {
        Some((state, http_status)) => {
            Report::read(said.status, state.map(KeyState::as_str), http_status)
        }
        None => Report::NoResponse,
    }
}

fn met_end(end: &End) -> Met {
    match end {
        End::Response(Outcome::Succeeded { .. }) => Met::EndSucceeded,
        End::Response(Outcome::Refused { .. }) => Met::EndRefused,
        End::Response(_) => Met::EndNotExecuted,
        End::Unknown { why: EndReason::TooOld, .. } => Met::EndTooOld,
        End::Unknown { why: EndReason::Unreadable, .. } => Met::EndUnreadable,
        End::Unknown { why: EndReason::Overtaken, .. } => Met::EndOvertaken,
        End::Unknown { .. } => Met::EndStopped,
        End::PayloadChanged { .. } => Met::EndPayloadChanged,
        End::NotResolved => Met::EndNotResolved,
        End::ResponseGone { .. } => Met::EndAnswerGone,
        End::KeyReused => Met::EndKeyReused,
        End::KeyVoided => Met::EndKeyVoided,
        End::Status(Some(_)) => Met::EndFound,
        End::Status(None) => Met::EndFoundNothing,
    }
}

fn met_reason(reason: UnknownReason) -> Met {
    match reason {
        UnknownReason::Network | UnknownReason::Aborted => Met::UnknownNetwork,
        UnknownReason::TimedOut => Met::UnknownTimedOut,
        UnknownReason::Cut => Met::UnknownCut,
        UnknownReason::NotTheApi => Met::UnknownNotTheApi,
        UnknownReason::Status(_) => Met::UnknownStatus,
        UnknownReason::Held => Met::UnknownHeld,
        UnknownReason::NotReplayable => Met::UnknownNotReplayable,
        UnknownReason::Mismatch => Met::UnknownMismatch,
        UnknownReason::Voided => Met::UnknownVoided,
        UnknownReason::Expired => Met::UnknownExpired,
        UnknownReason::NoProof | UnknownReason::Redirected => Met::UnknownNoProof,
    }
}

/// The tab's own number among all that there ever were.
pub(super) fn tab_token(at: PageMoment) -> TabToken {
    TabToken::new((at.device as u64) << 40 | (at.tab as u64) << 32 | u64::from(at.life))
}
