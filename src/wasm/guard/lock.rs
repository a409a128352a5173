//! What a lock changes in the page, and how each of it comes back.
//!
//! The lock itself is the state in the guard. This is only what people see and hear of it, so a
//! framework that renders the form anew may take it away without unlocking anything. What such a
//! framework has changed meanwhile is its own: only what is still as the lock left it is put back.

use super::dom::{self, Control};
use super::options::{Disable, Options};
use wasm_bindgen::prelude::JsCast;
use web_sys::{Element, HtmlElement, HtmlFormElement, Node};

/// The changes, in the order in which they are undone.
#[derive(Default)]
pub(super) struct Lock {
    attributes: Vec<Attribute>,
    disabled: Vec<Control>,
    label: Option<Label>,
    field: Option<Element>,
    focused: Option<HtmlElement>,
}

struct Attribute {
    element: Element,
    name: &'static str,
    before: Option<String>,
    ours: String,
}

struct Label {
    button: Element,
    ours: Node,
    before: Vec<Node>,
}

impl Lock {
    /// What may be changed at once: nothing that decides which values the form sends.
    pub(super) fn new(form: &HtmlFormElement, options: &Options) -> Self {
        let mut lock = Self::default();
        lock.set(form, "aria-busy", "true");
        if options.disable == Disable::Aria {
            for submitter in dom::submitters(form) {
                lock.set(&submitter, "aria-disabled", "true");
            }
        }
        lock
    }

    /// What must wait until the browser has taken the form's values: a disabled button is not sent,
    /// and the label of an `<input type=submit>` is its value.
    pub(super) fn show(
        &mut self,
        form: &HtmlFormElement,
        submitter: Option<&HtmlElement>,
        options: &Options,
    ) {
        if let Some(submitter) = submitter {
            let own = dom::attribute(submitter, "data-oncekey-busy");
            match own.as_ref().or(options.busy_label.as_ref()) {
                Some(label) if !label.is_empty() => self.label(submitter, label),
                _ => {}
            }
        }
        self.focused = dom::focused(form);
        if options.disable == Disable::Native {
            for submitter in dom::submitters(form) {
                if !submitter.disabled() {
                    submitter.set_disabled(true);
                    self.disabled.push(submitter);
                }
            }
        }
    }

    /// The hidden field is taken out again with the rest.
    pub(super) fn keep_field(&mut self, field: Element) {
        self.field = Some(field);
    }

    /// Puts everything back as it was.
    pub(super) fn undo(self, form: &HtmlFormElement) {
        for change in self.attributes {
            if dom::attribute(&change.element, change.name).as_ref() != Some(&change.ours) {
                continue;
            }
            match change.before {
                Some(before) => dom::set_attribute(&change.element, change.name, &before),
                None => dom::remove_attribute(&change.element, change.name),
            }
        }
        if let Some(label) = self.label
            && dom::parent_of(&label.ours).as_ref() == Some(&*label.button)
        {
            label.button.set_text_content(None);
            for node in label.before {
                // A node that cannot go back is one that the page has put elsewhere.
                let _ = dom::append(&label.button, &node);
            }
        }
        if let Some(field) = self.field {
            field.remove();
        }
        for control in &self.disabled {
            control.set_disabled(false);
        }
        // Disabling what has the focus has moved the focus to the body.
        if let Some(focused) = self.focused
            && self.disabled.iter().any(|control| **control == focused)
        {
            refocus(form, &focused);
        }
    }

    /// What had the focus when the form was locked.
    pub(super) fn focused(&self) -> Option<HtmlElement> {
        self.focused.clone()
    }

    fn set(&mut self, element: &Element, name: &'static str, ours: &str) {
        let before = dom::attribute(element, name);
        dom::set_attribute(element, name, ours);
        self.attributes.push(Attribute {
            element: element.clone(),
            name,
            before,
            ours: String::from(ours),
        });
    }

    /// The nodes of a label are kept and come back themselves, with their listeners.
    fn label(&mut self, submitter: &HtmlElement, text: &str) {
        match submitter.local_name().as_str() {
            "button" => {
                let mut before = Vec::new();
                while let Some(node) = submitter.first_child() {
                    if submitter.remove_child(&node).is_err() {
                        break;
                    }
                    before.push(node);
                }
                submitter.set_text_content(Some(text));
                if let Some(ours) = submitter.first_child() {
                    let button = submitter.clone().unchecked_into();
                    self.label = Some(Label { button, ours, before });
                }
            }
            "input" if dom::attribute(submitter, "type").is_some_and(is_submit) => {
                self.set(submitter, "value", text);
            }
            _ => {}
        }
    }
}

/// Gives the focus back, unless it is somewhere else by now.
pub(super) fn refocus(form: &HtmlFormElement, focused: &HtmlElement) {
    if dom::focused(form).is_none_or(|now| now.local_name() == "body") {
        // What has left the page cannot take the focus.
        let _ = focused.focus();
    }
}

fn is_submit(kind: String) -> bool {
    kind.eq_ignore_ascii_case("submit")
}
