//! One call of a client, step by step: a submit with all its attempts, or finding out.
//!
//! A [`Call`] is a machine that the shell drives. It is told what happened, and says what to store
//! and what to do next:
//!
//! | the shell is told to | and then tells |
//! |---|---|
//! | [`Send`](Command::Send) a request | how that ended: [`Call::hear`] |
//! | [`Wait`](Command::Wait) | that the time is over: [`Call::waited`] |
//! | [`AskState`](Command::AskState), [`Void`](Command::Void), [`LookUp`](Command::LookUp) | what was answered: [`Call::report`] |
//! | [`End`](Command::End) | nothing more |
//!
//! With each of these the shell hands over what is stored in that moment, and stores
//! [`Step::write`] before it does anything else. So what two tabs do to one entry comes one after
//! the other, and no request leaves before its key is stored.
//!
//! # The flow of a submit
//!
//! ```text
//! start ─┬─ Send ──► note_sending ──► (send) ──► classify, note_outcome ──► next ─┬─► Wait, send
//!        │                                                                        └─► End
//!        └─ ResolveFirst ──► first_step, after_report ──► … ──► start
//! ```
//!
//! A success that a redirect led to shows no proof: where there are the key calls, the key's state is
//! asked before the end.
//!
//! The rules are those of [`start`], [`note_outcome`], [`first_step`], [`classify`] and [`next`];
//! this file says only in which order they are asked.

mod step;

pub use step::{Command, End, Ended, Said, Step, Waiting, Which};

use super::intent::{
    Credential, Entry, KeyCallAs, Payload, SendError, Start, State, Stored, Submit, note_not_sent,
    note_outcome, note_sending, remint, start,
};
use super::offer;
use super::resolve::{Asked, Means, Purpose, Report, ResolveStep, after_report, first_step};
use crate::client::retry::{
    Context, Doubt, Heard, Next, Outcome, Progress, RetryPolicy, Stop, attempt_timeout, classify,
    expires_at, next, retry_after,
};
use crate::key::IdempotencyKey;
use crate::time::{Millis, UnixMillis};

/// A call under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    goal: Goal,
    /// That of the call's own request.
    credential: Option<Credential>,
    settings: CallSettings,
    phase: Phase,
    /// The key that the server has offered for the intent, where it did.
    offered: Option<IdempotencyKey>,
    /// The retries that were used up.
    retries: u32,
    /// When the call began, on the clock that nobody can set.
    began: Option<Millis>,
    looked_up: bool,
}

/// What a call is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Goal {
    /// To send a request until its outcome is known.
    Submit {
        /// The request.
        payload: Payload,
        /// The key that the caller chose, where it did.
        own_key: Option<IdempotencyKey>,
        /// Since when this call waited for another sender of the intent, if it did.
        waited_since: Option<UnixMillis>,
    },
    /// To find out what became of the intent. Sends nothing that changes it.
    FindOut {
        /// The caller can look the outcome up by other means.
        look_up: bool,
    },
    /// To give the intent up, if nothing was executed.
    GiveUp,
}

/// What holds for the whole call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallSettings {
    /// How often and how long.
    pub retry: RetryPolicy,
    /// How long the server keeps answers.
    pub retention: Millis,
    /// The server offers the key calls.
    pub key_calls: bool,
    /// See [`Context::sends_proof`](crate::client::retry::Context::sends_proof).
    pub sends_proof: bool,
    /// See [`Context::final_statuses`](crate::client::retry::Context::final_statuses).
    pub final_statuses: Vec<u16>,
    /// See [`Context::expects`](crate::client::retry::Context::expects).
    pub expects: String,
}

/// The moment in which a call is asked.
#[derive(Clone, Debug)]
pub struct Moment {
    /// What the store holds for the intent.
    pub stored: Stored,
    /// The time.
    pub now: UnixMillis,
    /// A clock that nobody can set (`performance.now`), from any beginning.
    pub ticks: Millis,
    /// 16 bytes from a cryptographic source.
    pub random: [u8; 16],
    /// The key whose request is still in memory, to be sent once more.
    pub in_memory: Option<IdempotencyKey>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Sent {
        entry: Entry,
        request: Which,
    },
    Pausing {
        key: IdempotencyKey,
        request: Which,
        doubt: Option<Doubt>,
    },
    Asking {
        key: IdempotencyKey,
        asked: Asked,
    },
    PausingToAsk {
        key: IdempotencyKey,
    },
    /// A redirect led to a page: the key's state tells whether the redirect was the key's response.
    Confirming {
        sent: Entry,
    },
    LookingUp {
        key: Option<IdempotencyKey>,
        attempts: u32,
    },
}

