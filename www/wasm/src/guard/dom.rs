//! The guard's access to the page.
//!
//! A control named `method`, `elements` or `addEventListener` hides the form's own property of that
//! name. So these functions call the methods of the prototypes, never those of the form itself. They
//! look the names up at each call, so that the package can be loaded without a page. They do not use
//! `instanceof`, which fails for the form of another frame.

use js_sys::{Array, Function, Reflect};
use wasm_bindgen::prelude::{JsCast, JsValue, wasm_bindgen};
use web_sys::{
    Document, Element, Event, EventTarget, FormData, HtmlElement, HtmlFormElement, Node,
};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = ["EventTarget", "prototype", "addEventListener"], js_name = call)]
    pub(super) fn listen(target: &EventTarget, kind: &str, listener: &Function, capture: bool);
    #[wasm_bindgen(js_namespace = ["EventTarget", "prototype", "removeEventListener"], js_name = call)]
    pub(super) fn unlisten(target: &EventTarget, kind: &str, listener: &Function, capture: bool);
    #[wasm_bindgen(js_namespace = ["EventTarget", "prototype", "dispatchEvent"], js_name = call)]
    pub(super) fn dispatch(target: &EventTarget, event: &Event);

    #[wasm_bindgen(js_namespace = ["Element", "prototype", "getAttribute"], js_name = call)]
    pub(super) fn attribute(element: &Element, name: &str) -> Option<String>;
    #[wasm_bindgen(js_namespace = ["Element", "prototype", "setAttribute"], js_name = call)]
    pub(super) fn set_attribute(element: &Element, name: &str, value: &str);
    #[wasm_bindgen(js_namespace = ["Element", "prototype", "removeAttribute"], js_name = call)]
    pub(super) fn remove_attribute(element: &Element, name: &str);
    #[wasm_bindgen(js_namespace = ["Element", "prototype", "querySelector"], js_name = call)]
    pub(super) fn find(element: &Element, selector: &str) -> Option<Element>;
    #[wasm_bindgen(js_namespace = ["Element", "prototype", "querySelectorAll"], js_name = call)]
    fn find_all(element: &Element, selector: &str) -> JsValue;
    #[wasm_bindgen(js_namespace = ["Document", "prototype", "querySelectorAll"], js_name = call)]
    fn find_all_in_document(document: &Document, selector: &str) -> JsValue;

    #[wasm_bindgen(js_namespace = ["Node", "prototype", "appendChild"], js_name = call, catch)]
    pub(super) fn append(parent: &Node, child: &Node) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(js_namespace = ["Element", "prototype", "after"], js_name = call, catch)]
    pub(super) fn insert_after(element: &Element, sibling: &Node) -> Result<(), JsValue>;
    #[wasm_bindgen(js_namespace = ["Node", "prototype", "getRootNode"], js_name = call)]
    pub(super) fn root_of(node: &Node) -> Node;

    #[wasm_bindgen(js_namespace = ["HTMLFormElement", "prototype", "requestSubmit"], js_name = call, catch)]
    pub(super) fn request_submit(
        form: &HtmlFormElement,
        submitter: Option<&HtmlElement>,
    ) -> Result<(), JsValue>;

    #[wasm_bindgen(js_namespace = Reflect, js_name = get, catch)]
    fn get_of(prototype: &JsValue, name: &str, of: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(thread_local_v2, js_namespace = HTMLFormElement, js_name = prototype)]
    static FORM: JsValue;
    #[wasm_bindgen(thread_local_v2, js_namespace = Node, js_name = prototype)]
    static NODE: JsValue;
    #[wasm_bindgen(thread_local_v2, js_namespace = Element, js_name = prototype)]
    static ELEMENT: JsValue;
    #[wasm_bindgen(thread_local_v2, js_name = Boolean)]
    static BOOLEAN: Function;

    #[wasm_bindgen(js_name = setTimeout)]
    pub(super) fn set_timeout(callback: &Function, delay: i32, argument: u32) -> i32;
    #[wasm_bindgen(js_name = clearTimeout)]
    pub(super) fn clear_timeout(timer: i32);

    #[wasm_bindgen(extends = FormData, js_name = FormData)]
    type Entries;
    #[wasm_bindgen(constructor, js_class = FormData, catch)]
    fn new(form: &HtmlFormElement, submitter: &HtmlElement) -> Result<Entries, JsValue>;

    /// A form's control, whose properties no other control can hide.
    #[wasm_bindgen(extends = HtmlElement)]
    #[derive(Clone)]
    pub(super) type Control;
    #[wasm_bindgen(method, getter, js_name = type)]
    fn kind(this: &Control) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn form(this: &Control) -> JsValue;
    #[wasm_bindgen(method, getter)]
    pub(super) fn disabled(this: &Control) -> bool;
    #[wasm_bindgen(method, setter)]
    pub(super) fn set_disabled(this: &Control, disabled: bool);
}

/// Returns the form's controls. `None` if this is no form.
pub(super) fn controls(form: &HtmlFormElement) -> Option<Vec<Control>> {
    let elements = FORM.with(|prototype| get_of(prototype, "elements", form)).ok()?;
    Some(list(&elements))
}

