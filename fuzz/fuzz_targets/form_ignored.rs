#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oncekey_fuzz::form_ignored(bytes));
