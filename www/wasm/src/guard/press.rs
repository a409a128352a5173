//! Reports clicks and keys to [`Presses`](oncekey::client::form_guard::Presses).

use super::dom;
use super::guarded::{Guarded, function};
use js_sys::Reflect;
use oncekey::client::form_guard::Press;
use oncekey::time::Millis;
use wasm_bindgen::prelude::JsValue;
use web_sys::Event;

impl Guarded {
    /// Notes a click or a key before any other handler.
    pub(super) fn pressed(&self, event: &Event) {
        let press = match event.type_().as_str() {
            "click" => self.click(event),
            // A key event of a script submits nothing.
            _ if !event.is_trusted() => return,
            "keydown" => Press::KeyDown { repeat: get(event, "repeat") == JsValue::TRUE },
            _ => Press::Key,
        };
        let mut presses = self.presses.get();
        presses.pressed(press);
        self.presses.set(presses);
        let Some(listeners) = self.listeners() else { return };
        dom::clear_timeout(self.press_timer.get());
        self.press_timer.set(dom::set_timeout(function(&listeners.press_over), 0, 0));
    }

    /// Notes that the task of the press is over.
    pub(super) fn press_is_over(&self) {
        let mut presses = self.presses.get();
        presses.over();
        self.presses.set(presses);
    }

    fn click(&self, event: &Event) -> Press {
        let detail = get(event, "detail").as_f64().unwrap_or_default() as i32;
        if !event.is_trusted() {
            return Press::Scripted { detail };
        }
        let is_tap = get(event, "pointerType").as_string().as_deref() == Some("touch");
        let now = event.target().filter(|_| is_tap).map(|target| (target, event.time_stamp()));
        let before = self.tapped.replace(now.clone());
        let tapped_before = now.zip(before).and_then(|((target, at), (earlier, then))| {
            (target == earlier).then(|| Millis::new((at - then) as u64))
        });
        Press::Click { detail, tapped_before }
    }
}

fn get(event: &Event, name: &str) -> JsValue {
    Reflect::get(event, &JsValue::from_str(name)).unwrap_or_default()
}
