//! What is stored for a key, and its form on the wire.

use crate::fingerprint::Fingerprint;
use crate::policy::{ExpiredKey, Policy};
use crate::response::StoredResponse;
use crate::time::UnixMillis;
use core::fmt;
use crc::{CRC_32_ISO_HDLC, Crc, Table};
use minicbor::{Decode, Encode};

/// Everything that is stored for a key. The lifecycle changes it; stores keep it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Record {
    /// The request that the key belongs to; `None` for a key that was voided before any came.
    #[n(0)]
    pub fingerprint: Option<Fingerprint>,
    /// The policy that the record was begun under.
    #[n(1)]
    pub policy: Policy,
    /// Where the key stands.
    #[n(2)]
    pub state: State,
    /// How many attempts were begun.
    #[n(3)]
    pub attempts: u32,
    /// Whether some attempt may have been executed. Sticky: no later refusal takes it back.
    #[n(4)]
    pub maybe_executed: bool,
    /// The last attempts that own the key no more.
    #[n(5)]
    pub earlier: EarlierAttempts,
    /// When the key was first seen.
    #[n(6)]
    pub created_at: UnixMillis,
}

/// Where a key stands. That there is no record at all is the state `absent`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum State {
    /// One attempt owns the key.
    #[n(0)]
    InFlight {
        /// Whose lease it is.
        #[n(0)]
        token: Token,
        /// When the lease dies unless it is renewed.
        #[n(1)]
        lease_until: UnixMillis,
    },
    /// The key has its answer.
    #[n(1)]
    Completed {
        /// The answer.
        #[n(0)]
        response: StoredResponse,
        /// When it came.
        #[n(1)]
        completed_at: UnixMillis,
    },
    /// An attempt may have been executed, and its answer is not known.
    #[n(2)]
    Unknown {
        /// Why it is not known.
        #[n(0)]
        cause: UnknownCause,
        /// Since when.
        #[n(1)]
        since: UnixMillis,
    },
    /// No attempt was executed; the next one may run.
    #[n(3)]
    Released {
        /// Why that is sure.
        #[n(0)]
        cause: ReleaseCause,
        /// Since when.
        #[n(1)]
        since: UnixMillis,
    },
    /// The caller gave the key up before anything was executed.
    #[n(4)]
    Voided {
        /// Since when.
        #[n(0)]
        since: UnixMillis,
    },
    /// The tombstone of a key that had an answer, where expired keys are refused.
    #[n(5)]
    Expired {
        /// Since when.
        #[n(0)]
        since: UnixMillis,
    },
}

/// Why an outcome is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum UnknownCause {
    /// The origin answered with this status, which says nothing about what it did.
    #[n(0)]
    Status(#[n(0)] u16),
    /// The origin did not answer in time.
    #[n(1)]
    TimedOut,
    /// The connection to the origin broke.
    #[n(2)]
    ConnectionLost,
    /// The origin answered, but the answer could not be stored.
    #[n(3)]
    NotStored,
    /// A later attempt surely was not executed, but an earlier one may have been.
    #[n(4)]
    EarlierAttempt,
}

/// Why it is sure that nothing was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum ReleaseCause {
    /// The origin refused with this status before doing anything.
    #[n(0)]
    Status(#[n(0)] u16),
    /// The request never left for the origin.
    #[n(1)]
    NotDispatched,
    /// An operator found out.
    #[n(2)]
    Settled,
}

/// Why an outcome is unknown, or why it is sure that nothing was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cause {
    /// The name in journals and lists.
    pub name: &'static str,
    /// The origin's status, where that is the cause.
    pub http_status: Option<u16>,
}

/// What tells one attempt from every other: 16 random bytes. (Its number is for people.)
#[derive(Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Token(
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    [u8; 16],
);

/// The last attempts that own the key no more, oldest first. None of them begins again; from one
/// that has ended nothing counts any more, from one that was overtaken only the first success.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct EarlierAttempts(#[n(0)] Vec<EarlierAttempt>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
struct EarlierAttempt {
    #[n(0)]
    token: Token,
    /// What it brought is recorded; otherwise it was overtaken.
    #[n(1)]
    ended: bool,
    /// It was an attempt at another request, which the record belonged to before. Without a value, it
    /// was not: readers that do not know this field skip it.
    #[n(2)]
    of_another: Option<bool>,
}

