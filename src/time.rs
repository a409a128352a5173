//! Points in time and lengths of time. The core has no clock: callers pass `now` in.

use minicbor::{Decode, Encode};

/// A point in time: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct UnixMillis(#[n(0)] u64);

/// A length of time in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Millis(#[n(0)] u64);

impl UnixMillis {
    /// The point `millis` milliseconds after the epoch.
    pub const fn new(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// How long ago `earlier` was; zero when it lies ahead, as after a clock that jumped back.
    pub const fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }

    /// The point `length` later; the end of time rather than an overflow.
    pub const fn plus(self, length: Millis) -> Self {
        Self(self.0.saturating_add(length.0))
    }

    /// The point `length` earlier; the epoch rather than an underflow.
    pub const fn minus(self, length: Millis) -> Self {
        Self(self.0.saturating_sub(length.0))
    }

    /// The time to decide by when the newest time seen so far is `last_seen`: a store's time never
    /// goes back, or a lease that has died would live again.
    pub fn never_before(self, last_seen: Self) -> Self {
        self.max(last_seen)
    }
}

impl Millis {
    /// A length of `millis` milliseconds.
    pub const fn new(millis: u64) -> Self {
        Self(millis)
    }

    /// A length of `seconds` seconds; saturates.
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// A length of `days` days of 24 hours; saturates.
    pub const fn from_days(days: u64) -> Self {
        Self::from_seconds(days.saturating_mul(86_400))
    }

    /// The length in milliseconds.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// Half of it, rounded down.
    pub const fn half(self) -> Self {
        Self(self.0 / 2)
    }

    /// Both lengths together; saturates.
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
