//! The calls in progress. JavaScript knows each by its number.

use crate::command::reply;
use crate::entries::stored;
use crate::fields::Fields;
use crate::members::Members;
use oncekey::canonical::JsonPointer;
use oncekey::client::intent::{
    Call, CallInput, CallSettings, CallStep, Command, Cookies, Credential, End, Goal, Hints,
    KeyCallCredential, Payload, Report, Stored,
};
use oncekey::client::retry::{
    AttemptResult, BodyState, Jitter, ResponseSummary, RetryPolicy, RetrySettings, is_final_status,
};
use oncekey::codec::text::decimal;
use oncekey::fingerprint::RequestParts;
use oncekey::key::IdempotencyKey;
use oncekey::time::UnixMillis;
use std::cell::RefCell;

thread_local! {
    static CALLS: RefCell<Vec<Option<Call>>> = const { RefCell::new(Vec::new()) };
}

/// `submit`: the settings, then the request. Returns `{call}`.
pub(crate) fn submit(fields: &mut Fields<'_>) -> Members {
    read_submit(fields).map_or_else(|problem| Members::error(&problem), started)
}

/// `preimage`: the parts of a request before its body, and its body unless it stays outside. Returns the bytes that
/// the platform hashes for `submit`; without the body, those before the body. Returns none if the body is needed, or
/// if `ignore` is wrong, which `submit` reports.
pub(crate) fn preimage(fields: &mut Fields<'_>) -> Vec<u8> {
    let Ok(before) = BeforeBody::read(fields) else { return Vec::new() };
    match fields.optional_bytes() {
        Some(body) => Payload::preimage(&before.with(body)),
        None => Payload::preimage_before_body(&before.with(b"")).unwrap_or_default(),
    }
}

/// `resolve`: the settings, and whether there is a look-up. Returns `{call}`.
pub(crate) fn resolve(fields: &mut Fields<'_>) -> Members {
    let settings = settings(fields);
    started(Call::new(Goal::Resolve { look_up: fields.flag() }, settings))
}

/// `abandon`: the settings. Returns `{call}`.
pub(crate) fn abandon(fields: &mut Fields<'_>) -> Members {
    started(Call::new(Goal::Abandon, settings(fields)))
}

/// `step`: the number of the call, the stored text, the time, the ticks of a monotonic clock, 16
/// random bytes, the key whose request is still in memory, the event, and what belongs to the event.
/// Returns the next command, and in `write` the text to store first.
pub(crate) fn step(fields: &mut Fields<'_>) -> Members {
    with(fields.number(), |call| {
        let input = CallInput {
            stored: stored(fields),
            now: fields.time(),
            ticks: fields.millis(),
            random: fields.random(),
            in_memory: fields.optional().and_then(|key| IdempotencyKey::parse_bare(key).ok()),
        };
        let CallStep { write, command } = match fields.text() {
            "begin" => call.begin(&input),
            "responded" => responded(call, fields, &input),
            "failed" => {
                let result = match fields.text() {
                    "timeout" => AttemptResult::TimedOut,
                    "aborted" => AttemptResult::Aborted,
                    _ => AttemptResult::NetworkError,
                };
                call.attempt_ended(&result, &Hints::default(), &input)
            }
            // The request was not sent, as the browser proved.
            "notSent" => call.not_sent(&input),
            "waited" => call.waited(&input),
            "lookedUp" => {
                // A status that is not a 16-bit integer is wrong for every state.
                let (state, status) = (fields.text(), fields.optional_number());
                let status = status.map(|status| u16::try_from(status).unwrap_or_default());
                let Some(report) = Report::looked_up(state, status) else {
                    return Members::error(
                        "a look-up must return the state \"succeeded\" (httpStatus 200 to 399), \"refused\" (400 to 499), or undefined",
                    );
                };
                call.report(report, &input)
            }
            // A key call. The status is 0 if there was no response, or if a look-up found nothing.
            _ => {
                let status = fields.number() as u16;
                let (state, http_status) = (fields.optional(), fields.optional_number());
                let report = Report::read(status, state, http_status.map(|status| status as u16));
                call.report(report, &input)
            }
        };
        match write {
            Some(entry) => {
                let text = entry.encode();
                reply(&command, &Stored::Entry(entry)).with_text("write", &text)
            }
            None => reply(&command, &input.stored),
        }
    })
}

/// `stop`: the number of a call that its caller aborts between two commands, and the stored text.
/// Returns the end of the call, with what is known.
pub(crate) fn stop(fields: &mut Fields<'_>) -> Members {
    let _ = fields.number();
    reply(&Command::End(End::Status(None)), &stored(fields))
}

/// `credential`: the number of the call, the stored text, and the available headers. Returns the
/// credential for the current key call: `{names, cookies}` names the headers to send, and no others.
/// Without `cookies`, nothing is known about the request. `{differs, names}` says that the key call
/// must not be made, because "headers", a "cookie" or "several" credentials differ.
pub(crate) fn key_call_credential(fields: &mut Fields<'_>) -> Members {
    with(fields.number(), |call| {
        let stored = stored(fields);
        let named = |names: Vec<String>| Members::new().with_texts("names", &names);
        match call.key_call(&credential(Cookies::None, fields), &stored) {
            KeyCallCredential::Caller(names) => named(names),
            KeyCallCredential::Same { names, cookies } => {
                named(names).with_flag("cookies", cookies)
            }
            KeyCallCredential::HeadersDiffer(names) => named(names).with_text("differs", "headers"),
            KeyCallCredential::CookieDiffers => Members::new().with_text("differs", "cookie"),
            KeyCallCredential::Several => Members::new().with_text("differs", "several"),
        }
    })
}

