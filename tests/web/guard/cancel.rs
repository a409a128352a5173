//! Other handlers of the page, which cancel a submit or stop its propagation.

use crate::page::{FORM, Page, method, settle};
use oncekey_web::guard::FormGuard;
use wasm_bindgen_test::wasm_bindgen_test;

const SENT: &str = "sent 1 pay card=4242&how=pay";
const ENTRIES: &str = "entries card=4242&how=pay";
const NAVIGATE: &str = "{send: 'navigate'}";

/// Checks that nothing is sent and nothing stays locked if another handler cancels the submit.
async fn cancels(options: &str, before: &str, after: &str) {
    let page = Page::new(FORM);
    page.js(before);
    let guard = page.guard_with(options, "'key'");
    page.js(after);
    page.click("button");
    settle().await;
    assert!(!guard.locked(), "{before}{after}");
    assert_eq!(page.text("form.outerHTML.includes('aria-')"), "false");
    assert_eq!(page.text("$('[name=idempotency_key]')"), "null");
    let events = page.events();
    assert!(
        !events.iter().any(|event| options == "{}" && event.starts_with("sent")),
        "{before}{after} {events:?}"
    );
    assert!(events.iter().filter(|event| event.starts_with("entries")).count() <= 1, "{events:?}");
}

#[wasm_bindgen_test]
async fn fault_49_a_handler_of_the_form_cancels() {
    for options in ["{}", NAVIGATE] {
        let script = "form.addEventListener('submit', e => e.preventDefault())";
        cancels(options, script, "").await;
        cancels(options, "", script).await;
        cancels(options, "", "form.addEventListener('submit', e => e.preventDefault(), true)")
            .await;
        cancels(options, "", "form.addEventListener('submit', e => { e.returnValue = false })")
            .await;
        cancels(options, "form.setAttribute('onsubmit', 'return false')", "").await;
        cancels(options, "", "form.onsubmit = () => false").await;
    }
}

#[wasm_bindgen_test]
async fn fault_49_a_handler_of_an_ancestor_cancels() {
    for options in ["{}", NAVIGATE] {
        for script in [
            "root.addEventListener('submit', e => e.preventDefault())",
            "root.addEventListener('submit', e => { e.returnValue = false })",
            "root.addEventListener('submit', e => e.preventDefault(), true)",
            "root.addEventListener('submit', e => { e.stopPropagation(); e.preventDefault() })",
        ] {
            cancels(options, "", script).await;
        }
    }
    cancels(NAVIGATE, "", "root.onsubmit = () => false").await;
}

#[wasm_bindgen_test]
async fn fault_49_a_handler_stops_the_event_and_cancels() {
    for options in ["{}", NAVIGATE] {
        for stop in ["e.stopPropagation()", "e.stopImmediatePropagation()", "e.cancelBubble = true"]
        {
            for capture in ["true", "false"] {
                for body in
                    [format!("e.preventDefault(); {stop}"), format!("{stop}; e.preventDefault()")]
                {
                    let script =
                        format!("form.addEventListener('submit', e => {{ {body} }}, {capture})");
                    cancels(options, &script, "").await;
                    cancels(options, "", &script).await;
                }
            }
        }
    }
}

#[wasm_bindgen_test]
async fn a_submit_that_no_handler_cancels_is_sent() {
    for script in [
        "",
        "root.addEventListener('submit', e => e.stopPropagation())",
        "root.addEventListener('submit', e => e.stopImmediatePropagation())",
        "root.addEventListener('submit', e => { e.cancelBubble = true })",
        "root.addEventListener('submit', e => { e.returnValue = true })",
        "root.addEventListener('submit', e => { e.returnValue; e.cancelBubble = false })",
        "form.addEventListener('submit', e => { e.returnValue = true; e.cancelBubble = false })",
    ] {
        let page = Page::new(FORM);
        let guard = page.guard("{}");
        page.js(script);
        page.click("button");
        page.click("button");
        settle().await;
        assert_eq!(page.events(), [ENTRIES, "blocked", SENT], "{script}");
        assert!(guard.locked());
    }
}

