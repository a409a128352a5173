//! Messages between the gateway and a shard: one type for each request, which names its reply.
//!
//! Both sides run the same code, except while a new version is rolled out. So each message carries a
//! version. A shard responds to a message that it does not know with [`UNKNOWN_MESSAGE`]. The body of a
//! response is the reply only if its status is 200.

use minicbor::{Decode, Encode};
use oncekey::{
    Completion, Decision, FailCause, Fingerprints, KeyState, KeyStatus, Policy, Renewal, Scope,
    ScopedKey, Settlement, Settling, StoredResponse, Token, UnixMillis,
};

/// The version of these messages. A change that older code cannot skip needs a new version. A shard that
/// reads both versions must be deployed before a gateway that writes the new one.
pub(crate) const VERSION: u32 = 2;

/// The status of a response without a reply: this build cannot read the stored record.
pub(crate) const UNREADABLE: u16 = 422;

/// The status of a response without a reply: this build does not know the message.
pub(crate) const UNKNOWN_MESSAGE: u16 = 503;

/// The status of a response without a reply: the database refused the change.
pub(crate) const NOT_STORED: u16 = 507;

/// A message to a shard.
#[derive(Debug, Encode, Decode)]
pub(crate) struct Envelope {
    #[n(0)]
    pub(crate) version: u32,
    #[n(1)]
    pub(crate) request: Request,
}