/// What may be told about a key: never its answer's body.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct KeyStatus {
    /// Where the key stands now.
    #[n(0)]
    pub state: KeyState,
    /// How many attempts were begun.
    #[n(1)]
    pub attempts: u32,
    /// The status of its answer.
    #[n(2)]
    pub http_status: Option<u16>,
    /// The request id of its answer.
    #[n(3)]
    pub request_id: Option<String>,
    /// When the key was first seen, or made where only that is known.
    #[n(4)]
    pub created_at: UnixMillis,
    /// When its answer came.
    #[n(5)]
    pub completed_at: Option<UnixMillis>,
    /// When what is kept of it goes; `None` while an attempt is under way.
    #[n(6)]
    pub expires_at: Option<UnixMillis>,
}

/// The names that callers see in `Idempotency-State`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum KeyState {
    /// An attempt is under way.
    #[n(0)]
    InProgress,
    /// There is an answer.
    #[n(1)]
    Completed,
    /// It may have been executed.
    #[n(2)]
    Unknown,
    /// It was not executed.
    #[n(3)]
    Released,
    /// It was given up and never executes.
    #[n(4)]
    Voided,
    /// It had an answer, which is gone.
    #[n(5)]
    Expired,
}

/// How a record relates to the passing of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Life {
    /// It counts.
    Live,
    /// Its answer is gone, and the key is refused.
    Expired,
    /// It is as if it were not there.
    Gone,
}

impl Record {
    /// The version of the wire form that [`Record::encode`] writes.
    pub const WIRE_VERSION: u8 = 1;

    /// When what is kept goes; `None` for a key in flight, whose lease decides, and for what is kept
    /// for good.
    pub fn expires_at(&self) -> Option<UnixMillis> {
        let long = |since: &UnixMillis| since.plus(self.policy.long_retention());
        match &self.state {
            State::InFlight { .. } => None,
            State::Completed { response, .. } if self.remembers() && !response.has_content() => {
                None
            }
            State::Completed { completed_at: since, .. } | State::Released { since, .. } => {
                Some(since.plus(self.policy.retention))
            }
            _ if self.remembers() => None,
            State::Unknown { since, .. } | State::Voided { since } | State::Expired { since } => {
                Some(long(since))
            }
        }
    }

    /// When the sweep should look at it, if ever. One in flight counts as unknown from its lease's
    /// death.
    pub fn due_at(&self) -> Option<UnixMillis> {
        match &self.state {
            State::InFlight { lease_until, .. } if !self.remembers() => {
                Some(lease_until.plus(self.policy.long_retention()))
            }
            _ => self.expires_at(),
        }
    }

    /// What may be told about the key, or `None` once it is as if it had never been.
    pub fn status(&self, now: UnixMillis) -> Option<KeyStatus> {
        let life = self.life(now);
        let state = match (life, &self.state) {
            (Life::Gone, _) => return None,
            (Life::Expired, _) | (_, State::Expired { .. }) => KeyState::Expired,
            (_, State::InFlight { lease_until, .. }) if now < *lease_until => KeyState::InProgress,
            (_, State::InFlight { .. } | State::Unknown { .. }) => KeyState::Unknown,
            (_, State::Completed { .. }) => KeyState::Completed,
            (_, State::Released { .. }) => KeyState::Released,
            (_, State::Voided { .. }) => KeyState::Voided,
        };
        // Whether the sweep has been here already must not show.
        let answer = match &self.state {
            State::Completed { response, completed_at } if life == Life::Live => {
                Some((response, *completed_at))
            }
            _ => None,
        };
        Some(KeyStatus {
            state,
            attempts: self.attempts,
            http_status: answer.map(|(response, _)| response.status),
            request_id: answer.map(|(response, _)| response.request_id.clone()),
            created_at: self.created_at,
            completed_at: answer.map(|(_, completed_at)| completed_at),
            expires_at: match (state, &self.state) {
                (KeyState::Unknown, State::InFlight { .. }) => self.due_at(),
                (KeyState::Expired, State::Expired { .. }) => self.expires_at(),
                (KeyState::Expired, _) => {
                    self.due_at().map(|end| end.plus(self.policy.long_retention()))
                }
                // What of a permanent record goes may have gone.
                _ => self.expires_at().filter(|end| now < *end),
            },
        })
    }

