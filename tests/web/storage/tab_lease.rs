//! Two tabs without Web Locks, on one storage.

use crate::page::{Page, get, local_storage, run, text};
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

fn command(acquired: Result<JsValue, JsValue>) -> (String, f64) {
    let acquired = acquired.expect("a lease");
    (text(&acquired, "do"), get(&acquired, "after").as_f64().unwrap_or(0.0))
}

#[wasm_bindgen_test]
fn one_tab_sends_and_the_other_waits() {
    let page = Page::new();
    let (one, other) = (page.client(), page.client());
    assert!(!one.holds_lease("order:1"));
    assert_eq!(command(one.acquire_lease("order:1")).0, "confirm");
    assert!(one.holds_lease("order:1"));
    assert!(!other.holds_lease("order:1"));
    let (what, after) = command(other.acquire_lease("order:1"));
    assert_eq!((what.as_str(), after), ("wait", 1000.0));
    assert_eq!(command(one.acquire_lease("order:1")).0, "send");
    assert!(one.renew_lease("order:1"));
    assert!(!other.renew_lease("order:1"));
    // Another intent has its own lease.
    assert_eq!(command(other.acquire_lease("order:2")).0, "confirm");
}

#[wasm_bindgen_test]
fn a_tab_that_is_done_releases_its_lease() {
    let page = Page::new();
    let (one, other) = (page.client(), page.client());
    one.acquire_lease("order:1").expect("a lease");
    // A tab that does not send cannot remove the lease.
    other.release_lease("order:1");
    assert!(one.holds_lease("order:1"));
    one.release_lease("order:1");
    assert_eq!(page.all(), "");
    assert!(!one.holds_lease("order:1"));
    assert_eq!(command(other.acquire_lease("order:1")).0, "confirm");
    assert!(!one.renew_lease("order:1"));
}

#[wasm_bindgen_test]
fn the_last_of_two_leases_that_were_written_at_once_counts() {
    let page = Page::new();
    let (one, other) = (page.client(), page.client());
    one.acquire_lease("order:1").expect("a lease");
    let name = format!("{}:c:order:1", page.namespace);
    let first = local_storage().get_item(&name).expect("storage").expect("a lease");
    // The other tab had read before the first lease was written.
    local_storage().remove_item(&name).expect("storage");
    other.acquire_lease("order:1").expect("a lease");
    assert!(!one.holds_lease("order:1"));
    assert!(other.holds_lease("order:1"));
    // If the first tab had written last, it would have the lease.
    local_storage().set_item(&name, &first).expect("storage");
    assert!(one.holds_lease("order:1"));
    assert!(!other.holds_lease("order:1"));
}

#[wasm_bindgen_test]
fn the_lease_of_a_closed_page_ends() {
    let page = Page::new();
    page.client().acquire_lease("order:1").expect("a lease");
    let client = page.client();
    assert_eq!(command(client.acquire_lease("order:1")).0, "wait");
    let later = run(&[], "const now = Date.now; Date.now = () => now() + 15001; return now");
    let acquired = command(client.acquire_lease("order:1")).0;
    let is_held = client.holds_lease("order:1");
    run(&[("now", &later)], "Date.now = now");
    assert_eq!((acquired.as_str(), is_held), ("confirm", true));
}

#[wasm_bindgen_test]
fn garbage_is_not_a_lease() {
    let page = Page::new();
    let client = page.client();
    for garbage in ["", "?", "c1 0 0", "c1 0123456789abcdef 99999999999999 00000000"] {
        let name = format!("{}:c:order:1", page.namespace);
        local_storage().set_item(&name, garbage).expect("storage");
        assert!(!client.holds_lease("order:1"));
        assert_eq!(command(client.acquire_lease("order:1")).0, "confirm", "{garbage}");
        client.release_lease("order:1");
    }
}

#[wasm_bindgen_test]
fn with_a_failing_storage_each_page_has_its_own_lease() {
    let page = Page::with_storage(
        "return { setItem() { throw new DOMException('no', 'SecurityError') }, getItem: () => null }",
    );
    let (one, other) = (page.client(), page.client());
    for client in [one, other] {
        assert_eq!(command(client.acquire_lease("order:1")).0, "confirm");
        assert!(client.holds_lease("order:1"));
        assert_eq!(command(client.acquire_lease("order:1")).0, "send");
    }
}
