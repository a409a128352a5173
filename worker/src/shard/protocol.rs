//! What the gateway and a shard say to each other. Both run the same code most of the time, and
//! during a deploy two versions of it: so each call carries a version, and a shard says when it
//! does not know one.
//!
//! What operators ask is text (`../admin/fan_out.rs`): a word and its parts, with tabs between.

use minicbor::{Decode, Encode};
use oncekey::{
    Completion, Decision, FailCause, Fingerprints, KeyStatus, Policy, Renewal, Settlement,
    Settling, StoredResponse, Token, UnixMillis,
};

/// The version of these messages. A change that an older reader cannot skip raises it, and the
/// shard that reads both ships before the gateway that writes it.
pub(crate) const VERSION: u32 = 1;

/// One call about one key.
#[derive(Debug, Encode, Decode)]
pub(crate) struct Call {
    #[n(0)]
    pub(crate) version: u32,
    /// The storage name.
    #[n(1)]
    #[cbor(with = "minicbor::bytes")]
    pub(crate) name: Vec<u8>,
    #[n(2)]
    pub(crate) operation: Operation,
    /// Who calls, for the journal: a [`Told`] in its own form.
    #[n(3)]
    pub(crate) told: Option<String>,
}

/// What a shard cannot know by itself of who calls. It travels as text, part by part with tabs
/// between, none of which can hold one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// Whose key it is, in hexadecimal.
    pub(crate) scope: String,
    /// What the record is of: `key`, `number` or `event`.
    pub(crate) of: String,
    pub(crate) request_id: String,
    /// The number of the attempt, once it is known.
    pub(crate) attempt: String,
    /// `operator`, or nothing.
    pub(crate) by: String,
}

impl Told {
    pub(crate) fn encode(&self) -> String {
        [&self.scope, &self.of, &self.request_id, &self.attempt, &self.by]
            .map(String::as_str)
            .join("\t")
    }

    /// A part that is missing is empty: it is not known.
    pub(crate) fn decode(text: &str) -> Self {
        let mut parts = text.split('\t').map(str::to_owned);
        let mut next = || parts.next().unwrap_or_default();
        Self { scope: next(), of: next(), request_id: next(), attempt: next(), by: next() }
    }
}

#[derive(Debug, Encode, Decode)]
pub(crate) enum Operation {
    #[n(0)]
    Begin {
        #[n(0)]
        fingerprints: Fingerprints,
        #[n(1)]
        token: Token,
        #[n(2)]
        minted_at: Option<UnixMillis>,
        #[n(3)]
        policy: Policy,
    },
    #[n(1)]
    Renew {
        #[n(0)]
        token: Token,
    },
    #[n(2)]
    Complete {
        #[n(0)]
        token: Token,
        #[n(1)]
        response: StoredResponse,
    },
    #[n(3)]
    Fail {
        #[n(0)]
        token: Token,
        #[n(1)]
        cause: FailCause,
    },
    #[n(4)]
    Void {
        #[n(0)]
        minted_at: Option<UnixMillis>,
        #[n(1)]
        policy: Policy,
    },
    #[n(5)]
    Settle {
        #[n(0)]
        settlement: Settlement,
    },
    #[n(6)]
    Inspect,
    /// What would `begin` be told?
    #[n(7)]
    Recall {
        #[n(0)]
        fingerprints: Fingerprints,
    },
}

impl Reply {
    /// The stored answer in it, if it has one.
    pub(crate) fn replayed(&self) -> Option<&StoredResponse> {
        let decision = match self {
            Self::Begun { decision, .. } | Self::Recalled { decision: Some(decision) } => decision,
            Self::Ended { completion: Completion::LeaseLost(decision), .. } => decision,
            _ => return None,
        };
        match decision {
            Decision::Replay(response) => Some(response),
            _ => None,
        }
    }
}

/// What a shard says.
#[derive(Debug, Encode, Decode)]
pub(crate) enum Reply {
    #[n(0)]
    Begun {
        #[n(0)]
        decision: Decision,
        #[n(1)]
        status: Option<KeyStatus>,
    },
    #[n(1)]
    Renewed {
        #[n(0)]
        renewal: Renewal,
    },
    /// The end of an attempt, by `Complete` or `Fail`.
    #[n(2)]
    Ended {
        #[n(0)]
        completion: Completion,
        #[n(1)]
        status: Option<KeyStatus>,
    },
    /// The key as it stands, after `Void` and `Inspect`.
    #[n(3)]
    Stands {
        #[n(0)]
        status: Option<KeyStatus>,
    },
    #[n(4)]
    Settled {
        #[n(0)]
        settling: Settling,
        #[n(1)]
        status: Option<KeyStatus>,
    },
    /// There are bytes for this key that are no record this build can read.
    #[n(5)]
    Unreadable,
    /// The database took no change.
    #[n(6)]
    NotStored,
    /// The call has a version, or a form, that this build does not know.
    #[n(7)]
    UnknownCall,
    #[n(8)]
    Recalled {
        #[n(0)]
        decision: Option<Decision>,
    },
}
