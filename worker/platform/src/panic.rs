//! Panics: what is logged about a panic, and how it ends the task in which it happened.

use crate::task;
use std::cell::Cell;
use wasm_bindgen::prelude::wasm_bindgen;

thread_local! {
    /// Whether a panic was logged whose trap was not handled yet.
    static PANICKED: Cell<bool> = const { Cell::new(false) };
}

/// Repairs the state after a trap, and ends the task that trapped. Returns whether the trap was a panic, which the
/// hook has logged.
#[wasm_bindgen(js_name = oncekeyTrapped)]
pub fn trapped() -> bool {
    task::trapped();
    PANICKED.take()
}

/// Installs a hook that logs where a panic happened. It shows a literal message but not a formatted one: an
/// `unwrap` or `expect` formats its error, which may quote a caller's data.
#[wasm_bindgen(js_name = oncekeyInstallPanicHook)]
pub fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        PANICKED.set(true);
        let place = info.location().map(|place| format!("{}:{}", place.file(), place.line()));
        let message = info.payload().downcast_ref::<&str>().unwrap_or(&"(message withheld)");
        crate::console_error!("oncekey: panic at {}: {message}", place.as_deref().unwrap_or("?"));
    }));
}

/// Faults for tests. Release builds have neither the feature nor its code.
#[cfg(feature = "test-faults")]
mod faults {
    use std::cell::RefCell;

    thread_local! {
        static ARMED: RefCell<Option<String>> = const { RefCell::new(None) };
    }

    /// Reads `Oncekey-Test-Panic: POINT`, `POINT:overflow` or `POINT:memory`, and makes that point fail the
    /// next time it is reached.
    pub fn arm<'a>(header: impl Fn(&str) -> Option<&'a str>) {
        if let Some(wish) = header("oncekey-test-panic") {
            ARMED.set(Some(wish.to_owned()));
        }
    }

    /// Fails if a request asked for a fault at this point.
    pub fn point(name: &str) {
        let hit = ARMED
            .with_borrow_mut(|armed| armed.take_if(|wish| wish.split(':').next() == Some(name)));
        match hit.as_deref().map(|wish| wish.split_once(':').map_or("", |(_, kind)| kind)) {
            None => {}
            Some("overflow") => drop(overflow(&[1; 64])),
            Some("memory") => loop {
                std::mem::forget(Vec::<u8>::with_capacity(1 << 30));
            },
            Some(_) => panic!("a test asked for this panic"),
        }
    }

    #[expect(unconditional_recursion, reason = "that is the fault")]
    #[inline(never)]
    fn overflow(data: &[u8; 64]) -> u8 {
        let mut more = *data;
        more[3] = more[3].wrapping_add(1);
        overflow(std::hint::black_box(&more)).wrapping_add(std::hint::black_box(more)[5])
    }
}

#[cfg(not(feature = "test-faults"))]
mod faults {
    /// Does nothing: this build has no faults.
    pub fn arm<'a>(_: impl Fn(&str) -> Option<&'a str>) {}

    /// Does nothing: this build has no faults.
    pub fn point(_: &str) {}
}

pub use faults::{arm, point};
