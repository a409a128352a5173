//! What a refused request's caller is told about sending it again, and about its key.
//!
//! SDKs that are made for other APIs repeat a request by its status alone: stripe-node repeats every
//! 409 and 5xx, the openai SDKs 408 and 429 too. `Stripe-Should-Retry` and `X-Should-Retry` overrule
//! that. They are `true` where the same request with the same key may succeed a little later, and
//! `false` where waiting mends nothing: an outcome that is held must not be hammered, and a write
//! without a key must not be repeated by itself.

use crate::error::{Recourse, Rejection};
use crate::record::KeyState;

/// What was request_kind for, as far as it decides whether to send it again is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// A read, which changes nothing.
    Read,
    /// A write that nothing names: sent again, it is another one.
    Write,
    /// A write under a key or a business key.
    KeyedWrite,
    /// A delivery of an event. It is delivered again, whatever became of it.
    Event,
}

impl RequestKind {
    /// Whether the response says how the key stands, also where no record was request_kind.
    pub fn names_a_key(self) -> bool {
        self == Self::KeyedWrite
    }
}

impl Rejection {
    /// Whether the same request, with the same key, may succeed a little later.
    pub fn should_retry(&self, request_kind: RequestKind) -> bool {
        match self {
            Self::OfBusinessKey { why, .. } => why.should_retry(request_kind),
            // Nothing was executed by this request, and what is in its way passes.
            Self::InProgress
            | Self::BodyUnreadable
            | Self::StoreUnavailable
            | Self::Overloaded
            | Self::TooLateToDispatch => true,
            Self::OriginUnreachable(recourse) | Self::OriginTimedOut(recourse) => {
                !matches!(recourse, Recourse::LookUp | Recourse::OnHold)
            }
            Self::Internal => request_kind != RequestKind::Write,
            _ => false,
        }
    }

    /// What `Idempotency-State` says where no record has: `unknown` where the origin may have been
    /// called or a record exists that cannot be read, else [`KeyState::NOTHING_KNOWN`].
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

    #[test]
    fn what_waiting_mends_is_sent_again_and_nothing_else() {
        for request_kind in
            [RequestKind::Read, RequestKind::Write, RequestKind::KeyedWrite, RequestKind::Event]
        {
            for passes in [
                Rejection::InProgress,
                Rejection::BodyUnreadable,
                Rejection::StoreUnavailable,
                Rejection::Overloaded,
                Rejection::TooLateToDispatch,
            ] {
                assert!(passes.should_retry(request_kind), "{passes:?}");
            }
            for stays in [
                Rejection::Mismatch,
                Rejection::OutcomeUnknown,
                Rejection::NotReplayable { http_status: None, resource: None },
                Rejection::KeyVoided,
                Rejection::KeyExpired,
                Rejection::KeyMissing,
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
    fn a_broken_call_is_repeated_only_where_that_is_safe() {
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
    fn what_may_have_been_executed_is_never_nothing_known() {
        let timed_out = Rejection::OriginTimedOut(Recourse::OnHold);
        for rejection in [timed_out, Rejection::RecordUnreadable, Rejection::Internal] {
            assert_eq!(rejection.state_without_record(), "unknown");
        }
        for rejection in [Rejection::BodyUnreadable, Rejection::KeyMissing, Rejection::Overloaded] {
            assert_eq!(rejection.state_without_record(), "absent");
        }
    }
}
