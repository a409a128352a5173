//! The options of a guard.

use super::dom::{self, Control};
use js_sys::{Error, Function, TypeError};
use wasm_bindgen::prelude::{JsCast, JsValue, wasm_bindgen};
use web_sys::HtmlFormElement;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** How a form is guarded. */
export interface FormGuardOptions {
  /** `fetch`: the callback sends the form. `navigate`: the browser posts it, with the key in a hidden field. */
  send?: "fetch" | "navigate";
  /** The name of the hidden field. */
  keyField?: string;
  /** How the buttons of a busy form are disabled: by `aria-disabled`, or by `disabled`. */
  disable?: "aria" | "native";
  /** The label of the clicked button while the form is busy. Its `data-oncekey-busy` takes precedence. */
  busyLabel?: string;
  /** Returns the `detail` of the event `oncekey:blocked`. */
  detail?: () => unknown;
}
/**
 * Called for a submit that the guard lets through. With `send: "navigate"` it returns the key, or nothing if the key
 * comes later. `submission` is the number to pass to `settle`.
 */
export type OnSubmit = (submitter: HTMLElement | null, formData: FormData, submission: number) => string | null | undefined | void;
/** How a submit ended. */
export type FormOutcome = "succeeded" | "refused" | "unknown" | "failed";
"#;

#[wasm_bindgen]
extern "C" {
    /// The options of a guard: an object whose properties are all optional.
    #[wasm_bindgen(typescript_type = "FormGuardOptions")]
    pub type FormGuardOptions;
    #[wasm_bindgen(method, getter)]
    fn send(this: &FormGuardOptions) -> JsValue;
    #[wasm_bindgen(method, getter, js_name = keyField)]
    fn key_field(this: &FormGuardOptions) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn disable(this: &FormGuardOptions) -> JsValue;
    #[wasm_bindgen(method, getter, js_name = busyLabel)]
    fn busy_label(this: &FormGuardOptions) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn detail(this: &FormGuardOptions) -> JsValue;

    /// The callback for a submit that is sent.
    #[wasm_bindgen(typescript_type = "OnSubmit")]
    pub type OnSubmit;
}

/// Who sends the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Send {
    Fetch,
    Navigate,
}

/// How its buttons are disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disable {
    Aria,
    Native,
}

pub(super) struct Options {
    pub(super) send: Send,
    pub(super) disable: Disable,
    pub(super) key_field: String,
    pub(super) busy_label: Option<String>,
    pub(super) detail: Option<Function>,
}

impl Options {
    pub(super) fn read(given: Option<&FormGuardOptions>) -> Result<Self, JsValue> {
        let mut options = Self {
            send: Send::Fetch,
            disable: Disable::Aria,
            key_field: String::from("idempotency_key"),
            busy_label: None,
            detail: None,
        };
        let Some(given) = given else { return Ok(options) };
        match text(&given.send())?.as_deref() {
            None | Some("fetch") => {}
            Some("navigate") => options.send = Send::Navigate,
            Some(_) => return Err(type_error("oncekey: send must be \"fetch\" or \"navigate\".")),
        }
        match text(&given.disable())?.as_deref() {
            None | Some("aria") => {}
            Some("native") => options.disable = Disable::Native,
            Some(_) => return Err(type_error("oncekey: disable must be \"aria\" or \"native\".")),
        }
        match text(&given.key_field())? {
            None => {}
            // A field without a name is not sent.
            Some(name) if name.is_empty() => {
                return Err(type_error("oncekey: keyField must not be empty."));
            }
            Some(name) => options.key_field = name,
        }
        options.busy_label = text(&given.busy_label())?;
        options.detail = given.detail().dyn_into().ok();
        Ok(options)
    }
}

pub(super) fn type_error(message: &str) -> JsValue {
    TypeError::new(message).into()
}

/// Returns whether the method of a form or button is POST. Without one, it is GET.
pub(super) fn is_post(method: Option<&str>) -> bool {
    method.is_some_and(|method| method.eq_ignore_ascii_case("post"))
}

/// Requires POST for a form that the browser sends: a GET would put the key into the URL.
pub(super) fn require_post(method: Option<&str>) -> Result<(), JsValue> {
    match is_post(method) {
        true => Ok(()),
        false => Err(type_error("oncekey: send \"navigate\" needs a form with method=\"post\".")),
    }
}

/// Returns the form's own field for the key, if it has one. Returns an error if there are several such
/// fields, or one that is not hidden, because then the page uses the name for something else.
pub(super) fn key_field(form: &HtmlFormElement, name: &str) -> Result<Option<Control>, JsValue> {
    let mut fields = dom::fields(form, name);
    let field = fields.pop();
    match field {
        Some(field) if !fields.is_empty() || !dom::is_hidden(&field) => {
            Err(Error::new("oncekey: keyField must name one hidden field of the form, or none.")
                .into())
        }
        field => Ok(field),
    }
}

fn text(value: &JsValue) -> Result<Option<String>, JsValue> {
    match value.as_string() {
        None if dom::is_there(value) => Err(type_error("oncekey: an option must be a string.")),
        text => Ok(text),
    }
}
