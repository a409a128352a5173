//! A submit in progress (a *flight*): its event and its stage.

use super::dom;
use js_sys::Function;
use web_sys::{Event, FormData, HtmlElement};

/// The last submit. It is kept until the form is free again.
pub(super) struct Flight {
    pub(super) number: u32,
    pub(super) event: Event,
    pub(super) submitter: Option<HtmlElement>,
    pub(super) stage: Stage,
    pub(super) entries: Option<FormData>,
}

/// The stage of a submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Step 2 has not run yet: other handlers may still prevent the submit.
    Undecided,
    /// The guard has prevented the browser's own POST.
    Ours,
    /// The browser posts the form, with the key in a field.
    Native,
    /// Like `Ours`, and the key that the submit waits for has arrived.
    KeyReady,
    /// Another handler prevented the submit after the guard had prevented it.
    Cancelled,
    /// The event is over.
    Over,
}

/// Where step 2 runs: in the last listener, or when a handler stops the event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Last,
    Stopped,
}

impl Flight {
    /// Ends the event. Returns the stage of the submit before that.
    pub(super) fn end(&mut self) -> Stage {
        std::mem::replace(&mut self.stage, Stage::Over)
    }
}

const STOPS: &[&str] = &["stopPropagation", "stopImmediatePropagation", "cancelBubble"];
const PREVENTS: &[&str] = &["preventDefault", "returnValue"];

/// Calls back when a handler stops the event, so that it may not reach the guard's last listener.
pub(super) fn hear_stops(event: &Event, stopped: &Function, stopped_now: &Function) {
    dom::shadow_method(event, STOPS[0], stopped);
    dom::shadow_method(event, STOPS[1], stopped_now);
    dom::shadow_flag(event, STOPS[2], stopped);
}

/// Calls back when a handler prevents an event that the guard has already prevented.
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
