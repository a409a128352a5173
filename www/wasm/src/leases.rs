//! The lease in storage that makes one tab the only sender, for browsers without Web Locks.
//!
//! Each request has the text of the stored lease, the token of the tab and the time.

use crate::fields::Fields;
use crate::members::Members;
use oncekey::client::intent::{Acquisition, TabLease, TabToken};
use oncekey::time::UnixMillis;

/// `acquire`: returns `{do: "wait" | "confirm", after}` or `{do: "send"}`, and the lease to `write`.
/// `renewal` is how often the lease must be renewed.
pub(crate) fn acquire(fields: &mut Fields<'_>) -> Members {
    let (found, tab, now) = read(fields);
    let members = Members::new().with_number("renewal", TabLease::RENEW_AFTER.as_u64());
    match TabLease::acquire(found.as_ref(), tab, now) {
        Acquisition::Held => members.with_text("do", "send"),
        Acquisition::Wait(after) => {
            members.with_text("do", "wait").with_number("after", after.as_u64())
        }
        Acquisition::Write(lease) => members
            .with_text("do", "confirm")
            .with_number("after", TabLease::CONFIRM_AFTER.as_u64())
            .with_text("write", &lease.encode()),
    }
}

/// `renew`: returns the lease to `write`, unless the tab has lost it.
pub(crate) fn renew(fields: &mut Fields<'_>) -> Members {
    let (found, tab, now) = read(fields);
    match TabLease::renew(found.as_ref(), tab, now) {
        Some(lease) => Members::new().with_text("write", &lease.encode()),
        None => Members::new(),
    }
}

/// `holds`: whether the tab is the sender.
pub(crate) fn holds(fields: &mut Fields<'_>) -> Members {
    let (found, tab, now) = read(fields);
    Members::new().with_flag("is", TabLease::is_held(found.as_ref(), tab, now))
}

/// `owns`: whether the lease is that of the tab, expired or not.
pub(crate) fn owns(fields: &mut Fields<'_>) -> Members {
    let (found, tab, _) = read(fields);
    Members::new().with_flag("is", TabLease::is_of(found.as_ref(), tab))
}

fn read(fields: &mut Fields<'_>) -> (Option<TabLease>, TabToken, UnixMillis) {
    let found = fields.optional().and_then(TabLease::decode);
    let [a, b, c, d, e, f, g, h, ..] = fields.random();
    (found, TabToken::new(u64::from_be_bytes([a, b, c, d, e, f, g, h])), fields.time())
}
