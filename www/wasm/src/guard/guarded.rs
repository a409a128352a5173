//! A guarded form: its state and its listeners.

use super::dom;
use super::flight::{self, Flight, Place, Stage};
use super::lock::{self, Lock};
use super::options::Options;
use super::region::Region;
use js_sys::{Function, Reflect, Symbol};
use oncekey::client::form_guard::{FormAction, FormEvent, FormState, Presses, next};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::prelude::{Closure, JsCast, JsValue};
use web_sys::{Event, EventTarget, HtmlElement, HtmlFormElement};

/// The events that a submit may follow.
const PRESSES: [&str; 4] = ["click", "keydown", "keypress", "keyup"];

/// A form, its state and its last submit.
pub(super) struct Guarded {
    pub(super) form: HtmlFormElement,
    pub(super) window: EventTarget,
    pub(super) options: Options,
    pub(super) on_submit: Function,
    pub(super) state: Cell<FormState>,
    /// How many submits the guard let through. The number of a submit is its place, from 1.
    pub(super) submissions: Cell<u32>,
    /// The number of the last submit for which the callback was called.
    pub(super) called_for: Cell<u32>,
    pub(super) flight: RefCell<Option<Flight>>,
    pub(super) lock: RefCell<Lock>,
    pub(super) timer: Cell<i32>,
    pub(super) presses: Cell<Presses>,
    /// The last tap: its target and its time.
    pub(super) tapped: RefCell<Option<(EventTarget, f64)>>,
    /// The timer that ends the task of a press.
    pub(super) press_timer: Cell<i32>,
    /// An error of the callback. It is thrown in step 3, where it disturbs no other handler.
    pub(super) failure: RefCell<Option<JsValue>>,
    pub(super) region: Region,
    pub(super) listeners: RefCell<Option<Rc<Listeners>>>,
}

/// A listener that the browser calls.
pub(super) type Listener = Closure<dyn Fn(JsValue) -> Result<(), JsValue>>;

/// All listeners of a guard. Each keeps the guard alive.
pub(super) struct Listeners {
    pub(super) first: Listener,
    pub(super) last: Listener,
    pub(super) shown: Listener,
    pub(super) afterwards: Listener,
    pub(super) stopped: Listener,
    pub(super) stopped_now: Listener,
    pub(super) prevented: Listener,
    pub(super) pressed: Listener,
    pub(super) press_over: Listener,
}

impl Guarded {
    /// Creates a guard and adds its listeners.
    pub(super) fn new(form: HtmlFormElement, options: Options, on_submit: Function) -> Rc<Self> {
        let document = dom::document_of(&form);
        let window = document.and_then(|document| document.default_view());
        let guarded = Rc::new(Self {
            form,
            window: window.map_or_else(|| js_sys::global().unchecked_into(), EventTarget::from),
            options,
            on_submit,
            state: Cell::new(FormState::Free),
            submissions: Cell::new(0),
            called_for: Cell::new(0),
            flight: RefCell::default(),
            lock: RefCell::default(),
            timer: Cell::new(0),
            presses: Cell::default(),
            tapped: RefCell::default(),
            press_timer: Cell::new(0),
            failure: RefCell::default(),
            region: Region::default(),
            listeners: RefCell::default(),
        });
        lock::restore_copy(&guarded.form);
        // Screen readers announce a live region only if it exists before its text.
        guarded.region.of(&guarded.form);
        guarded.listen();
        guarded
    }

    pub(super) fn is_locked(&self) -> bool {
        self.state.get() != FormState::Free
    }

    pub(super) fn settle(&self, event: FormEvent, submission: Option<u32>) {
        let last = self.submissions.get();
        // If the callback was not called for a submit yet, the submit cannot have ended.
        if self.called_for.get() == last && submission.is_none_or(|number| number == last) {
            self.apply(event);
        }
    }

    pub(super) fn say(&self, text: &str) {
        if self.listeners().is_some()
            && let Some(region) = self.region.of(&self.form)
        {
            region.set_text_content(Some(text));
        }
    }

