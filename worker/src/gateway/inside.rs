//! The scope of a request, if a function of the Worker with oncekey inside names the caller.

use crate::http::context::Caller;
use oncekey::{Rejection, Scope, ScopeError};
use platform::operation::DONE;

/// Asks the Worker who the caller is. If its function fails, nothing is executed.
pub(super) async fn scope_of(caller: &Caller) -> Result<Scope, Rejection> {
    let reply = caller.bridge.scope().await;
    match (reply.status, reply.text.as_str()) {
        (DONE, "") if caller.config.anonymous => Ok(Scope::anonymous()),
        (DONE, "") => Err(Rejection::NoScope(ScopeError::Unnamed)),
        (DONE, name) => Ok(Scope::of_caller(name)),
        _ => Err(Rejection::Internal),
    }
}
