//! What callers and operators may see of a record: never a response's body.

use super::{Life, Record, RecordState, ReleaseCause, UnknownCause};
use crate::time::UnixMillis;
use crate::{message_fields, message_variants};

/// What callers may see of a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KeyStatus {
    /// The state of the key now.
    pub state: KeyState,
    /// How many attempts were begun.
    pub attempts: u32,
    /// The status of the key's response.
    pub http_status: Option<u16>,
    /// The request id of the key's response.
    pub request_id: Option<String>,
    /// When the key was first seen. For an expired key without a record, when the key was made.
    pub created_at: UnixMillis,
    /// When the response came.
    pub completed_at: Option<UnixMillis>,
    /// When the key expires; `None` while an attempt is in flight.
    pub expires_at: Option<UnixMillis>,
}

message_fields!(KeyStatus {
    state,
    attempts,
    http_status,
    request_id,
    created_at,
    completed_at,
    expires_at,
});

/// The states that callers see in `Idempotency-State`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum KeyState {
    /// An attempt is in flight.
    InProgress,
    /// The key has a response.
    Completed,
    /// The request may have been executed.
    Unknown,
    /// The request was not executed.
    Released,
    /// The caller voided the key, so its request is never executed.
    Voided,
    /// The key had a response, which is gone.
    Expired,
}

message_variants!(KeyState {
    0: InProgress,
    1: Completed,
    2: Unknown,
    3: Released,
    4: Voided,
    5: Expired,
});

/// Why an outcome is unknown, or why it is certain that nothing was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cause {
    /// The name of the cause in the journal and in lists of keys.
    pub name: &'static str,
    /// The origin's status, where that is the cause.
    pub http_status: Option<u16>,
}

impl Record {
    /// Returns what callers may see of the key, or `None` once the record no longer counts.
    pub fn status(&self, now: UnixMillis) -> Option<KeyStatus> {
        let life = self.life(now);
        let state = match (life, &self.state) {
            (Life::Gone, _) => return None,
            (Life::Expired, _) | (_, RecordState::Expired { .. }) => KeyState::Expired,
            (_, RecordState::InFlight { lease_until, .. }) if now < *lease_until => {
                KeyState::InProgress
            }
            (_, RecordState::InFlight { .. } | RecordState::Unknown { .. }) => KeyState::Unknown,
            (_, RecordState::Completed { .. }) => KeyState::Completed,
            (_, RecordState::Released { .. }) => KeyState::Released,
            (_, RecordState::Voided { .. }) => KeyState::Voided,
        };
        // Callers must not see whether the sweep has been here already.
        let completed = match &self.state {
            RecordState::Completed { response, completed_at } if life == Life::Live => {
                Some((response, *completed_at))
            }
            _ => None,
        };
        Some(KeyStatus {
            state,
            attempts: self.attempts,
            http_status: completed.map(|(response, _)| response.status),
            request_id: completed.map(|(response, _)| response.request_id.clone()),
            created_at: self.created_at,
            completed_at: completed.map(|(_, completed_at)| completed_at),
            expires_at: match (state, &self.state) {
                (KeyState::Unknown, RecordState::InFlight { .. }) => self.due_at(),
                (KeyState::Expired, RecordState::Expired { .. }) => self.expires_at(),
                (KeyState::Expired, _) => {
                    self.due_at().map(|end| end.plus(self.policy.long_retention()))
                }
                // The content of a permanent record may have gone already.
                _ => self.expires_at().filter(|end| now < *end),
            },
        })
    }

    /// Returns why the outcome is unknown, or why it is certain that nothing was executed; `None` for
    /// every other state.
    pub fn cause(&self, now: UnixMillis) -> Option<Cause> {
        let named = |name, http_status| Some(Cause { name, http_status });
        match self.state {
            RecordState::InFlight { lease_until, .. } if lease_until <= now => {
                named("lease_died", None)
            }
            RecordState::Unknown { cause, .. } => match cause {
                UnknownCause::Status(status) => named("status", Some(status)),
                UnknownCause::TimedOut => named("timed_out", None),
                UnknownCause::ConnectionLost => named("connection_lost", None),
                UnknownCause::NotStored => named("not_stored", None),
                UnknownCause::EarlierAttempt => named("earlier_attempt", None),
            },
            RecordState::Released { cause, .. } => match cause {
                ReleaseCause::Status(status) => named("status", Some(status)),
                ReleaseCause::NotDispatched => named("not_dispatched", None),
                ReleaseCause::Settled => named("settled", None),
            },
            _ => None,
        }
    }
}

impl KeyState {
    /// The value of `Idempotency-State` in a response for which no record was found or read. It does
    /// not prove that the key is new.
    pub const NOTHING_KNOWN: &'static str = "absent";

    /// Returns the name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Unknown => "unknown",
            Self::Released => "released",
            Self::Voided => "voided",
            Self::Expired => "expired",
        }
    }

    /// Returns the state with this name on the wire; `None` for any other name.
    ///
    /// ```
    /// # use oncekey::KeyState;
    /// assert_eq!(KeyState::parse("in_progress"), Some(KeyState::InProgress));
    /// assert_eq!(KeyState::InProgress.as_str(), "in_progress");
    /// ```
    pub fn parse(name: &str) -> Option<Self> {
        let all = [
            Self::InProgress,
            Self::Completed,
            Self::Unknown,
            Self::Released,
            Self::Voided,
            Self::Expired,
        ];
        all.into_iter().find(|state| state.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::KeyState;

    #[test]
    fn a_state_is_found_by_its_name() {
        for (state, name) in [
            (KeyState::InProgress, "in_progress"),
            (KeyState::Completed, "completed"),
            (KeyState::Unknown, "unknown"),
            (KeyState::Released, "released"),
            (KeyState::Voided, "voided"),
            (KeyState::Expired, "expired"),
        ] {
            assert_eq!((state.as_str(), KeyState::parse(name)), (name, Some(state)));
        }
        assert_eq!(KeyState::parse(KeyState::NOTHING_KNOWN), None);
    }
}
