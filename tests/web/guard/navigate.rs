//! A form that the browser posts itself, with the key in a hidden field.

use crate::page::{FORM, Page, catch_errors, method, settle, thrown};
use oncekey_web::guard::FormGuard;
use std::rc::Rc;
use wasm_bindgen::prelude::{JsCast, JsValue};
use wasm_bindgen_test::wasm_bindgen_test;

const NAVIGATE: &str = "{send: 'navigate'}";
const SENT: &str = "sent 1 pay card=4242&how=pay";
const ENTRIES: &str = "entries card=4242&how=pay";
const POSTED: &str = "entries card=4242&how=pay&idempotency_key=key";

#[wasm_bindgen_test]
async fn the_browser_posts_the_key_once() {
    let page = Page::new(FORM);
    page.js("$('iframe').onload = () => log.push('loaded')");
    settle().await;
    page.events();
    let guard =
        page.guard_with("{send: 'navigate', disable: 'native', busyLabel: 'Busy'}", "'key'");
    page.click("button");
    page.click("button");
    assert_eq!(page.text("$('button').textContent + $('button').disabled"), "Payfalse");
    page.until("log.includes('loaded')").await;
    page.click("[value=later]");
    page.js("form.requestSubmit()");
    assert_eq!(page.text("$('button').textContent + $('button').disabled"), "Busytrue");
    // A disabled button submits nothing, so the third submit is not even an event.
    assert_eq!(page.events(), [ENTRIES, SENT, POSTED, "blocked", "loaded", "blocked"]);
    assert!(guard.locked(), "the form stays locked during the navigation");
    assert_eq!(page.text("$('[name=idempotency_key]').type"), "hidden");
    guard.release();
    assert_eq!(page.text("$('[name=idempotency_key]')"), "null");
    page.click("button");
    assert_eq!(page.events()[2], POSTED, "the form has one key");
}

#[wasm_bindgen_test]
async fn a_form_whose_method_was_changed_to_get_is_not_sent() {
    let page = Page::new(FORM);
    let guard = page.guard_with(NAVIGATE, "'key'");
    page.js("form.method = 'get'");
    let stop = catch_errors(&page);
    page.click("button");
    settle().await;
    page.js_with("it()", &stop);
    let message = "TypeError: oncekey: send \"navigate\" needs a form with method=\"post\".";
    assert_eq!(page.events(), [message], "no key is requested");
    assert!(!guard.locked());
    page.js("$('button').formMethod = 'post'");
    page.click("button");
    settle().await;
    assert_eq!(page.events(), [ENTRIES, "sent 2 pay card=4242&how=pay", POSTED]);
}

#[wasm_bindgen_test]
async fn the_busy_label_of_a_submit_input_is_not_sent() {
    let page = Page::new(
        r#"<form method=POST action="about:blank" target=sink>
        <input type=submit name=how value=pay data-oncekey-busy="Just a moment"></form>"#,
    );
    let guard = page.guard_with("{send: 'navigate', keyField: 'k', busyLabel: 'Busy'}", "'1'");
    page.click("[name=how]");
    settle().await;
    assert_eq!(page.events(), ["entries how=pay", "sent 1 pay how=pay", "entries how=pay&k=1"]);
    assert_eq!(page.text("form.how.value"), "Just a moment");
    guard.release();
    assert_eq!(page.text("form.how.value"), "pay");
}

#[wasm_bindgen_test]
async fn a_key_that_arrives_late_is_posted() {
    for label in ["{send: 'navigate', busyLabel: 'Busy'}", "{send: 'navigate', disable: 'native'}"]
    {
        let page = Page::new(FORM);
        let guard = page.guard_with(label, "number > 1 ? 'key' : null");
        page.click("[value=later]");
        settle().await;
        page.click("button");
        assert_eq!(
            page.events()[..2],
            ["entries card=4242&how=later", "sent 1 later card=4242&how=later"]
        );
        assert!(guard.locked(), "it waits");
        guard.resubmit(None).expect("the submit is sent");
        guard.resubmit(None).expect("no submit waits");
        page.events_of_resubmit();
        settle().await;
        guard.resubmit(None).expect("no submit waits");
        assert!(page.events().is_empty());
        assert!(guard.locked());
        guard.release();
        assert_eq!(page.text("form.outerHTML.includes('aria-')"), "false");
        assert_eq!(
            page.text("$('[value=later]').textContent + $('[value=later]').disabled"),
            "Pay laterfalse"
        );
    }
}

