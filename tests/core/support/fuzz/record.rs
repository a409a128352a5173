//! A stored record: whatever the bytes, they are no panic; what is read is written and read as itself,
//! and every call of the lifecycle makes of it a record that can be stored again.
//!
//! The checksum would stop all that is made up. So an input is read unchanged, and also under a
//! head that fits: `ok`, the version, the checksum.

use super::input::choices;
use oncekey::fingerprint::RequestParts;
use oncekey::journal::{JournalEntry, RequestedBy};
use oncekey::lifecycle::{self, Attempt};
use oncekey::{
    Change, Decision, ExpiredKey, FailCause, FingerprintSecrets, Fingerprints, Millis, Next,
    Policy, Record, RecordError, Settlement, State, Step, StoredResponse, Token, UnixMillis,
    UnknownOutcome,
};
use std::sync::LazyLock;

/// `ok`, the version, and the checksum.
const HEAD: usize = 7;

pub(crate) fn check(bytes: &[u8]) {
    let is_whole = bytes.len() >= HEAD && bytes.starts_with(b"ok");
    let as_it_stands = Record::decode(bytes);
    let expected = match bytes {
        [b'o', b'k', 1, ..] if is_whole => Err(RecordError::Damaged),
        [b'o', b'k', version, ..] if is_whole => Err(RecordError::UnknownVersion(*version)),
        _ => Err(RecordError::NotARecord),
    };
    assert!(as_it_stands.is_ok() || as_it_stands == expected, "{as_it_stands:?}");

    let body = if is_whole { &bytes[HEAD..] } else { bytes };
    let whole = with_head(body);
    match Record::decode(&whole) {
        Err(error) => assert_eq!(error, RecordError::Damaged),
        Ok(record) => {
            if is_whole && whole == bytes {
                assert_eq!(as_it_stands.as_ref(), Ok(&record));
            }
            let mut choices = choices(bytes);
            check_written(&record, &mut |below| choices.below(below));
            let now = [0, NOW.as_u64(), u64::MAX][choices.below(3)];
            check_life(&record, now, choices.below(8));
        }
    }
}

/// Puts a fitting head before a body that may be anything.
pub(super) fn with_head(body: &[u8]) -> Vec<u8> {
    let sum = crc32fast::hash(body).to_le_bytes();
    [b"ok", &[Record::WIRE_VERSION][..], &sum, body].concat()
}

/// It comes back as it is, and not at all when a bit was changed or lost.
pub(super) fn check_written(record: &Record, choose: &mut impl FnMut(usize) -> usize) {
    let mut bytes = record.encode();
    assert_eq!(Record::decode(&bytes).as_ref(), Ok(record));
    assert!(Record::decode(&bytes[..choose(bytes.len())]).is_err());
    let (at, bit) = (choose(bytes.len()), choose(8));
    bytes[at] ^= 1 << bit;
    assert!(Record::decode(&bytes).is_err());
}

/// Whatever a record says, no call about it panics, at any time, and all that one writes can be read.
/// Besides `begin` one call is made: which one, the input says.
pub(super) fn check_life(record: &Record, now: u64, which: usize) {
    let now = UnixMillis::new(now);
    let some = || Some(record.clone());
    let attempt = Attempt {
        fingerprints: &FINGERPRINTS,
        token: TOKEN,
        minted_at: Some(NOW),
        policy: &POLICY,
    };
    let begun = lifecycle::begin(some(), &attempt, now);
    if let Decision::Execute(_) = begun.decision {
        let stored = match &begun.next {
            Next::Write(written) => written,
            _ => record,
        };
        assert_eq!(owner(stored), Some(TOKEN), "whoever executes owns the key");
    }
    check_next(begun.next, begun.change, now);

    let response = StoredResponse::keep(201, [], b"{}".to_vec(), "req", 100).0;
    let (next, change) = match which {
        0 => parts(lifecycle::complete(some(), TOKEN, response, now)),
        1 => parts(lifecycle::fail(some(), TOKEN, FailCause::TimedOut, now)),
        2 => parts(lifecycle::void(some(), Some(NOW), &POLICY, now)),
        3 => parts(lifecycle::settle(some(), Settlement::Executed(response), now)),
        4 => parts(lifecycle::settle(some(), Settlement::NotExecuted, now)),
        5 => parts(lifecycle::renew(some(), TOKEN, now)),
        6 => parts(lifecycle::peek(some(), &FINGERPRINTS, now)),
        _ => parts(lifecycle::expire(record.clone(), now)),
    };
    check_next(next, change, now);
    let _ = (record.status(now), record.expires_at(), record.due_at());
}

fn owner(record: &Record) -> Option<Token> {
    match record.state {
        State::InFlight { token, .. } => Some(token),
        _ => None,
    }
}

fn parts<D>(step: Step<D>) -> (Next, Option<Change>) {
    (step.next, step.change)
}

pub(super) fn check_next(next: Next, change: Option<Change>, now: UnixMillis) {
    let _ = change.map(|change| JournalEntry::new(change, RequestedBy::default(), now));
    if let Next::Write(record) = next {
        assert_eq!(Record::decode(&record.encode()).as_ref(), Ok(&*record));
    }
}

pub(super) const NOW: UnixMillis = UnixMillis::new(1_764_000_000_000);
pub(super) const TOKEN: Token = Token::new([7; 16]);
pub(super) const POLICY: Policy = Policy {
    retention: Millis::from_days(1),
    lease: Millis::from_seconds(15),
    unknown_outcome: UnknownOutcome::Retry,
    expired_key: ExpiredKey::Refuse,
};

/// The request that the records of `tests/vectors` were made for.
pub(super) static FINGERPRINTS: LazyLock<Fingerprints> = LazyLock::new(|| {
    let parts = RequestParts {
        method: "POST",
        path: "/v1/orders",
        query: None,
        content_encoding: None,
        content_type: Some("text/plain"),
        body: b"{\"amount\":1}",
        ignore: &[],
    };
    let secrets = FingerprintSecrets::parse("2026-01:secret").expect("a list of secrets");
    Fingerprints::compute(&parts, &secrets)
});
