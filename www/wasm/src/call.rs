//! One call, as JavaScript drives it: [`Call`] with its store, clock and random numbers.

use crate::convert::{command, credential, number, object, range_error};
use crate::host;
use crate::storage::Store;
use oncekey::client::intent::{
    Call, CallSettings, Command, Cookies, Credential, End, Ended, Entry, EntryError, Goal,
    KeyCallAs, Moment, Report, Said, State, Step, Stored, Waiting, Which,
};
use oncekey::client::retry::{Answer, Body, Heard, Outcome, Stop};
use oncekey::key::IdempotencyKey;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// An answer: its head, and what was found in its body.
    pub type JsAnswer;
    #[wasm_bindgen(method, getter)]
    fn status(this: &JsAnswer) -> u16;
    /// "whole", "empty" or "cut".
    #[wasm_bindgen(method, getter)]
    fn body(this: &JsAnswer) -> String;
    #[wasm_bindgen(method, getter, js_name = errorType)]
    fn error_type(this: &JsAnswer) -> Option<String>;
    #[wasm_bindgen(method, getter, js_name = errorCode)]
    fn error_code(this: &JsAnswer) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    fn redirected(this: &JsAnswer) -> bool;
    #[wasm_bindgen(method, getter)]
    fn headers(this: &JsAnswer) -> JsHeaders;

    type JsHeaders;
    #[wasm_bindgen(method)]
    fn get(this: &JsHeaders, name: &str) -> Option<String>;
}

/// What the calls of one client share.
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) settings: CallSettings,
}

/// A call under way. Each method gives the next command, an object whose `do` says what to do.
#[wasm_bindgen(js_name = Call)]
pub struct CallHandle {
    call: Call,
    shared: Rc<Shared>,
    name: String,
    in_memory: Option<IdempotencyKey>,
}

#[wasm_bindgen(js_class = Call)]
impl CallHandle {
    /// The first command.
    pub fn begin(&mut self) -> Result<JsValue, JsValue> {
        self.step(Call::begin)
    }

    /// The request that was sent got this answer.
    pub fn answered(&mut self, answer: &JsAnswer) -> Result<JsValue, JsValue> {
        let header = |name| answer.headers().get(name);
        let (content_type, content_length) = (header("content-type"), header("content-length"));
        let (state, replayed) = (header("idempotency-state"), header("idempotent-replayed"));
        let (stored, expires) = (header("idempotency-stored"), header("idempotency-expires"));
        let (retry_after, date) = (header("retry-after"), header("date"));
        let (error_type, error_code) = (answer.error_type(), answer.error_code());
        let heard = Answer {
            status: answer.status(),
            body: match answer.body().as_str() {
                "whole" => Body::Whole,
                "empty" => Body::Empty,
                _ => Body::Cut,
            },
            content_type: content_type.as_deref(),
            content_length: content_length.as_deref(),
            error_type: error_type.as_deref(),
            error_code: error_code.as_deref(),
            state: state.as_deref(),
            replayed: replayed.as_deref(),
            stored: stored.as_deref(),
            redirected: answer.redirected(),
        };
        let said = Said {
            state: state.as_deref(),
            expires: expires.as_deref(),
            retry_after: retry_after.as_deref(),
            date: date.as_deref(),
        };
        self.step(|call, moment| call.hear(&Heard::Answer(&heard), &said, moment))
    }

    /// The request that was sent got no answer: "timeout", "aborted", or else a network error.
    pub fn failed(&mut self, how: &str) -> Result<JsValue, JsValue> {
        let heard = match how {
            "timeout" => Heard::TimedOut,
            "aborted" => Heard::Aborted,
            _ => Heard::NetworkError,
        };
        self.step(|call, moment| call.hear(&heard, &Said::default(), moment))
    }

    /// The request was not sent after all, as the browser has proved.
    #[wasm_bindgen(js_name = notSent)]
    pub fn not_sent(&mut self) -> Result<JsValue, JsValue> {
        self.step(Call::not_sent)
    }

    /// The time that was to be waited is over.
    pub fn waited(&mut self) -> Result<JsValue, JsValue> {
        self.step(Call::waited)
    }

