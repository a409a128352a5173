//! The tokens of attempts, and the memory of the attempts that no longer own the key.

use crate::codec::cbor::record_fields;
use crate::message_fields;
use core::fmt;
use minicbor::{Decode, Encode};

/// The 16 random bytes that identify an attempt. (The number of an attempt is only for display.)
#[derive(Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct AttemptToken(
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    [u8; 16],
);

message_fields!(AttemptToken(bytes));
record_fields!(AttemptToken(bytes));

/// The last attempts that no longer own the key, oldest first. None of them begins again. An attempt
/// that has ended changes nothing any more. A success of an attempt that was overtaken still counts if
/// it is the key's first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct EarlierAttempts(#[n(0)] Vec<EarlierAttempt>);

record_fields!(EarlierAttempts(list));

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
struct EarlierAttempt {
    #[n(0)]
    token: AttemptToken,
    /// Whether the attempt's end is recorded; otherwise it was overtaken.
    #[n(1)]
    ended: bool,
    /// `Some(true)` if the attempt was for another request, to which the record belonged before.
    /// Readers that do not know this field skip it.
    #[n(2)]
    of_another: Option<bool>,
}

record_fields!(EarlierAttempt { token, ended, of_another });

impl AttemptToken {
    /// Makes a token of 16 bytes from a cryptographic source.
    pub const fn new(random: [u8; 16]) -> Self {
        Self(random)
    }
}

impl EarlierAttempts {
    /// How many attempts are remembered.
    pub const CAPACITY: usize = 4;

    /// Returns whether the attempt with this token has ended or was overtaken, as far as is remembered.
    pub fn contains(&self, token: AttemptToken) -> bool {
        self.0.iter().any(|attempt| attempt.token == token)
    }

    /// Returns whether the attempt with this token has ended, as far as is remembered.
    pub fn has_ended(&self, token: AttemptToken) -> bool {
        self.0.iter().any(|attempt| attempt.token == token && attempt.ended)
    }

    /// Returns whether the attempt with this token was for another request.
    pub(crate) fn was_of_another(&self, token: AttemptToken) -> bool {
        self.0.iter().any(|attempt| attempt.token == token && attempt.of_another == Some(true))
    }

    /// Gives the record to another request. Overtaken attempts are forgotten, because a response
    /// that they still bring would belong to the earlier request.
    pub(crate) fn leave_to_another(&mut self) {
        self.0.retain(|attempt| attempt.ended);
        for attempt in &mut self.0 {
            attempt.of_another = Some(true);
        }
    }

    /// Remembers that the attempt with this token has ended.
    pub(crate) fn note_ended(&mut self, token: AttemptToken) {
        self.note(EarlierAttempt { token, ended: true, of_another: None });
    }

    /// Remembers that the attempt with this token was overtaken.
    pub(crate) fn note_overtaken(&mut self, token: AttemptToken) {
        self.note(EarlierAttempt { token, ended: false, of_another: None });
    }

    fn note(&mut self, attempt: EarlierAttempt) {
        if let Some(known) = self.0.iter_mut().find(|known| known.token == attempt.token) {
            known.ended |= attempt.ended;
            return;
        }
        if self.0.len() >= Self::CAPACITY {
            self.0.remove(0);
        }
        self.0.push(attempt);
    }
}

/// Shows the first two bytes only.
impl fmt::Debug for AttemptToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AttemptToken({:02x}{:02x}…)", self.0[0], self.0[1])
    }
}
