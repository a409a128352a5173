//! One sender at a time, where there are no Web Locks: a lease in the storage that tabs share.
//!
//! The storage has no way to write only if nobody else has. So a tab that finds an intent free
//! writes its claim, waits [`Claim::CONFIRM_AFTER`], and reads again: of several that wrote at once,
//! the last one stands, and the others see that. This holds as long as no tab takes longer than that
//! between a read and the write that follows from it.
//!
//! | found | [`Claim::claim`] | [`Claim::renew`], [`Claim::is_held`] by this tab |
//! |---|---|---|
//! | nothing, or garbage | Write, then confirm | lost |
//! | its own, alive | Mine | renewed, held |
//! | another tab's, alive | Wait | lost |
//! | anyone's, dead | Write, then confirm | lost |
//! | ends later than a lease from now: the clock went back | Write, then confirm | lost |
//!
//! A claim decides who sends, so that a server is not asked twice. That nobody pays twice does not
//! hang on it: whoever takes over finds the key in the entry and sends the same. Therefore the entry
//! is read after the claim is confirmed, and [`Claim::is_held`] is asked before each attempt.

use super::entry_text::{put, put_number, seal, unseal};
use crate::codec::hex::hex32;
use crate::time::{Millis, UnixMillis};

/// Which tab, or rather which life of a page: 64 random bits, kept in memory only (a duplicated tab
/// would copy what the session's storage holds).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TabToken(u64);

/// A tab's claim to be the only sender of an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// Whose it is.
    pub tab: TabToken,
    /// When it dies unless it is renewed.
    pub until: UnixMillis,
}

/// What a tab that wants to send does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Claiming {
    /// Write this, wait [`Claim::CONFIRM_AFTER`], and send only if it [is held](Claim::is_held) then.
    Write(Claim),
    /// It is the sender already.
    Mine,
    /// Another tab is: look again when the storage changes, or after this long. Not every storage
    /// tells of changes, and none tells its own page.
    Wait(Millis),
}

impl TabToken {
    /// A token of 64 random bits.
    pub const fn new(random: u64) -> Self {
        Self(random)
    }
}

impl Claim {
    /// How long a claim lives. A tab in the background may be woken once a minute only; then another
    /// one takes over, which is harmless.
    pub const LEASE: Millis = Millis::from_seconds(15);
    /// How long after writing a claim its tab looks whether it stands.
    pub const CONFIRM_AFTER: Millis = Millis::new(250);
    /// How long to wait at most before looking again whether another tab is still the sender.
    pub const LOOK_AGAIN_AFTER: Millis = Millis::from_seconds(1);
    /// How long after a claim, and after each renewal, it is to be renewed.
    pub const RENEW_AFTER: Millis = Millis::from_seconds(5);

    /// A tab wants to send.
    pub fn claim(found: Option<&Self>, tab: TabToken, now: UnixMillis) -> Claiming {
        match found {
            Some(claim) if claim.is_alive(now) && claim.tab == tab => Claiming::Mine,
            Some(claim) if claim.is_alive(now) => {
                Claiming::Wait(claim.until.since(now).min(Self::LOOK_AGAIN_AFTER))
            }
            _ => Claiming::Write(Self { tab, until: now.plus(Self::LEASE) }),
        }
    }

    /// Whether this tab may send now. Not in the claim's last moments: another tab may be about to
    /// take over.
    pub fn is_held(found: Option<&Self>, tab: TabToken, now: UnixMillis) -> bool {
        found.is_some_and(|claim| {
            claim.tab == tab && claim.is_alive(now) && claim.until.since(now) > Self::CONFIRM_AFTER
        })
    }

    /// What to write to go on; `None` when the claim is lost and has to be made anew.
    pub fn renew(found: Option<&Self>, tab: TabToken, now: UnixMillis) -> Option<Self> {
        Self::is_held(found, tab, now).then(|| Self { tab, until: now.plus(Self::LEASE) })
    }

    /// Whether the claim is this tab's to remove.
    pub fn is_of(found: Option<&Self>, tab: TabToken) -> bool {
        found.is_some_and(|claim| claim.tab == tab)
    }

    fn is_alive(&self, now: UnixMillis) -> bool {
        now < self.until && self.until.since(now) <= Self::LEASE
    }

    /// The text to store: `c1 TAB UNTIL SUM`, sealed as an entry is.
    pub fn encode(&self) -> String {
        let mut text = String::from("c1");
        let (high, low) = ((self.tab.0 >> 32) as u32, self.tab.0 as u32);
        put(&mut text, &(hex32(high) + &hex32(low)));
        put_number(&mut text, self.until.as_u64());
        seal(text)
    }

    /// Reads what [`Claim::encode`] wrote. Anything else is no claim: it protects nothing.
    pub fn decode(text: &str) -> Option<Self> {
        let fields = unseal(text)?.strip_prefix("c1 ")?;
        let (tab, until) = fields.split_once(' ')?;
        let tab = TabToken(u64::from_str_radix(tab, 16).ok()?);
        let claim = Self { tab, until: UnixMillis::new(until.parse().ok()?) };
        (claim.encode() == text).then_some(claim)
    }
}
