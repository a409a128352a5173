//! What users see and hear of a busy form, and that it returns to its earlier state.

use crate::page::{FORM, Page, settle, wait};
use oncekey_web::guard::FormGuard;
use wasm_bindgen::prelude::JsCast;
use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen_test]
async fn fault_45_only_the_clicked_button_changes_its_label() {
    let page = Page::new(
        "<form id=f><button id=a>Pay</button><button id=b>Later</button><button type=button id=no>x</button>
        <input type=submit value=In id=c><input type=image id=d></form>
        <button form=f id=e>Outside</button><input type=image form=f id=g><button id=other>Other</button>",
    );
    let guard = page.guard("{busyLabel: 'Busy'}");
    page.click("#a");
    let all = "[...root.querySelectorAll('[aria-disabled=true]')].map(e => e.id)";
    assert_eq!(page.text(all), "a,b,c,d,e,g", "at once");
    assert_eq!(page.text("form.getAttribute('aria-busy')"), "true");
    settle().await;
    let labels = "['a', 'b', 'c', 'e', 'no', 'other'].map(id => $('#' + id)).map(e => e.value || e.textContent)";
    assert_eq!(page.text(labels), "Busy,Later,In,Outside,x,Other");
    guard.settle("refused", None).expect("a known result");
    assert_eq!(page.text(labels), "Pay,Later,In,Outside,x,Other");
    assert_eq!(page.text(all), "");
    assert_eq!(page.text("form.hasAttribute('aria-busy')"), "false");
}

#[wasm_bindgen_test]
async fn fault_43_each_control_returns_to_its_earlier_state() {
    for native in ["aria", "native"] {
        let html = r#"<form aria-busy="false" id=f><button id=ok>Pay</button>
            <button disabled id=off>No</button><button aria-disabled="true" id=t>T</button>
            <button aria-disabled="false" id=u>U</button><input type=submit id=none>
            <input type=submit disabled value=""></form>
            <fieldset disabled><button form=f>In</button></fieldset>"#;
        let page = Page::new(html);
        let before = page.text("root.innerHTML");
        let guard = page.guard(&format!("{{disable: '{native}', busyLabel: 'Busy'}}"));
        for id in ["#ok", "#none"] {
            page.click(id);
            settle().await;
            assert!(guard.locked());
            assert_ne!(page.text("root.innerHTML"), before);
            guard.settle("unknown", None).expect("a known result");
            page.js("$('output')?.remove()");
            assert_eq!(page.text("root.innerHTML"), before, "{native} {id}");
        }
    }
}

#[wasm_bindgen_test]
async fn native_disabling_waits_for_the_values_and_restores_the_focus() {
    let page = Page::new(FORM);
    let guard = page.guard("{disable: 'native'}");
    page.js("$('button').focus()");
    page.click("button");
    assert_eq!(
        page.text("$('button').disabled"),
        "false",
        "the button's name and value must be sent"
    );
    settle().await;
    assert_eq!(page.events()[1], "sent 1 pay card=4242&how=pay");
    assert_eq!(page.text("[...form.querySelectorAll('button')].every(e => e.disabled)"), "true");
    assert_eq!(page.text("$('button').hasAttribute('aria-disabled')"), "false");
    page.until("document.activeElement === document.body").await;
    guard.settle("failed", None).expect("a known result");
    assert_eq!(page.text("document.activeElement === $('button')"), "true");
    assert_eq!(page.text("[...form.querySelectorAll('button')].some(e => e.disabled)"), "false");

    // If the user has moved the focus meanwhile, it stays there.
    page.click("button");
    page.until("document.activeElement === document.body").await;
    page.js("form.card.focus()");
    guard.settle("failed", None).expect("a known result");
    assert_eq!(page.text("document.activeElement === form.card"), "true");
    page.click("button");
    page.until("$('button').disabled").await;
    guard.settle("failed", None).expect("a known result");
    assert_eq!(page.text("document.activeElement === form.card"), "true");
}

#[wasm_bindgen_test]
async fn the_focus_stays_where_it_is() {
    let page = Page::new(FORM);
    let guard = page.guard("{busyLabel: 'Busy'}");
    page.js("$('button').focus()");
    page.click("button");
    wait(100).await;
    assert_eq!(page.text("document.activeElement === $('button')"), "true");
    guard.release();
    assert_eq!(page.text("document.activeElement === $('button')"), "true");
}