/// `free`: the number of a call that has ended.
pub(crate) fn free(fields: &mut Fields<'_>) -> Members {
    CALLS.with_borrow_mut(|calls| {
        if let Some(call) = calls.get_mut(fields.number() as usize) {
            *call = None;
        }
    });
    Members::new()
}

/// Keeps a new call, and returns its number.
fn started(call: Call) -> Members {
    let number = CALLS.with_borrow_mut(|calls| {
        let number = calls.iter().position(Option::is_none).unwrap_or_else(|| {
            calls.push(None);
            calls.len() - 1
        });
        calls[number] = Some(call);
        number
    });
    Members::new().with_number("call", number as u64)
}

fn with(number: u64, run: impl FnOnce(&mut Call) -> Members) -> Members {
    CALLS.with_borrow_mut(|calls| match calls.get_mut(number as usize) {
        Some(Some(call)) => run(call),
        _ => Members::error("the call has ended"),
    })
}

fn responded(call: &mut Call, fields: &mut Fields<'_>, input: &CallInput) -> CallStep {
    let status = fields.number() as u16;
    let body = match fields.text() {
        "whole" => BodyState::Whole,
        "empty" => BodyState::Empty,
        _ => BodyState::Cut,
    };
    let redirected = fields.flag();
    let (error_type, error_code) = (fields.optional(), fields.optional());
    let (content_type, content_length) = (fields.optional(), fields.optional());
    let (state, replayed, stored) = (fields.optional(), fields.optional(), fields.optional());
    let summary = ResponseSummary {
        status,
        body,
        content_type,
        content_length,
        error_type,
        error_code,
        state,
        replayed,
        stored,
        redirected,
    };
    let (expires, retry_after, date) = (fields.optional(), fields.optional(), fields.optional());
    let hints = Hints { state, expires, retry_after, date };
    call.attempt_ended(&AttemptResult::Response(&summary), &hints, input)
}

/// The parts of a request that are hashed before its body.
struct BeforeBody<'a> {
    method: &'a str,
    path: &'a str,
    query: Option<&'a str>,
    content_type: Option<&'a str>,
    ignore: Vec<JsonPointer>,
}

impl<'a> BeforeBody<'a> {
    fn read(fields: &mut Fields<'a>) -> Result<Self, String> {
        Ok(Self {
            method: fields.text(),
            path: fields.text(),
            query: fields.optional(),
            content_type: fields.optional(),
            ignore: fields.list().into_iter().map(pointer).collect::<Result<_, _>>()?,
        })
    }

    fn with<'b>(&'b self, body: &'b [u8]) -> RequestParts<'b> {
        let Self { method, path, query, content_type, ignore } = self;
        RequestParts {
            method,
            path,
            query: *query,
            content_encoding: None,
            content_type: *content_type,
            body,
            ignore,
        }
    }
}

fn read_submit(fields: &mut Fields<'_>) -> Result<Call, String> {
    let mut settings = settings(fields);
    settings.expects = fields.text().to_owned();
    let origin = fields.text();
    let before = BeforeBody::read(fields)?;
    let body = fields.bytes();
    // The platform has hashed a large body.
    let payload = match fields.optional_bytes().and_then(|digest| digest.try_into().ok()) {
        Some(digest) => Payload::of_digest(origin, digest),
        None => Payload::of(origin, &before.with(body)),
    };
    let (own_key, offered_key) = (key(fields)?, key(fields)?);
    let goal = Goal::Submit {
        payload,
        own_key,
        waited_since: fields.optional_number().map(UnixMillis::new),
    };
    let cookies = match fields.text() {
        "none" => Cookies::None,
        "same" => Cookies::Same,
        _ => Cookies::Elsewhere,
    };
    let mut call = Call::new(goal, settings);
    if let Some(key) = offered_key {
        call = call.offering(key);
    }
    Ok(call.under(credential(cookies, fields)))
}

/// Reads the settings of a client. The package has checked them (`www/src/client/settings.ts`); if
/// they are out of range all the same, the defaults count.
fn settings(fields: &mut Fields<'_>) -> CallSettings {
    let (retention, key_calls) = (fields.millis(), fields.flag());
    let statuses = fields.list().into_iter().filter_map(|status| decimal(status)?.try_into().ok());
    let final_statuses = statuses.filter(|status| is_final_status(*status)).collect();
    let limit = fields.number() as u32;
    let delays = fields.list().into_iter().filter_map(decimal);
    let delays = delays.map(oncekey::time::Millis::new).collect();
    let retry = RetrySettings {
        limit,
        delays,
        jitter: if fields.flag() { Jitter::Full } else { Jitter::None },
        attempt_timeout: fields.millis(),
        total_time: fields.millis(),
        max_retry_after: fields.millis(),
    };
    CallSettings {
        retry: RetryPolicy::new(retry).unwrap_or_default(),
        retention,
        key_calls,
        sends_proof: key_calls,
        final_statuses,
        expects: String::new(),
    }
}

/// Reads a list of headers: name, value, name, value …
fn credential(cookies: Cookies, fields: &mut Fields<'_>) -> Credential {
    let texts = fields.list();
    Credential::new(cookies, texts.chunks_exact(2).map(|pair| (pair[0], pair[1])))
}

fn key(fields: &mut Fields<'_>) -> Result<Option<IdempotencyKey>, String> {
    let key = fields.optional().map(IdempotencyKey::parse_header).transpose();
    key.map_err(|error| error.message())
}

fn pointer(text: &str) -> Result<JsonPointer, String> {
    JsonPointer::parse(text).map_err(|error| ["ignore: ", text, ": ", error.message()].concat())
}