impl Page {
    fn events_of_resubmit(&self) {
        assert_eq!(
            self.events(),
            [
                "entries card=4242&how=later",
                "sent 2 later card=4242&how=later",
                "entries card=4242&how=later&idempotency_key=key",
            ]
        );
    }
}

/// The browser ignores a submit during the event.
#[wasm_bindgen_test]
async fn a_key_that_arrives_during_the_event_is_posted() {
    let page = Page::new(FORM);
    page.js("root.result = () => { Promise.resolve().then(() => root.again()); return null }");
    let guard = page.guard_with(NAVIGATE, "number > 1 ? 'key' : root.result()");
    page.js_with("root.again = it", &again(&guard));
    page.click("[value=later]");
    settle().await;
    let events = page.events();
    assert_eq!(events[1], "sent 1 later card=4242&how=later");
    assert_eq!(events[4], "entries card=4242&how=later&idempotency_key=key", "{events:?}");
    assert_eq!(events.len(), 5);
    assert!(guard.locked());
}

#[wasm_bindgen_test]
async fn a_handler_can_cancel_a_submit_that_waits_for_its_key() {
    let page = Page::new(FORM);
    let guard = page.guard_with(NAVIGATE, "null");
    page.js("root.addEventListener('submit', e => e.preventDefault())");
    page.click("button");
    settle().await;
    assert!(!guard.locked());
    guard.resubmit(None).expect("nothing waits");
    settle().await;
    assert_eq!(page.events(), [ENTRIES, SENT]);

    page.js_with("root.again = it", &again(&guard));
    page.js("root.addEventListener('submit', () => root.again(), true)");
    page.click("button");
    settle().await;
    assert!(!guard.locked());
}

#[wasm_bindgen_test]
async fn a_field_that_becomes_invalid_before_the_key_arrives() {
    let page = Page::new(FORM);
    let guard = page.guard_with(NAVIGATE, "null");
    page.click("button");
    settle().await;
    page.js("form.card.required = true; form.card.value = ''");
    guard.resubmit(None).expect("nothing is thrown");
    assert!(!guard.locked(), "the buyer can correct it");
    assert_eq!(page.text("form.hasAttribute('aria-busy')"), "false");
    assert_eq!(page.events().len(), 2);
}

#[wasm_bindgen_test]
async fn a_form_or_a_button_that_is_removed_before_the_key_arrives() {
    for (script, throws) in [("form.remove()", false), ("$('button').remove()", true)] {
        let page = Page::new(FORM);
        let guard = page.guard_with(NAVIGATE, "null");
        page.click("button");
        settle().await;
        page.js(script);
        assert_eq!(guard.resubmit(None).is_err(), throws, "{script}");
        assert!(!guard.locked(), "{script}");
        assert_eq!(page.events().len(), 2);
    }
}

#[wasm_bindgen_test]
async fn another_button_can_be_submitted() {
    let page = Page::new(FORM);
    let guard = page.guard_with(NAVIGATE, "number > 1 ? 'key' : null");
    page.js("form.requestSubmit()");
    settle().await;
    page.events();
    let button = page.js("return $('[value=later]')").unchecked_into();
    guard.resubmit(Some(button)).expect("the submit is sent");
    page.events_of_resubmit();
}

#[wasm_bindgen_test]
async fn a_form_can_be_submitted_without_a_button() {
    let page = Page::new(FORM);
    let guard = page.guard_with(NAVIGATE, "number > 1 ? 'key' : null");
    page.js("form.requestSubmit()");
    settle().await;
    guard.resubmit(None).expect("the submit is sent");
    assert_eq!(
        page.events()[3..],
        ["sent 2 undefined card=4242", "entries card=4242&idempotency_key=key"]
    );
}