    /// Returns why the outcome is unknown, or why it is sure that nothing was executed; `None` for
    /// every other state.
    pub fn cause(&self, now: UnixMillis) -> Option<Cause> {
        let named = |name, http_status| Some(Cause { name, http_status });
        match self.state {
            State::InFlight { lease_until, .. } if lease_until <= now => named("lease_died", None),
            State::Unknown { cause, .. } => match cause {
                UnknownCause::Status(status) => named("status", Some(status)),
                UnknownCause::TimedOut => named("timed_out", None),
                UnknownCause::ConnectionLost => named("connection_lost", None),
                UnknownCause::NotStored => named("not_stored", None),
                UnknownCause::EarlierAttempt => named("earlier_attempt", None),
            },
            State::Released { cause, .. } => match cause {
                ReleaseCause::Status(status) => named("status", Some(status)),
                ReleaseCause::NotDispatched => named("not_dispatched", None),
                ReleaseCause::Settled => named("settled", None),
            },
            _ => None,
        }
    }

    /// Returns when the record last changed; for a key in flight, when its lease was last renewed.
    pub fn changed_at(&self) -> UnixMillis {
        match self.state {
            State::InFlight { lease_until, .. } => lease_until.minus(self.policy.lease),
            State::Completed { completed_at: since, .. }
            | State::Unknown { since, .. }
            | State::Released { since, .. }
            | State::Voided { since }
            | State::Expired { since } => since,
        }
    }

    /// Whether its answer has headers whose bytes this record cannot hold.
    pub fn has_odd_headers(&self) -> bool {
        matches!(&self.state, State::Completed { response, .. } if response.has_odd_headers())
    }

    /// The same record with only the status of its answer, for a store that does not take more;
    /// `None` when there is nothing to leave out.
    pub fn without_answer_body(mut self) -> Option<Self> {
        match self.state {
            State::Completed { response, completed_at } if response.body().is_some() => {
                let response = response.into_status_only();
                self.state = State::Completed { response, completed_at };
                Some(self)
            }
            _ => None,
        }
    }

    /// What of the record counts at `now`: of a permanent one whose retention is over, the answer is
    /// gone, and the rest stays. Whether the sweep has written that already must not show.
    pub(crate) fn at(mut self, now: UnixMillis) -> Self {
        let is_over = self.remembers() && self.due_at().is_some_and(|end| end <= now);
        match self.state {
            State::Completed { response, completed_at } if is_over => {
                let response = response.into_status_only();
                self.state = State::Completed { response, completed_at };
                self
            }
            state => Self { state, ..self },
        }
    }

    /// Whether it is kept for good.
    pub(crate) fn remembers(&self) -> bool {
        self.policy.expired_key == ExpiredKey::Remember
    }

    pub(crate) fn life(&self, now: UnixMillis) -> Life {
        let end = match (self.due_at(), &self.state) {
            // Of what is permanent, only a released one is forgotten: it belongs to nobody.
            (Some(end), State::Released { .. }) => end,
            (Some(end), _) if !self.remembers() => end,
            (_, State::Expired { .. }) => return Life::Expired,
            _ => return Life::Live,
        };
        let refused = match self.state {
            State::Voided { .. } => false,
            State::Expired { .. } => return if now < end { Life::Expired } else { Life::Gone },
            _ => self.policy.expired_key == ExpiredKey::Refuse,
        };
        if now < end {
            Life::Live
        } else if refused && now < end.plus(self.policy.long_retention()) {
            Life::Expired
        } else {
            Life::Gone
        }
    }
}

impl Token {
    /// A token of 16 bytes from a cryptographic source.
    pub const fn new(random: [u8; 16]) -> Self {
        Self(random)
    }
}

impl EarlierAttempts {
    /// How many are remembered.
    pub const CAPACITY: usize = 4;

