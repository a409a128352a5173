//! Whether the caller of a rejected request should retry, and the state of its key.
//!
//! SDKs for other APIs retry by the status alone: stripe-node retries every 409 and 5xx, the openai
//! SDKs also 408 and 429. The headers `Stripe-Should-Retry` and `X-Should-Retry` overrule that. They
//! are `true` if the same request with the same key may succeed soon, and `false` if waiting does not
//! help: a client must not poll a key on hold, and an SDK must not repeat a write without a key.

use crate::error::{Recourse, Rejection};
use crate::record::KeyState;

/// The kind of a request, which decides whether a retry is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum RequestKind {
    /// A read, which changes nothing.
    Read,
    /// A write without a key. The same request sent again is another write.
    Write,
    /// A write under a key or a business key.
    KeyedWrite,
    /// A delivery of a webhook's event. Its sender delivers it again until it gets a 2xx.
    Event,
}

impl RequestKind {
    /// Returns whether the response carries the state of the key, even if no record was read.
    pub fn names_a_key(self) -> bool {
        self == Self::KeyedWrite
    }
}

impl Rejection {
    /// Returns whether the same request with the same key may succeed soon.
    pub fn should_retry(&self, request_kind: RequestKind) -> bool {
        match self {
            Self::OfBusinessKey { why, .. } => why.should_retry(request_kind),
            // This request was not executed, and the reason is temporary.
            Self::InProgress
            | Self::BodyUnreadable
            | Self::StoreUnavailable
            | Self::Overloaded
            | Self::TooLateToDispatch
            | Self::IdentityUnavailable(_) => true,
            Self::OriginUnreachable(recourse) | Self::OriginTimedOut(recourse) => {
                !matches!(recourse, Recourse::LookUp | Recourse::OnHold)
            }
            Self::Internal => request_kind != RequestKind::Write,
            _ => false,
        }
    }

    /// Returns the value of `Idempotency-State` for a rejection without a record: `unknown` if the
    /// origin may have been called or the record cannot be read, else [`KeyState::NOTHING_KNOWN`].
    pub fn state_without_record(&self) -> &'static str {
        match self {
            Self::OfBusinessKey { why, .. } => why.state_without_record(),
            Self::OriginUnreachable(_)
            | Self::OriginTimedOut(_)
            | Self::RecordUnreadable
            | Self::Internal => KeyState::Unknown.as_str(),
            _ => KeyState::NOTHING_KNOWN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::IdentitySource;

    #[test]
    fn only_temporary_rejections_are_retried() {
        for request_kind in
            [RequestKind::Read, RequestKind::Write, RequestKind::KeyedWrite, RequestKind::Event]
        {
            for passes in [
                Rejection::InProgress,
                Rejection::BodyUnreadable,
                Rejection::StoreUnavailable,
                Rejection::Overloaded,
                Rejection::TooLateToDispatch,
                Rejection::IdentityUnavailable(IdentitySource::Keys),
            ] {
                assert!(passes.should_retry(request_kind), "{passes:?}");
            }
            for stays in [
                Rejection::Mismatch,
                Rejection::OutcomeUnknown,
                Rejection::NotReplayable { http_status: None, resource: None },
                Rejection::KeyVoided,
                Rejection::KeyExpired,
                Rejection::KeyMissing(String::new()),
                Rejection::BodyTooLarge(1),
                Rejection::RecordUnreadable,
                Rejection::Misconfigured(String::new()),
                Rejection::Invalid(String::new()),
            ] {
                assert!(!stays.should_retry(request_kind), "{stays:?}");
            }
        }
    }

    #[test]
    fn a_failed_call_of_the_origin_is_retried_only_if_that_is_safe() {
        for (recourse, again) in [
            (Recourse::Retry, true),
            (Recourse::RetryWithKey, true),
            (Recourse::NotExecuted, true),
            (Recourse::LookUp, false),
            (Recourse::OnHold, false),
        ] {
            let request_kind = RequestKind::KeyedWrite;
            assert_eq!(Rejection::OriginTimedOut(recourse).should_retry(request_kind), again);
            assert_eq!(Rejection::OriginUnreachable(recourse).should_retry(request_kind), again);
        }
        assert!(!Rejection::Internal.should_retry(RequestKind::Write));
        assert!(Rejection::Internal.should_retry(RequestKind::KeyedWrite));
    }

    #[test]
    fn only_a_write_with_a_key_has_a_state() {
        for kind in [RequestKind::Read, RequestKind::Write, RequestKind::Event] {
            assert!(!kind.names_a_key(), "{kind:?}");
        }
        assert!(RequestKind::KeyedWrite.names_a_key());
    }

    #[test]
    fn the_state_is_unknown_if_the_request_may_have_been_executed() {
        let timed_out = Rejection::OriginTimedOut(Recourse::OnHold);
        for rejection in [timed_out, Rejection::RecordUnreadable, Rejection::Internal] {
            assert_eq!(rejection.state_without_record(), "unknown");
        }
        for rejection in
            [Rejection::BodyUnreadable, Rejection::KeyMissing(String::new()), Rejection::Overloaded]
        {
            assert_eq!(rejection.state_without_record(), "absent");
        }
    }
}