    /// The caller's own look-up found this. A `RangeError` for what it may not say.
    #[wasm_bindgen(js_name = lookedUp)]
    pub fn looked_up(&mut self, state: &str, http_status: Option<f64>) -> Result<JsValue, JsValue> {
        // A status that is no whole number of 16 bits fits nothing.
        let http_status = http_status.map(|status| status as u16);
        let Some(report) = Report::looked_up(state, http_status) else {
            return Err(range_error(
                "a look-up gives the state \"succeeded\" (httpStatus 200 to 399) or \"refused\" (400 to 499), and undefined for all else",
            ));
        };
        self.step(|call, moment| call.report(report, moment))
    }

    /// A key call got this answer; the status is 0 where there was none, and where a look-up found
    /// nothing.
    pub fn reported(
        &mut self,
        status: u16,
        state: Option<String>,
        http_status: Option<u16>,
    ) -> Result<JsValue, JsValue> {
        let report = Report::read(status, state.as_deref(), http_status);
        self.step(|call, moment| call.report(report, moment))
    }

    /// How the key call that is asked for is to be made, with the headers that there are (name,
    /// value, name, value …): `{names, cookies}` says which of them to send, and nothing else;
    /// `{differs, names}` that it may not be made, because "headers", a "cookie" or "several"
    /// credentials differ from those of the request; without `cookies`, nothing is known
    /// of the request.
    #[wasm_bindgen(js_name = keyCallAs)]
    pub fn key_call_as(&self, headers: &js_sys::Array) -> JsValue {
        let stored = Stored::read(self.shared.store.read(&self.name).as_deref());
        let names = |names: Vec<String>| {
            let names: js_sys::Array = names.iter().map(|name| JsValue::from_str(name)).collect();
            ("names", names.into())
        };
        let differs = |what| ("differs", JsValue::from_str(what));
        object(&match self.call.key_call(&credential(Cookies::None, headers), &stored) {
            KeyCallAs::Caller(all) => vec![names(all)],
            KeyCallAs::Same { names: all, cookies } => {
                vec![names(all), ("cookies", cookies.into())]
            }
            KeyCallAs::HeadersDiffer(all) => vec![differs("headers"), names(all)],
            KeyCallAs::CookieDiffers => vec![differs("cookie")],
            KeyCallAs::Several => vec![differs("several")],
        })
    }

    /// The end of a call that its caller gives up between two commands: what is known.
    pub fn stop(&self) -> JsValue {
        let stored = Stored::read(self.shared.store.read(&self.name).as_deref());
        told(&Command::End(End::Found(None)), &stored)
    }
}

impl CallHandle {
    pub(crate) fn new(
        shared: Rc<Shared>,
        name: String,
        goal: Goal,
        settings: CallSettings,
        in_memory: Option<IdempotencyKey>,
    ) -> Self {
        Self { call: Call::new(goal, settings), shared, name, in_memory }
    }

    /// The same call, which takes this key where it would mint one.
    pub(crate) fn offering(mut self, key: Option<IdempotencyKey>) -> Self {
        if let Some(key) = key {
            self.call = self.call.offering(key);
        }
        self
    }

    /// The same call, whose own request carries this credential.
    pub(crate) fn under(self, credential: Credential) -> Self {
        Self { call: self.call.under(credential), ..self }
    }

    /// Read, decide, write: with nothing in between.
    fn step(&mut self, step: impl FnOnce(&mut Call, &Moment) -> Step) -> Result<JsValue, JsValue> {
        let store = &self.shared.store;
        let moment = Moment {
            random: host::random()?,
            now: host::now(),
            ticks: host::ticks(),
            stored: Stored::read(store.read(&self.name).as_deref()),
            in_memory: self.in_memory.clone(),
        };
        let Step { write, command } = step(&mut self.call, &moment);
        let stored = match write {
            Some(entry) => {
                store.write(&self.name, &entry.encode());
                Stored::Entry(entry)
            }
            None => moment.stored,
        };
        Ok(told(&command, &stored))
    }
}