impl Call {
    /// A call that has not begun.
    pub fn new(goal: Goal, settings: CallSettings) -> Self {
        Self {
            goal,
            credential: None,
            settings,
            phase: Phase::Idle,
            offered: None,
            retries: 0,
            began: None,
            looked_up: false,
        }
    }

    /// The same call, which takes this key where it would mint one: the server has put it into its
    /// form.
    #[must_use]
    pub fn offering(mut self, key: IdempotencyKey) -> Self {
        self.offered = Some(key);
        self
    }

    /// The same call, whose own request carries this credential.
    #[must_use]
    pub fn under(self, credential: Credential) -> Self {
        Self { credential: Some(credential), ..self }
    }

    /// How the key call that this call makes now is to be made, where `source` has the headers that
    /// there are.
    pub fn key_call(&self, source: &Credential, stored: &Stored) -> KeyCallAs {
        match (&self.phase, stored) {
            (
                Phase::Asking { key, .. } | Phase::Confirming { sent: Entry { key, .. } },
                Stored::Entry(entry),
            ) if entry.key == *key => entry.sent_by.key_call(key, source),
            _ => KeyCallAs::Caller(source.names()),
        }
    }

    /// The first step. For a submit, its caller is the only sender of the intent by now.
    pub fn begin(&mut self, moment: &Moment) -> Step {
        self.began.get_or_insert(moment.ticks);
        match (&self.goal, &moment.stored) {
            (Goal::Submit { .. }, stored) => self.start(stored, moment),
            (_, Stored::Nothing) => end(End::Found(None)),
            (_, Stored::Unreadable(_)) => self.still_unknown(&moment.stored),
            (_, Stored::Entry(entry)) => self.resolve(entry, moment),
        }
    }

    /// The attempt that was sent has ended.
    pub fn hear(&mut self, heard: &Heard<'_>, said: &Said<'_>, moment: &Moment) -> Step {
        let Phase::Sent { entry: sent, request } = self.take_phase() else {
            return out_of_turn();
        };
        let now = moment.now;
        // Another tab may have gone on by now: what is stored counts, if it is still the same key.
        let before = moment.stored.with_key(&sent.key);
        let known = before.unwrap_or(&sent);
        let context = Context {
            final_statuses: &self.settings.final_statuses,
            ..known.context(self.settings.sends_proof, &self.settings.expects)
        };
        let outcome = classify(heard, &context);
        let noted = note_outcome(&moment.stored, &sent.key, sent.attempts, &outcome, now);
        let mut entry = noted.unwrap_or_else(|| known.clone());
        entry.sends_proof |= self.settings.sends_proof || said.state.is_some();
        if entry.sends_proof {
            let expires = said.expires.and_then(|value| expires_at(value, said.date, now));
            entry.note_expiry(said.state, expires, self.settings.retention, now);
        }
        let write = before.is_some_and(|before| *before != entry).then(|| entry.clone());
        self.after_outcome(outcome, &entry, request, self.wait_asked(said, now), moment)
            .after(write)
    }

    /// The request was not sent after all: the browser has proved that nothing has left the page.
    pub fn not_sent(&mut self, moment: &Moment) -> Step {
        let Phase::Sent { entry, .. } = self.take_phase() else { return out_of_turn() };
        let write = note_not_sent(&moment.stored, &entry.key, entry.attempts, moment.now);
        let known = write.as_ref().or(moment.stored.with_key(&entry.key));
        end(End::Found(known.map(|entry| entry.state))).after(write)
    }

    /// The time that was to be waited is over.
    pub fn waited(&mut self, moment: &Moment) -> Step {
        match self.take_phase() {
            Phase::Pausing { key, request, doubt } => {
                let sending = Sending { key: &key, request, rotated: false, doubt };
                self.send(&moment.stored, sending, moment)
            }
            Phase::PausingToAsk { key } => self.ask(key, Asked::State),
            _ => out_of_turn(),
        }
    }