#[wasm_bindgen_test]
async fn a_label_is_restored_with_its_own_nodes() {
    let page = Page::new(
        "<form><button data-oncekey-busy='One <b>moment'><b>Pay</b> <i>now</i><!-- x --></button>
        <button data-oncekey-busy=''>Quiet</button></form>",
    );
    let guard = page.guard("{busyLabel: 'Busy'}");
    page.js("root.bold = $('b'); root.nodes = [...$('button').childNodes]");
    page.click("button");
    settle().await;
    assert_eq!(
        page.text("$('button').textContent"),
        "One <b>moment",
        "the label is text, not HTML"
    );
    guard.release();
    assert_eq!(page.text("$('button').innerHTML"), "<b>Pay</b> <i>now</i><!-- x -->");
    assert_eq!(
        page.text("root.nodes.every((node, i) => node === $('button').childNodes[i])"),
        "true"
    );
    page.click("button + button");
    settle().await;
    assert_eq!(page.text("$('button + button').textContent"), "Quiet");
}

#[wasm_bindgen_test]
async fn without_a_label_the_button_keeps_its_text() {
    let page = Page::new(FORM);
    let _guard = page.guard("{}");
    page.click("button");
    settle().await;
    assert_eq!(page.text("$('button').textContent"), "Pay");
}

/// The lock is not part of the page, so a new render does not remove it.
#[wasm_bindgen_test]
async fn fault_50_a_form_stays_locked_when_a_framework_renders_it_again() {
    let page = Page::new(FORM);
    let guard = page.guard("{busyLabel: 'Busy'}");
    page.click("button");
    settle().await;
    page.events();
    page.js(
        "form.removeAttribute('aria-busy');
         $('button').textContent = 'Wait';
         $('[value=later]').outerHTML = '<button name=how value=new aria-disabled=false>New</button>'",
    );
    page.click("button");
    page.click("[value=new]");
    page.js("form.innerHTML = '<input name=card value=1><button>Again</button>'");
    page.click("button");
    page.js("form.requestSubmit()");
    assert_eq!(page.events(), ["blocked"; 4]);
    guard.settle("refused", None).expect("a known result");
    assert_eq!(
        page.text("form.innerHTML"),
        r#"<input name="card" value="1"><button>Again</button>"#
    );
    page.click("button");
    settle().await;
    assert_eq!(page.events(), ["entries card=1", "sent 2  card=1"]);
}

#[wasm_bindgen_test]
async fn changes_that_the_page_made_meanwhile_are_kept() {
    let page = Page::new(FORM);
    let guard = page.guard("{busyLabel: 'Busy'}");
    page.click("button");
    settle().await;
    page.js("$('button').textContent = 'Paid'; $('button').setAttribute('aria-disabled', 'false')");
    guard.release();
    assert_eq!(
        page.text("$('button').outerHTML.includes('aria-disabled=\"false\">Paid<')"),
        "true"
    );
}

#[wasm_bindgen_test]
async fn a_button_or_a_form_that_is_removed_while_it_is_busy() {
    for script in ["$('button').remove()", "form.remove()", "root.innerHTML = ''"] {
        for options in ["{busyLabel: 'Busy'}", "{disable: 'native'}"] {
            let page = Page::new(FORM);
            let guard = page.guard(options);
            page.js("root.button = $('button'); root.button.focus()");
            page.click("button");
            page.js(script);
            settle().await;
            assert!(page.events().iter().any(|event| event.starts_with("sent 1 pay card=4242")));
            guard.say("Busy");
            guard.settle("failed", None).expect("a known result");
            assert!(!guard.locked());
            assert_eq!(
                page.text("root.button.outerHTML"),
                r#"<button name="how" value="pay">Pay</button>"#
            );
            guard.detach();
        }
    }
}

