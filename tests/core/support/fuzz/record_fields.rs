//! A record with any fields is read again as it was written. An input is not a stored record, but
//! the content of each field, so that the test also covers records that no decoder returns.

use super::record::{check_life, check_written};
use arbitrary::{Result, Unstructured};
use oncekey::fingerprint::{FingerprintSecrets, Fingerprints, RequestParts};
use oncekey::record::{EarlierAttempts, ReleaseCause, UnknownCause};
use oncekey::{
    AttemptToken, ExpiredKey, Fingerprint, Millis, Policy, Record, RecordState, StoredResponse,
    UnixMillis, UnknownOutcome,
};

pub(crate) fn check(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let (Ok(record), Ok(now)) = (record(&mut input), time(&mut input)) else {
        return;
    };
    check_written(&record, &mut |below| input.choose_index(below).unwrap_or(0));
    check_life(&record, now.as_u64(), input.choose_index(8).unwrap_or(0));
}

fn record(input: &mut Unstructured<'_>) -> Result<Record> {
    Ok(Record {
        fingerprint: if input.arbitrary()? { Some(fingerprint(input)?) } else { None },
        policy: Policy {
            retention: Millis::new(input.arbitrary()?),
            lease: Millis::new(input.arbitrary()?),
            unknown_outcome: *input.choose(&[UnknownOutcome::Retry, UnknownOutcome::Hold])?,
            expired_key: *input.choose(&[
                ExpiredKey::Forget,
                ExpiredKey::Refuse,
                ExpiredKey::Remember,
            ])?,
        },
        state: state(input)?,
        attempts: input.arbitrary()?,
        maybe_executed: input.arbitrary()?,
        earlier: earlier(input)?,
        created_at: time(input)?,
    })
}

fn state(input: &mut Unstructured<'_>) -> Result<RecordState> {
    Ok(match input.int_in_range(0..=5)? {
        0 => RecordState::InFlight { token: token(input)?, lease_until: time(input)? },
        1 => RecordState::Completed { response: response(input)?, completed_at: time(input)? },
        2 => {
            let known = [
                UnknownCause::TimedOut,
                UnknownCause::ConnectionLost,
                UnknownCause::NotStored,
                UnknownCause::EarlierAttempt,
                UnknownCause::Status(input.arbitrary()?),
            ];
            RecordState::Unknown { cause: *input.choose(&known)?, since: time(input)? }
        }
        3 => {
            let known = [
                ReleaseCause::NotDispatched,
                ReleaseCause::Settled,
                ReleaseCause::Status(input.arbitrary()?),
            ];
            RecordState::Released { cause: *input.choose(&known)?, since: time(input)? }
        }
        4 => RecordState::Voided { since: time(input)? },
        _ => RecordState::Expired { since: time(input)? },
    })
}

fn response(input: &mut Unstructured<'_>) -> Result<StoredResponse> {
    let (status, request_id): (u16, &str) = (input.arbitrary()?, input.arbitrary()?);
    let headers: Vec<(String, String)> = input.arbitrary()?;
    let body: Option<Vec<u8>> = input.arbitrary()?;
    let mut response = match body {
        Some(body) => StoredResponse::keep(status, headers, body, request_id, 1000).0,
        None => StoredResponse::without_body(status, headers, request_id),
    };
    response.note_resource();
    Ok(response)
}

fn fingerprint(input: &mut Unstructured<'_>) -> Result<Fingerprint> {
    let parts = RequestParts {
        method: "POST",
        path: "/v1/orders",
        query: None,
        content_encoding: None,
        content_type: Some("text/plain"),
        body: &[input.arbitrary()?],
        ignore: &[],
    };
    let list = *input.choose(&["id:secret", "2026-01:other"])?;
    let secrets = if input.arbitrary()? { FingerprintSecrets::parse(list).ok() } else { None };
    Ok(Fingerprints::compute(&parts, &secrets.unwrap_or_default()).signing())
}

/// Returns attempts from their stored form, because only the lifecycle can create them.
fn earlier(input: &mut Unstructured<'_>) -> Result<EarlierAttempts> {
    let mut bytes = Vec::new();
    let mut encoder = minicbor::Encoder::new(&mut bytes);
    let count = input.int_in_range(0..=EarlierAttempts::CAPACITY)?;
    encoder.array(count as u64).expect("memory");
    for _ in 0..count {
        let (token, ended): ([u8; 16], bool) = input.arbitrary()?;
        let pair = encoder.array(2).and_then(|pair| pair.bytes(&token)).expect("memory");
        pair.bool(ended).expect("memory");
    }
    Ok(minicbor::decode(&bytes).expect("the wire form of earlier attempts"))
}

/// Returns a token, often the one with which the calls are made.
fn token(input: &mut Unstructured<'_>) -> Result<AttemptToken> {
    Ok(if input.arbitrary()? {
        super::record::TOKEN
    } else {
        AttemptToken::new(input.arbitrary()?)
    })
}

/// Returns a time, often near another one.
fn time(input: &mut Unstructured<'_>) -> Result<UnixMillis> {
    let any = input.arbitrary()?;
    Ok(UnixMillis::new(if input.arbitrary()? {
        super::record::NOW.as_u64().wrapping_add(any)
    } else {
        any
    }))
}
