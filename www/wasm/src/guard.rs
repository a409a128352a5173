//! The guard of a form in a page: it carries out what [`oncekey::client::form_guard`] decides.
//!
//! # A submit
//!
//! Everything that locks is synchronous; after an `await` it would be too late for a double click.
//!
//! 1. A capturing listener on the form hears of every submit before other handlers do. It swallows
//!    it, or locks the form.
//! 2. A listener that is put last in the form's line decides: what another handler has prevented by
//!    then is cancelled, and nothing is sent. Otherwise the browser's own POST is prevented (`fetch`),
//!    or gets the key in a hidden field (`navigate`).
//! 3. After the event, in a task of its own: a handler further up (the root of a framework) may have
//!    prevented it after all, which cancels it. Then the busy look is complete (before that it would
//!    change what the form sends), and with `fetch` the callback is called.
//!
//! # Which submits it hears of
//!
//! | case | what happens |
//! |---|---|
//! | a handler stops the event before step 2 | step 2 is taken at that moment: no POST without a key. The values are those of then (`navigate`), or of step 3 (`fetch`) |
//! | a handler that captures on an ancestor prevents it | nothing is sent, and nothing is locked |
//! | a handler that captures on an ancestor stops it, or one on the form that captures, is older than the guard and stops it at once | the guard is never reached: not guarded |
//! | the submitter has a `formmethod` other than POST (`get`, or `dialog`: a Cancel button) | free: it passes, unguarded and without a key. Locked: swallowed |
//! | a required field is empty | there is no event, and nothing is locked |
//! | `form.submit()` | there is no event: not guarded. Use `requestSubmit()` |
//! | a script's own `dispatchEvent` | `fetch`: like any submit. `navigate`: the browser posts nothing, so it passes when the form is free |
//! | an inline `onsubmit` of an ancestor returns false | with `fetch` this cannot be heard: it is sent |
//! | the form posts to another window, or its answer is a download | the page stays, and the form locked, until it is released |
//!
//! Of a double click and of a held key only the first submit goes, even when that has ended before
//! the second one comes. Clicks and keys are noted by capturing listeners on the window.
//!
//! The form's values are read by `new FormData(form, submitter)`, so its `formdata` event is seen
//! once more than without a guard.

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
/// It stays with its form until it is detached, whether or not anybody still holds this object.
#[wasm_bindgen]
pub struct FormGuard {
    guarded: Rc<Guarded>,
}

#[wasm_bindgen]
impl FormGuard {
    /// Guards the form. Throws when it already has a guard, or when an option is wrong.
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

    /// Whether submits are swallowed now.
    #[wasm_bindgen(getter)]
    pub fn locked(&self) -> bool {
        self.guarded.is_locked()
    }

    /// Unlocks the form, whatever it was doing, and puts everything back as it was.
    pub fn release(&self) {
        self.guarded.apply(FormEvent::Release);
    }

    /// The submit has ended. `"succeeded"` stays locked; `"refused"`, `"unknown"` and `"failed"`
    /// unlock. Without a number the last submit is meant; the end of an earlier one changes nothing.
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

    /// What the form is for is done: it stays locked, and is not busy. What has not been sent yet is not
    /// sent any more.
    pub fn done(&self) {
        if self.guarded.listeners().is_some() {
            self.guarded.apply(FormEvent::Done);
        }
    }

    /// Submits again what has waited for its key, by the same button unless another is named.
    /// Nothing happens when nothing waits.
    pub fn resubmit(&self, submitter: Option<HtmlElement>) -> Result<(), JsValue> {
        self.guarded.resubmit(submitter)
    }

    /// Says this to people who do not see the page.
    pub fn say(&self, text: &str) {
        self.guarded.say(text);
    }

    /// Ends the guard: everything is as it was before it. From then on this object does nothing.
    pub fn detach(&self) {
        self.guarded.detach();
    }
}
