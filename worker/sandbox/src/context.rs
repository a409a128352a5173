//! What an operation knows of the call beside its input.

use super::input::{IdempotencyKey, RequestId};
use oncekey::UnixMillis;

/// What an operation knows of the call beside its input.
pub(super) struct Context {
    pub(super) request_id: RequestId,
    pub(super) idempotency_key: Option<IdempotencyKey>,
    pub(super) now: UnixMillis,
}