    /// Whether the attempt with this token is known to own the key no more.
    pub fn contains(&self, token: Token) -> bool {
        self.0.iter().any(|attempt| attempt.token == token)
    }

    /// Whether what the attempt with this token brought is known to be recorded.
    pub fn has_ended(&self, token: Token) -> bool {
        self.0.iter().any(|attempt| attempt.token == token && attempt.ended)
    }

    /// Whether the attempt with this token was at another request.
    pub(crate) fn was_of_another(&self, token: Token) -> bool {
        self.0.iter().any(|attempt| attempt.token == token && attempt.of_another == Some(true))
    }

    /// The record goes to another request. Those that were overtaken are forgotten, for what they may
    /// still bring is not of that.
    pub(crate) fn leave_to_another(&mut self) {
        self.0.retain(|attempt| attempt.ended);
        for attempt in &mut self.0 {
            attempt.of_another = Some(true);
        }
    }

    pub(crate) fn note_ended(&mut self, token: Token) {
        self.note(EarlierAttempt { token, ended: true, of_another: None });
    }

    pub(crate) fn note_overtaken(&mut self, token: Token) {
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

impl KeyState {
    /// What `Idempotency-State` says where the response knows of no record: none was found, or none
    /// was asked. It proves nothing.
    pub const NOTHING_KNOWN: &'static str = "absent";

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Unknown => "unknown",
            Self::Released => "released",
            Self::Voided => "voided",
            Self::Expired => "expired",
        }
    }

    /// The state with this name.
    pub fn parse(name: &str) -> Option<Self> {
        let all = [
            Self::InProgress,
            Self::Completed,
            Self::Unknown,
            Self::Released,
            Self::Voided,
            Self::Expired,
        ];
        all.into_iter().find(|state| state.as_str() == name)
    }
}

/// Why stored bytes are no record. None of these means that the key is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordError {
    /// The bytes do not start as a record does.
    NotARecord,
    /// It was written by another version of this project.
    UnknownVersion(u8),
    /// Bytes were changed or lost.
    Damaged,
}

/// The start of every record, then a version byte and the CRC-32 of the rest.
const MAGIC: [u8; 2] = *b"ok";
const HEAD: usize = 7;

/// CRC-32 as in zip and Ethernet. The table of 1 KiB, since faster ones weigh 16 KiB in the Worker
/// and do not compress.
const CHECKSUM: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&CRC_32_ISO_HDLC);

impl Record {
    /// The bytes to store: `ok`, the version, the CRC-32 (little endian) of what follows, and the
    /// record in CBOR (RFC 8949) with numbered fields, so that a later version can add some.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![MAGIC[0], MAGIC[1], Self::WIRE_VERSION, 0, 0, 0, 0];
        // Writing to memory cannot fail, and no field's encoder refuses a value.
        let Ok(()) = minicbor::encode(self, &mut bytes).map_err(drop) else { unreachable!() };
        let sum = CHECKSUM.checksum(&bytes[HEAD..]);
        bytes[3..HEAD].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads what [`Record::encode`] wrote. Anything else is an error, never a missing record: to
    /// take a damaged record for none would execute its request again.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let Some((head, body)) = bytes.split_at_checked(HEAD) else {
            return Err(RecordError::NotARecord);
        };
        if head[..2] != MAGIC {
            return Err(RecordError::NotARecord);
        }
        if head[2] != Self::WIRE_VERSION {
            return Err(RecordError::UnknownVersion(head[2]));
        }
        if head[3..] != CHECKSUM.checksum(body).to_le_bytes() {
            return Err(RecordError::Damaged);
        }
        let mut decoder = minicbor::Decoder::new(body);
        match decoder.decode() {
            Ok(record) if decoder.position() == body.len() => Ok(record),
            _ => Err(RecordError::Damaged),
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({:02x}{:02x}…)", self.0[0], self.0[1])
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARecord => f.write_str("the stored bytes are not a record"),
            Self::UnknownVersion(version) => write!(
                f,
                "the record has version {version}, this build reads version {}; deploy a build that reads both",
                Record::WIRE_VERSION
            ),
            Self::Damaged => f.write_str("the stored record is damaged"),
        }
    }
}

impl core::error::Error for RecordError {}
