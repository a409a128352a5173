//! `wasm-bindgen-test-runner` of the pinned version; see ../../Cargo.toml for why it is built here.

fn main() -> anyhow::Result<()> {
    wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(std::env::args_os())
}
