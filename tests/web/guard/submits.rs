//! Which submits are sent, and with which values.

use crate::page::{FORM, Page, catch_errors, run, settle, thrown, wait};
use oncekey_web::guard::FormGuard;
use wasm_bindgen::prelude::{JsCast, JsValue};
use wasm_bindgen_test::wasm_bindgen_test;

const SENT: &str = "sent 1 pay card=4242&how=pay";
const ENTRIES: &str = "entries card=4242&how=pay";

#[wasm_bindgen_test]
async fn fault_48_the_first_submit_is_sent() {
    let page = Page::new(FORM);
    let guard = page.guard("undefined");
    page.click("button");
    assert!(guard.locked(), "at once");
    // The values are read at the submit. Later changes of the form do not count.
    page.js("form.card.value = ''");
    settle().await;
    assert_eq!(page.events(), [ENTRIES, SENT]);
    assert_eq!(page.text("frames.sink.length"), "0");
}

#[wasm_bindgen_test]
async fn a_double_click_sends_once() {
    let page = Page::new(FORM);
    let guard = page.guard("{}");
    // Other listeners do not get the second submit, whenever they were added.
    page.js("for (const capture of [true, false])
             form.addEventListener('submit', () => log.push('submitted'), capture)");
    page.click("button");
    page.click("button");
    settle().await;
    page.click("button");
    assert_eq!(page.events(), ["submitted", "submitted", ENTRIES, "blocked", SENT, "blocked"]);
    guard.settle("refused", None).expect("a known result");
    assert!(!guard.locked());
    page.click("button");
    settle().await;
    assert_eq!(page.events()[3], "sent 2 pay card=4242&how=pay");
}

#[wasm_bindgen_test]
async fn repeats_of_a_held_enter_and_other_buttons_are_blocked() {
    let page = Page::new(FORM);
    let _guard = page.guard("{}");
    page.js("for (let i = 0; i < 5; i++) form.requestSubmit()");
    settle().await;
    page.click("[value=later]");
    page.js("form.requestSubmit($('[value=later]'))");
    page.js("form.dispatchEvent(new SubmitEvent('submit', {bubbles: true, cancelable: true}))");
    let mut expected = vec!["entries card=4242"];
    expected.extend(["blocked"; 4]);
    expected.push("sent 1 undefined card=4242");
    expected.extend(["blocked"; 3]);
    assert_eq!(page.events(), expected);
}

#[wasm_bindgen_test]
async fn a_blocked_submit_is_reported_to_the_page_without_its_values() {
    let page = Page::new(FORM);
    let _guard = page.guard("{}");
    page.js("root.addEventListener('oncekey:blocked', e =>
             log.push([e.target === form, e.bubbles, e.cancelable, e.detail].join()))");
    page.click("button");
    page.click("button");
    assert_eq!(page.events()[1..], ["blocked", "true,true,false,"]);
}

#[wasm_bindgen_test]
async fn a_blocked_submit_is_reported_with_the_detail_that_the_page_chooses() {
    let page = Page::new(FORM);
    let _guard = page.guard("{detail: () => ({intent: 'order:1'})}");
    page.js("form.addEventListener('oncekey:blocked', e => log.push(e.detail.intent))");
    page.click("button");
    page.click("button");
    assert_eq!(page.events()[1..], ["blocked", "order:1"]);
}

#[wasm_bindgen_test]
async fn fault_47_no_second_submit_is_sent_while_the_server_is_slow() {
    let page = Page::new(FORM);
    let guard = page.guard("{}");
    page.click("button");
    wait(1200).await;
    page.click("button");
    settle().await;
    assert_eq!(page.events(), [ENTRIES, SENT, "blocked"]);
    assert!(guard.locked());
}

#[wasm_bindgen_test]
async fn fault_46_the_name_of_the_clicked_button_is_sent() {
    for options in ["{}", "{disable: 'native'}", "{busyLabel: 'Busy'}"] {
        let page = Page::new(
            r#"<form id=f><input name=card value=1><input type=submit name=how value=pay></form>
            <button form=f name=how value=outside></button>
            <input type=image form=f name=at>"#,
        );
        let guard = page.guard(options);
        for (selector, sent) in [
            ("[type=submit]", "sent 1 pay card=1&how=pay"),
            ("button", "sent 2 outside card=1&how=outside"),
            ("[type=image]", "sent 3  card=1&at.x=0&at.y=0"),
        ] {
            page.click(selector);
            settle().await;
            assert_eq!(page.events()[1], sent, "{options}");
            guard.release();
        }
    }
}

#[wasm_bindgen_test]
async fn a_browser_whose_form_data_does_not_support_submitters() {
    let page = Page::new(
        "<form><input name=card value=1><button name=how value=pay></button>
        <button id=nameless></button><input type=image><input type=image name=at></form>",
    );
    let guard = page.guard("{}");
    let old = page.js("const real = FormData;
         window.FormData = function (form) { return new real(form) };
         return real");
    for (selector, sent) in [
        ("button", "sent 1 pay card=1&how=pay"),
        ("#nameless", "sent 2  card=1"),
        ("[type=image]:not([name])", "sent 3  card=1&x=0&y=0"),
        ("[name=at]", "sent 4  card=1&at.x=0&at.y=0"),
    ] {
        page.click(selector);
        settle().await;
        assert_eq!(page.events().last().map(String::as_str), Some(sent));
        guard.release();
    }
    page.js_with("window.FormData = it", &old);
}

#[wasm_bindgen_test]
async fn fault_44_a_form_with_an_empty_required_field_is_not_locked() {
    let page = Page::new("<form><input name=card required><button>Pay</button></form>");
    let guard = page.guard("{}");
    page.click("button");
    settle().await;
    assert!(!guard.locked());
    assert_eq!(page.text("form.hasAttribute('aria-busy')"), "false");
    page.js("form.card.value = 1");
    page.click("button");
    settle().await;
    assert_eq!(page.events(), ["entries card=1", "sent 1  card=1"]);
}

#[wasm_bindgen_test]
async fn fault_42_a_form_stays_locked_after_a_success() {
    let page = Page::new(FORM);
    let guard = page.guard("{}");
    page.click("button");
    settle().await;
    guard.settle("succeeded", Some(1)).expect("a known result");
    for outcome in ["refused", "unknown", "failed"] {
        guard.settle(outcome, None).expect("a known result");
    }
    page.click("button");
    settle().await;
    assert_eq!(page.events(), [ENTRIES, SENT, "blocked"]);
    assert!(guard.locked());
    guard.release();
    assert!(!guard.locked());
}

#[wasm_bindgen_test]
async fn fault_41_a_form_is_unlocked_when_its_page_returns_from_the_cache() {
    for outcome in [None, Some("succeeded")] {
        let page = Page::new(FORM);
        let guard = page.guard("{disable: 'native', busyLabel: 'Busy'}");
        page.click("button");
        settle().await;
        if let Some(outcome) = outcome {
            guard.settle(outcome, None).expect("a known result");
        }
        let show = "window.dispatchEvent(new PageTransitionEvent('pageshow', {persisted: it}))";
        page.js_with(show, &JsValue::FALSE);
        assert!(guard.locked(), "the first load is not a return");
        // After a success, the form is locked and not busy.
        let look = if outcome.is_none() { "trueBusytrue" } else { "truePayfalse" };
        let shown =
            "$('button').disabled + $('button').textContent + form.hasAttribute('aria-busy')";
        assert_eq!(page.text(shown), look);
        page.js_with(show, &JsValue::TRUE);
        assert!(!guard.locked());
        assert_eq!(page.text("$('button').disabled + $('button').textContent"), "falsePay");
        assert_eq!(page.text("form.hasAttribute('aria-busy')"), "false");
        page.events();
        page.click("button");
        settle().await;
        assert_eq!(page.events()[1], "sent 2 pay card=4242&how=pay");
    }
}

#[wasm_bindgen_test]
async fn each_result_except_a_success_unlocks() {
    let page = Page::new(FORM);
    let guard = page.guard("{}");
    for outcome in ["refused", "unknown", "failed"] {
        page.click("button");
        settle().await;
        guard.settle(outcome, None).expect("a known result");
        assert!(!guard.locked(), "{outcome}");
    }
    page.click("button");
    assert_eq!(
        thrown(guard.settle("done", None)),
        "TypeError: oncekey: the outcome must be \"succeeded\", \"refused\", \"unknown\" or \"failed\"."
    );
    assert!(guard.locked());
}

#[wasm_bindgen_test]
async fn the_result_of_an_earlier_submit_does_not_unlock_a_later_one() {
    let page = Page::new(FORM);
    let guard = page.guard("{}");
    page.click("button");
    settle().await;
    guard.release();
    page.click("button");
    // The second submit was not sent yet, so this is not its result.
    guard.settle("failed", None).expect("a known result");
    assert!(guard.locked());
    settle().await;
    guard.settle("failed", Some(1)).expect("a known result");
    assert!(guard.locked());
    guard.settle("failed", Some(2)).expect("a known result");
    assert!(!guard.locked());
}

#[wasm_bindgen_test]
async fn an_error_of_the_callback_unlocks_and_is_reported() {
    let page = Page::new(FORM);
    let throws = "(() => { throw new RangeError('no') })()";
    for options in ["{}", "{send: 'navigate'}"] {
        let guard = page.guard_with(options, throws);
        let stop = catch_errors(&page);
        page.click("button");
        settle().await;
        assert!(!guard.locked());
        assert_eq!(
            page.events(),
            [ENTRIES, SENT, "RangeError: no"],
            "the browser does not post either"
        );
        assert_eq!(page.text("form.hasAttribute('aria-busy')"), "false");
        stop.unchecked_into::<js_sys::Function>().call0(&JsValue::NULL).expect("it ends");
        guard.detach();
    }
}

#[wasm_bindgen_test]
async fn a_get_button_or_a_dialog_button_does_not_lock_the_form() {
    for options in ["{}", "{send: 'navigate'}"] {
        let page = Page::new(
            r#"<form method=post action="about:blank" target=sink>
            <button id=pay>Pay</button>
            <button id=get formmethod=get formaction="about:blank">Back</button></form>"#,
        );
        let guard = page.guard_with(options, "'key'");
        page.click("#get");
        settle().await;
        assert!(!guard.locked());
        assert_eq!(page.events(), ["entries "], "the browser sends the GET itself");
        page.click("#pay");
        page.events();
        page.click("#get");
        assert_eq!(page.events(), ["blocked"], "the GET would cancel the payment");
    }
    // The browser closes the dialog itself.
    let page = Page::new(
        "<dialog><form><button>Pay</button><button id=no formmethod=dialog>No</button></form></dialog>",
    );
    let guard = page.guard("{}");
    page.js("$('dialog').showModal()");
    page.click("#no");
    settle().await;
    assert_eq!(page.text("$('dialog').open"), "false");
    assert!(!guard.locked());
    assert!(page.events().is_empty());
}

#[wasm_bindgen_test]
async fn a_listener_of_an_earlier_submit_does_not_handle_a_later_one() {
    let page = Page::new(
        r#"<form method=post action="about:blank" target=sink><button id=pay>Pay</button>
        <button id=get formmethod=get>Back</button></form>"#,
    );
    let guard = page.guard("{}");
    page.js("form.onsubmit = e => { if (e.submitter.id == 'pay') e.stopImmediatePropagation() }");
    page.click("#pay");
    settle().await;
    guard.settle("failed", None).expect("a known result");
    page.events();
    page.click("#get");
    assert_eq!(page.events(), ["entries "]);
}

#[wasm_bindgen_test]
async fn forms_in_a_frame_and_in_a_shadow_tree_can_be_guarded() {
    let page = Page::new(FORM);
    let inner = page.js("const inside = $('iframe').contentDocument;
         inside.body.innerHTML = '<form><button name=how value=pay></button></form>';
         return inside.querySelector('form')");
    let shadow = page.js(
        "const tree = root.appendChild(document.createElement('div')).attachShadow({mode: 'closed'});
         tree.innerHTML = '<form><button name=how value=pay></button></form>';
         return tree.querySelector('form')",
    );
    for form in [inner, shadow] {
        let callback = page.callback("undefined", &JsValue::UNDEFINED).unchecked_into();
        let guard = FormGuard::attach(form.clone().unchecked_into(), None, callback)
            .expect("the form can be guarded");
        run(&[("form", &form)], "form.elements[0].click(); form.elements[0].click()");
        settle().await;
        assert_eq!(page.events(), ["sent 1 pay how=pay"]);
        guard.release();
        run(&[("form", &form)], "form.elements[0].click()");
        settle().await;
        assert_eq!(page.events(), ["sent 2 pay how=pay"]);
        guard.detach();
    }
}

#[wasm_bindgen_test]
async fn after_a_success_a_form_is_locked_and_not_busy() {
    for (options, label) in [
        ("{busyLabel: 'Busy'}", "Paid"),
        ("{busyLabel: 'Busy', disable: 'native'}", "Paid"),
        ("{}", "Pay"),
    ] {
        let page = Page::new(FORM);
        let before = page.text("root.innerHTML");
        if label == "Paid" {
            page.js("$('button').setAttribute('data-oncekey-done', 'Paid')");
        }
        let guard = page.guard(options);
        page.click("button");
        settle().await;
        guard.settle("succeeded", None).expect("a known result");
        assert_eq!(page.text("form.hasAttribute('aria-busy')"), "false");
        assert_eq!(page.text("$('button').textContent"), label);
        assert_eq!(page.text("$('button').matches('[aria-disabled=true], :disabled')"), "true");
        page.js("form.requestSubmit()");
        assert_eq!(page.events(), [ENTRIES, SENT, "blocked"]);
        guard.release();
        page.js("$('button').removeAttribute('data-oncekey-done')");
        guard.detach();
        assert_eq!(page.text("root.innerHTML"), before);
    }
}

#[wasm_bindgen_test]
async fn the_page_can_report_that_it_is_done() {
    let page = Page::new(FORM);
    let guard = page.guard("{}");
    guard.done();
    assert!(guard.locked());
    assert_eq!(page.text("form.hasAttribute('aria-busy')"), "false");
    page.click("button");
    settle().await;
    assert_eq!(page.events(), ["blocked"]);
    guard.release();
    // A submit that was not sent yet is not sent.
    page.click("button");
    guard.done();
    settle().await;
    assert_eq!(page.events(), [ENTRIES]);
    assert!(guard.locked());
    guard.settle("failed", None).expect("a known result");
    assert!(guard.locked());
}
