//! Lines for the Worker's log.

use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    /// Logs an error.
    #[wasm_bindgen(js_namespace = console)]
    pub fn error(line: &str);

    /// Logs a warning.
    #[wasm_bindgen(js_namespace = console)]
    pub fn warn(line: &str);
}

/// Formats an error, and logs it.
#[macro_export]
macro_rules! console_error {
    ($($format:tt)+) => { $crate::log::error(&format!($($format)+)) };
}

/// Formats a warning, and logs it.
#[macro_export]
macro_rules! console_warn {
    ($($format:tt)+) => { $crate::log::warn(&format!($($format)+)) };
}