#[wasm_bindgen_test]
async fn no_handler_can_make_the_browser_post_without_a_key() {
    for stop in ["e.stopPropagation()", "e.stopImmediatePropagation()", "e.cancelBubble = true"] {
        for capture in ["true", "false"] {
            let script = format!("form.addEventListener('submit', e => {{ {stop} }}, {capture})");
            for (before, after) in [(script.as_str(), ""), ("", script.as_str())] {
                // The event does not reach the guard.
                if before.contains("Immediate") && capture == "true" {
                    continue;
                }
                let page = Page::new(FORM);
                page.js(before);
                let guard = page.guard("{}");
                page.js(after);
                page.click("button");
                page.click("button");
                settle().await;
                let events = page.events();
                let sent = events.iter().filter(|event| *event == SENT).count();
                let taken = events.iter().filter(|event| *event == ENTRIES).count();
                assert_eq!((sent, taken), (1, 1), "{before}{after} {events:?}");
                assert!(guard.locked());

                let page = Page::new(FORM);
                page.js(before);
                let guard = page.guard_with(NAVIGATE, "'key'");
                page.js(after);
                page.click("button");
                page.click("button");
                settle().await;
                let posted = "entries card=4242&how=pay&idempotency_key=key";
                assert_eq!(page.events(), [ENTRIES, SENT, posted, "blocked"], "{before}{after}");
                assert!(guard.locked());
            }
        }
    }
}

#[wasm_bindgen_test]
async fn a_value_that_the_last_handler_fills_in_is_sent() {
    for script in [
        "form.card.value = 'token'",
        "e.stopPropagation(); form.card.value = 'token'",
        "e.stopImmediatePropagation(); form.card.value = 'token'",
    ] {
        let page = Page::new(FORM);
        page.js(&format!("form.addEventListener('submit', e => {{ {script} }})"));
        let _guard = page.guard("{}");
        page.js(&format!("form.addEventListener('submit', e => {{ {script} }})"));
        page.click("button");
        settle().await;
        let sent = page.events().pop();
        assert_eq!(sent.as_deref(), Some("sent 1 pay card=token&how=pay"), "{script}");
    }
}

#[wasm_bindgen_test]
async fn the_guard_decides_after_handlers_that_were_added_later() {
    for options in ["{}", NAVIGATE] {
        let page = Page::new(FORM);
        let guard = page.guard_with(options, "'key'");
        page.click("button");
        settle().await;
        guard.release();
        page.events();
        page.js("form.addEventListener('submit', () => { form.card.value = 'token' })");
        page.click("button");
        settle().await;
        assert_eq!(page.events()[1], "sent 2 pay card=token&how=pay");
    }
}

#[wasm_bindgen_test]
async fn values_filled_in_after_the_submit_are_not_sent() {
    for stop in ["", "e.stopPropagation();"] {
        let page = Page::new(FORM);
        let _guard = page.guard("{}");
        page.js(&format!(
            "form.onsubmit = e => {{
                {stop}
                form.card.value = 'token';
                queueMicrotask(() => form.card.value = 'late');
            }}"
        ));
        page.click("button");
        settle().await;
        assert_eq!(page.events(), ["entries card=token&how=pay", "sent 1 pay card=token&how=pay"]);
    }
}

#[wasm_bindgen_test]
async fn the_event_has_its_own_methods_again_afterwards() {
    let page = Page::new(FORM);
    let guard = page.guard("{}");
    page.js("form.onsubmit = e => { root.event = e }");
    let own = "Object.getOwnPropertyNames(root.event).filter(name => name != 'isTrusted')";
    page.click("button");
    assert_eq!(
        page.text(own),
        "stopPropagation,stopImmediatePropagation,cancelBubble,preventDefault,returnValue"
    );
    settle().await;
    assert_eq!(page.text(own), "");
    // The same holds if the form is unlocked or unguarded before that.
    for end in [FormGuard::release, FormGuard::detach] {
        guard.release();
        page.click("button");
        end(&guard);
        assert_eq!(page.text(own), "");
        page.js("root.event.preventDefault(); root.event.stopPropagation()");
    }
}

#[wasm_bindgen_test]
async fn a_release_during_a_submit_sends_nothing() {
    for options in ["{}", NAVIGATE] {
        let page = Page::new(FORM);
        let guard = page.guard_with(options, "'key'");
        page.js_with("form.onsubmit = () => it()", &method(&guard, FormGuard::release));
        page.click("button");
        settle().await;
        assert!(page.events().is_empty());
        assert!(!guard.locked());
        page.js("form.onsubmit = null");
        page.click("button");
        settle().await;
        assert_eq!(page.events()[1], "sent 2 pay card=4242&how=pay");
    }
}