    fn listen(self: &Rc<Self>) {
        let listener = |handle: fn(&Self, JsValue) -> Result<(), JsValue>| {
            let guarded = Rc::clone(self);
            Listener::new(move |argument| handle(&guarded, argument))
        };
        let listeners = Listeners {
            first: listener(Self::first),
            last: listener(|guarded, event| {
                guarded.decide(event.unchecked_ref(), Place::Last);
                Ok(())
            }),
            shown: listener(Self::shown),
            afterwards: listener(Self::afterwards),
            stopped: listener(|guarded, value| {
                // `cancelBubble = false` stops nothing.
                if value != JsValue::FALSE {
                    guarded.stopped(Event::stop_propagation);
                }
                Ok(())
            }),
            stopped_now: listener(|guarded, _| {
                guarded.stopped(Event::stop_immediate_propagation);
                Ok(())
            }),
            prevented: listener(Self::prevented),
            pressed: listener(|guarded, event| {
                guarded.pressed(event.unchecked_ref());
                Ok(())
            }),
            press_over: listener(|guarded, _| {
                guarded.press_is_over();
                Ok(())
            }),
        };
        // A button may be anywhere in the page, and a handler may stop a click before it gets
        // there.
        for kind in PRESSES {
            dom::listen(&self.window, kind, function(&listeners.pressed), true);
        }
        dom::listen(&self.form, "submit", function(&listeners.first), true);
        dom::listen(&self.window, "pageshow", function(&listeners.shown), false);
        self.listeners.replace(Some(Rc::new(listeners)));
    }

    /// Returns the listeners; `None` after the guard was detached.
    pub(super) fn listeners(&self) -> Option<Rc<Listeners>> {
        self.listeners.borrow().clone()
    }

    /// Asks the rules, restores the form if they say so, and returns their action.
    pub(super) fn apply(&self, event: FormEvent) -> FormAction {
        let (state, decision) = next(self.state.get(), event);
        self.state.set(state);
        match decision {
            FormAction::Restore | FormAction::Resend => self.restore(),
            FormAction::Finish => self.finish(),
            _ => {}
        }
        decision
    }

    /// Shows the form as locked and no longer busy.
    fn finish(&self) {
        let mut lock = self.lock.take();
        lock.finish(&self.form, self.submitter().as_ref(), &self.options);
        if self.is_locked() {
            self.lock.replace(lock);
        } else {
            lock.undo(&self.form);
        }
    }

    /// Unlocks the form and restores its look. Empties the cells first, because a change to the page
    /// may run code of the page, which may call the guard.
    fn restore(&self) {
        let flight = self.flight.take();
        let lock = self.lock.take();
        if let Some(flight) = flight {
            flight::unhear(&flight.event);
        }
        lock.undo(&self.form);
    }

    fn shown(&self, event: JsValue) -> Result<(), JsValue> {
        if Reflect::get(&event, &JsValue::from_str("persisted"))? == JsValue::TRUE {
            let focused = self.lock.borrow().focused();
            self.apply(FormEvent::Shown);
            // A page that was kept comes back without its focus.
            if let Some(focused) = focused {
                lock::refocus(&self.form, &focused);
            }
        }
        Ok(())
    }

    /// Returns whether this is the last submit and the form has not been freed since.
    pub(super) fn is_current(&self, number: u32) -> bool {
        self.flight.borrow().as_ref().is_some_and(|flight| flight.number == number)
    }

    pub(super) fn flight_of(&self, event: &Event) -> Option<(u32, Stage)> {
        let flight = self.flight.borrow();
        let flight = flight.as_ref().filter(|flight| flight.event == *event)?;
        Some((flight.number, flight.stage))
    }

    pub(super) fn set_stage(&self, stage: Stage) {
        if let Some(flight) = &mut *self.flight.borrow_mut() {
            flight.stage = stage;
        }
    }

    /// Returns the button of the submit.
    pub(super) fn submitter(&self) -> Option<HtmlElement> {
        self.flight.borrow().as_ref().and_then(|flight| flight.submitter.clone())
    }

    /// Removes the guard and restores the form.
    pub(super) fn detach(&self) {
        let Some(listeners) = self.listeners.take() else { return };
        dom::unlisten(&self.form, "submit", function(&listeners.first), true);
        dom::unlisten(&self.form, "submit", function(&listeners.last), false);
        dom::unlisten(&self.window, "pageshow", function(&listeners.shown), false);
        for kind in PRESSES {
            dom::unlisten(&self.window, kind, function(&listeners.pressed), true);
        }
        dom::clear_timeout(self.press_timer.get());
        dom::clear_timeout(self.timer.get());
        self.apply(FormEvent::Release);
        self.region.remove();
        let _ = Reflect::delete_property(&self.form, &mark());
    }
}

/// Returns the listener as a JavaScript function.
pub(super) fn function(listener: &Listener) -> &Function {
    listener.as_ref().unchecked_ref()
}

/// Returns the mark of a guarded form. Every copy of this package uses the same symbol, and no
/// control can hide it.
pub(super) fn mark() -> JsValue {
    Symbol::for_("oncekey.guard").into()
}
