//! The three steps of a submit: see [the guard](super).

use super::dom;
use super::flight::{self, Flight, Place, Stage};
use super::guarded::{Guarded, function};
use super::lock::{self, Lock};
use super::options::{Send, is_post, key_field, require_post, type_error};
use oncekey::client::form_guard::{FormAction, FormEvent, FormState};
use wasm_bindgen::prelude::{JsCast, JsValue};
use web_sys::{CustomEvent, CustomEventInit, Event, FormData, HtmlElement, SubmitEvent};

impl Guarded {
    /// Takes step 1: swallows the submit, or locks the form.
    pub(super) fn first(&self, event: JsValue) -> Result<(), JsValue> {
        let event: SubmitEvent = event.unchecked_into();
        // The event is that of another form, in a shadow tree or (by a script) inside of this form.
        if event.target().as_ref() != Some(&*self.form) {
            return Ok(());
        }
        if self.state.get() == FormState::Free && self.passes(&event) {
            // The last listener may be left from an earlier submit whose event did not reach it.
            if let Some(listeners) = self.listeners() {
                dom::unlisten(&self.form, "submit", function(&listeners.last), false);
            }
            return Ok(());
        }
        let mut presses = self.presses.get();
        let submit = presses.submit();
        self.presses.set(presses);
        match self.apply(submit) {
            FormAction::Go => self.go(event),
            _ => {
                event.prevent_default();
                event.stop_immediate_propagation();
                self.tell("oncekey:blocked");
            }
        }
        Ok(())
    }

    /// Returns whether the guard ignores a submit.
    fn passes(&self, event: &SubmitEvent) -> bool {
        let method = event.submitter().and_then(|it| dom::attribute(&it, "formmethod"));
        event.default_prevented()
            || method.is_some_and(|method| !is_post(Some(&method)))
            || (self.options.send == Send::Navigate && !event.is_trusted())
    }

    fn go(&self, event: SubmitEvent) {
        let Some(listeners) = self.listeners() else { return };
        let last = function(&listeners.last);
        let number = self.submissions.get().wrapping_add(1);
        self.submissions.set(number);
        let submitter = event.submitter();
        let event = Event::from(event);
        // A listener that is older than the guard may have stopped the event.
        let is_stopped = event.cancel_bubble();
        flight::hear_stops(&event, function(&listeners.stopped), function(&listeners.stopped_now));
        self.flight.replace(Some(Flight {
            number,
            event: event.clone(),
            submitter,
            stage: Stage::Undecided,
            entries: None,
        }));
        dom::clear_timeout(self.timer.get());
        self.timer.set(dom::set_timeout(function(&listeners.afterwards), 0, number));
        dom::unlisten(&self.form, "submit", last, false);
        dom::listen(&self.form, "submit", last, false);
        self.keep(number, Lock::new(&self.form, &self.options));
        if is_stopped {
            self.decide(&event, Place::Stopped);
        }
    }

    /// Takes step 2: cancels the submit, holds the browser's POST back, or adds the key to it.
    pub(super) fn decide(&self, event: &Event, place: Place) {
        let Some((number, stage)) = self.flight_of(event) else {
            // The form was released during the event. It must not be sent without a key.
            event.prevent_default();
            return;
        };
        match (stage, self.options.send, place) {
            (Stage::Undecided, ..) if event.default_prevented() => {
                self.apply(FormEvent::Cancelled);
            }
            (Stage::Undecided, Send::Navigate, _) => self.navigate(event, number),
            (Stage::Undecided, Send::Fetch, Place::Stopped) => self.hold_back(event),
            (Stage::Undecided, Send::Fetch, Place::Last) => {
                self.hold_back(event);
                self.read(number);
            }
            // The handler that stopped the event may have filled in values since.
            (Stage::Ours, Send::Fetch, Place::Last) => self.read(number),
            _ => {}
        }
    }

    /// Prevents the browser's own POST.
    fn hold_back(&self, event: &Event) {
        event.prevent_default();
        self.set_stage(Stage::Ours);
        if let Some(listeners) = self.listeners() {
            flight::hear_prevents(event, function(&listeners.prevented));
        }
    }

    /// Reads the current values of the form. This runs the `formdata` handlers of the page.
    fn read(&self, number: u32) {
        let entries = self.entries().ok();
        if let Some(flight) = &mut *self.flight.borrow_mut()
            && flight.number == number
        {
            flight.entries = entries;
        }
    }

    fn entries(&self) -> Result<FormData, JsValue> {
        dom::entries(&self.form, self.submitter().as_ref())
    }

    fn navigate(&self, event: &Event, number: u32) {
        let key = self
            .refuse_get()
            .and_then(|()| self.entries())
            .and_then(|entries| self.call(number, &entries))
            .and_then(key_of);
        if !self.is_current(number) {
            event.prevent_default();
            self.failure.replace(key.err());
            return;
        }
        let posted = match key {
            Ok(Some(key)) => self.put_field(&key),
            Ok(None) => {
                self.hold_back(event);
                self.apply(FormEvent::KeyPending);
                return;
            }
            Err(error) => Err(error),
        };
        match posted {
            Ok(()) => self.set_stage(Stage::Native),
            Err(error) => {
                event.prevent_default();
                self.apply(FormEvent::Failed);
                self.failure.replace(Some(error));
            }
        }
    }

    /// Refuses a GET: the method may have been changed since the form was guarded.
    fn refuse_get(&self) -> Result<(), JsValue> {
        let own = self.submitter().and_then(|it| dom::attribute(&it, "formmethod"));
        require_post(own.or_else(|| dom::attribute(&self.form, "method")).as_deref())
    }

