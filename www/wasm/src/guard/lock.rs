//! The look of a locked form, and how it is restored.
//!
//! The lock itself is the state of the guard. If a framework renders the form again and so removes
//! the look, the form stays locked. The guard restores only attributes and labels that are still as
//! the lock left them, because the framework has changed all others.

use super::dom::{self, Control};
use super::options::{Disable, Options};
use wasm_bindgen::prelude::JsCast;
use web_sys::{Element, HtmlElement, HtmlFormElement, Node};

/// Marks the field that the guard has put into a form.
pub(super) const KEY: &str = "data-oncekeyed-field";
/// Marks a `<template>` with the label that a button had before.
const LABEL: &str = "data-oncekeyed-label";
/// The prefix of attributes that hold earlier values of other attributes.
const WAS: &str = "data-oncekeyed-was-";
/// The attributes that a lock may change.
const CHANGED: [&str; 4] = ["aria-busy", "aria-disabled", "value", "disabled"];

/// The changes, in the order in which they are undone.
#[derive(Default)]
pub(super) struct Lock {
    attributes: Vec<Attribute>,
    disabled: Vec<Control>,
    label: Option<Label>,
    field: Option<Element>,
    /// A field of the form, and its earlier value.
    filled: Option<(Control, Option<String>)>,
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
    /// A copy of the earlier label in the page, for scripts that copy the page.
    copy: Option<Element>,
    before: Vec<Node>,
}

impl Lock {
    /// Makes the changes that are possible at once. They do not affect the values that the form sends.
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

    /// Makes the changes that must wait until the browser has read the form's values: a disabled button
    /// is not sent, and the label of an `<input type=submit>` is its value.
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
            self.disable(form);
        }
    }

    fn disable(&mut self, form: &HtmlFormElement) {
        for submitter in dom::submitters(form) {
            if !submitter.disabled() {
                submitter.set_disabled(true);
                mark(&submitter, "disabled", None);
                self.disabled.push(submitter);
            }
        }
    }

    /// Shows the form as locked and no longer busy. The clicked button gets the label in its
    /// `data-oncekey-done`, or the label that it had before.
    pub(super) fn finish(
        &mut self,
        form: &HtmlFormElement,
        submitter: Option<&HtmlElement>,
        options: &Options,
    ) {
        if self.attributes.is_empty() {
            *self = Self::new(form, options);
        }
        if options.disable == Disable::Native {
            self.disable(form);
        }
        let (busy, kept) = std::mem::take(&mut self.attributes)
            .into_iter()
            .partition(|change| matches!(change.name, "aria-busy" | "value"));
        self.attributes = kept;
        undo_attributes(busy);
        undo_label(self.label.take());
        if let Some(submitter) = submitter
            && let Some(label) = dom::attribute(submitter, "data-oncekey-done")
            && !label.is_empty()
        {
            self.label(submitter, &label);
        }
    }

    /// Puts the key into the form's own field.
    pub(super) fn fill(&mut self, field: Control, key: &str) {
        let before = dom::attribute(&field, "value");
        dom::set_attribute(&field, "value", key);
        self.filled = Some((field, before));
    }

    /// Notes the hidden field that the guard added. It is removed with the other changes.
    pub(super) fn keep_field(&mut self, field: Element) {
        self.field = Some(field);
    }

    /// Restores everything.
    pub(super) fn undo(self, form: &HtmlFormElement) {
        undo_attributes(self.attributes);
        undo_label(self.label);
        if let Some(field) = self.field {
            field.remove();
        }
        if let Some((field, before)) = self.filled {
            put_back(&field, "value", before.as_deref());
        }
        for control in &self.disabled {
            control.set_disabled(false);
            unmark(control, "disabled");
        }
        // Disabling the focused button moved the focus to the body.
        if let Some(focused) = self.focused
            && self.disabled.iter().any(|control| **control == focused)
        {
            refocus(form, &focused);
        }
    }

    /// Returns the element that had the focus when the form was locked.
    pub(super) fn focused(&self) -> Option<HtmlElement> {
        self.focused.clone()
    }

    fn set(&mut self, element: &Element, name: &'static str, ours: &str) {
        let before = dom::attribute(element, name);
        dom::set_attribute(element, name, ours);
        mark(element, name, before.as_deref());
        self.attributes.push(Attribute {
            element: element.clone(),
            name,
            before,
            ours: String::from(ours),
        });
    }

    /// Replaces the label of a button. The nodes of the old label are kept, so that they come back with
    /// their listeners.
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
                    let button: Element = submitter.clone().unchecked_into();
                    let copy = copy_of_label(&button, &before);
                    self.label = Some(Label { button, ours, copy, before });
                }
            }
            "input" if dom::attribute(submitter, "type").is_some_and(is_submit) => {
                self.set(submitter, "value", text);
            }
            _ => {}
        }
    }
}

