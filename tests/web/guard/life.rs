//! The life of a guard, and unusual pages.

use crate::page::{FORM, Page, catch_errors, method, settle, thrown};
use oncekey_web::guard::FormGuard;
use wasm_bindgen::prelude::{JsCast, JsValue};
use wasm_bindgen_test::wasm_bindgen_test;

const ENTRIES: &str = "entries card=4242&how=pay";
const SENT: &str = "sent 1 pay card=4242&how=pay";

#[wasm_bindgen_test]
async fn a_form_has_one_guard() {
    let page = Page::new(FORM);
    let guard = page.guard("{}");
    let callback = page.callback("undefined", &JsValue::UNDEFINED);
    let message = "Error: oncekey: this form already has a guard. Detach the other guard first.";
    assert_eq!(thrown(page.try_guard("{}", &callback)), message);
    guard.detach();
    let _second = page.guard("{}");
    // The first guard is detached, and detaching it again does not affect the second guard.
    guard.detach();
    assert_eq!(thrown(page.try_guard("{}", &callback)), message);
    page.click("button");
    settle().await;
    assert_eq!(page.events(), [ENTRIES, SENT]);
}

#[wasm_bindgen_test]
async fn a_guard_that_is_detached_does_nothing() {
    let page = Page::new(FORM);
    let before = page.text("root.innerHTML");
    let guard = page.guard("{busyLabel: 'Busy'}");
    page.click("button");
    settle().await;
    assert_ne!(page.text("root.innerHTML"), before);
    guard.detach();
    assert_eq!(page.text("root.innerHTML"), before);
    assert!(!guard.locked());
    guard.detach();
    guard.release();
    guard.settle("succeeded", None).expect("a known result");
    guard.resubmit(None).expect("nothing waits");
    guard.say("Nothing");
    assert!(!guard.locked());
    assert_eq!(page.text("root.innerHTML"), before);
    page.events();
    page.click("button");
    page.click("button");
    assert_eq!(page.events(), [ENTRIES, ENTRIES], "the browser posts as without a guard");
}

#[wasm_bindgen_test]
async fn a_guard_that_is_detached_before_it_has_sent_sends_nothing() {
    let page = Page::new(FORM);
    let guard = page.guard("{}");
    let stop = catch_errors(&page);
    page.click("button");
    guard.detach();
    settle().await;
    page.js_with("it()", &stop);
    assert_eq!(page.events(), [ENTRIES]);
}

#[wasm_bindgen_test]
async fn a_handler_detaches_the_guard_during_a_submit() {
    for options in ["{}", "{send: 'navigate'}"] {
        for place in ["form", "root"] {
            for capture in ["true", "false"] {
                let page = Page::new(FORM);
                let guard = page.guard_with(options, "'key'");
                page.js_with(
                    &format!(
                        "{place}.addEventListener('submit', e => {{
                            it(); e.stopPropagation(); e.preventDefault() }}, {capture})"
                    ),
                    &method(&guard, FormGuard::detach),
                );
                page.click("button");
                settle().await;
                assert!(!guard.locked());
                assert_eq!(page.text("form.outerHTML.includes('aria-')"), "false");
                assert_eq!(page.text("$('output') || $('[name=idempotency_key]')"), "null");
            }
        }
    }
}

#[wasm_bindgen_test]
async fn a_handler_detaches_the_guard_when_a_submit_is_blocked() {
    let page = Page::new(FORM);
    let guard = page.guard("{}");
    page.js_with(
        "form.addEventListener('oncekey:blocked', it)",
        &method(&guard, FormGuard::detach),
    );
    page.click("button");
    page.click("button");
    settle().await;
    assert!(!guard.locked());
}

#[wasm_bindgen_test]
async fn the_guard_stays_when_its_handle_is_dropped() {
    let page = Page::new(FORM);
    drop(page.guard("{}"));
    page.click("button");
    page.click("button");
    settle().await;
    assert_eq!(page.events(), [ENTRIES, "blocked", SENT]);
}

