//! The tests of the core. Each module is one file: tables with a result for every case, properties over random
//! input, and vectors that other implementations can use. `cargo test --test core lifecycle_table` runs one file.

#![cfg(not(target_arch = "wasm32"))]

mod another_request;
mod budget;
mod business_key;
mod business_key_properties;
mod canonical;
mod client_faults;
mod decision_time;
mod error_texts;
mod form_guard_rules;
mod form_guard_table;
mod form_key;
mod fuzz_corpus;
mod intent_call;
mod intent_credential;
mod intent_properties;
mod intent_resolve;
mod intent_table;
mod intent_text;
mod journal;
mod lifecycle_properties;
mod lifecycle_table;
mod option_limits;
mod outcomes;
mod paths;
mod protocol_diagram;
mod record_wire;
mod replica;
mod replica_memory;
mod retry_classify;
mod retry_delay;
mod retry_vectors;
mod server_faults;
mod shard_messages;
mod support;
mod tab_lease;
mod webhook;
mod webhook_event;
mod webhook_target;
mod write_flow_properties;
mod write_flow_table;
