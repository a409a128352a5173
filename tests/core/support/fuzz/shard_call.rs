//! A message to a shard, and the replies to it: any bytes are a message or an error. A message that is read has exactly
//! these bytes, and carrying a call out on any record causes no panic. An input is the length of a record's body in two
//! bytes, that body, and the message without its version.

use super::record::{NOW, check_next, with_head};
use oncekey::codec::message::{self, Message};
use oncekey::lifecycle::{self, Attempt};
use oncekey::{KeyChange, Record, RecordUpdate, Transition};

#[allow(dead_code, reason = "the Worker uses the rest")]
#[path = "../../../../worker/src/shard/protocol.rs"]
pub(crate) mod protocol;

use protocol::{
    AnyOperation, Begin, Complete, CompleteAs, Decided, Fail, GetStatus, KeyEntry, Operation, Peek,
    Renew, Request, Row, Settle, VERSION, Void,
};

pub(crate) fn check(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    let (record, message) = rest.split_at(length);
    check_reply::<Decided<<Begin as Operation>::Decision>>(message);
    check_reply::<Decided<<Renew as Operation>::Decision>>(message);
    check_reply::<Decided<<Complete as Operation>::Decision>>(message);
    check_reply::<Decided<<Settle as Operation>::Decision>>(message);
    check_reply::<Decided<<Peek as Operation>::Decision>>(message);
    check_reply::<Vec<Row>>(message);
    check_reply::<Vec<KeyEntry>>(message);

    let whole = [&VERSION.to_le_bytes(), message].concat();
    let Some(request) = protocol::decode(&whole) else { return };
    for end in 0..whole.len() {
        assert!(protocol::decode(&whole[..end]).is_none(), "a message without its end");
    }
    let copy = protocol::encode(request);
    assert_eq!(copy, whole);
    let Some(Request::Call(call)) = protocol::decode(&copy) else { return };
    let record = Record::decode(&with_head(record)).ok();
    let (next, change) = decide(&call.operation, record);
    check_next(next, change, NOW);
}

/// Reads bytes that may be a reply.
fn check_reply<T: Message>(bytes: &[u8]) {
    if let Ok(reply) = message::decode::<T>(bytes) {
        assert_eq!(message::encode(&reply), bytes);
    }
}

/// Carries out an operation as the shard does.
fn decide(operation: &AnyOperation, record: Option<Record>) -> (RecordUpdate, Option<KeyChange>) {
    match operation {
        AnyOperation::Begin(Begin { fingerprints, token, minted_at, policy }) => {
            let attempt = Attempt { fingerprints, token: *token, minted_at: *minted_at, policy };
            replied::<Begin>(lifecycle::begin(record, &attempt, NOW))
        }
        AnyOperation::Renew(Renew(token)) => {
            replied::<Renew>(lifecycle::renew(record, *token, NOW))
        }
        AnyOperation::Complete(Complete(token, response)) => {
            replied::<Complete>(lifecycle::complete(record, *token, response.clone(), NOW))
        }
        AnyOperation::CompleteAs(CompleteAs(token, response, class)) => replied::<CompleteAs>(
            lifecycle::complete_as(record, *token, response.clone(), *class, NOW),
        ),
        AnyOperation::Fail(Fail(token, cause)) => {
            replied::<Fail>(lifecycle::fail(record, *token, *cause, NOW))
        }
        AnyOperation::Void(Void { minted_at, policy }) => {
            replied::<Void>(lifecycle::void(record, *minted_at, policy, NOW))
        }
        AnyOperation::Settle(Settle { settlement, .. }) => {
            replied::<Settle>(lifecycle::settle(record, settlement.clone(), NOW))
        }
        AnyOperation::GetStatus(GetStatus) => {
            let status = record.and_then(|record| record.status(NOW));
            replied::<GetStatus>(Transition {
                decision: (),
                status,
                next: RecordUpdate::Keep,
                change: None,
            })
        }
        AnyOperation::Peek(Peek(fingerprints)) => {
            replied::<Peek>(lifecycle::peek(record, fingerprints, NOW))
        }
    }
}

/// Checks the reply of an operation.
fn replied<O: Operation>(step: Transition<O::Decision>) -> (RecordUpdate, Option<KeyChange>) {
    let reply: Decided<O::Decision> = (step.decision, step.status);
    let bytes = message::encode(&reply);
    let copy: Decided<O::Decision> = message::decode(&bytes).expect("what was written");
    assert_eq!(message::encode(&copy), bytes);
    (step.next, step.change)
}
