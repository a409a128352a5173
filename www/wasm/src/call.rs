//! Exposes a [`Call`] to JavaScript, with its storage, clock and random numbers.

use crate::convert::{Members, command, credential, range_error};
use crate::host;
use crate::storage::EntryStore;
use oncekey::client::intent::{
    Call, CallInput, CallSettings, CallStep, Command, Cookies, Credential, End, EndReason,
    EntryError, Goal, Hints, IntentState, KeyCallCredential, Report, SentRequest, Stored,
    WaitReason,
};
use oncekey::client::retry::{AttemptResult, BodyState, Outcome, ResponseSummary, Stop};
use oncekey::key::IdempotencyKey;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// A response: its status and headers, and the parts of its body that matter.
    pub type JsResponse;
    #[wasm_bindgen(method, getter)]
    fn status(this: &JsResponse) -> u16;
    /// "whole", "empty" or "cut".
    #[wasm_bindgen(method, getter)]
    fn body(this: &JsResponse) -> String;
    #[wasm_bindgen(method, getter, js_name = errorType)]
    fn error_type(this: &JsResponse) -> Option<String>;
    #[wasm_bindgen(method, getter, js_name = errorCode)]
    fn error_code(this: &JsResponse) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    fn redirected(this: &JsResponse) -> bool;
    #[wasm_bindgen(method, getter)]
    fn headers(this: &JsResponse) -> JsHeaders;

    type JsHeaders;
    #[wasm_bindgen(method)]
    fn get(this: &JsHeaders, name: &str) -> Option<String>;
}

/// The parts that the calls of one client share.
pub(crate) struct Shared {
    pub(crate) store: EntryStore,
    pub(crate) settings: CallSettings,
}

/// A call in progress. Each method returns the next command: an object whose `do` says what to do.
#[wasm_bindgen(js_name = Call)]
pub struct CallHandle {
    call: Call,
    shared: Rc<Shared>,
    name: String,
    in_memory: Option<IdempotencyKey>,
}

#[wasm_bindgen(js_class = Call)]
impl CallHandle {
    /// Returns the first command.
    pub fn begin(&mut self) -> Result<JsValue, JsValue> {
        self.step(Call::begin)
    }

    /// Continues after the request got this response.
    pub fn responded(&mut self, response: &JsResponse) -> Result<JsValue, JsValue> {
        let header = |name| response.headers().get(name);
        let (content_type, content_length) = (header("content-type"), header("content-length"));
        let (state, replayed) = (header("idempotency-state"), header("idempotent-replayed"));
        let (stored, expires) = (header("idempotency-stored"), header("idempotency-expires"));
        let (retry_after, date) = (header("retry-after"), header("date"));
        let (error_type, error_code) = (response.error_type(), response.error_code());
        let summary = ResponseSummary {
            status: response.status(),
            body: match response.body().as_str() {
                "whole" => BodyState::Whole,
                "empty" => BodyState::Empty,
                _ => BodyState::Cut,
            },
            content_type: content_type.as_deref(),
            content_length: content_length.as_deref(),
            error_type: error_type.as_deref(),
            error_code: error_code.as_deref(),
            state: state.as_deref(),
            replayed: replayed.as_deref(),
            stored: stored.as_deref(),
            redirected: response.redirected(),
        };
        let hints = Hints {
            state: state.as_deref(),
            expires: expires.as_deref(),
            retry_after: retry_after.as_deref(),
            date: date.as_deref(),
        };
        self.step(|call, input| {
            call.attempt_ended(&AttemptResult::Response(&summary), &hints, input)
        })
    }

    /// Continues after the request got no response: "timeout", "aborted", or else a network error.
    pub fn failed(&mut self, how: &str) -> Result<JsValue, JsValue> {
        let result = match how {
            "timeout" => AttemptResult::TimedOut,
            "aborted" => AttemptResult::Aborted,
            _ => AttemptResult::NetworkError,
        };
        self.step(|call, input| call.attempt_ended(&result, &Hints::default(), input))
    }

    /// Ends a call whose request was not sent, as the browser proved.
    #[wasm_bindgen(js_name = notSent)]
    pub fn not_sent(&mut self) -> Result<JsValue, JsValue> {
        self.step(Call::not_sent)
    }

