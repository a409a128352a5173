//! The properties of `tests/core/support/fuzz`, for the binaries of the fuzzer. There is one function for each target, so
//! that a binary contains only what its target needs, and the fuzzer has fewer edges to count.

#![expect(dead_code, reason = "the core's own tests use the rest of what they share")]

#[path = "../../tests/core/support/change.rs"]
mod change;
#[path = "../../tests/core/support/form.rs"]
mod form;
#[path = "../../tests/core/support/fuzz/mod.rs"]
mod properties;
#[path = "../../tests/core/support/reference.rs"]
mod reference;
#[path = "../../tests/core/support/spelling.rs"]
mod spelling;

macro_rules! targets {
    ($($target:ident)*) => {
        $(
            /// Panics if the property of this target does not hold for an input.
            pub fn $target(bytes: &[u8]) {
                properties::$target::check(bytes);
            }
        )*
    };
}

targets! {
    form_field
    form_ignored
    intent_entry
    json_body
    key_header
    multipart_body
    path
    record
    record_fields
    retry_after
    settings
    shard_call
    webhook
}
