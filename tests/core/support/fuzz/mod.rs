//! The properties that must hold for any input. Each target is a function that panics if its property does not hold.
//!
//! The fuzzer (`fuzz/`) calls them with generated inputs, and `tests/core/fuzz_corpus.rs` with all
//! committed inputs. Wherever possible, the core is compared with a second implementation
//! that is slow and plain, and was written from the rules and not from the code.

use super::{change, form, reference, spelling};

pub(crate) mod form_field;
pub(crate) mod form_ignored;
mod input;
pub(crate) mod intent_entry;
pub(crate) mod json_body;
pub(crate) mod key_header;
pub(crate) mod multipart_body;
pub(crate) mod path;
pub(crate) mod record;
pub(crate) mod record_fields;
pub(crate) mod retry_after;
pub(crate) mod settings;
pub(crate) mod shard_call;
pub(crate) mod webhook;

pub(crate) type Property = fn(&[u8]);

/// The targets, each with its property.
pub(crate) const TARGETS: [(&str, Property); 13] = [
    ("form_field", form_field::check),
    ("form_ignored", form_ignored::check),
    ("intent_entry", intent_entry::check),
    ("json_body", json_body::check),
    ("key_header", key_header::check),
    ("multipart_body", multipart_body::check),
    ("path", path::check),
    ("record", record::check),
    ("record_fields", record_fields::check),
    ("retry_after", retry_after::check),
    ("settings", settings::check),
    ("shard_call", shard_call::check),
    ("webhook", webhook::check),
];