#[wasm_bindgen_test]
fn invalid_arguments_are_refused() {
    let page = Page::new("<p></p><form></form>");
    let callback = page.callback("undefined", &JsValue::UNDEFINED);
    for what in ["$('p')", "null", "undefined", "{}", "'form'"] {
        let what = page.js(&format!("return ({what})")).unchecked_into();
        let attached = FormGuard::attach(what, None, callback.clone().unchecked_into());
        assert_eq!(thrown(attached), "TypeError: oncekey: guardForm needs a form element.");
    }
    let attached = FormGuard::attach(page.form.clone(), None, JsValue::NULL.unchecked_into());
    assert_eq!(thrown(attached), "TypeError: oncekey: the callback must be a function.");
    for (options, message) in [
        ("{send: 'post'}", "send must be \"fetch\" or \"navigate\"."),
        ("{disable: 'no'}", "disable must be \"aria\" or \"native\"."),
        ("{keyField: ''}", "keyField must not be empty."),
        ("{busyLabel: 7}", "an option must be a string."),
        ("{send: true}", "an option must be a string."),
    ] {
        let message = format!("TypeError: oncekey: {message}");
        assert_eq!(thrown(page.try_guard(options, &callback)), message);
    }
    assert_eq!(page.text("$('output')"), "null", "the page is unchanged");
    for options in ["{send: null, keyField: undefined}", "undefined", "null", "{}"] {
        page.guard(options).detach();
    }
}

#[wasm_bindgen_test]
async fn controls_whose_names_hide_the_form_s_own_properties() {
    let names = [
        "method",
        "action",
        "elements",
        "addEventListener",
        "removeEventListener",
        "getAttribute",
        "setAttribute",
        "removeAttribute",
        "appendChild",
        "after",
        "append",
        "querySelector",
        "querySelectorAll",
        "ownerDocument",
        "parentNode",
        "getRootNode",
        "dispatchEvent",
        "target",
        "requestSubmit",
        "isConnected",
        "localName",
        "remove",
        "children",
        "length",
        "name",
        "style",
    ];
    for options in
        ["{send: 'navigate', busyLabel: 'Busy'}", "{busyLabel: 'Busy', disable: 'native'}"]
    {
        let inputs = names.map(|name| format!("<input type=hidden name={name}>")).concat();
        let page = Page::new(&format!(
            r#"<form method=post action="about:blank" target=sink>{inputs}
            <input type=image name=image><button name=submit value=pay>Pay</button></form>"#,
        ));
        let before = page.text("root.innerHTML");
        let guard = page.guard_with(options, "number > 1 ? 'key' : null");
        page.click("button");
        page.click("button");
        settle().await;
        assert_eq!(page.text("$('[type=image]').matches('[aria-disabled],:disabled')"), "true");
        let events = page.events();
        assert!(events[0].ends_with("&name=&style=&submit=pay"), "{events:?}");
        assert!(events.contains(&"blocked".to_owned()));
        guard.resubmit(None).expect("the submit is sent");
        settle().await;
        if options.contains("navigate") {
            assert!(page.events()[2].ends_with("&submit=pay&idempotency_key=key"));
        }
        guard.say("Busy");
        guard.release();
        guard.detach();
        assert_eq!(page.text("root.innerHTML"), before);
    }
}

/// A listener for `unload` or `beforeunload` would keep every page of the site out of the browser's cache for Back.
#[wasm_bindgen_test]
fn the_guard_listens_only_to_submit_pageshow_clicks_and_keys() {
    let page = Page::new(FORM);
    page.js("root.real = EventTarget.prototype.addEventListener;
         EventTarget.prototype.addEventListener = function (kind, ...rest) {
             log.push(`${this === window ? 'window' : this.localName} ${kind}`);
             return root.real.call(this, kind, ...rest);
         }");
    let guard = page.guard("{send: 'navigate'}");
    page.click("button");
    page.js("EventTarget.prototype.addEventListener = root.real");
    let mut listened = page.events();
    listened.retain(|event| !event.starts_with("sent") && !event.starts_with("entries"));
    let presses = ["window click", "window keydown", "window keypress", "window keyup"];
    let submit = ["form submit", "window pageshow", "form submit"];
    assert_eq!(listened, [&presses[..], &submit].concat());
    guard.detach();
}
