//! Pages: devices with two tabs each, which carry out what the core's [`Call`] says, as `www/src` does.

use super::coverage::Met;
use super::message::{Event, Kind, Request, SeenResponse, To};
use super::requests::{self, FIRST_OF_PAGES};
use super::storage::Slot;
use super::world::{Clock, World};
use crate::rules::Ordered;
use oncekey::client::intent::{
    self, Call, CallInput, CallSettings, Command, End, EndReason, Entry, Goal, Report, SentRequest,
    Stored, TabToken, WaitReason,
};
use oncekey::client::retry::{
    AttemptResult, BodyState, Outcome, ResponseSummary, RetryPolicy, UnknownReason,
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
    pub(super) lease: Slot,
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
    /// The calls that it ever made, so that no call gets the event that another call waited for.
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
    /// What it waits for; events of anything earlier are ignored.
    pub(super) number: u32,
    is_asking: bool,
    late: Option<Entry>,
}

/// Something that happens to a tab's call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageInput {
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
    Resolve {
        looks_up: bool,
    },
    GiveUp,
    /// What the call waited for.
    Response,
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
                lease: Slot::default(),
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
                    7 => What::Resolve { looks_up: self.choices.below(2) == 1 },
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
                    Event::Page(PageInput { device, tab, life, intent, number: 0, what }),
                );
            }
        }
    }

    pub(super) fn page(&mut self, input: PageInput) {
        if self.is_asleep(input) {
            let wakes = self.devices[input.device].tabs[input.tab].frozen_until;
            return self.later(wakes - self.now, Event::Page(input));
        }
        match input.what {
            What::Submit(_) | What::Resolve { .. } | What::GiveUp => self.want(input),
            What::LockIsFree => self.lock_is_free(input),
            _ if !self.is_awaited(input) => {}
            What::TimedOut => self.end_of_attempt(input, None),
            What::Waited => self.keep_turn(input),
            What::Seen => self.go(input),
            What::Confirm => self.confirm_lease(input),
            What::LookAgain => self.acquire_lease(input),
            What::Renew => self.renew_lease(input),
            What::Late => {
                let late = self.call_of(input).and_then(|running| running.late.take());
                if let Some(entry) = late {
                    self.store(input, &entry);
                }
            }
            What::Response => {}
        }
    }

    fn is_asleep(&self, input: PageInput) -> bool {
        self.devices[input.device].tabs[input.tab].frozen_until > self.now
    }

    /// Whether the call still waits for this.
    pub(super) fn is_awaited(&mut self, input: PageInput) -> bool {
        let life = self.devices[input.device].tabs[input.tab].life;
        let is_renewal = matches!(input.what, What::Renew | What::Late);
        let number = self.call_of(input).map(|running| running.number);
        life == input.life && number.is_some_and(|number| is_renewal || number == input.number)
    }

    pub(super) fn call_of(&mut self, at: PageInput) -> Option<&mut Running> {
        self.devices[at.device].tabs[at.tab].calls[at.intent].as_deref_mut()
    }

    pub(super) fn intent(&mut self, at: PageInput) -> &mut Intent {
        &mut self.devices[at.device].intents[at.intent]
    }

    /// Somebody submits, or wants to know.
    fn want(&mut self, mut at: PageInput) {
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
    pub(super) fn go(&mut self, at: PageInput) {
        let input = self.input(at);
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
            Some(call) => rules.waited(call, &input),
            None => {
                let goal = match running.wanted {
                    What::Resolve { looks_up } => Goal::Resolve { look_up: looks_up },
                    What::GiveUp => Goal::Abandon,
                    What::Submit(version) => Goal::Submit {
                        payload: requests::payload(content + version).clone(),
                        own_key: None,
                        waited_since: running.waited_since,
                    },
                    _ => return,
                };
                let mut call = Call::new(goal, settings);
                let ordered = rules.begin_call(&mut call, &input);
                running.call = Some(call);
                ordered
            }
        };
        self.follow_page(at, &input.stored, ordered);
    }

    fn follow_page(&mut self, at: PageInput, before: &Stored, ordered: Ordered) {
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
            self.later(50, Event::Page(PageInput { life, number, what: What::Late, ..at }));
        }
        let next = |what| PageInput { life, number, what, ..at };
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
                self.send_of_page(next(What::Response), key, attempt, request);
            }
            Command::Wait { after, why } => {
                self.note(match why {
                    WaitReason::Retry => Met::WaitsToRetry,
                    WaitReason::InProgress => Met::WaitsForResponse,
                });
                self.later(after.as_u64(), Event::Page(next(What::Waited)));
            }
            Command::AskState { key } => {
                self.note(Met::AsksState);
                self.ask_key(next(What::Response), key, Kind::State);
            }
            Command::Void { key } => {
                self.note(Met::AsksVoid);
                self.ask_key(next(What::Response), key, Kind::Void);
            }
            Command::LookUp => {
                self.note(Met::LooksUp);
                let content = self.intent(at).content;
                let of_intent = |given: &&super::origin::Given| {
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

    fn send_of_page(
        &mut self,
        to: PageInput,
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

    /// An intermediary responds.
    fn gate(&mut self, to: PageInput) {
        self.note(Met::Gated);
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
        self.tell(|_| format!("  an intermediary responds with {}", seen.status));
        self.later(20, Event::Response(To::Page(to), seen.into()));
    }

    fn ask_key(&mut self, to: PageInput, key: IdempotencyKey, kind: Kind) {
        let tenant = self.devices[to.device].tenant;
        self.later(KEY_CALL, Event::Page(PageInput { what: What::TimedOut, ..to }));
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

    pub(super) fn page_gets(&mut self, input: PageInput, seen: &SeenResponse) {
        if self.is_asleep(input) {
            let wakes = self.devices[input.device].tabs[input.tab].frozen_until;
            return self
                .later(wakes - self.now, Event::Response(To::Page(input), seen.clone().into()));
        }
        if self.is_awaited(input) {
            self.end_of_attempt(input, Some(seen));
        }
    }

    /// An attempt or a key call has ended; without a response, its time was over.
    fn end_of_attempt(&mut self, at: PageInput, seen: Option<&SeenResponse>) {
        if self.call_of(at).is_some_and(|running| running.is_asking) {
            let report =
                seen.filter(|seen| !seen.cut && !seen.failed).map_or(Report::NoResponse, report);
            self.tell(|_| format!("page {}, tab {}: the key call: {report:?}", at.device, at.tab));
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
        self.tell(|_| {
            let what = seen.map_or("no response in time".to_owned(), super::responses::shown);
            format!("page {}, tab {}, intent {}: gets {what}", at.device, at.tab, at.intent)
        });
        let expires = shown.expires.filter(|_| proof).map(super::date::imf_fixdate);
        let date = super::date::imf_fixdate(UnixMillis::new(self.now));
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

    fn report(&mut self, at: PageInput, report: Report) {
        let input = self.input(at);
        let rules = self.rules;
        let Some(call) = self.call_of(at).and_then(|running| running.call.as_mut()) else { return };
        let ordered = rules.report(call, report, &input);
        self.follow_page(at, &input.stored, ordered);
    }

    fn end_call(&mut self, at: PageInput, end: End) {
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
    pub(super) fn stored(&self, at: PageInput) -> Stored {
        let device = &self.devices[at.device];
        let memory = device.tabs[at.tab].memory[at.intent].as_deref();
        Stored::read(memory.or(device.intents[at.intent].entry.read(at.tab, self.now)))
    }

    fn store(&mut self, at: PageInput, entry: &Entry) {
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

    fn input(&mut self, at: PageInput) -> CallInput {
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

fn report(seen: &SeenResponse) -> Report {
    match seen.report {
        Some((state, http_status)) => {
            Report::read(seen.status, state.map(KeyState::as_str), http_status)
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
        End::ResponseGone { .. } => Met::EndResponseGone,
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
pub(super) fn tab_token(at: PageInput) -> TabToken {
    TabToken::new((at.device as u64) << 40 | (at.tab as u64) << 32 | u64::from(at.life))
}
