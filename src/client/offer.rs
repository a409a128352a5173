//! The key that a server puts into its form, for pages without scripts.

use super::entry::{IntentState, Stored};
use crate::key::IdempotencyKey;
use crate::time::UnixMillis;

/// Returns the offered key if the intent needs a new key. The server makes a key for each page that
/// it renders, so an intent whose outcome is open, or that has succeeded, keeps the key that it was
/// sent with. A used key is not taken again.
pub(super) fn taken<'a>(
    offered: Option<&'a IdempotencyKey>,
    stored: &Stored,
    now: UnixMillis,
) -> Option<&'a IdempotencyKey> {
    let entry = match stored {
        Stored::Nothing => return offered,
        Stored::Unreadable(_) => return None,
        Stored::Entry(entry) => entry,
    };
    let mints = match entry.state {
        IntentState::Prepared => entry.attempts == 0 || entry.is_too_old(now),
        IntentState::Refused { .. } | IntentState::Voided => true,
        IntentState::Sending | IntentState::Unknown | IntentState::Succeeded { .. } => false,
    };
    offered.filter(|offered| mints && **offered != entry.key)
}
