//! What is stored for a key.

mod attempts;
mod status;
mod wire;

pub use attempts::{AttemptToken, EarlierAttempts};
pub use status::{Cause, KeyState, KeyStatus};
pub use wire::RecordError;

use crate::codec::cbor::{record_fields, record_variants};
use crate::fingerprint::Fingerprint;
use crate::policy::{ExpiredKey, Policy};
use crate::response::StoredResponse;
use crate::time::UnixMillis;
use minicbor::{Decode, Encode};

/// Everything that is stored for a key. The lifecycle changes the record; stores keep it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Record {
    /// The fingerprint of the request that the key belongs to; `None` for a key that was voided before
    /// any request, and for a tombstone.
    #[n(0)]
    pub fingerprint: Option<Fingerprint>,
    /// The policy that the record was begun under.
    #[n(1)]
    pub policy: Policy,
    /// The state of the key.
    #[n(2)]
    pub state: RecordState,
    /// How many attempts were begun.
    #[n(3)]
    pub attempts: u32,
    /// Whether some attempt may have been executed. It stays true whatever later attempts return.
    #[n(4)]
    pub maybe_executed: bool,
    /// The last attempts that no longer own the key.
    #[n(5)]
    pub earlier: EarlierAttempts,
    /// When the key was first seen.
    #[n(6)]
    pub created_at: UnixMillis,
}

record_fields!(Record {
    fingerprint,
    policy,
    state,
    attempts,
    maybe_executed,
    earlier,
    created_at,
});

/// The state of a key. A key without a record is `absent`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum RecordState {
    /// One attempt owns the key.
    #[n(0)]
    InFlight {
        /// The attempt that has the lease.
        #[n(0)]
        token: AttemptToken,
        /// When the lease expires unless it is renewed.
        #[n(1)]
        lease_until: UnixMillis,
    },
    /// The key has its response.
    #[n(1)]
    Completed {
        /// The response.
        #[n(0)]
        response: StoredResponse,
        /// When the response was recorded.
        #[n(1)]
        completed_at: UnixMillis,
    },
    /// An attempt may have been executed, and its outcome is unknown.
    #[n(2)]
    Unknown {
        /// Why the outcome is unknown.
        #[n(0)]
        cause: UnknownCause,
        /// When the outcome became unknown.
        #[n(1)]
        since: UnixMillis,
    },
    /// No attempt was executed; the next attempt may execute.
    #[n(3)]
    Released {
        /// Why it is certain that nothing was executed.
        #[n(0)]
        cause: ReleaseCause,
        /// When the last attempt ended.
        #[n(1)]
        since: UnixMillis,
    },
    /// The caller voided the key before anything was executed.
    #[n(4)]
    Voided {
        /// When the key was voided.
        #[n(0)]
        since: UnixMillis,
    },
    /// The tombstone of an expired key, where the policy refuses expired keys.
    #[n(5)]
    Expired {
        /// When the key expired.
        #[n(0)]
        since: UnixMillis,
    },
}

record_variants!(RecordState {
    0: InFlight { token, lease_until },
    1: Completed { response, completed_at },
    2: Unknown { cause, since },
    3: Released { cause, since },
    4: Voided { since },
    5: Expired { since },
});

/// Why an outcome is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum UnknownCause {
    /// The origin responded with this status, which does not tell what it did.
    #[n(0)]
    Status(#[n(0)] u16),
    /// The origin did not respond in time.
    #[n(1)]
    TimedOut,
    /// The connection to the origin broke.
    #[n(2)]
    ConnectionLost,
    /// The origin responded, but the response could not be stored.
    #[n(3)]
    NotStored,
    /// The last attempt was not executed, but an earlier attempt may have been.
    #[n(4)]
    EarlierAttempt,
}

record_variants!(UnknownCause {
    0: Status(status),
    1: TimedOut,
    2: ConnectionLost,
    3: NotStored,
    4: EarlierAttempt,
});

/// Why it is certain that nothing was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum ReleaseCause {
    /// The origin refused with this status before doing anything.
    #[n(0)]
    Status(#[n(0)] u16),
    /// The request never left for the origin.
    #[n(1)]
    NotDispatched,
    /// An operator settled the outcome.
    #[n(2)]
    Settled,
}

