//! The scope of a request, and whether it comes from an operator.

use crate::http::context::Caller;
use crate::http::request::HttpRequest;
use oncekey::{Rejection, Scope, ScopeError};

/// Returns the scope of a request's key.
pub(crate) fn scope_of(caller: &Caller, request: &HttpRequest) -> Result<Scope, Rejection> {
    let config = &caller.config;
    match Scope::derive(&config.scope, &config.scope_aliases, request.headers.iter()) {
        Err(ScopeError::Missing(_)) if config.anonymous => Ok(Scope::anonymous()),
        scope => scope.map_err(Rejection::NoScope),
    }
}

/// Returns whether the request carries the operator's token.
pub(crate) fn is_admin(caller: &Caller, request: &HttpRequest) -> bool {
    let token = caller.config.admin_token.as_ref();
    token
        .zip(request.header("authorization"))
        .is_some_and(|(token, given)| token.is_carried_by(given))
}

/// Returns the scope of the key that an operator names. The operator's own token is not used as a
/// scope.
pub(crate) fn admin_scope(caller: &Caller, request: &HttpRequest) -> Result<Scope, Rejection> {
    if let Some(hex) = request.header("x-oncekey-scope") {
        return Scope::from_hex(hex).ok_or_else(|| {
            Rejection::Invalid(
                "X-Oncekey-Scope must be the hash of a scope, in 64 hexadecimal digits.".to_owned(),
            )
        });
    }
    let config = &caller.config;
    let of_tenant = request.headers.iter().filter(|(name, _)| *name != "authorization");
    let scope = Scope::derive(&config.scope, &config.scope_aliases, of_tenant);
    scope.map_err(|error| match error {
        ScopeError::Missing(_) | ScopeError::Incomplete(_) => Rejection::Invalid(
            "The owner of the key is not named. Send the tenant's credential, or X-Oncekey-Scope."
                .to_owned(),
        ),
        error => Rejection::NoScope(error),
    })
}