    /// A key call, or the caller's own look-up, was answered.
    pub fn report(&mut self, report: Report, moment: &Moment) -> Step {
        let (asked, report, entry) = match self.take_phase() {
            Phase::Asking { key, asked } => (asked, report, moment.stored.with_key(&key)),
            Phase::LookingUp { key, attempts } => {
                let Stored::Entry(entry) = &moment.stored else {
                    // Nothing to write it to; the caller is told all the same.
                    return end(End::Found(Some(proven(report).unwrap_or(State::Unknown))));
                };
                let report = match proven(report) {
                    // What was sent since the look-up began may have come after it.
                    Some(State::Refused { .. }) if entry.attempts != attempts => Report::NoAnswer,
                    Some(_) => report,
                    // To have found nothing proves nothing: the request may still be under way.
                    None => Report::NoAnswer,
                };
                (Asked::State, report, Some(entry).filter(|entry| Some(&entry.key) == key.as_ref()))
            }
            Phase::Confirming { sent } => return confirmed(&sent, report, moment),
            _ => return out_of_turn(),
        };
        // Another tab has gone on with another key: what holds now counts.
        let Some(entry) = entry else { return self.begin(moment) };
        let means = self.means(entry, moment);
        let (write, step) = after_report(entry, asked, report, self.purpose(), means, moment.now);
        let entry = write.as_ref().unwrap_or(entry).clone();
        self.follow(&entry, step, moment).after(write)
    }

    fn start(&mut self, stored: &Stored, moment: &Moment) -> Step {
        let Some(submit) = self.submit(stored, moment) else { return out_of_turn() };
        match start(stored, &submit, moment.now) {
            Start::Send { entry, fresh } => {
                let rotated = fresh && *stored != Stored::Nothing;
                self.send_first(entry, rotated, moment)
            }
            Start::ResolveFirst => match stored {
                Stored::Entry(entry) => self.resolve(entry, moment),
                _ => out_of_turn(),
            },
            Start::PayloadChanged { http_status } => end(End::PayloadChanged { http_status }),
            Start::AnswerGone { http_status } => end(End::AnswerGone { http_status }),
            Start::TooOld => end(End::Unknown { doubt: None, why: Ended::TooOld }),
            Start::Unreadable(_) => end(End::Unknown { doubt: None, why: Ended::Unreadable }),
        }
    }

    fn send_first(&mut self, entry: Entry, rotated: bool, moment: &Moment) -> Step {
        let key = entry.key.clone();
        let sending = Sending { key: &key, request: Which::Own, rotated, doubt: None };
        self.send(&Stored::Entry(entry), sending, moment)
    }

    fn send(&mut self, stored: &Stored, sending: Sending<'_>, moment: &Moment) -> Step {
        let Sending { key, request, rotated, doubt } = sending;
        let unknown = |why| end(End::Unknown { doubt, why });
        let mut entry = match note_sending(stored, key, self.settings.retention, moment.now) {
            Ok(entry) => entry,
            Err(SendError::Voided) if request == Which::Own => return end(End::KeyVoided),
            // What was to be resolved has been, elsewhere.
            Err(SendError::Voided) => return self.start(stored, moment),
            Err(SendError::Overtaken) => return unknown(Ended::Overtaken),
            Err(SendError::TooOld) => return unknown(Ended::TooOld),
        };
        let timeout = attempt_timeout(&self.settings.retry, self.progress(&entry, moment));
        if timeout == Millis::new(0) {
            return unknown(Ended::Stopped(Stop::TimeUsedUp));
        }
        entry.sends_proof |= self.settings.sends_proof;
        // What is sent once more goes under its own credential, which is noted already.
        if let (Which::Own, Some(credential)) = (request, &self.credential) {
            entry.sent_by.note(credential.mark(&entry.key), entry.maybe_executed);
        }
        let (key, attempt) = (entry.key.clone(), entry.attempts);
        self.phase = Phase::Sent { entry: entry.clone(), request };
        let command = Command::Send { key, attempt, timeout, request, rotated };
        Step { write: Some(entry), command }
    }

