//! A call to a shard, as an older or a newer gateway may send it: any bytes are a call or an error. A call that is
//! read is written again in the same way, and carrying it out on any record causes no panic. An input is the length of
//! a record's body in two bytes, that body, and the call.

use super::record::{NOW, check_next, with_head};
use minicbor::{Decode, Encode};
use oncekey::lifecycle::{self, Attempt};
use oncekey::{Change, Next, Record, Step};

#[allow(dead_code, reason = "the Worker uses the rest")]
#[path = "../../../../worker/src/shard/protocol.rs"]
mod protocol;

use protocol::{
    AnyOperation, Begin, Complete, Decided, Envelope, Fail, GetStatus, Operation, Peek, Renew,
    Request, Settle, Void,
};

pub(crate) fn check(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    let (record, message) = rest.split_at(length);
    let Ok(message) = minicbor::decode::<Envelope>(message) else {
        return;
    };
    check_copy(&message);
    let Request::Call(call) = message.request else { return };
    let record = Record::decode(&with_head(record)).ok();
    let (next, change) = decide(&call.operation, record);
    check_next(next, change, NOW);
}

fn check_copy<T: Encode<()> + for<'b> Decode<'b, ()>>(message: &T) {
    let bytes = minicbor::to_vec(message).expect("memory");
    let copy: T = minicbor::decode(&bytes).expect("what was written");
    assert_eq!(minicbor::to_vec(&copy).expect("memory"), bytes);
}

/// Carries out an operation as the shard does.
fn decide(operation: &AnyOperation, record: Option<Record>) -> (Next, Option<Change>) {
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
            replied::<GetStatus>(Step { decision: (), status, next: Next::Keep, change: None })
        }
        AnyOperation::Peek(Peek(fingerprints)) => {
            replied::<Peek>(lifecycle::peek(record, fingerprints, NOW))
        }
    }
}

/// Checks the reply of an operation.
fn replied<O: Operation>(step: Step<O::Decision>) -> (Next, Option<Change>) {
    let reply: Decided<O::Decision> = (step.decision, step.status);
    check_copy(&reply);
    (step.next, step.change)
}
