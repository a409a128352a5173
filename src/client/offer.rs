//! The key that a server has put into its form, for pages without scripts.

use super::entry::{State, Stored};
use crate::key::IdempotencyKey;
use crate::time::UnixMillis;

/// Returns the offered key where the intent takes it: where a key would be minted otherwise. The
/// server makes a new one for each page that it renders, so an intent whose outcome is open, or that
/// has succeeded, keeps the key that it was sent with. A key that is used up is not taken again.
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
        State::Prepared => entry.attempts == 0 || entry.is_too_old(now),
        State::Refused { .. } | State::Voided => true,
        State::Sending | State::Unknown | State::Succeeded { .. } => false,
    };
    offered.filter(|offered| mints && **offered != entry.key)
}
