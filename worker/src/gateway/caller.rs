//! The scope of a request, and whether it comes from an operator.

use crate::gateway::refusal::Refusal;
use crate::gateway::{identity, inside, jwt};
use crate::http::context::Caller;
use crate::http::request::HttpRequest;
use futures_util::future::LocalBoxFuture;
use oncekey::{Rejection, Scope, ScopeError, ScopeStep};

/// Returns the scope of a request's key.
pub(crate) async fn scope_of(caller: &Caller, request: &HttpRequest) -> Result<Scope, Refusal> {
    if caller.config.scope_function {
        return Ok(inside::scope_of(caller).await?);
    }
    match derive(caller, request, false).await {
        Err(Refusal::Rejected(Rejection::NoScope(ScopeError::Missing(_))))
            if caller.config.anonymous =>
        {
            Ok(Scope::anonymous())
        }
        scope => scope,
    }
}

/// Returns the scope that the headers name. In an operator's call, `Authorization` contains the operator's own token. The
/// future is in a box, because each caller would contain its code once more.
fn derive<'a>(
    caller: &'a Caller,
    request: &'a HttpRequest,
    by_operator: bool,
) -> LocalBoxFuture<'a, Result<Scope, Refusal>> {
    Box::pin(async move {
        let config = &caller.config;
        let counts = |(name, _): &(&str, &str)| !by_operator || *name != "authorization";
        let headers = request.headers.iter().filter(counts);
        match Scope::step(&config.scope, &config.scope_aliases, headers) {
            Ok(ScopeStep::Known(scope)) => Ok(scope),
            Ok(ScopeStep::Verify(jwt)) => Ok(jwt::scope_of(caller, jwt).await?),
            Ok(ScopeStep::Ask(question)) => identity::scope_of(caller, request, &question).await,
            Err(error) => Err(Rejection::NoScope(error).into()),
        }
    })
}

const NO_NAME: &str = "The owner of the key is not named. Send X-Oncekey-Scope.";

/// Returns whether the request carries the operator's token.
pub(crate) fn is_admin(caller: &Caller, request: &HttpRequest) -> bool {
    let token = caller.config.admin_token.as_ref();
    token
        .zip(request.header("authorization"))
        .is_some_and(|(token, given)| token.is_carried_by(given))
}

/// Returns the scope of the key that an operator names. The operator's own token is not used as a
/// scope.
pub(crate) async fn admin_scope(caller: &Caller, request: &HttpRequest) -> Result<Scope, Refusal> {
    if let Some(hex) = request.header("x-oncekey-scope") {
        return Scope::from_hex(hex).ok_or_else(|| {
            let message = "X-Oncekey-Scope must be the hash of a scope, in 64 hexadecimal digits.";
            Rejection::Invalid(message.to_owned()).into()
        });
    }
    if caller.config.scope_function {
        return Err(Rejection::Invalid(NO_NAME.to_owned()).into());
    }
    derive(caller, request, true).await.map_err(|error| match error {
        Refusal::Rejected(Rejection::NoScope(
            ScopeError::Missing(_) | ScopeError::Incomplete(_),
        )) => {
            let message = "The owner of the key is not named. Send the tenant's credential, or X-Oncekey-Scope.";
            Rejection::Invalid(message.to_owned()).into()
        }
        error => error,
    })
}