#[wasm_bindgen_test]
async fn a_live_region_exists_before_the_submit() {
    let page = Page::new(FORM);
    let guard = page.guard("{}");
    let region = "(o => [o.role, o.ariaLive, o.textContent, o.getBoundingClientRect().width,
        o.previousSibling === form, o.form].join())($('output'))";
    assert_eq!(page.text(region), "status,polite,,1,true,");
    guard.say("Sending");
    assert_eq!(page.text("$('output').textContent"), "Sending");
    // It exists again after a new render.
    page.js("$('output').remove()");
    guard.say("Once more");
    assert_eq!(
        page.text("root.querySelectorAll('output').length + $('output').textContent"),
        "1Once more"
    );
    guard.detach();
    guard.say("Nothing");
    assert_eq!(page.text("$('output')"), "null");
}

#[wasm_bindgen_test]
async fn the_page_may_bring_its_own_live_region() {
    let page =
        Page::new("<form><p data-oncekey-status role=status>-</p><button>Pay</button></form>");
    let guard = page.guard("{}");
    assert_eq!(page.text("$('output')"), "null");
    guard.say("Sending");
    assert_eq!(page.text("$('p').textContent"), "Sending");
    guard.detach();
    assert_eq!(page.text("$('p').textContent"), "Sending", "the live region is the page's own");
}

/// A policy without inline styles blocks a style attribute, but not styles that a script sets.
#[wasm_bindgen_test]
async fn the_live_region_is_hidden_under_a_strict_policy() {
    let page = Page::new(FORM);
    let inside = page.js("return new Promise(done => {
            const frame = $('iframe');
            frame.onload = () => done(frame.contentDocument.querySelector('form'));
            frame.srcdoc = `<meta http-equiv=Content-Security-Policy content=\"style-src 'none'\">
                <form><button>Pay</button></form>`;
        })");
    let form = inside.unchecked_into::<js_sys::Promise>().await.expect("it loads");
    let callback = page.callback("undefined", &form).unchecked_into();
    let _guard = FormGuard::attach(form.unchecked_into(), None, callback);
    let width = "$('iframe').contentDocument.querySelector('output').getBoundingClientRect().width";
    assert_eq!(page.text(width), "1");
}

/// Some pages keep a snapshot of themselves while a form is busy, and show it on Back.
#[wasm_bindgen_test]
async fn a_copy_of_a_busy_form_is_restored_when_it_is_guarded() {
    for options in [
        "{busyLabel: 'Busy'}",
        "{busyLabel: 'Busy', disable: 'native'}",
        "{send: 'navigate', busyLabel: 'Busy'}",
    ] {
        for (id, done) in [("#a", false), ("#b", false), ("#a", true)] {
            let page = Page::new(
                r#"<form method=post action="about:blank" target=sink aria-busy=false>
                <button id=a data-oncekey-done=Paid><b>Pay</b> now</button><input type=submit id=b value=In>
                <button disabled id=c>No</button></form>"#,
            );
            let before = page.text("form.outerHTML");
            let guard = page.guard_with(options, "'key'");
            page.click(id);
            settle().await;
            guard.say("Sending");
            if done {
                guard.settle("succeeded", None).expect("a known result");
            }
            assert_ne!(page.text("form.outerHTML"), before);
            page.js("root.copy = root.cloneNode(true)");
            guard.detach();
            assert_eq!(page.text("form.outerHTML"), before);
            // A copy that was kept as text.
            for copy in [
                "root.copy",
                "Object.assign(document.createElement('div'), {innerHTML: root.copy.innerHTML})",
            ] {
                page.js(&format!(
                    "root.shown = ({copy}).cloneNode(true); document.body.append(root.shown)"
                ));
                let form = page.js("return root.shown.querySelector('form')");
                let callback = page.callback("'key'", &wasm_bindgen::prelude::JsValue::UNDEFINED);
                let guard =
                    FormGuard::attach(form.unchecked_into(), None, callback.unchecked_into())
                        .expect("the form can be guarded");
                assert_eq!(
                    page.text("root.shown.querySelector('form').outerHTML"),
                    before,
                    "{options} {id}"
                );
                assert_eq!(page.text("root.shown.querySelectorAll('output').length"), "1");
                assert_eq!(page.text("root.shown.querySelector('output').textContent"), "");
                guard.detach();
                page.js("root.shown.remove()");
            }
        }
    }
}
