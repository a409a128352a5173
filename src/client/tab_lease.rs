//! One sender at a time, for browsers without Web Locks: a lease in the storage that tabs share.
//!
//! Storage has no conditional write. So a tab that finds an intent free writes its lease, waits
//! [`TabLease::CONFIRM_AFTER`], and reads again. If several tabs wrote at once, the last lease
//! remains, and the other tabs see it. This is true as long as no tab takes longer than that
//! between a read and the write that follows from it.
//!
//! | found | [`TabLease::acquire`] | [`TabLease::renew`], [`TabLease::is_held`] by this tab |
//! |---|---|---|
//! | nothing, or garbage | Write, then confirm | lost |
//! | its own, alive | Held | renewed, held |
//! | another tab's, alive | Wait | lost |
//! | any, expired | Write, then confirm | lost |
//! | ends later than a lease from now: the clock went back | Write, then confirm | lost |
//!
//! A lease decides which tab sends, so that the server is not called twice. It is not what prevents
//! a second payment: the next tab finds the key in the entry and sends the same key. Therefore the
//! entry is read after the lease is confirmed, and [`TabLease::is_held`] is checked before each
//! attempt.

use super::entry_text::{put, put_number, seal, unseal};
use crate::codec::hex::hex32;
use crate::codec::text::{decimal, hexadecimal, split_once};
use crate::time::{Millis, UnixMillis};

/// The token of a tab, or rather of one load of a page: 64 random bits, kept in memory only. (A
/// duplicated tab would copy the session storage.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TabToken(u64);

/// A tab's lease: the tab is the only sender of an intent until it expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TabLease {
    /// The tab that holds the lease.
    pub tab: TabToken,
    /// When the lease expires unless it is renewed.
    pub until: UnixMillis,
}

/// What a tab that wants to send must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Acquisition {
    /// Write this lease, wait [`TabLease::CONFIRM_AFTER`], and send only if the lease [is
    /// held](TabLease::is_held) then.
    Write(TabLease),
    /// Send: the tab holds the lease already.
    Held,
    /// Another tab holds the lease. Read again when the storage changes, or after this time, because
    /// not every storage reports changes, and a page gets no report of its own changes.
    Wait(Millis),
}

impl TabToken {
    /// Returns a token of 64 random bits.
    pub const fn new(random: u64) -> Self {
        Self(random)
    }
}

impl TabLease {
    /// How long a lease lasts. A tab in the background may run only once a minute. Then another tab
    /// takes over, which is harmless.
    pub const LEASE: Millis = Millis::from_seconds(15);
    /// How long after writing a lease its tab checks that it holds it.
    pub const CONFIRM_AFTER: Millis = Millis::new(250);
    /// The longest wait before checking again whether another tab holds the lease.
    pub const LOOK_AGAIN_AFTER: Millis = Millis::from_seconds(1);
    /// How long after writing a lease, and after each renewal, the tab renews it.
    pub const RENEW_AFTER: Millis = Millis::from_seconds(5);

    /// Returns what this tab must do to become the only sender.
    pub fn acquire(found: Option<&Self>, tab: TabToken, now: UnixMillis) -> Acquisition {
        match found {
            Some(lease) if lease.is_alive(now) && lease.tab == tab => Acquisition::Held,
            Some(lease) if lease.is_alive(now) => {
                Acquisition::Wait(lease.until.since(now).min(Self::LOOK_AGAIN_AFTER))
            }
            _ => Acquisition::Write(Self { tab, until: now.plus(Self::LEASE) }),
        }
    }

    /// Returns whether this tab may send now. Just before the lease expires it may not, because
    /// another tab may be about to take over.
    pub fn is_held(found: Option<&Self>, tab: TabToken, now: UnixMillis) -> bool {
        found.is_some_and(|lease| {
            lease.tab == tab && lease.is_alive(now) && lease.until.since(now) > Self::CONFIRM_AFTER
        })
    }

    /// Returns the lease to write to stay the sender. `None` if the lease is lost.
    pub fn renew(found: Option<&Self>, tab: TabToken, now: UnixMillis) -> Option<Self> {
        Self::is_held(found, tab, now).then(|| Self { tab, until: now.plus(Self::LEASE) })
    }

    /// Returns whether the lease belongs to this tab.
    pub fn is_of(found: Option<&Self>, tab: TabToken) -> bool {
        found.is_some_and(|lease| lease.tab == tab)
    }

    fn is_alive(&self, now: UnixMillis) -> bool {
        now < self.until && self.until.since(now) <= Self::LEASE
    }

    /// Returns the text to store: `c1 TAB UNTIL SUM`, with the same sum as an entry.
    pub fn encode(&self) -> String {
        let mut text = String::from("c1");
        let (high, low) = ((self.tab.0 >> 32) as u32, self.tab.0 as u32);
        put(&mut text, &(hex32(high) + &hex32(low)));
        put_number(&mut text, self.until.as_u64());
        seal(text)
    }

    /// Reads what [`TabLease::encode`] wrote; `None` for any other text.
    pub fn decode(text: &str) -> Option<Self> {
        let fields = unseal(text)?.strip_prefix("c1 ")?;
        let (tab, until) = split_once(fields, b' ')?;
        let tab = TabToken(hexadecimal(tab)?);
        let lease = Self { tab, until: UnixMillis::new(decimal(until)?) };
        (lease.encode() == text).then_some(lease)
    }
}