#[wasm_bindgen_test]
fn the_method_must_be_post() {
    for html in ["<form>", "<form method=get>", "<form method=dialog>", "<form method=put>"] {
        let page = Page::new(html);
        let callback = page.callback("'key'", &JsValue::UNDEFINED);
        let message = thrown(page.try_guard(NAVIGATE, &callback));
        assert_eq!(
            message,
            "TypeError: oncekey: send \"navigate\" needs a form with method=\"post\"."
        );
        page.guard("{}");
    }
}

#[wasm_bindgen_test]
async fn a_visible_field_with_the_name_of_the_key_field_is_an_error() {
    let page = Page::new(FORM);
    let callback = page.callback("'key'", &JsValue::UNDEFINED);
    let message = "Error: oncekey: keyField must name one hidden field of the form, or none.";
    assert_eq!(thrown(page.try_guard("{send: 'navigate', keyField: 'card'}", &callback)), message);
    let guard = page.guard_with(NAVIGATE, "'key'");
    page.js("form.card.name = 'idempotency_key'");
    let stop = catch_errors(&page);
    page.click("button");
    settle().await;
    page.js_with("it()", &stop);
    assert_eq!(page.events()[2..], [message], "nothing is posted");
    assert!(!guard.locked());
}

#[wasm_bindgen_test]
async fn the_key_is_sent_in_the_field_that_the_server_has_rendered() {
    for value in ["theirs", ""] {
        let page = Page::new(&FORM.replace(
            "<input",
            &format!("<input type=hidden name=idempotency_key value=\"{value}\"><input"),
        ));
        let guard = page.guard_with(NAVIGATE, "'key'");
        page.click("button");
        settle().await;
        let posted = "entries idempotency_key=key&card=4242&how=pay";
        assert_eq!(page.events()[2..], [posted]);
        guard.release();
        assert_eq!(page.text("$('[name=idempotency_key]').getAttribute('value')"), value);
        assert_eq!(page.text("root.querySelectorAll('[name=idempotency_key]').length"), "1");
    }
}

#[wasm_bindgen_test]
async fn a_value_that_is_not_a_key_is_an_error() {
    let message = "TypeError: oncekey: the callback must return a key or nothing.";
    for result in ["''", "7", "Promise.resolve('key')", "false"] {
        let page = Page::new(FORM);
        let guard = page.guard_with(NAVIGATE, result);
        let stop = catch_errors(&page);
        page.click("button");
        settle().await;
        page.js_with("it()", &stop);
        assert_eq!(page.events(), [ENTRIES, SENT, message], "{result}");
        assert!(!guard.locked());
    }
}

#[wasm_bindgen_test]
async fn an_event_that_a_script_created_posts_nothing() {
    let page = Page::new(FORM);
    let guard = page.guard_with(NAVIGATE, "'key'");
    let script = "form.dispatchEvent(new SubmitEvent('submit', {bubbles: true, cancelable: true}))";
    page.js(script);
    settle().await;
    assert!(!guard.locked());
    assert!(page.events().is_empty());
    page.click("button");
    page.events();
    page.js(script);
    assert_eq!(page.events(), ["blocked"]);
}

#[wasm_bindgen_test]
async fn the_callback_can_settle_release_or_detach_the_guard() {
    let settled = |guard: &FormGuard| guard.settle("refused", None).expect("a known result");
    for does in [FormGuard::release, FormGuard::detach, settled] {
        for options in ["{}", NAVIGATE] {
            let page = Page::new(FORM);
            let guard = page.guard_with(options, "(root.does(), 'key')");
            page.js_with("root.does = it", &method(&guard, does));
            page.click("button");
            settle().await;
            assert_eq!(page.events(), [ENTRIES, SENT]);
            assert!(!guard.locked());
            assert_eq!(page.text("form.outerHTML.includes('aria-')"), "false");
            assert_eq!(page.text("$('[name=idempotency_key]')"), "null");
        }
    }
}

fn again(guard: &Rc<FormGuard>) -> JsValue {
    method(guard, |guard| guard.resubmit(None).expect("the submit is sent"))
}