#[derive(Debug, Encode, Decode)]
pub(crate) enum Request {
    /// An operation on one record.
    #[n(0)]
    Call(#[n(0)] ShardCall),
    /// Asks for rows of the journal.
    #[n(1)]
    Rows(#[n(0)] RowQuery),
    /// Asks for records.
    #[n(2)]
    Keys(#[n(0)] KeyQuery),
}

/// A call about one record.
#[derive(Debug, Encode, Decode)]
pub(crate) struct ShardCall {
    #[n(0)]
    pub(crate) name: ScopedKey,
    #[n(1)]
    pub(crate) operation: AnyOperation,
    #[n(2)]
    pub(crate) context: CallContext,
}

/// The data that the journal records about a call and that a shard does not know by itself.
#[derive(Clone, Debug, Default, Encode, Decode)]
pub(crate) struct CallContext {
    /// The scope and subject. `None` if an operator names the record by its hash.
    #[n(0)]
    pub(crate) whose: Option<Whose>,
    #[n(1)]
    pub(crate) request_id: String,
    /// The number of the attempt, once the record has given it one.
    #[n(2)]
    pub(crate) attempt: Option<u32>,
}

#[derive(Clone, Copy, Debug, Encode, Decode)]
pub(crate) struct Whose {
    #[n(0)]
    pub(crate) scope: Scope,
    #[n(1)]
    pub(crate) subject: Subject,
}

/// The subject of a record.
#[derive(Clone, Copy, Debug, Encode, Decode)]
#[cbor(index_only)]
pub(crate) enum Subject {
    #[n(0)]
    Key,
    #[n(1)]
    BusinessKey,
    #[n(2)]
    Event,
}

/// An operation on one record. Its reply is the lifecycle's decision and the key's state after it.
pub(crate) trait Operation: Into<AnyOperation> {
    type Decision: Encode<()> + for<'b> Decode<'b, ()>;
}

macro_rules! operations {
    ($($index:tt $operation:ident -> $decision:ty,)*) => {
        #[derive(Debug, Encode, Decode)]
        pub(crate) enum AnyOperation {
            $(#[n($index)] $operation(#[n(0)] $operation),)*
        }
        $(
            impl Operation for $operation {
                type Decision = $decision;
            }
            impl From<$operation> for AnyOperation {
                fn from(operation: $operation) -> Self {
                    Self::$operation(operation)
                }
            }
        )*
    };
}

operations! {
    0 Begin -> Decision,
    1 Renew -> Renewal,
    2 Complete -> Completion,
    3 Fail -> Completion,
    4 Void -> (),
    5 Settle -> Settling,
    6 GetStatus -> (),
    7 Peek -> Option<Decision>,
}

#[derive(Debug, Encode, Decode)]
pub(crate) struct Begin {
    #[n(0)]
    pub(crate) fingerprints: Fingerprints,
    #[n(1)]
    pub(crate) token: Token,
    #[n(2)]
    pub(crate) minted_at: Option<UnixMillis>,
    #[n(3)]
    pub(crate) policy: Policy,
}

#[derive(Debug, Encode, Decode)]
pub(crate) struct Renew(#[n(0)] pub(crate) Token);

#[derive(Debug, Encode, Decode)]
pub(crate) struct Complete(#[n(0)] pub(crate) Token, #[n(1)] pub(crate) StoredResponse);

#[derive(Debug, Encode, Decode)]
pub(crate) struct Fail(#[n(0)] pub(crate) Token, #[n(1)] pub(crate) FailCause);

#[derive(Debug, Encode, Decode)]
pub(crate) struct Void {
    #[n(0)]
    pub(crate) minted_at: Option<UnixMillis>,
    #[n(1)]
    pub(crate) policy: Policy,
}

#[derive(Debug, Encode, Decode)]
pub(crate) struct Settle {
    #[n(0)]
    pub(crate) settlement: Settlement,
    /// Whether an operator settles the outcome. Otherwise a look-up at the origin does.
    #[n(1)]
    pub(crate) by_operator: bool,
}

#[derive(Debug, Encode, Decode)]
pub(crate) struct GetStatus;

/// Returns what `Begin` would decide, and changes nothing.
#[derive(Debug, Encode, Decode)]
pub(crate) struct Peek(#[n(0)] pub(crate) Fingerprints);

/// The reply to an operation.
pub(crate) type Decided<D> = (D, Option<KeyStatus>);

/// A question that an operator asks a shard.
pub(crate) trait Query: Into<Request> {
    type Entry: for<'b> Decode<'b, ()>;
}

impl Query for RowQuery {
    type Entry = Row;
}

impl From<RowQuery> for Request {
    fn from(query: RowQuery) -> Self {
        Self::Rows(query)
    }
}

impl Query for KeyQuery {
    type Entry = KeyEntry;
}

impl From<KeyQuery> for Request {
    fn from(query: KeyQuery) -> Self {
        Self::Keys(query)
    }
}

/// Asks for rows of the journal in the order in which they were written.
#[derive(Clone, Debug, Encode, Decode)]
pub(crate) struct RowQuery {
    /// The number of the shard, which is a part of each row's id.
    #[n(0)]
    pub(crate) shard: u8,
    /// The time, in milliseconds since 1970, and the number of the row before the first.
    #[n(1)]
    pub(crate) after: (u64, u64),
    /// The time before which the rows were written, in milliseconds since 1970.
    #[n(2)]
    pub(crate) before: u64,
    #[n(3)]
    pub(crate) key: Option<ScopedKey>,
    #[n(4)]
    pub(crate) request_id: Option<String>,
    /// The state of the key after the change.
    #[n(5)]
    pub(crate) state: Option<KeyState>,
    #[n(6)]
    pub(crate) limit: u32,
}

/// A row of the journal.
#[derive(Debug, Encode, Decode)]
pub(crate) struct Row {
    /// Shard, time and number. The id is also the cursor of the next page.
    #[n(0)]
    pub(crate) id: String,
    /// The whole row, as operators see it.
    #[n(1)]
    pub(crate) json: String,
}

/// Asks for the newest records, or for the record with this name.
#[derive(Clone, Debug, Encode, Decode)]
pub(crate) struct KeyQuery {
    #[n(0)]
    pub(crate) key: Option<ScopedKey>,
    #[n(1)]
    pub(crate) state: Option<KeyState>,
    #[n(2)]
    pub(crate) limit: u32,
}

/// A record as operators see it.
#[derive(Debug, Encode, Decode)]
pub(crate) struct KeyEntry {
    #[n(0)]
    pub(crate) created_at: UnixMillis,
    #[n(1)]
    pub(crate) state: KeyState,
    /// The whole entry, which begins with the key's hash.
    #[n(2)]
    pub(crate) json: String,
}
