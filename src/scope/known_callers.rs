//! The callers whom the origin has named lately, in a gateway's memory. A credential is kept only as its
//! hash.

use super::Scope;
use crate::time::{Millis, UnixMillis};
use core::fmt;
use std::collections::VecDeque;

/// How many callers are kept.
const MOST: usize = 1000;

/// The scopes of credentials, each for a short time.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct KnownCallers {
    /// The hash of a credential, its scope, and when the origin was asked. The first kept is first.
    callers: VecDeque<([u8; 32], Scope, UnixMillis)>,
}

impl KnownCallers {
    /// Makes an empty memory.
    pub const fn new() -> Self {
        Self { callers: VecDeque::new() }
    }

    /// Returns the scope of a credential, if the origin was asked less than `age` ago.
    pub fn recall(&self, credential: &[u8; 32], age: Millis, now: UnixMillis) -> Option<Scope> {
        let mut callers = self.callers.iter().rev();
        let (_, scope, asked_at) = callers.find(|(known, ..)| known == credential)?;
        // A clock that went back says nothing about the age.
        (*asked_at <= now && now.since(*asked_at) < age).then_some(*scope)
    }

    /// Keeps what the origin said when it was asked at `asked_at`. If there is no room, the caller who was
    /// kept first leaves.
    pub fn keep(&mut self, credential: [u8; 32], scope: Scope, asked_at: UnixMillis) {
        self.callers.retain(|(known, ..)| *known != credential);
        if self.callers.len() >= MOST {
            self.callers.pop_front();
        }
        self.callers.push_back((credential, scope, asked_at));
    }
}

/// Shows no hash of a credential.
impl fmt::Debug for KnownCallers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KnownCallers({})", self.callers.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_known_for_a_time_and_their_number_is_bounded() {
        let (ann, bob) = (Scope::of_tenant("ann"), Scope::of_tenant("bob"));
        let (age, at) = (Millis::new(10), UnixMillis::new);
        let name = |number: u16| {
            let mut name = [0; 32];
            name[..2].copy_from_slice(&number.to_be_bytes());
            name
        };
        let mut known = KnownCallers::new();
        known.keep(name(0), ann, at(100));
        assert_eq!(known.recall(&name(0), age, at(109)), Some(ann));
        for (credential, now) in [(0, 110), (0, 99), (1, 100)] {
            assert_eq!(known.recall(&name(credential), age, at(now)), None);
        }
        assert_eq!(known.recall(&name(0), Millis::new(0), at(100)), None);
        known.keep(name(0), bob, at(105));
        assert_eq!(known.recall(&name(0), age, at(109)), Some(bob));
        for number in 1..=1000 {
            known.keep(name(number), ann, at(105));
        }
        assert_eq!(format!("{known:?}"), "KnownCallers(1000)");
        assert_eq!(known.recall(&name(0), age, at(105)), None);
        assert_eq!(known.recall(&name(1), age, at(105)), Some(ann));
    }
}