record_variants!(ReleaseCause { 0: Status(status), 1: NotDispatched, 2: Settled });

/// Whether a record counts at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Life {
    /// The record counts.
    Live,
    /// The response is gone, and the key is refused.
    Expired,
    /// The record counts as absent.
    Gone,
}

impl Record {
    /// Returns when the record expires; `None` for a key in flight, whose lease decides, and for a
    /// record that is kept for good.
    pub fn expires_at(&self) -> Option<UnixMillis> {
        let long = |since: &UnixMillis| since.plus(self.policy.long_retention());
        match &self.state {
            RecordState::InFlight { .. } => None,
            RecordState::Completed { response, .. }
                if self.remembers() && !response.has_content() =>
            {
                None
            }
            RecordState::Completed { completed_at: since, .. }
            | RecordState::Released { since, .. } => Some(since.plus(self.policy.retention)),
            _ if self.remembers() => None,
            RecordState::Unknown { since, .. }
            | RecordState::Voided { since }
            | RecordState::Expired { since } => Some(long(since)),
        }
    }

    /// Returns when the sweep should look at the record, if ever. A key in flight counts as unknown
    /// once its lease has expired.
    pub fn due_at(&self) -> Option<UnixMillis> {
        match &self.state {
            RecordState::InFlight { lease_until, .. } if !self.remembers() => {
                Some(lease_until.plus(self.policy.long_retention()))
            }
            _ => self.expires_at(),
        }
    }

    /// Returns when the record last changed; for a key in flight, when its lease was last renewed.
    pub fn changed_at(&self) -> UnixMillis {
        match self.state {
            RecordState::InFlight { lease_until, .. } => lease_until.minus(self.policy.lease),
            RecordState::Completed { completed_at: since, .. }
            | RecordState::Unknown { since, .. }
            | RecordState::Released { since, .. }
            | RecordState::Voided { since }
            | RecordState::Expired { since } => since,
        }
    }

    /// Returns whether the response has headers whose bytes this record cannot hold.
    pub fn has_odd_headers(&self) -> bool {
        matches!(&self.state, RecordState::Completed { response, .. } if response.has_odd_headers())
    }

    /// Returns the record with only the status of its response, for a store that refuses the whole
    /// record because of its size; `None` if there is no body to leave out.
    pub fn without_response_body(mut self) -> Option<Self> {
        match self.state {
            RecordState::Completed { response, completed_at } if response.body().is_some() => {
                let response = response.into_status_only();
                self.state = RecordState::Completed { response, completed_at };
                Some(self)
            }
            _ => None,
        }
    }

    /// Returns the record as it counts at `now`. A permanent record whose retention is over has no
    /// response content, whether or not the sweep has already removed it from the store.
    pub(crate) fn at(mut self, now: UnixMillis) -> Self {
        let is_over = self.remembers() && self.due_at().is_some_and(|end| end <= now);
        match self.state {
            RecordState::Completed { response, completed_at } if is_over => {
                let response = response.into_status_only();
                self.state = RecordState::Completed { response, completed_at };
                self
            }
            state => Self { state, ..self },
        }
    }

    /// Returns whether the record is kept for good.
    pub(crate) fn remembers(&self) -> bool {
        self.policy.expired_key == ExpiredKey::Remember
    }

    /// Returns whether the record counts at `now`.
    pub(crate) fn life(&self, now: UnixMillis) -> Life {
        let end = match (self.due_at(), &self.state) {
            // Of permanent records, only a released record is forgotten: it belongs to no request.
            (Some(end), RecordState::Released { .. }) => end,
            (Some(end), _) if !self.remembers() => end,
            (_, RecordState::Expired { .. }) => return Life::Expired,
            _ => return Life::Live,
        };
        let refused = match self.state {
            RecordState::Voided { .. } => false,
            RecordState::Expired { .. } => {
                return if now < end { Life::Expired } else { Life::Gone };
            }
            _ => self.policy.expired_key == ExpiredKey::Refuse,
        };
        if now < end {
            Life::Live
        } else if refused && now < end.plus(self.policy.long_retention()) {
            Life::Expired
        } else {
            Life::Gone
        }
    }
}
