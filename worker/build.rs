//! Lets ../entry.mjs put Rust's stack pointer back after a trap, which needs it to be an export.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-cdylib=--export=__stack_pointer");
}