    /// Continues after the wait.
    pub fn waited(&mut self) -> Result<JsValue, JsValue> {
        self.step(Call::waited)
    }

    /// Continues after the caller's look-up. Throws a `RangeError` if the result of the look-up is
    /// wrong.
    #[wasm_bindgen(js_name = lookedUp)]
    pub fn looked_up(&mut self, state: &str, http_status: Option<f64>) -> Result<JsValue, JsValue> {
        // A status that is not a 16-bit integer is wrong for every state.
        let http_status = http_status.map(|status| status as u16);
        let Some(report) = Report::looked_up(state, http_status) else {
            return Err(range_error(
                "a look-up must return the state \"succeeded\" (httpStatus 200 to 399), \"refused\" (400 to 499), or undefined",
            ));
        };
        self.step(|call, input| call.report(report, input))
    }

    /// Continues after a key call. The status is 0 if there was no response, or if a look-up found
    /// nothing.
    pub fn reported(
        &mut self,
        status: u16,
        state: Option<String>,
        http_status: Option<u16>,
    ) -> Result<JsValue, JsValue> {
        let report = Report::read(status, state.as_deref(), http_status);
        self.step(|call, input| call.report(report, input))
    }

    /// Returns the credential for the current key call. `headers` are the available headers (name,
    /// value, name, value …). `{names, cookies}` names the headers to send, and no others. Without
    /// `cookies`, nothing is known about the request. `{differs, names}` says that the key call must
    /// not be made, because "headers", a "cookie" or "several" credentials differ.
    #[wasm_bindgen(js_name = keyCallCredential)]
    pub fn key_call_credential(&self, headers: &js_sys::Array) -> JsValue {
        let stored = Stored::read(self.shared.store.read(&self.name).as_deref());
        let named = |names: Vec<String>| {
            let names: js_sys::Array = names.iter().map(|name| JsValue::from_str(name)).collect();
            Members::new().with("names", names.into())
        };
        let credential = self.call.key_call(&credential(Cookies::None, headers), &stored);
        let members = match credential {
            KeyCallCredential::Caller(names) => named(names),
            KeyCallCredential::Same { names, cookies } => {
                named(names).with_flag("cookies", cookies)
            }
            KeyCallCredential::HeadersDiffer(names) => named(names).with_text("differs", "headers"),
            KeyCallCredential::CookieDiffers => Members::new().with_text("differs", "cookie"),
            KeyCallCredential::Several => Members::new().with_text("differs", "several"),
        };
        members.done()
    }

