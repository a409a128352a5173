//! `wasm-bindgen` of the pinned version; see ../../Cargo.toml for why it is built here.

fn main() -> anyhow::Result<()> {
    wasm_bindgen_cli::wasm_bindgen::run_cli_with_args(std::env::args_os())
}