    /// Puts the key into the form: into the field that the server made for it, or into a new one.
    fn put_field(&self, key: &str) -> Result<(), JsValue> {
        let name = &self.options.key_field;
        if let Some(field) = key_field(&self.form, name)? {
            self.lock.borrow_mut().fill(field, key);
            return Ok(());
        }
        let Some(document) = dom::document_of(&self.form) else { return Ok(()) };
        let field = document.create_element("input")?;
        let attributes = [("type", "hidden"), ("name", name), ("value", key), (lock::KEY, "")];
        for (attribute, value) in attributes {
            dom::set_attribute(&field, attribute, value);
        }
        dom::append(&self.form, &field)?;
        self.lock.borrow_mut().keep_field(field);
        Ok(())
    }

    /// Takes step 3, in a task after the event. Throws an error of the callback, if there was one.
    pub(super) fn afterwards(&self, number: JsValue) -> Result<(), JsValue> {
        let after = self.after(number);
        self.failure.take().map_or(after, Err)
    }

    fn after(&self, number: JsValue) -> Result<(), JsValue> {
        let (number, event, stage) = match &mut *self.flight.borrow_mut() {
            Some(flight) if number == flight.number => {
                (flight.number, flight.event.clone(), flight.end())
            }
            _ => return Ok(()),
        };
        flight::unhear(&event);
        if self.state.get() == FormState::Done {
            // The page called `done` before anything was sent.
            return Ok(());
        }
        match stage {
            Stage::Cancelled => {
                self.apply(FormEvent::Cancelled);
            }
            Stage::Undecided | Stage::Native if event.default_prevented() => {
                self.apply(FormEvent::Cancelled);
            }
            Stage::KeyReady => return self.resubmit(None),
            Stage::Ours if self.options.send == Send::Fetch => return self.send(number),
            _ => self.show(number),
        }
        Ok(())
    }

    fn send(&self, number: u32) -> Result<(), JsValue> {
        let entries = self.flight.borrow_mut().as_mut().and_then(|flight| flight.entries.take());
        let entries = entries.map_or_else(|| self.entries(), Ok);
        let sent = entries.and_then(|entries| self.call(number, &entries));
        if self.is_current(number) {
            if sent.is_ok() {
                self.show(number);
            } else {
                self.apply(FormEvent::Failed);
            }
        }
        sent.map(|_| ())
    }

    fn call(&self, number: u32, entries: &FormData) -> Result<JsValue, JsValue> {
        self.called_for.set(number);
        let submitter = self.submitter().map_or(JsValue::NULL, JsValue::from);
        self.on_submit.call3(&JsValue::UNDEFINED, &submitter, entries, &JsValue::from(number))
    }

    /// Completes the busy look.
    fn show(&self, number: u32) {
        let mut lock = self.lock.take();
        lock.show(&self.form, self.submitter().as_ref(), &self.options);
        self.keep(number, lock);
    }

    /// Keeps the lock of a submit, unless code of the page has ended the submit in the meantime.
    fn keep(&self, number: u32, lock: Lock) {
        if self.is_current(number) {
            self.lock.replace(lock);
        } else {
            lock.undo(&self.form);
        }
    }

    pub(super) fn resubmit(&self, submitter: Option<HtmlElement>) -> Result<(), JsValue> {
        if self.state.get() != FormState::Waiting {
            return Ok(());
        }
        if let Some(flight) = &mut *self.flight.borrow_mut() {
            if submitter.is_some() {
                flight.submitter = submitter;
            }
            // A form submits nothing during its submit event.
            if flight.stage == Stage::Ours {
                flight.stage = Stage::KeyReady;
            }
            if flight.stage != Stage::Over {
                return Ok(());
            }
        }
        let submitter = self.submitter();
        if self.apply(FormEvent::Resubmit) != FormAction::Resend {
            return Ok(());
        }
        let sent = dom::request_submit(&self.form, submitter.as_ref());
        // A field became invalid, or the form has left the page: there was no event.
        if self.state.get() == FormState::Resending {
            self.apply(FormEvent::Cancelled);
        }
        sent
    }

    /// Takes step 2 when a handler stops the event, because the last listener may not be reached.
    pub(super) fn stopped(&self, stop: fn(&Event)) {
        let event = self.flight.borrow().as_ref().map(|flight| flight.event.clone());
        if let Some(event) = event {
            flight::unhear_stops(&event);
            stop(&event);
            self.decide(&event, Place::Stopped);
        }
    }

    /// Notes that a handler prevents an event that the guard has already prevented.
    pub(super) fn prevented(&self, value: JsValue) -> Result<(), JsValue> {
        // `returnValue = true` prevents nothing.
        if value != JsValue::TRUE
            && let Some(flight) = &mut *self.flight.borrow_mut()
            && matches!(flight.stage, Stage::Ours | Stage::KeyReady)
        {
            flight.stage = Stage::Cancelled;
        }
        Ok(())
    }

    /// Dispatches an event for the page. It contains no values of the form.
    fn tell(&self, name: &str) {
        let init = CustomEventInit::new();
        init.set_bubbles(true);
        if let Some(detail) = &self.options.detail
            && let Ok(detail) = detail.call0(&JsValue::UNDEFINED)
        {
            init.set_detail(&detail);
        }
        if let Ok(event) = CustomEvent::new_with_event_init_dict(name, &init) {
            dom::dispatch(&self.form, &event);
        }
    }
}

fn key_of(returned: JsValue) -> Result<Option<String>, JsValue> {
    match returned.as_string() {
        Some(key) if !key.is_empty() => Ok(Some(key)),
        None if !dom::is_there(&returned) => Ok(None),
        _ => Err(type_error("oncekey: the callback must return a key or nothing.")),
    }
}
