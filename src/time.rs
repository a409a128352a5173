//! Points in time and lengths of time. The core has no clock: callers pass `now` in.

use crate::codec::cbor::record_fields;
use crate::message_fields;
use minicbor::{Decode, Encode};

/// A point in time: milliseconds since 1970-01-01T00:00:00Z.
///
/// ```
/// # use oncekey::{Millis, UnixMillis};
/// let now = UnixMillis::new(1_764_000_000_000);
/// let later = now.plus(Millis::from_seconds(60));
/// assert_eq!(later.since(now), Millis::from_seconds(60));
/// assert_eq!(now.since(later), Millis::new(0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct UnixMillis(#[n(0)] u64);

message_fields!(UnixMillis(millis));
record_fields!(UnixMillis(millis));

/// A length of time in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Millis(#[n(0)] u64);

message_fields!(Millis(millis));
record_fields!(Millis(millis));

impl UnixMillis {
    /// Makes the point in time that is `millis` milliseconds after the epoch.
    pub const fn new(millis: u64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since the epoch.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// Returns the time from `earlier` to this point. The result is zero if `earlier` is later, which
    /// happens when a clock was set back.
    pub const fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }

    /// Returns the point in time that is `length` later; saturates at `u64::MAX` milliseconds.
    pub const fn plus(self, length: Millis) -> Self {
        Self(self.0.saturating_add(length.0))
    }

    /// Returns the point in time that is `length` earlier; saturates at the epoch.
    pub const fn minus(self, length: Millis) -> Self {
        Self(self.0.saturating_sub(length.0))
    }

    /// Returns the later of this point and `last_seen`, the newest time that a store has recorded.
    /// A store passes the result to the lifecycle as `now`. If its time could go back, an expired
    /// lease would be valid again.
    pub fn never_before(self, last_seen: Self) -> Self {
        self.max(last_seen)
    }
}

impl Millis {
    /// Makes a length of `millis` milliseconds.
    pub const fn new(millis: u64) -> Self {
        Self(millis)
    }

    /// Makes a length of `seconds` seconds; saturates at `u64::MAX` milliseconds.
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Makes a length of `days` days of 24 hours; saturates at `u64::MAX` milliseconds.
    pub const fn from_days(days: u64) -> Self {
        Self::from_seconds(days.saturating_mul(86_400))
    }

    /// Returns the length in milliseconds.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// Returns half of this length, rounded down.
    pub const fn half(self) -> Self {
        Self(self.0 / 2)
    }

    /// Returns the sum of both lengths; saturates at `u64::MAX` milliseconds.
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
