//! The live region: texts for screen readers.

use super::dom;
use std::cell::RefCell;
use wasm_bindgen::prelude::JsCast;
use web_sys::{Element, HtmlElement, HtmlFormElement};

/// The live region, if the page has none.
#[derive(Default)]
pub(super) struct Region {
    made: RefCell<Option<HtmlElement>>,
}

/// The style that hides the region from sight, but not from screen readers.
const HIDDEN: &str = "position:absolute;width:1px;height:1px;margin:-1px;padding:0;border:0;\
    overflow:hidden;clip-path:inset(50%);white-space:nowrap";

/// Marks a region that the guard made.
const OURS: &str = "data-oncekeyed-region";

impl Region {
    /// Returns the live region of the page in the form, or one that is made after the form. A
    /// screen reader may ignore a region inside of a busy form.
    pub(super) fn of(&self, form: &HtmlFormElement) -> Option<Element> {
        if let Some(theirs) = dom::find(form, "[data-oncekey-status]") {
            return Some(theirs);
        }
        let made = self.made.borrow().clone();
        let region = match made {
            Some(region) => region,
            None => self.make(form)?,
        };
        // The region is new, or was lost when the page was rendered again.
        if dom::parent_of(&region).is_none() {
            let _ = match dom::parent_of(form) {
                Some(_) => dom::insert_after(form, &region),
                None => dom::append(form, &region).map(|_| ()),
            };
        }
        Some(region.into())
    }

    /// Removes the region that was made.
    pub(super) fn remove(&self) {
        if let Some(region) = self.made.take() {
            region.remove();
        }
    }

    fn make(&self, form: &HtmlFormElement) -> Option<HtmlElement> {
        // A copy of a page has a copy of the region.
        if let Some(copy) = dom::next_of(form)
            && dom::attribute(&copy, OURS).is_some()
        {
            copy.remove();
        }
        let region = dom::document_of(form)?.create_element("output").ok()?;
        dom::set_attribute(&region, OURS, "");
        dom::set_attribute(&region, "role", "status");
        dom::set_attribute(&region, "aria-live", "polite");
        let region: HtmlElement = region.unchecked_into();
        // A strict content security policy would refuse a `style` attribute.
        region.style().set_css_text(HIDDEN);
        self.made.replace(Some(region.clone()));
        Some(region)
    }
}
