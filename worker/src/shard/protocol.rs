//! Messages between the gateway and a shard: one type for each request, which names its reply.
//!
//! Both sides run the same code, except while a new version is rolled out. So each message begins with
//! a version. A shard responds to a message that it does not know with [`UNKNOWN_MESSAGE`]. The body of
//! a response is the reply, in the version of the message, only if its status is 200.

use oncekey::codec::message::{self, Message};
use oncekey::{
    AttemptToken, Completion, Decision, FailCause, Fingerprints, KeyState, KeyStatus, Policy,
    Renewal, ResponseClass, Scope, ScopedKey, Settlement, Settling, StoredResponse, UnixMillis,
    message_fields, message_variants,
};

/// The version of these messages. Every change of a message, of a reply, or of a type in them needs a new
/// version, because they contain no names to recognize an old one by. A shard that reads both versions
/// must be deployed before a gateway that writes the new one. Versions 1 and 2 were CBOR, which begins
/// with another byte.
pub(crate) const VERSION: u32 = 3;

/// The status of a response without a reply: this build cannot read the stored record.
pub(crate) const UNREADABLE: u16 = 422;

/// The status of a response without a reply: this build does not know the message.
pub(crate) const UNKNOWN_MESSAGE: u16 = 503;

/// The status of a response without a reply: the database refused the change.
pub(crate) const NOT_STORED: u16 = 507;

/// Returns the bytes of a message to a shard: the version and the request.
pub(crate) fn encode(request: Request) -> Vec<u8> {
    message::encode(&(VERSION, request))
}

/// Reads a message to a shard. Returns `None` if this build does not know it.
pub(crate) fn decode(message: &[u8]) -> Option<Request> {
    let (version, request) = message.split_first_chunk()?;
    if u32::from_le_bytes(*version) == VERSION { message::decode(request).ok() } else { None }
}

/// A request to a shard.
#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    /// An operation on one record.
    Call(ShardCall),
    /// Asks for rows of the journal.
    Rows(RowQuery),
    /// Asks for records.
    Keys(KeyQuery),
}

message_variants!(Request { 0: Call(call), 1: Rows(query), 2: Keys(query) });

/// A call about one record.
#[derive(Debug, PartialEq)]
pub(crate) struct ShardCall {
    pub(crate) name: ScopedKey,
    pub(crate) operation: AnyOperation,
    pub(crate) context: CallContext,
}

message_fields!(ShardCall { name, operation, context });

/// The data that the journal records about a call and that a shard does not know by itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CallContext {
    /// The scope and subject. `None` if an operator names the record by its hash.
    pub(crate) whose: Option<Whose>,
    pub(crate) request_id: String,
    /// The number of the attempt, once the record has given it one.
    pub(crate) attempt: Option<u32>,
}

message_fields!(CallContext { whose, request_id, attempt });

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Whose {
    pub(crate) scope: Scope,
    pub(crate) subject: Subject,
}

message_fields!(Whose { scope, subject });

/// The subject of a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Subject {
    Key,
    BusinessKey,
    Event,
}

message_variants!(Subject { 0: Key, 1: BusinessKey, 2: Event });

/// An operation on one record. Its reply is the lifecycle's decision and the key's state after it.
pub(crate) trait Operation: Into<AnyOperation> {
    type Decision: Message;
}

