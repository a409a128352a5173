//! A call to a shard, as an older or a newer gateway may send it: any bytes are a call or none, what is
//! read is written as itself, and carried out on any record it is no panic. An input is the length of
//! a record's body in two bytes, that body, and the call.

use super::record::{NOW, check_next, with_head};
use minicbor::{Decode, Encode};
use oncekey::journal;
use oncekey::lifecycle::{self, Attempt};
use oncekey::{Next, Record};

#[allow(dead_code, reason = "the Worker uses the rest")]
#[path = "../../../../worker/src/shard/protocol.rs"]
mod protocol;

use protocol::{Call, Operation, Reply, Told};

pub(crate) fn check(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    let (record, call) = rest.split_at(length);
    let Ok(call) = minicbor::decode::<Call>(call) else {
        return;
    };
    check_copy(&call);
    if let Some(told) = &call.told {
        let told = Told::decode(told);
        let again = Told::decode(&told.encode());
        assert_eq!(format!("{told:?}"), format!("{again:?}"));
    }
    let record = Record::decode(&with_head(record)).ok();
    let (reply, next) = decide(&call.operation, record.clone());
    check_copy(&reply);
    if let (Some(record), Some(made)) = (&record, journal_call(&call.operation)) {
        check_next(made, record, &next, NOW);
    }
}

fn check_copy<T: Encode<()> + for<'b> Decode<'b, ()>>(message: &T) {
    let bytes = minicbor::to_vec(message).expect("memory");
    let copy: T = minicbor::decode(&bytes).expect("what was written");
    assert_eq!(minicbor::to_vec(&copy).expect("memory"), bytes);
}

/// As the shard does it.
fn decide(operation: &Operation, record: Option<Record>) -> (Reply, Next) {
    match operation {
        Operation::Begin { fingerprints, token, minted_at, policy } => {
            let attempt = Attempt { fingerprints, token: *token, minted_at: *minted_at, policy };
            let step = lifecycle::begin(record, &attempt, NOW);
            (Reply::Begun { decision: step.decision, status: step.status }, step.next)
        }
        Operation::Renew { token } => {
            let step = lifecycle::renew(record, *token, NOW);
            (Reply::Renewed { renewal: step.decision }, step.next)
        }
        Operation::Complete { token, response } => {
            let step = lifecycle::complete(record, *token, response.clone(), NOW);
            (Reply::Ended { completion: step.decision, status: step.status }, step.next)
        }
        Operation::Fail { token, cause } => {
            let step = lifecycle::fail(record, *token, *cause, NOW);
            (Reply::Ended { completion: step.decision, status: step.status }, step.next)
        }
        Operation::Void { minted_at, policy } => {
            let step = lifecycle::void(record, *minted_at, policy, NOW);
            (Reply::Stands { status: step.status }, step.next)
        }
        Operation::Settle { settlement } => {
            let step = lifecycle::settle(record, settlement.clone(), NOW);
            (Reply::Settled { settling: step.decision, status: step.status }, step.next)
        }
        Operation::Inspect => {
            let status = record.and_then(|record| record.status(NOW));
            (Reply::Stands { status }, Next::Keep)
        }
        Operation::Recall { fingerprints } => {
            let step = lifecycle::recall(record, fingerprints, NOW);
            (Reply::Recalled { decision: step.decision }, step.next)
        }
    }
}

fn journal_call(operation: &Operation) -> Option<journal::Call<'_>> {
    Some(match operation {
        Operation::Begin { token, .. } => journal::Call::Begin(*token),
        Operation::Complete { token, response } => journal::Call::Complete(*token, response),
        Operation::Fail { .. } => journal::Call::Fail,
        Operation::Void { .. } => journal::Call::Void,
        Operation::Settle { .. } => journal::Call::Settle(None),
        _ => return None,
    })
}
