//! The guard of a form in a page: it carries out what [`oncekey::client::form_guard`] decides.
//!
//! # A submit
//!
//! Locking is synchronous, because after an `await` a double click would already be sent.
//!
//! 1. A capturing listener on the form gets every submit before other handlers. It swallows the
//!    submit, or locks the form.
//! 2. The last listener of the form decides. If another handler has prevented the submit, the guard
//!    cancels it, and nothing is sent. Otherwise the browser's own POST is prevented (`fetch`),
//!    or gets the key in a hidden field (`navigate`).
//! 3. A separate task runs after the event. A handler further up (the root of a framework) may have
//!    prevented the event, which cancels the submit. Otherwise the form gets its full busy look (an
//!    earlier change would affect the values that the form sends), and with `fetch` the callback is
//!    called.
//!
//! # Which submits the guard gets
//!
//! | case | what happens |
//! |---|---|
//! | a handler stops the event before step 2 | step 2 runs at that moment, so there is no POST without a key. The form's values are read at that moment (`navigate`) or in step 3 (`fetch`) |
//! | a handler that captures on an ancestor prevents it | nothing is sent, and nothing is locked |
//! | a capturing handler on an ancestor stops it, or a capturing handler on the form that is older than the guard calls `stopImmediatePropagation` | the event does not reach the guard, so the submit is not guarded |
//! | the submitter has a `formmethod` other than POST (`get`, or `dialog`: a Cancel button) | if the form is free, the submit passes, unguarded and without a key. If it is locked, the submit is swallowed |
//! | a required field is empty | there is no event, and nothing is locked |
//! | `form.submit()` | there is no event: not guarded. Use `requestSubmit()` |
//! | a script's own `dispatchEvent` | `fetch`: like any submit. `navigate`: the browser posts nothing, so the event passes when the form is free |
//! | an inline `onsubmit` of an ancestor returns false | with `fetch` the guard cannot notice this, and sends the form |
//! | the form posts to another window, or the response is a download | the page stays, and the form locked, until it is released |
//!
//! A double click or a held key sends only the first submit, even if that has ended before the
//! second one comes. For this, capturing listeners on the window note clicks and keys.
//!
//! The guard reads the form's values by `new FormData(form, submitter)`, so the page gets one more
//! `formdata` event than without a guard.

mod dom;
mod flight;
mod guarded;
mod lock;
mod options;
mod press;
mod region;
mod steps;

pub use options::{FormGuardOptions, OnSubmit};

use guarded::{Guarded, mark};
use js_sys::{Error, Reflect};
use oncekey::client::form_guard::FormEvent;
use options::{Options, Send, key_field, require_post, type_error};
use std::rc::Rc;
use wasm_bindgen::prelude::{JsCast, JsValue, wasm_bindgen};
use web_sys::{HtmlElement, HtmlFormElement};

/// The guard of one form.
///
/// The guard stays with its form until it is detached, even if no script holds this object.
#[wasm_bindgen]
pub struct FormGuard {
    guarded: Rc<Guarded>,
}

#[wasm_bindgen]
impl FormGuard {
    /// Guards the form. Throws if the form already has a guard, or if an option is wrong.
    #[wasm_bindgen(constructor)]
    pub fn attach(
        form: HtmlFormElement,
        options: Option<FormGuardOptions>,
        on_submit: OnSubmit,
    ) -> Result<Self, JsValue> {
        if dom::controls(&form).is_none() {
            return Err(type_error("oncekey: guardForm needs a form element."));
        }
        if !on_submit.is_function() {
            return Err(type_error("oncekey: the callback must be a function."));
        }
        let options = Options::read(options.as_ref())?;
        if options.send == Send::Navigate {
            require_post(dom::attribute(&form, "method").as_deref())?;
            key_field(&form, &options.key_field)?;
        }
        if Reflect::has(&form, &mark())? {
            return Err(Error::new(
                "oncekey: this form already has a guard. Detach the other guard first.",
            )
            .into());
        }
        Reflect::set(&form, &mark(), &JsValue::TRUE)?;
        Ok(Self { guarded: Guarded::new(form, options, on_submit.unchecked_into()) })
    }

    /// Returns whether the form is locked: further submits are swallowed.
    #[wasm_bindgen(getter)]
    pub fn locked(&self) -> bool {
        self.guarded.is_locked()
    }

    /// Unlocks the form in any state, and restores its look.
    pub fn release(&self) {
        self.guarded.apply(FormEvent::Release);
    }

    /// Ends a submit. After `"succeeded"` the form stays locked; `"refused"`, `"unknown"` and
    /// `"failed"` unlock it. Without a number, this ends the last submit. The end of an earlier submit
    /// changes nothing.
    pub fn settle(
        &self,
        #[wasm_bindgen(unchecked_param_type = "FormOutcome")] outcome: &str,
        submission: Option<u32>,
    ) -> Result<(), JsValue> {
        let Some(event) = FormEvent::of_outcome(outcome) else {
            return Err(type_error(
                "oncekey: the outcome must be \"succeeded\", \"refused\", \"unknown\" or \"failed\".",
            ));
        };
        self.guarded.settle(event, submission);
        Ok(())
    }

    /// Marks the form as done: it stays locked and is no longer busy. A submit that was not sent yet is
    /// not sent.
    pub fn done(&self) {
        if self.guarded.listeners().is_some() {
            self.guarded.apply(FormEvent::Done);
        }
    }

    /// Submits the form again after it waited for its key, by the same button or by `submitter`. Does
    /// nothing if no submit waits.
    pub fn resubmit(&self, submitter: Option<HtmlElement>) -> Result<(), JsValue> {
        self.guarded.resubmit(submitter)
    }

    /// Announces a text to screen readers.
    pub fn say(&self, text: &str) {
        self.guarded.say(text);
    }

    /// Removes the guard and restores the form. Afterwards this object does nothing.
    pub fn detach(&self) {
        self.guarded.detach();
    }
}