    fn after_outcome(
        &mut self,
        outcome: Outcome,
        entry: &Entry,
        request: Which,
        wait: Option<Millis>,
        moment: &Moment,
    ) -> Step {
        let progress = self.progress(entry, moment);
        match next(&self.settings.retry, &outcome, progress, wait, bits(moment)) {
            // The key counted as too old as soon as it was made: it gives way to one without time.
            Next::Again { .. } if outcome == Outcome::KeyExpired => {
                let stored = Stored::Entry(entry.clone());
                let without_time = self
                    .submit(&stored, moment)
                    .and_then(|submit| remint(&stored, &entry.key, &submit, moment.now));
                match without_time {
                    Some(entry) => self.send_first(entry, true, moment),
                    None => end(ended(&outcome, Stop::Outcome, entry)),
                }
            }
            Next::Again { after, counts } => {
                self.retries += u32::from(counts);
                let why = match outcome {
                    Outcome::InProgress => Waiting::ForAnswer,
                    _ => Waiting::ToRetry,
                };
                let doubt = doubt_of(&outcome);
                self.phase = Phase::Pausing { key: entry.key.clone(), request, doubt };
                Step { write: None, command: Command::Wait { after, why } }
            }
            Next::Stop(_) if request == Which::Own && self.may_confirm(&outcome, entry) => {
                self.phase = Phase::Confirming { sent: entry.clone() };
                Step { write: None, command: Command::AskState { key: entry.key.clone() } }
            }
            Next::Stop(why) if request == Which::Own => end(ended(&outcome, why, entry)),
            // The earlier payload's outcome is known: now its successor's turn has come.
            Next::Stop(_) if is_settled(entry.state) => {
                self.retries = 0;
                self.start(&Stored::Entry(entry.clone()), moment)
            }
            Next::Stop(_) => end(End::NotResolved),
        }
    }

    fn resolve(&mut self, entry: &Entry, moment: &Moment) -> Step {
        let means = self.means(entry, moment);
        let (write, step) = first_step(entry, self.purpose(), means, moment.now);
        let entry = write.as_ref().unwrap_or(entry).clone();
        self.follow(&entry, step, moment).after(write)
    }

    fn follow(&mut self, entry: &Entry, step: ResolveStep, moment: &Moment) -> Step {
        let key = entry.key.clone();
        let stored = || Stored::Entry(entry.clone());
        match step {
            ResolveStep::AskState => self.ask(key, Asked::State),
            ResolveStep::Void => self.ask(key, Asked::Void),
            ResolveStep::AskAgain => {
                let progress = self.progress(entry, moment);
                let again =
                    next(&self.settings.retry, &Outcome::InProgress, progress, None, bits(moment));
                match again {
                    Next::Again { after, .. } => {
                        self.phase = Phase::PausingToAsk { key };
                        let command = Command::Wait { after, why: Waiting::ForAnswer };
                        Step { write: None, command }
                    }
                    Next::Stop(_) => self.still_unknown(&stored()),
                }
            }
            ResolveStep::SendAgain => {
                let request = Which::Earlier;
                let sending = Sending { key: &key, request, rotated: false, doubt: None };
                self.send(&stored(), sending, moment)
            }
            ResolveStep::Settled => match self.goal {
                Goal::Submit { .. } => self.start(&stored(), moment),
                Goal::FindOut { .. } | Goal::GiveUp => end(End::Found(Some(entry.state))),
            },
            ResolveStep::StillUnknown => self.still_unknown(&stored()),
        }
    }

    fn ask(&mut self, key: IdempotencyKey, asked: Asked) -> Step {
        self.phase = Phase::Asking { key: key.clone(), asked };
        let command = match asked {
            Asked::State => Command::AskState { key },
            Asked::Void => Command::Void { key },
        };
        Step { write: None, command }
    }

    fn still_unknown(&mut self, stored: &Stored) -> Step {
        match (&self.goal, stored) {
            (Goal::FindOut { look_up: true }, _) if !self.looked_up => {
                self.looked_up = true;
                self.phase = match stored {
                    Stored::Entry(entry) => {
                        Phase::LookingUp { key: Some(entry.key.clone()), attempts: entry.attempts }
                    }
                    _ => Phase::LookingUp { key: None, attempts: 0 },
                };
                Step { write: None, command: Command::LookUp }
            }
            (Goal::Submit { .. }, _) => end(End::NotResolved),
            (_, Stored::Entry(entry)) => end(End::Found(Some(entry.state))),
            _ => end(End::Found(Some(State::Unknown))),
        }
    }

    fn may_confirm(&self, outcome: &Outcome, entry: &Entry) -> bool {
        let is_redirected = *outcome == Outcome::Unsettled(Doubt::Redirected);
        is_redirected && self.settings.key_calls && !is_settled(entry.state)
    }

