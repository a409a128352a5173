//! The names of the settings, and vars that look like one and are none.
//!
//! A setting under a wrong name does nothing, and its default may be the less careful choice. So a
//! var that begins like a setting, or differs from one by a letter or two, never serves.

use worker::Env;
use worker::js_sys::Reflect;
use worker::wasm_bindgen::JsValue;

/// All settings. `scripts/check-start.mjs` reads them too.
const NAMES: [&str; 24] = [
    "ADMIN_TOKEN",
    "ANONYMOUS",
    "BUSINESS_KEYS",
    "CONNECT_FAILURE",
    "CORS_ORIGINS",
    "DIALECT",
    "EXPIRED_KEY",
    "FINGERPRINT_IGNORE",
    "FINGERPRINT_SECRET",
    "JOURNAL_RETENTION_SECONDS",
    "KEY_FIELD",
    "KEY_REQUIRED",
    "LEASE_SECONDS",
    "MAX_REPLAY_BYTES",
    "MAX_REQUEST_BYTES",
    "ORIGIN_TIMEOUT_SECONDS",
    "RESOLVE",
    "RETENTION_SECONDS",
    "SCOPE",
    "SCOPE_ALIASES",
    "UNKNOWN_OUTCOME",
    "UPSTREAM",
    "WEBHOOK_SECRETS",
    "WEBHOOK_TARGETS",
];

/// Checks what the Worker is bound to.
pub(crate) fn check(env: &Env) -> Result<(), String> {
    let env: &JsValue = env.as_ref();
    let keys = Reflect::own_keys(env).unwrap_or_default();
    for name in keys.iter().filter_map(|name| name.as_string()) {
        let value = Reflect::get(env, &JsValue::from_str(&name)).unwrap_or_default();
        if NAMES.contains(&name.as_str()) {
            // `LEASE_SECONDS = 5` in wrangler.toml is a number.
            if !value.is_string() {
                return Err(format!("{name}: must be text; put it in quotes"));
            }
        } else if !value.is_object()
            && let Some(nearest) = meant(&name)
        {
            return Err(format!(
                "{name} is not the name of a setting; did you mean {nearest}? Rename the var or remove it"
            ));
        }
    }
    Ok(())
}

/// The setting that a var under another name was meant to be.
fn meant(name: &str) -> Option<&'static str> {
    let capitals = name.to_ascii_uppercase();
    let own = capitals.strip_prefix("ONCEKEY_");
    let bare = own.unwrap_or(&capitals);
    let first = |name: &str| name.split('_').next().unwrap_or_default().to_owned();
    let nearest = NAMES.into_iter().min_by_key(|known| distance(known, bare))?;
    let alike =
        |known: &&str| first(known) == first(bare) && (*known == bare || bare.contains('_'));
    let begins = NAMES.into_iter().filter(alike).min_by_key(|known| distance(known, bare));
    if own.is_some() || distance(nearest, bare) <= 2 { Some(nearest) } else { begins }
}

/// How many letters have to be added, taken away or replaced to make one name the other.
fn distance(one: &str, other: &str) -> usize {
    let other = other.as_bytes();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, byte) in one.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for place in 1..row.len() {
            let replaced = diagonal + usize::from(other[place - 1] != byte);
            diagonal = row[place];
            row[place] = replaced.min(row[place] + 1).min(row[place - 1] + 1);
        }
    }
    row[other.len()]
}
