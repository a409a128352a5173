# Functions for the scripts of this folder: paths, the output of steps, and a list of set-up work that was done.
# Source this file; it changes into the checkout's root.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
tools=$root/target/tools
stamps=$tools/stamps
# Tools of this checkout come first in PATH, so that versions agree with the lock files.
export PATH="$tools/bin:$root/node_modules/.bin:$PATH"
# No tool may ask questions, report usage or draw progress bars.
export WRANGLER_SEND_METRICS=false CLOUDFLARE_CF_FETCH_ENABLED=false DO_NOT_TRACK=1
export WRANGLER_LOG_PATH="$root/target/wrangler-logs"

fail() {
    printf 'oncekey: %s\n' "$*" >&2
    exit 1
}

# need COMMAND HOW-TO-GET-IT
need() {
    command -v "$1" >/dev/null 2>&1 || fail "$1 is missing: $2"
}

# step NAME COMMAND...: shows the name, runs the command with its output in a file, shows the time.
# The output appears when it fails, or at once when VERBOSE is set.
step() {
    local name=$1 begun=${EPOCHREALTIME/[.,]/} log code=0
    shift
    printf -- '-- %s\n' "$name"
    if [ -n "${VERBOSE:-}" ]; then
        "$@" || code=$?
    else
        mkdir -p "$tools/log"
        log=$tools/log/${name//[^A-Za-z0-9]/-}.$$.log
        "$@" >"$log" 2>&1 </dev/null || code=$?
        if [ "$code" -ne 0 ]; then cat "$log" >&2; fi
        rm -f "$log"
    fi
    [ "$code" -eq 0 ] || fail "\"$name\" failed (exit code $code)"
    printf -- '   %s: %s s\n' "$name" "$(seconds_since "$begun")"
}

# stage NAME COMMAND...: like step, but prints the output at once. For tests.
stage() {
    local name=$1 begun=${EPOCHREALTIME/[.,]/} code=0
    shift
    printf '\n== %s\n' "$name"
    "$@" || code=$?
    [ "$code" -eq 0 ] || fail "stage \"$name\" failed (exit code $code)"
    printf '== %s: ok, %s s\n' "$name" "$(seconds_since "$begun")"
}

# std_source: the folder for the source of the standard library. has_std_source: whether set-up could get it
# (scripts/wasm-std).
std_source() {
    printf '%s/lib/rustlib/src/rust/library' "$(rustc --print sysroot)"
}
has_std_source() {
    [ -e "$(std_source)/Cargo.lock" ]
}
no_std_source="the source of the standard library is missing, so the builds use the compiled library and are larger (run 'rustup component add rust-src')"

# cargo_for_size ARGUMENTS...: cargo, with the standard library compiled for size too. rustc's release does not include
# such a library, and only RUSTC_BOOTSTRAP makes a stable compiler accept the switch.
cargo_for_size() {
    if has_std_source; then
        RUSTC_BOOTSTRAP=1 cargo "$@" -Zbuild-std=std,panic_abort -Zbuild-std-features=optimize_for_size
    else
        printf 'oncekey: %s\n' "$no_std_source" >&2
        cargo "$@"
    fi
}

# remapped_paths: rustc flags, as a list in TOML, that make the paths in panic messages short and independent of the machine.
remapped_paths() {
    local registry
    # If the toolchain has the source, panics in the standard library contain its paths.
    printf "'--remap-path-prefix=%s=.', '--remap-path-prefix=%s=/std'" "$root" "$(std_source)"
    for registry in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
        printf ", '--remap-path-prefix=%s/='" "$registry"
    done
}

seconds_since() {
    local now=${EPOCHREALTIME/[.,]/}
    printf '%d.%d' $(((now - $1) / 1000000)) $(((now - $1) / 100000 % 10))
}

# hash FILE...: one hash over the names and contents of files.
hash() {
    sha256sum "$@" | sha256sum | cut -d' ' -f1
}

# done_before NAME HASH / mark_done NAME HASH: for work that is repeated only if HASH changes.
done_before() {
    [ "$(cat "$stamps/$1" 2>/dev/null)" = "$2" ]
}
mark_done() {
    mkdir -p "$stamps"
    printf '%s' "$2" >"$stamps/$1"
}
