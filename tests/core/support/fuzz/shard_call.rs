//! A call to a shard, as an older or a newer gateway may send it: any bytes are a call or none, what is
//! read is written as itself, and carried out on any record it is no panic. An input is the length of
//! a record's body in two bytes, that body, and the call.

use super::record::{NOW, check_next, with_head};
use minicbor::{Decode, Encode};
use oncekey::lifecycle::{self, Attempt};
use oncekey::{Change, Next, Record};

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
    let (reply, next, change) = decide(&call.operation, record);
    check_copy(&reply);
    check_next(next, change, NOW);
}

fn check_copy<T: Encode<()> + for<'b> Decode<'b, ()>>(message: &T) {
    let bytes = minicbor::to_vec(message).expect("memory");
    let copy: T = minicbor::decode(&bytes).expect("what was written");
    assert_eq!(minicbor::to_vec(&copy).expect("memory"), bytes);
}

/// As the shard does it.
fn decide(operation: &Operation, record: Option<Record>) -> (Reply, Next, Option<Change>) {
    match operation {
        Operation::Begin { fingerprints, token, minted_at, policy } => {
            let attempt = Attempt { fingerprints, token: *token, minted_at: *minted_at, policy };
            let step = lifecycle::begin(record, &attempt, NOW);
            (Reply::Begun { decision: step.decision, status: step.status }, step.next, step.change)
        }
        Operation::Renew { token } => {
            let step = lifecycle::renew(record, *token, NOW);
            (Reply::Renewed { renewal: step.decision }, step.next, step.change)
        }
        Operation::Complete { token, response } => {
            let step = lifecycle::complete(record, *token, response.clone(), NOW);
            (
                Reply::Ended { completion: step.decision, status: step.status },
                step.next,
                step.change,
            )
        }
        Operation::Fail { token, cause } => {
            let step = lifecycle::fail(record, *token, *cause, NOW);
            (
                Reply::Ended { completion: step.decision, status: step.status },
                step.next,
                step.change,
            )
        }
        Operation::Void { minted_at, policy } => {
            let step = lifecycle::void(record, *minted_at, policy, NOW);
            (Reply::Stands { status: step.status }, step.next, step.change)
        }
        Operation::Settle { settlement } => {
            let step = lifecycle::settle(record, settlement.clone(), NOW);
            (
                Reply::Settled { settling: step.decision, status: step.status },
                step.next,
                step.change,
            )
        }
        Operation::Inspect => {
            let status = record.and_then(|record| record.status(NOW));
            (Reply::Stands { status }, Next::Keep, None)
        }
        Operation::Recall { fingerprints } => {
            let step = lifecycle::recall(record, fingerprints, NOW);
            (Reply::Recalled { decision: step.decision }, step.next, step.change)
        }
    }
}
