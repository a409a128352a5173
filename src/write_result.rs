//! How a keyed write ended, in the words of the gateway's metrics.

use crate::error::Rejection;

/// How a keyed write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteResult {
    /// The origin was called.
    Executed,
    /// The caller got a stored response.
    Replayed,
    /// Another attempt is under way.
    InProgress,
    /// The key belongs to another request.
    Mismatched,
    /// An earlier outcome is unknown, and the key is on hold.
    Unknown,
    /// The response was not kept.
    NotReplayable,
    /// The key was voided.
    Voided,
    /// The key has expired.
    Expired,
    /// The store was unavailable, or too slow for the lease.
    StoreDown,
    /// There was no room for the request or its response.
    Overloaded,
    /// The request itself was wrong.
    Refused,
    /// The gateway failed.
    Failed,
}

impl WriteResult {
    /// The label of each result, in the order of the variants.
    pub const LABELS: [&str; 12] = [
        "executed",
        "replayed",
        "in_progress",
        "mismatched",
        "unknown",
        "not_replayable",
        "voided",
        "expired",
        "store_down",
        "overloaded",
        "refused",
        "failed",
    ];

    /// Returns the label of this result.
    pub fn label(self) -> &'static str {
        Self::LABELS[self as usize]
    }
}

impl Rejection {
    /// Returns how a write ended that got this rejection.
    pub fn write_result(&self) -> WriteResult {
        match self {
            Self::OfBusinessKey { why, .. } => why.write_result(),
            Self::Mismatch => WriteResult::Mismatched,
            Self::InProgress => WriteResult::InProgress,
            Self::OutcomeUnknown => WriteResult::Unknown,
            Self::NotReplayable { .. } => WriteResult::NotReplayable,
            Self::KeyVoided => WriteResult::Voided,
            Self::KeyExpired => WriteResult::Expired,
            Self::StoreUnavailable | Self::TooLateToDispatch => WriteResult::StoreDown,
            Self::Overloaded => WriteResult::Overloaded,
            Self::RecordUnreadable | Self::Internal | Self::IdentityUnavailable(_) => {
                WriteResult::Failed
            }
            _ => WriteResult::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejection_has_the_label_of_its_cause() {
        for (rejection, label) in [
            (Rejection::Mismatch, "mismatched"),
            (Rejection::InProgress, "in_progress"),
            (Rejection::OutcomeUnknown, "unknown"),
            (Rejection::NotReplayable { http_status: None, resource: None }, "not_replayable"),
            (Rejection::KeyVoided, "voided"),
            (Rejection::KeyExpired, "expired"),
            (Rejection::TooLateToDispatch, "store_down"),
            (Rejection::Overloaded, "overloaded"),
            (Rejection::KeyMissing(String::new()), "refused"),
            (Rejection::Internal, "failed"),
        ] {
            assert_eq!(rejection.write_result().label(), label);
        }
        assert_eq!(WriteResult::Executed.label(), "executed");
        assert_eq!(WriteResult::Failed as usize, WriteResult::LABELS.len() - 1);
    }
}