/// Returns every control that can submit the form, inside or outside of it.
pub(super) fn submitters(form: &HtmlFormElement) -> Vec<Control> {
    let mut found = controls(form).unwrap_or_default();
    found.retain(|control| control.kind().as_string().as_deref() == Some("submit"));
    // A form does not list its image buttons.
    let selector = "input[type=image i]";
    let images = match document_of(form) {
        Some(document) if *document == root_of(form) => find_all_in_document(&document, selector),
        _ => find_all(form, selector),
    };
    let form: &JsValue = form.as_ref();
    found.extend(list(&images).into_iter().filter(|image| image.form() == *form));
    found
}

/// Returns the form's controls of this name.
pub(super) fn fields(form: &HtmlFormElement, name: &str) -> Vec<Control> {
    let mut found = controls(form).unwrap_or_default();
    found.retain(|control| attribute(control, "name").as_deref() == Some(name));
    found
}

/// Returns whether the control is a hidden field.
pub(super) fn is_hidden(control: &Control) -> bool {
    control.kind().as_string().as_deref() == Some("hidden")
}

/// Returns a copy of the node, with its descendants.
pub(super) fn copy_of(node: &Node) -> Option<Node> {
    node.clone_node_with_deep(true).ok()
}

/// Returns the content of a `<template>`.
pub(super) fn content_of(template: &Element) -> Option<Node> {
    let content = Reflect::get(template, &JsValue::from_str("content")).ok();
    content.filter(is_there).map(JsCast::unchecked_into)
}

/// Returns every element of the form that the selector finds.
pub(super) fn all(form: &HtmlFormElement, selector: &str) -> Vec<Control> {
    list(&find_all(form, selector))
}

/// Returns the node's document.
pub(super) fn document_of(node: &Node) -> Option<Document> {
    property(node, "ownerDocument").map(JsCast::unchecked_into)
}

/// Returns the node's parent.
pub(super) fn parent_of(node: &Node) -> Option<Node> {
    property(node, "parentNode").map(JsCast::unchecked_into)
}

/// Returns the element right after the form.
pub(super) fn next_of(form: &HtmlFormElement) -> Option<Element> {
    let next = ELEMENT.with(|prototype| get_of(prototype, "nextElementSibling", form)).ok()?;
    is_there(&next).then(|| next.unchecked_into())
}

/// Returns the focused element in the form's own tree.
pub(super) fn focused(form: &HtmlFormElement) -> Option<HtmlElement> {
    let (form, root): (&Node, _) = (form, root_of(form));
    if root == *form {
        return None;
    }
    let focused = Reflect::get(&root, &JsValue::from_str("activeElement")).ok()?;
    is_there(&focused).then(|| focused.unchecked_into())
}

/// Returns the values that the form would send now.
pub(super) fn entries(
    form: &HtmlFormElement,
    submitter: Option<&HtmlElement>,
) -> Result<FormData, JsValue> {
    let Some(submitter) = submitter else { return FormData::new_with_form(form) };
    if knows_submitters(form) {
        // A submitter that was taken out of the form meanwhile is refused.
        if let Ok(entries) = Entries::new(form, submitter) {
            return Ok(entries.unchecked_into());
        }
    }
    let entries = FormData::new_with_form(form)?;
    let name = attribute(submitter, "name").unwrap_or_default();
    if submitter.unchecked_ref::<Control>().kind().as_string().as_deref() == Some("image") {
        let dot = if name.is_empty() { "" } else { "." };
        for axis in ["x", "y"] {
            entries.append_with_str(&[name.as_str(), dot, axis].concat(), "0")?;
        }
    } else if !name.is_empty() {
        entries.append_with_str(&name, &attribute(submitter, "value").unwrap_or_default())?;
    }
    Ok(entries)
}

/// Returns whether this browser's `FormData` takes a submitter. If so, it refuses other elements.
fn knows_submitters(form: &HtmlFormElement) -> bool {
    let probe = document_of(form).and_then(|document| document.create_element("form").ok());
    probe.is_some_and(|probe| Entries::new(probe.unchecked_ref(), probe.unchecked_ref()).is_err())
}

/// Replaces a method of the event until [`unshadow`].
pub(super) fn shadow_method(event: &Event, name: &str, function: &Function) {
    // An event that cannot be changed keeps its method. The guard then notices less.
    let _ = Reflect::set(event, &JsValue::from_str(name), function);
}

/// Replaces a property of the event until [`unshadow`]. It reads as false, and an assignment calls
/// `setter`.
pub(super) fn shadow_flag(event: &Event, name: &str, setter: &Function) {
    let descriptor = js_sys::Object::new();
    let set = |name, value: &JsValue| {
        let _ = Reflect::set(&descriptor, &JsValue::from_str(name), value);
    };
    set("configurable", &JsValue::TRUE);
    set("set", setter);
    // A function that returns false without an argument.
    BOOLEAN.with(|boolean| set("get", boolean));
    let _ = Reflect::define_property(event, &JsValue::from_str(name), &descriptor);
}

/// Restores methods and properties of the event.
pub(super) fn unshadow(event: &Event, names: &[&str]) {
    for name in names {
        let _ = Reflect::delete_property(event, &JsValue::from_str(name));
    }
}

/// Returns whether the value is neither null nor undefined.
pub(super) fn is_there(value: &JsValue) -> bool {
    !value.is_null() && !value.is_undefined()
}

fn property(node: &Node, name: &str) -> Option<JsValue> {
    NODE.with(|prototype| get_of(prototype, name, node)).ok().filter(is_there)
}

fn list(elements: &JsValue) -> Vec<Control> {
    Array::from(elements).iter().map(JsCast::unchecked_into).collect()
}