    fn submit(&self, stored: &Stored, moment: &Moment) -> Option<Submit<'_>> {
        let Goal::Submit { payload, own_key, waited_since } = &self.goal else { return None };
        Some(Submit {
            payload,
            own_key: own_key
                .as_ref()
                .or_else(|| offer::taken(self.offered.as_ref(), stored, moment.now)),
            waited_since: *waited_since,
            retention: self.settings.retention,
            random: moment.random,
        })
    }

    fn purpose(&self) -> Purpose {
        match self.goal {
            Goal::FindOut { .. } => Purpose::FindOut,
            Goal::Submit { .. } | Goal::GiveUp => Purpose::MakeRoom,
        }
    }

    fn means(&self, entry: &Entry, moment: &Moment) -> Means {
        let is_submit = matches!(self.goal, Goal::Submit { .. });
        Means {
            key_calls: self.settings.key_calls,
            old_body: is_submit && moment.in_memory.as_ref() == Some(&entry.key),
        }
    }

    fn progress(&self, entry: &Entry, moment: &Moment) -> Progress {
        let began = self.began.unwrap_or(moment.ticks).as_u64();
        Progress {
            retries: self.retries,
            elapsed: Millis::new(moment.ticks.as_u64().saturating_sub(began)),
            left: entry.time_left(moment.now),
        }
    }

    fn wait_asked(&self, said: &Said<'_>, now: UnixMillis) -> Option<Millis> {
        let max = self.settings.retry.settings().max_retry_after;
        retry_after(said.retry_after?, said.date, now, max)
    }

    fn take_phase(&mut self) -> Phase {
        core::mem::replace(&mut self.phase, Phase::Idle)
    }
}

struct Sending<'a> {
    key: &'a IdempotencyKey,
    request: Which,
    rotated: bool,
    doubt: Option<Doubt>,
}

impl Step {
    /// What was found out before counts unless this step has something newer to write.
    fn after(mut self, write: Option<Entry>) -> Self {
        self.write = self.write.or(write);
        self
    }
}

fn end(end: End) -> Step {
    Step { write: None, command: Command::End(end) }
}

/// The shell told something that it was not asked for.
fn out_of_turn() -> Step {
    end(End::Unknown { doubt: None, why: Ended::Overtaken })
}

/// What the caller is told when no further attempt is made.
fn ended(outcome: &Outcome, why: Stop, entry: &Entry) -> End {
    match (*outcome, entry.state) {
        (Outcome::Succeeded { .. }, _) => End::Answered(*outcome),
        // A success stays one, whatever became of the question for its answer.
        (_, State::Succeeded { http_status }) => End::AnswerGone { http_status },
        (Outcome::Refused { .. }, _) | (Outcome::NotExecuted { .. }, State::Prepared) => {
            End::Answered(*outcome)
        }
        (Outcome::KeyReused { .. }, _) => End::KeyReused,
        (Outcome::KeyVoided, _) => End::KeyVoided,
        _ => End::Unknown { doubt: doubt_of(outcome), why: Ended::Stopped(why) },
    }
}

/// The response is the page that a redirect led to. It is the key's own where the redirect was the
/// key's response; after any other report the outcome stays unknown.
fn confirmed(sent: &Entry, report: Report, moment: &Moment) -> Step {
    let outcome = match report {
        Report::Completed { http_status: http_status @ 300..400 } => {
            Outcome::Succeeded { http_status }
        }
        _ => Outcome::Unsettled(Doubt::Redirected),
    };
    let write = note_outcome(&moment.stored, &sent.key, sent.attempts, &outcome, moment.now);
    end(ended(&outcome, Stop::Outcome, write.as_ref().unwrap_or(sent))).after(write)
}

fn doubt_of(outcome: &Outcome) -> Option<Doubt> {
    match *outcome {
        Outcome::Ambiguous(doubt) | Outcome::Unsettled(doubt) => Some(doubt),
        Outcome::NotExecuted { http_status, .. } => Some(Doubt::Status(http_status)),
        Outcome::KeyExpired => Some(Doubt::Expired),
        _ => None,
    }
}

fn is_settled(state: State) -> bool {
    matches!(state, State::Succeeded { .. } | State::Refused { .. } | State::Voided)
}

/// What the caller's own look-up can prove.
fn proven(report: Report) -> Option<State> {
    match report {
        Report::Completed { http_status: http_status @ 200..400 } => {
            Some(State::Succeeded { http_status })
        }
        Report::Completed { http_status: http_status @ 400..500 } => {
            Some(State::Refused { http_status })
        }
        _ => None,
    }
}

/// 32 random bits that no key is made of: a UUIDv7 takes the first ten bytes.
fn bits(moment: &Moment) -> u32 {
    let [.., a, b, c, d] = moment.random;
    u32::from_be_bytes([a, b, c, d])
}
