//! The names of the settings, and vars whose names look like a setting.
//!
//! A setting under a wrong name does nothing, and its default may be less careful. So the Worker does
//! not serve while a var is clearly a misspelt setting. A var whose name only begins like a setting may
//! have another purpose: the health call warns about it, and the Worker serves.

use js_sys::Reflect;
use strsim::levenshtein;
use wasm_bindgen::JsValue;

/// All settings. `scripts/check-start.mjs` reads them too.
pub(super) const NAMES: [&str; 38] = [
    "ADMIN_TOKEN",
    "ANONYMOUS",
    "BLANK_KEY",
    "BUSINESS_KEYS",
    "CONNECT_FAILURE",
    "CORS_ORIGINS",
    "DIALECT",
    "EXPIRED_KEY",
    "FINGERPRINT_IGNORE",
    "FINGERPRINT_SECRET",
    "HEADERS_NOT_REPLAYED",
    "JOURNAL_RETENTION_SECONDS",
    "JWKS_URL",
    "JWT_AUDIENCE",
    "JWT_ISSUER",
    "KEY_FIELD",
    "KEY_HEADERS",
    "KEY_REQUIRED",
    "LEASE_SECONDS",
    "MAX_KEY_LENGTH",
    "MAX_REPLAY_BYTES",
    "MAX_REQUEST_BYTES",
    "NOT_FINAL",
    "ORIGIN_TIMEOUT_SECONDS",
    "OUTCOMES",
    "REPLAY_AUTHORIZATION",
    "REPLAY_MEMORY_BYTES",
    "RESOLVE",
    "RETENTION_SECONDS",
    "SANDBOX",
    "SCOPE",
    "SCOPE_ALIASES",
    "SCOPE_CACHE_SECONDS",
    "SKIP",
    "UNKNOWN_OUTCOME",
    "UPSTREAM",
    "WEBHOOK_SECRETS",
    "WEBHOOK_TARGETS",
];

/// Endings with which a name still means the same setting.
const UNITS: [&str; 6] = ["_BYTES", "_LIST", "_MS", "_SECONDS", "_URI", "_URL"];

/// Checks the names of the Worker's bindings. Returns warnings for the operator. Inside another Worker, the bindings
/// are that Worker's, so a name is no error, and only a misspelling gets a warning.
pub(crate) fn check(env: &JsValue, is_inside: bool) -> Result<Vec<String>, String> {
    let keys = Reflect::own_keys(env).unwrap_or_default();
    let mut warnings = Vec::new();
    for name in keys.iter().filter_map(|name| name.as_string()) {
        let value = Reflect::get(env, &JsValue::from_str(&name)).unwrap_or_default();
        if NAMES.contains(&name.as_str()) {
            // `LEASE_SECONDS = 5` in wrangler.toml is a number.
            if !(value.is_string() || is_inside && value.is_object()) {
                return Err(format!("{name}: must be text; put it in quotes"));
            }
            continue;
        }
        // Bindings are objects.
        if value.is_object() {
            continue;
        }
        let Some((nearest, is_certain)) = meant(&name, &[]) else {
            continue;
        };
        if is_inside && !is_certain {
            continue;
        }
        if is_certain && !is_inside {
            return Err(format!(
                "{name} is not the name of a setting; did you mean {nearest}? Rename the var or remove it"
            ));
        }
        let warning = format!(
            "{name} is not the name of a setting and does nothing; did you mean {nearest}?"
        );
        platform::console_warn!("{warning}");
        warnings.push(warning);
    }
    Ok(warnings)
}

/// Returns the setting that a var with another name was meant as, if it looks like one, and whether
/// that is certain. `more` are names that are as good.
pub(super) fn meant(name: &str, more: &[&'static str]) -> Option<(&'static str, bool)> {
    let capitals = name.to_ascii_uppercase();
    let own = capitals.strip_prefix("ONCEKEY_");
    let bare = own.unwrap_or(&capitals);
    let nearest = |is_similar: &dyn Fn(&str) -> bool| {
        let names = NAMES.iter().chain(more).copied();
        let similar = names.filter(|known| is_similar(known));
        similar.min_by_key(|known| levenshtein(known, bare))
    };
    let has_unit = |known: &str| UNITS.iter().any(|unit| bare.strip_suffix(unit) == Some(known));
    let certain = nearest(&|known| own.is_some() || is_misspelling(known, bare));
    if let Some(known) = certain.or_else(|| nearest(&has_unit)) {
        return Some((known, true));
    }
    let first_word = bare.split('_').next();
    nearest(&|known| known.split('_').next() == first_word).map(|known| (known, false))
}

/// Returns whether a name is a misspelling of a known one. A short name may differ in one letter only,
/// because other words are near it: STORE and CODE are near SCOPE.
fn is_misspelling(known: &str, name: &str) -> bool {
    let letters = |name: &str| {
        let mut letters: Vec<u8> = name.bytes().collect();
        letters.sort_unstable();
        letters
    };
    let far = if known.len() < 8 { 1 } else { 2 };
    levenshtein(known, name) <= far || letters(known) == letters(name)
}
