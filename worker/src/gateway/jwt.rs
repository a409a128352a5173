//! The scope of a caller whom a JWT identifies. The core (`oncekey::scope::jwt`) decides; this file fetches
//! the keys and lets the platform check the signature.

use crate::config::JwtConfig;
use crate::gateway::origin;
use crate::http::context::Caller;
use oncekey::scope::JwtScope;
use oncekey::scope::jwt::{KeyCache, KeyStep, Token};
use oncekey::{IdentitySource, Millis, Rejection, Scope, ScopeError};
use platform::clock;
use std::cell::RefCell;

/// How often a request looks whether another one has fetched the keys.
const LOOK: Millis = Millis::new(20);

thread_local! {
    static KEYS: RefCell<KeyCache> = const { RefCell::new(KeyCache::new()) };
}

/// Returns the scope of a request with a JWT.
pub(crate) async fn scope_of(caller: &Caller, jwt: JwtScope) -> Result<Scope, Rejection> {
    let config = caller.config.jwt.as_ref().ok_or(Rejection::Internal)?;
    let is_signed = is_signed(caller, config, jwt.token()).await?;
    jwt.decide(is_signed, &config.rules, clock::now()).map_err(Rejection::NoScope)
}

/// Returns whether the issuer has signed the token.
async fn is_signed(caller: &Caller, config: &JwtConfig, token: &Token) -> Result<bool, Rejection> {
    loop {
        let mut must_fetch = false;
        let check = KEYS.with_borrow_mut(|keys| {
            match keys.step(token, clock::now()) {
                KeyStep::Check(check) => return Ok(Some(caller.bridge.verify(&check))),
                KeyStep::Fetch => must_fetch = true,
                KeyStep::Wait => {}
                KeyStep::Refuse(error) => return Err(Rejection::NoScope(ScopeError::Token(error))),
                KeyStep::Unavailable => {
                    return Err(Rejection::IdentityUnavailable(IdentitySource::Keys));
                }
            }
            Ok(None)
        })?;
        if let Some(check) = check {
            return Ok(check.await.text == "valid");
        }
        if must_fetch {
            let body = origin::fetch_document(caller, &config.keys, KeyCache::patience()).await;
            KEYS.with_borrow_mut(|keys| keys.fetched(body.as_deref(), clock::now()));
        } else {
            clock::sleep(LOOK).await;
        }
    }
}