/// What is known of an intent, with further members.
pub(crate) fn status_of(stored: &Stored, more: &[(&'static str, JsValue)]) -> JsValue {
    let mut members = more.to_vec();
    let text = JsValue::from_str;
    match stored {
        Stored::Nothing => members.push(("state", text("idle"))),
        Stored::Entry(entry) => {
            members.extend(state_members(entry.state));
            members.extend(entry_members(entry));
            members.push(("createdAt", number(entry.created_at.as_u64() as f64)));
        }
        Stored::Unreadable(error) => {
            members.extend(state_members(State::Unknown));
            members.push(("problem", text(&error.to_string())));
            if let EntryError::NewerVersion { key } = error {
                members.push(("key", text(key.as_str())));
            }
        }
    }
    object(&members)
}

fn state_members(state: State) -> Vec<(&'static str, JsValue)> {
    let (name, http_status) = match state {
        State::Prepared => ("prepared", None),
        State::Sending => ("sending", None),
        State::Unknown => ("unknown", None),
        State::Succeeded { http_status } => ("succeeded", Some(http_status)),
        State::Refused { http_status } => ("refused", Some(http_status)),
        State::Voided => ("voided", None),
    };
    let mut members = vec![("state", JsValue::from_str(name))];
    members.extend(http_status.map(|status| ("httpStatus", number(status))));
    members
}

fn entry_members(entry: &Entry) -> [(&'static str, JsValue); 2] {
    [("key", JsValue::from_str(entry.key.as_str())), ("attempts", number(entry.attempts))]
}

fn told(to_do: &Command, stored: &Stored) -> JsValue {
    let text = JsValue::from_str;
    match to_do {
        Command::Send { key, attempt, timeout, request, rotated } => command(
            "send",
            &[
                ("key", text(key.as_str())),
                ("attempt", number(*attempt)),
                ("timeout", number(timeout.as_u64() as f64)),
                ("earlier", (*request == Which::Earlier).into()),
                ("rotated", (*rotated).into()),
            ],
        ),
        Command::Wait { after, why } => {
            let why = match why {
                Waiting::ToRetry => "retry",
                Waiting::ForAnswer => "inprogress",
            };
            command("wait", &[("after", number(after.as_u64() as f64)), ("why", text(why))])
        }
        Command::AskState { key } => command("ask", &[("key", text(key.as_str()))]),
        Command::Void { key } => command("void", &[("key", text(key.as_str()))]),
        Command::LookUp => command("lookup", &[]),
        Command::End(end) => {
            let mut members = end_members(end);
            // What was looked up for an intent that cannot be read is not stored.
            let found = match (end, stored) {
                (End::Found(Some(state)), Stored::Unreadable(_)) => object(&state_members(*state)),
                _ => status_of(stored, &[]),
            };
            members.push(("status", found));
            command("end", &members)
        }
    }
}

fn end_members(end: &End) -> Vec<(&'static str, JsValue)> {
    let text = JsValue::from_str;
    let name = match end {
        End::Answered(_) => "answered",
        End::Unknown { .. } => "unknown",
        End::PayloadChanged { .. } => "payload_changed",
        End::NotResolved => "not_resolved",
        End::AnswerGone { .. } => "answer_gone",
        End::KeyReused => "key_reused",
        End::KeyVoided => "key_voided",
        End::Found(_) => "found",
    };
    let mut members = vec![("end", text(name))];
    match end {
        End::Answered(outcome) => {
            let settled = !matches!(outcome, Outcome::NotExecuted { .. });
            members.push(("settled", settled.into()));
        }
        End::Unknown { doubt, why } => {
            members.push(("why", text(why_name(*why))));
            members.extend(doubt.map(|doubt| ("doubt", text(doubt.as_str()))));
        }
        End::PayloadChanged { http_status } | End::AnswerGone { http_status } => {
            members.push(("httpStatus", number(*http_status)));
        }
        End::NotResolved | End::KeyReused | End::KeyVoided | End::Found(_) => {}
    }
    members
}

fn why_name(why: Ended) -> &'static str {
    match why {
        Ended::Stopped(Stop::Outcome) => "outcome",
        Ended::Stopped(Stop::RetriesUsedUp) => "retries_used_up",
        Ended::Stopped(Stop::TimeUsedUp) => "time_used_up",
        Ended::Stopped(Stop::RetentionOver) | Ended::TooOld => "too_old",
        Ended::Unreadable => "unreadable",
        Ended::Overtaken => "overtaken",
    }
}
