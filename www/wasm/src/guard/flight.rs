//! A submit in progress: its event, and how far it has come.

use super::dom;
use js_sys::Function;
use web_sys::{Event, FormData, HtmlElement};

/// The last submit, until the form is free again.
pub(super) struct Flight {
    pub(super) number: u32,
    pub(super) event: Event,
    pub(super) submitter: Option<HtmlElement>,
    pub(super) stage: Stage,
    pub(super) entries: Option<FormData>,
}

/// How far a submit has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Other handlers are still looking at it.
    Undecided,
    /// The browser's own POST is prevented, by the guard.
    Ours,
    /// The browser posts it, with the key in a field.
    Native,
    /// As `Ours`, and the key that the submit waits for has come already.
    KeyReady,
    /// Prevented by the guard, and then by another handler.
    Cancelled,
    /// The event is over.
    Over,
}

/// Where step 2 is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Last,
    Stopped,
}

impl Flight {
    /// Ends the event. Returns how far the submit had come.
    pub(super) fn end(&mut self) -> Stage {
        std::mem::replace(&mut self.stage, Stage::Over)
    }
}

const STOPS: &[&str] = &["stopPropagation", "stopImmediatePropagation", "cancelBubble"];
const PREVENTS: &[&str] = &["preventDefault", "returnValue"];

/// Reports when a handler keeps the event from the guard's last listener.
pub(super) fn hear_stops(event: &Event, stopped: &Function, stopped_now: &Function) {
    dom::shadow_method(event, STOPS[0], stopped);
    dom::shadow_method(event, STOPS[1], stopped_now);
    dom::shadow_flag(event, STOPS[2], stopped);
}

/// Reports when a handler prevents an event that the guard has already prevented.
pub(super) fn hear_prevents(event: &Event, prevented: &Function) {
    dom::shadow_method(event, PREVENTS[0], prevented);
    dom::shadow_flag(event, PREVENTS[1], prevented);
}

/// Restores the methods that stop the event.
pub(super) fn unhear_stops(event: &Event) {
    dom::unshadow(event, STOPS);
}

/// Restores the event.
pub(super) fn unhear(event: &Event) {
    dom::unshadow(event, STOPS);
    dom::unshadow(event, PREVENTS);
}