    /// Ends a call that its caller aborts between two commands. Returns what is known.
    pub fn stop(&self) -> JsValue {
        let stored = Stored::read(self.shared.store.read(&self.name).as_deref());
        command_of(&Command::End(End::Status(None)), &stored)
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

    /// Returns the same call, which uses this key where it would mint one.
    pub(crate) fn offering(mut self, key: Option<IdempotencyKey>) -> Self {
        if let Some(key) = key {
            self.call = self.call.offering(key);
        }
        self
    }

    /// Returns the same call with the credential of its own request.
    pub(crate) fn under(self, credential: Credential) -> Self {
        Self { call: self.call.under(credential), ..self }
    }

    /// Reads the entry, lets the core decide, and writes the entry. Nothing runs in between.
    fn step(
        &mut self,
        step: impl FnOnce(&mut Call, &CallInput) -> CallStep,
    ) -> Result<JsValue, JsValue> {
        let store = &self.shared.store;
        let input = CallInput {
            random: host::random()?,
            now: host::now(),
            ticks: host::ticks(),
            stored: Stored::read(store.read(&self.name).as_deref()),
            in_memory: self.in_memory.clone(),
        };
        let CallStep { write, command } = step(&mut self.call, &input);
        let stored = match write {
            Some(entry) => {
                store.write(&self.name, &entry.encode());
                Stored::Entry(entry)
            }
            None => input.stored,
        };
        Ok(command_of(&command, &stored))
    }
}

/// Adds what is known about an intent.
pub(crate) fn status_of(stored: &Stored, members: Members) -> JsValue {
    let members = match stored {
        Stored::Nothing => members.with_text("state", "idle"),
        Stored::Entry(entry) => with_state(members, entry.state)
            .with_text("key", entry.key.as_str())
            .with_number("attempts", entry.attempts.into())
            .with_number("createdAt", entry.created_at.as_u64() as f64),
        Stored::Unreadable(error) => {
            let members =
                with_state(members, IntentState::Unknown).with_text("problem", &error.to_string());
            match error {
                EntryError::NewerVersion { key } => members.with_text("key", key.as_str()),
                _ => members,
            }
        }
    };
    members.done()
}

fn with_state(members: Members, state: IntentState) -> Members {
    let (name, http_status) = match state {
        IntentState::Prepared => ("prepared", None),
        IntentState::Sending => ("sending", None),
        IntentState::Unknown => ("unknown", None),
        IntentState::Succeeded { http_status } => ("succeeded", Some(http_status)),
        IntentState::Refused { http_status } => ("refused", Some(http_status)),
        IntentState::Voided => ("voided", None),
    };
    let members = members.with_text("state", name);
    match http_status {
        Some(status) => members.with_number("httpStatus", status.into()),
        None => members,
    }
}

fn command_of(to_do: &Command, stored: &Stored) -> JsValue {
    let members = match to_do {
        Command::Send { key, attempt, timeout, request, rotated } => command("send")
            .with_text("key", key.as_str())
            .with_number("attempt", (*attempt).into())
            .with_number("timeout", timeout.as_u64() as f64)
            .with_flag("earlier", *request == SentRequest::Earlier)
            .with_flag("rotated", *rotated),
        Command::Wait { after, why } => {
            let why = match why {
                WaitReason::Retry => "retry",
                WaitReason::InProgress => "inprogress",
            };
            command("wait").with_number("after", after.as_u64() as f64).with_text("why", why)
        }
        Command::AskState { key } => command("ask").with_text("key", key.as_str()),
        Command::Void { key } => command("void").with_text("key", key.as_str()),
        Command::LookUp => command("lookup"),
        Command::End(end) => end_members(end, stored),
    };
    members.done()
}

fn end_members(end: &End, stored: &Stored) -> Members {
    let (state, status) = match (end, stored) {
        // The result of a look-up is not stored if the entry cannot be read.
        (End::Status(Some(state)), Stored::Unreadable(_)) => {
            (Some(*state), with_state(Members::new(), *state).done())
        }
        (_, Stored::Entry(entry)) => (Some(entry.state), status_of(stored, Members::new())),
        (_, Stored::Unreadable(_)) => {
            (Some(IntentState::Unknown), status_of(stored, Members::new()))
        }
        (_, Stored::Nothing) => (None, status_of(stored, Members::new())),
    };
    let settled = match end {
        End::Response(outcome) => !matches!(outcome, Outcome::NotExecuted { .. }),
        _ => state.is_some_and(IntentState::is_settled),
    };
    let members = command("end")
        .with("status", status)
        .with_flag("settled", settled)
        .with_flag("open", state.is_some_and(IntentState::is_open));
    match end {
        End::Response(_) => members.with_text("end", "response"),
        End::Unknown { reason, why } => {
            let members = members.with_text("end", "unknown").with_text("why", why_name(*why));
            match reason {
                Some(reason) => members.with_text("unknownReason", reason.as_str()),
                None => members,
            }
        }
        End::PayloadChanged { http_status } => members
            .with_text("end", "payload_changed")
            .with_number("httpStatus", (*http_status).into()),
        End::ResponseGone { http_status } => members
            .with_text("end", "response_gone")
            .with_number("httpStatus", (*http_status).into()),
        End::NotResolved => members.with_text("end", "not_resolved"),
        End::KeyReused => members.with_text("end", "key_reused"),
        End::KeyVoided => members.with_text("end", "key_voided"),
        End::Status(_) => members.with_text("end", "status"),
    }
}

fn why_name(why: EndReason) -> &'static str {
    match why {
        EndReason::Stopped(Stop::Outcome) => "outcome",
        EndReason::Stopped(Stop::RetriesUsedUp) => "retries_used_up",
        EndReason::Stopped(Stop::TimeUsedUp) => "time_used_up",
        EndReason::Stopped(Stop::RetentionOver) | EndReason::TooOld => "too_old",
        EndReason::Unreadable => "unreadable",
        EndReason::Overtaken => "overtaken",
    }
}
