//! The published keys in a gateway's memory: when they are fetched, and how long they count.

use super::{Jwks, SignatureCheck, Token, TokenError};
use crate::time::{Millis, UnixMillis};

/// How old keys may be before they are fetched again, so that a withdrawn key stops counting.
const FRESH: Millis = Millis::from_seconds(600);

/// How old keys may be at all, if they cannot be fetched.
const USABLE: Millis = Millis::from_days(1);

/// How long after a fetch the next one begins, if there are keys. Tokens that name unknown keys cost the
/// issuer no more than this.
const PAUSE: Millis = Millis::from_seconds(60);

/// The same without keys, when each request waits for them.
const PAUSE_WITHOUT_KEYS: Millis = Millis::from_seconds(1);

/// How long a fetch may take. A fetch that takes longer counts as lost.
const FETCH: Millis = Millis::from_seconds(5);

/// The keys of the issuer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeyCache {
    keys: Option<(Jwks, UnixMillis)>,
    /// When the fetch in progress began.
    began_at: Option<UnixMillis>,
    /// When the last fetch ended.
    ended_at: Option<UnixMillis>,
}

/// What a gateway does to check a token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyStep<'a> {
    /// Check the signature.
    Check(SignatureCheck<'a>),
    /// Fetch the keys, report them to [`KeyCache::fetched`], and ask again.
    Fetch,
    /// Another request fetches the keys: ask again a little later.
    Wait,
    /// The token is refused.
    Refuse(TokenError),
    /// There are no keys, and they cannot be fetched.
    Unavailable,
}

impl KeyCache {
    /// Makes an empty cache.
    pub const fn new() -> Self {
        Self { keys: None, began_at: None, ended_at: None }
    }

    /// Returns how long a fetch of the keys may take.
    pub const fn patience() -> Millis {
        FETCH
    }

    /// Returns the next step towards the check of a token.
    pub fn step<'a>(&'a mut self, token: &'a Token, now: UnixMillis) -> KeyStep<'a> {
        let age = self.keys.as_ref().map(|(_, since)| now.since(*since));
        if age.is_some_and(|age| age >= USABLE) {
            self.keys = None;
        }
        let is_fetching = self.began_at.is_some_and(|began_at| now.since(began_at) < FETCH);
        let pause = if self.keys.is_some() { PAUSE } else { PAUSE_WITHOUT_KEYS };
        let may_fetch = self.ended_at.is_none_or(|ended_at| now.since(ended_at) >= pause);
        let is_fresh = age.is_some_and(|age| age < FRESH);
        let is_known = self.keys.as_ref().is_some_and(|(keys, _)| keys.check(token).is_some());
        if is_known && (is_fresh || is_fetching || !may_fetch) {
            let check = self.keys.as_ref().and_then(|(keys, _)| keys.check(token));
            return check.map_or(KeyStep::Unavailable, KeyStep::Check);
        }
        if is_fetching {
            return KeyStep::Wait;
        }
        if may_fetch {
            self.began_at = Some(now);
            return KeyStep::Fetch;
        }
        match self.keys {
            Some(_) => KeyStep::Refuse(TokenError::UnknownKey),
            None => KeyStep::Unavailable,
        }
    }

    /// Takes the result of a fetch: the body of a response with status 200, or `None`. A body that is not a
    /// key set, or one without a usable key, changes nothing.
    pub fn fetched(&mut self, body: Option<&[u8]>, now: UnixMillis) {
        let keys = body.and_then(Jwks::parse).filter(|keys| !keys.is_empty());
        if let Some(keys) = keys {
            self.keys = Some((keys, now));
        }
        (self.began_at, self.ended_at) = (None, Some(now));
    }
}
