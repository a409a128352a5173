//! A page with one form, whose posts go to a frame.

use js_sys::{Array, Function, Object, Promise, Reflect};
use oncekey_web::guard::FormGuard;
use std::rc::Rc;
use wasm_bindgen::prelude::{Closure, JsCast, JsValue};
use web_sys::{Element, HtmlFormElement};

/// The form of most tests.
pub(crate) const FORM: &str = r#"<form method=post action="about:blank" target=sink>
    <input name=card value=4242>
    <button name=how value=pay>Pay</button>
    <button name=how value=later>Pay later</button>
</form>"#;

pub(crate) struct Page {
    pub(crate) root: Element,
    pub(crate) form: HtmlFormElement,
    pub(crate) log: Array,
}

impl Page {
    pub(crate) fn new(html: &str) -> Self {
        let root = run(
            &[("html", &html.into())],
            // Removes the page of a failed test, which has a frame with the same name.
            "document.querySelector('#page')?.remove();
             const root = document.createElement('div');
             root.id = 'page';
             root.innerHTML = html + '<iframe name=sink></iframe>';
             document.body.append(root);
             return root",
        );
        let page = Self {
            form: run(&[("root", &root)], "return root.querySelector('form')").unchecked_into(),
            root: root.unchecked_into(),
            log: Array::new(),
        };
        // The `formdata` event shows what the browser posts.
        // Chromium later fires a second one for itself, which no script has caused.
        page.js("const on = EventTarget.prototype.addEventListener;
             Error.stackTraceLimit = 100;
             on.call(form, 'formdata', e => {
                 if (new Error().stack.includes('wasm-function'))
                     log.push('entries ' + new URLSearchParams(e.formData));
             });
             on.call(form, 'oncekey:blocked', () => log.push('blocked'))");
        page
    }

    /// Runs a script with the page as `root`, `form` and `log`, and `$` to find elements.
    pub(crate) fn js(&self, script: &str) -> JsValue {
        self.js_with(script, &JsValue::UNDEFINED)
    }

    /// Runs a script with a value of the test as `it`.
    pub(crate) fn js_with(&self, script: &str, it: &JsValue) -> JsValue {
        let script = format!("const $ = s => root.querySelector(s);\n{script}");
        let scope: [(&str, &JsValue); 4] =
            [("root", &self.root), ("form", &self.form), ("log", &self.log), ("it", it)];
        run(&scope, &script)
    }

    /// Returns the value of an expression, as text.
    pub(crate) fn text(&self, expression: &str) -> String {
        let value = self.js(&format!("return String({expression})"));
        value.as_string().unwrap_or_default()
    }

    /// Waits until an expression is true.
    pub(crate) async fn until(&self, expression: &str) {
        for _ in 0..2000 {
            if self.text(expression) == "true" {
                return;
            }
            wait(5).await;
        }
        panic!("not in time: {expression}");
    }

    /// Returns the events since the last call, in order.
    pub(crate) fn events(&self) -> Vec<String> {
        let events = self.log.iter().filter_map(|entry| entry.as_string()).collect();
        self.log.set_length(0);
        events
    }

    /// Returns a callback that logs its arguments and returns the value of an expression, which may
    /// use `it`.
    pub(crate) fn callback(&self, result: &str, it: &JsValue) -> Function {
        let make = format!(
            "return (submitter, data, number) => {{
                log.push(`sent ${{number}} ${{submitter?.value}} ${{new URLSearchParams(data)}}`);
                return {result};
            }}"
        );
        self.js_with(&make, it).unchecked_into()
    }

    pub(crate) fn try_guard(
        &self,
        options: &str,
        callback: &Function,
    ) -> Result<Rc<FormGuard>, JsValue> {
        let options = run(&[], &format!("return ({options})"));
        let options =
            (!options.is_undefined() && !options.is_null()).then(|| options.unchecked_into());
        FormGuard::attach(self.form.clone(), options, callback.clone().unchecked_into())
            .map(Rc::new)
    }

    /// Guards the form, with `fetch` unless the options choose otherwise.
    pub(crate) fn guard(&self, options: &str) -> Rc<FormGuard> {
        self.guard_with(options, "undefined")
    }

    pub(crate) fn guard_with(&self, options: &str, result: &str) -> Rc<FormGuard> {
        let callback = self.callback(result, &JsValue::UNDEFINED);
        self.try_guard(options, &callback).expect("the form can be guarded")
    }

    /// Clicks the element that the selector finds.
    pub(crate) fn click(&self, selector: &str) {
        self.js(&format!("$(`{selector}`).click()"));
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.root.remove();
    }
}

/// Runs a script with named values.
pub(crate) fn run(scope: &[(&str, &JsValue)], script: &str) -> JsValue {
    let values = Object::new();
    let mut names = String::new();
    for (name, value) in scope {
        Reflect::set(&values, &JsValue::from_str(name), value).expect("a plain object");
        names.push_str(name);
        names.push(',');
    }
    let function =
        Function::new_with_args("scope", &format!("const {{{names}}} = scope;\n{script}"));
    function.call1(&JsValue::UNDEFINED, &values).expect("the script runs")
}

/// Returns a function of the page that calls a method of the guard.
pub(crate) fn method(guard: &Rc<FormGuard>, call: fn(&FormGuard)) -> JsValue {
    let guard = Rc::clone(guard);
    Closure::<dyn Fn()>::new(move || call(&guard)).into_js_value()
}

/// Waits, so that everything that was due has happened.
pub(crate) async fn wait(millis: u32) {
    let promise: Promise =
        run(&[("millis", &millis.into())], "return new Promise(done => setTimeout(done, millis))")
            .unchecked_into();
    promise.await.expect("a timer");
}

/// Waits for the tasks that an event has queued.
pub(crate) async fn settle() {
    wait(10).await;
}

/// Returns the name and message of a thrown error.
pub(crate) fn thrown<T>(result: Result<T, JsValue>) -> String {
    let error = result.err().expect("it throws");
    String::from(error.unchecked_ref::<Object>().to_string())
}

/// Logs uncaught errors.
pub(crate) fn catch_errors(page: &Page) -> JsValue {
    page.js(
        "const listener = e => { e.preventDefault(); e.stopImmediatePropagation(); log.push(String(e.error)) };
         window.addEventListener('error', listener, true);
         return () => window.removeEventListener('error', listener, true)",
    )
}