/// Undoes the changes of a lock in a copy of a form. A script may copy the page while the form is busy,
/// and show the copy on Back.
pub(super) fn restore_copy(form: &HtmlFormElement) {
    let submitters = dom::submitters(form);
    let elements = submitters.iter().map(|control| control.unchecked_ref::<Element>());
    for element in elements.chain([form.unchecked_ref()]) {
        for name in CHANGED {
            if let Some(was) = dom::attribute(element, &[WAS, name].concat()) {
                put_back(element, name, was.strip_prefix('='));
                unmark(element, name);
            }
        }
    }
    for template in dom::all(form, &["template[", LABEL, "]"].concat()) {
        let Some(button) = dom::parent_of(&template) else { continue };
        let Some(content) = dom::content_of(&template) else { continue };
        button.set_text_content(None);
        let _ = dom::append(&button, &content);
    }
    for field in dom::all(form, &["[", KEY, "]"].concat()) {
        field.remove();
    }
}

fn undo_attributes(changes: Vec<Attribute>) {
    for change in changes {
        unmark(&change.element, change.name);
        if dom::attribute(&change.element, change.name).as_ref() == Some(&change.ours) {
            put_back(&change.element, change.name, change.before.as_deref());
        }
    }
}

fn undo_label(label: Option<Label>) {
    let Some(label) = label else { return };
    if dom::parent_of(&label.ours).as_ref() == Some(&*label.button) {
        label.button.set_text_content(None);
        for node in label.before {
            // If a node cannot go back, the page has put it elsewhere.
            let _ = dom::append(&label.button, &node);
        }
    } else if let Some(copy) = label.copy {
        copy.remove();
    }
}

/// Puts a copy of the label into the button, in a `<template>`, which is not shown.
fn copy_of_label(button: &Element, before: &[Node]) -> Option<Element> {
    let template = dom::document_of(button)?.create_element("template").ok()?;
    dom::set_attribute(&template, LABEL, "");
    let content = dom::content_of(&template)?;
    for node in before {
        let _ = dom::append(&content, &dom::copy_of(node)?);
    }
    dom::append(button, &template).ok()?;
    Some(template)
}

/// Notes the earlier value of an attribute in the page.
fn mark(element: &Element, name: &str, before: Option<&str>) {
    let was = before.map_or_else(String::new, |before| ["=", before].concat());
    dom::set_attribute(element, &[WAS, name].concat(), &was);
}

fn unmark(element: &Element, name: &str) {
    dom::remove_attribute(element, &[WAS, name].concat());
}

fn put_back(element: &Element, name: &str, before: Option<&str>) {
    match before {
        Some(before) => dom::set_attribute(element, name, before),
        None => dom::remove_attribute(element, name),
    }
}

/// Restores the focus, unless it has moved.
pub(super) fn refocus(form: &HtmlFormElement, focused: &HtmlElement) {
    if dom::focused(form).is_none_or(|now| now.local_name() == "body") {
        // An element that has left the page cannot get the focus.
        let _ = focused.focus();
    }
}

fn is_submit(kind: String) -> bool {
    kind.eq_ignore_ascii_case("submit")
}
