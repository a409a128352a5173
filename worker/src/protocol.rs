//! What the gateway and a shard say to each other. Both run the same code most of the time, and
//! during a deploy two versions of it: so each call carries a version, and a shard says when it
//! does not know one.

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
}