macro_rules! operations {
    ($($number:literal: $operation:ident -> $decision:ty,)*) => {
        #[derive(Debug, PartialEq)]
        pub(crate) enum AnyOperation {
            $($operation($operation),)*
        }
        message_variants!(AnyOperation { $($number: $operation(operation)),* });
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
    0: Begin -> Decision,
    1: Renew -> Renewal,
    2: Complete -> Completion,
    3: Fail -> Completion,
    4: Void -> (),
    5: Settle -> Settling,
    6: GetStatus -> (),
    7: Peek -> Option<Decision>,
    8: CompleteAs -> Completion,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Begin {
    pub(crate) fingerprints: Fingerprints,
    pub(crate) token: AttemptToken,
    pub(crate) minted_at: Option<UnixMillis>,
    pub(crate) policy: Policy,
}

message_fields!(Begin { fingerprints, token, minted_at, policy });

#[derive(Debug, PartialEq)]
pub(crate) struct Renew(pub(crate) AttemptToken);

message_fields!(Renew(token));

#[derive(Debug, PartialEq)]
pub(crate) struct Complete(pub(crate) AttemptToken, pub(crate) StoredResponse);

message_fields!(Complete(token, response));

/// The end of an attempt: `Complete`, `CompleteAs` or `Fail`. They have one reply, so one call makes them
/// all.
pub(crate) struct End(pub(crate) AnyOperation);

impl Operation for End {
    type Decision = Completion;
}

impl From<End> for AnyOperation {
    fn from(end: End) -> Self {
        end.0
    }
}

/// Records a response that proves something else than its status does.
#[derive(Debug, PartialEq)]
pub(crate) struct CompleteAs(
    pub(crate) AttemptToken,
    pub(crate) StoredResponse,
    pub(crate) ResponseClass,
);

message_fields!(CompleteAs(token, response, class));

#[derive(Debug, PartialEq)]
pub(crate) struct Fail(pub(crate) AttemptToken, pub(crate) FailCause);

message_fields!(Fail(token, cause));

#[derive(Debug, PartialEq)]
pub(crate) struct Void {
    pub(crate) minted_at: Option<UnixMillis>,
    pub(crate) policy: Policy,
}

message_fields!(Void { minted_at, policy });

#[derive(Debug, PartialEq)]
pub(crate) struct Settle {
    pub(crate) settlement: Settlement,
    /// Whether an operator settles the outcome. Otherwise a look-up at the origin does.
    pub(crate) by_operator: bool,
}

message_fields!(Settle { settlement, by_operator });

#[derive(Debug, PartialEq)]
pub(crate) struct GetStatus;

message_fields!(GetStatus);

/// Returns what `Begin` would decide, and changes nothing.
#[derive(Debug, PartialEq)]
pub(crate) struct Peek(pub(crate) Fingerprints);

message_fields!(Peek(fingerprints));

/// The reply to an operation.
pub(crate) type Decided<D> = (D, Option<KeyStatus>);

/// A question that an operator asks a shard.
pub(crate) trait Query: Into<Request> {
    type Entry: Message;
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
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowQuery {
    /// The number of the shard, which is a part of each row's id.
    pub(crate) shard: u8,
    /// The time, in milliseconds since 1970, and the number of the row before the first.
    pub(crate) after: (u64, u64),
    /// The time before which the rows were written, in milliseconds since 1970.
    pub(crate) before: u64,
    pub(crate) key: Option<ScopedKey>,
    pub(crate) request_id: Option<String>,
    /// The state of the key after the change.
    pub(crate) state: Option<KeyState>,
    pub(crate) limit: u32,
}

message_fields!(RowQuery { shard, after, before, key, request_id, state, limit });

/// A row of the journal.
#[derive(Debug, PartialEq)]
pub(crate) struct Row {
    /// Shard, time and number. The id is also the cursor of the next page.
    pub(crate) id: String,
    /// The whole row, as operators see it.
    pub(crate) json: String,
}

message_fields!(Row { id, json });

/// Asks for the newest records, or for the record with this name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeyQuery {
    pub(crate) key: Option<ScopedKey>,
    pub(crate) state: Option<KeyState>,
    pub(crate) limit: u32,
}

message_fields!(KeyQuery { key, state, limit });

/// A record as operators see it.
#[derive(Debug, PartialEq)]
pub(crate) struct KeyEntry {
    pub(crate) created_at: UnixMillis,
    pub(crate) state: KeyState,
    /// The whole entry, which begins with the key's hash.
    pub(crate) json: String,
}

message_fields!(KeyEntry { created_at, state, json });
