//! The sandbox's own setting. The gateway checks it with its own before anything is served.

use oncekey::webhook::target::Reach;
use worker::Env;

/// Returns how far webhooks may go: `WEBHOOK_TARGETS=local` allows every target, loopback and plain
/// http included, for local development.
pub(super) fn webhook_targets(env: &Env) -> Reach {
    match env.var("WEBHOOK_TARGETS") {
        Ok(value) if value.to_string().trim() == "local" => Reach::Local,
        _ => Reach::Public,
    }
}
