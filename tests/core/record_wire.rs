//! The stored form of a record: a written record is read back unchanged, and any other bytes are an
//! error and never another record.

#![allow(clippy::disallowed_methods, reason = "a test reads a file; the core reads none")]

use crate::support::lifecycle::requests::{request, token};
use oncekey::record::{EarlierAttempts, ReleaseCause, UnknownCause};
use oncekey::{
    AttemptToken, ExpiredKey, Fingerprint, Millis, Policy, Record, RecordError, RecordState,
    StoredResponse, UnixMillis, UnknownOutcome,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The position at which the body begins: after `ok`, the version and the checksum.
const HEAD: usize = 7;

fn time() -> impl Strategy<Value = UnixMillis> {
    prop_oneof![Just(0), any::<u64>(), 1_700_000_000_000..1_900_000_000_000_u64]
        .prop_map(UnixMillis::new)
}

fn a_token() -> impl Strategy<Value = AttemptToken> {
    any::<[u8; 16]>().prop_map(AttemptToken::new)
}

fn fingerprint() -> impl Strategy<Value = Fingerprint> {
    ("[a-z]{0,8}", prop_oneof![Just(""), Just("id:secret"), Just("2026-01:other")])
        .prop_map(|(body, secrets)| request(&body, secrets).signing())
}

fn policy() -> impl Strategy<Value = Policy> {
    (any::<u64>(), any::<u64>(), any::<bool>(), 0..3).prop_map(
        |(retention, lease, hold, expired)| Policy {
            retention: Millis::new(retention),
            lease: Millis::new(lease),
            unknown_outcome: if hold { UnknownOutcome::Hold } else { UnknownOutcome::Retry },
            expired_key: [ExpiredKey::Forget, ExpiredKey::Refuse, ExpiredKey::Remember]
                [expired as usize],
        },
    )
}

fn response() -> impl Strategy<Value = StoredResponse> {
    let headers = vec((".{0,12}", ".{0,24}"), 0..4);
    (any::<u16>(), headers, prop::option::of(vec(any::<u8>(), 0..300)), ".{0,40}").prop_map(
        |(status, headers, body, request_id)| {
            let mut response = match body {
                Some(body) => StoredResponse::keep(status, [], body, &request_id, 100_000).0,
                None => StoredResponse::without_body(status, [], &request_id),
            };
            // Headers as a later version may allow them.
            response.headers = headers.into_iter().collect();
            response.headers.append("location", format!("/orders/{request_id}"));
            response.note_resource();
            response
        },
    )
}

fn state() -> impl Strategy<Value = RecordState> {
    let unknown = prop_oneof![
        any::<u16>().prop_map(UnknownCause::Status),
        Just(UnknownCause::TimedOut),
        Just(UnknownCause::ConnectionLost),
        Just(UnknownCause::NotStored),
        Just(UnknownCause::EarlierAttempt),
    ];
    let released = prop_oneof![
        any::<u16>().prop_map(ReleaseCause::Status),
        Just(ReleaseCause::NotDispatched),
        Just(ReleaseCause::Settled),
    ];
    prop_oneof![
        (a_token(), time())
            .prop_map(|(token, lease_until)| RecordState::InFlight { token, lease_until }),
        (response(), time())
            .prop_map(|(response, completed_at)| RecordState::Completed { response, completed_at }),
        (unknown, time()).prop_map(|(cause, since)| RecordState::Unknown { cause, since }),
        (released, time()).prop_map(|(cause, since)| RecordState::Released { cause, since }),
        time().prop_map(|since| RecordState::Voided { since }),
        time().prop_map(|since| RecordState::Expired { since }),
    ]
}

/// Returns attempts from their stored form, because only the lifecycle can create them.
fn earlier(attempts: &[([u8; 16], bool)]) -> EarlierAttempts {
    let mut bytes = Vec::new();
    let mut encoder = minicbor::Encoder::new(&mut bytes);
    encoder.array(attempts.len() as u64).unwrap();
    for (token, ended) in attempts {
        encoder.array(2).unwrap().bytes(token).unwrap().bool(*ended).unwrap();
    }
    minicbor::decode(&bytes).expect("the wire form of earlier attempts")
}

fn record() -> impl Strategy<Value = Record> {
    let attempts = vec(any::<([u8; 16], bool)>(), 0..=EarlierAttempts::CAPACITY);
    let numbers = (any::<u32>(), any::<bool>(), time());
    (prop::option::of(fingerprint()), policy(), state(), attempts, numbers).prop_map(
        |(fingerprint, policy, state, attempts, (number, maybe_executed, created_at))| Record {
            fingerprint,
            policy,
            state,
            attempts: number,
            maybe_executed,
            earlier: earlier(&attempts),
            created_at,
        },
    )
}

/// A record that the store refuses is stored again without its body.
#[test]
fn a_response_can_be_stored_without_its_body() {
    let at = UnixMillis::new(1_764_000_000_000);
    let of = |state| Record {
        fingerprint: None,
        policy: Policy {
            retention: Millis::from_days(1),
            lease: Millis::from_seconds(15),
            unknown_outcome: UnknownOutcome::Hold,
            expired_key: ExpiredKey::Forget,
        },
        state,
        attempts: 1,
        maybe_executed: false,
        earlier: EarlierAttempts::default(),
        created_at: at,
    };
    let completed = |response| of(RecordState::Completed { response, completed_at: at });
    let response = response_of(201, "what was bought");
    let smaller = completed(response.clone()).without_response_body().expect("it has a body");
    assert_eq!(smaller, completed(response.into_status_only()));
    assert_eq!(smaller.without_response_body(), None, "there is no body left to omit");
    let unknown = RecordState::Unknown { cause: UnknownCause::NotStored, since: at };
    assert_eq!(of(unknown).without_response_body(), None);
}

/// Adds a valid head to a body of any bytes.
fn with_head(body: &[u8]) -> Vec<u8> {
    let sum = crc32fast::hash(body).to_le_bytes();
    [b"ok", &[Record::WIRE_VERSION][..], &sum, body].concat()
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn a_record_is_read_as_it_was_written(record in record()) {
        prop_assert_eq!(Record::decode(&record.encode()), Ok(record));
    }

    #[test]
    fn bytes_that_are_not_a_record_are_an_error(bytes in vec(any::<u8>(), 0..400)) {
        prop_assert!(Record::decode(&bytes).is_err());
    }

    #[test]
    fn no_body_after_a_valid_head_causes_a_panic(body in vec(any::<u8>(), 0..400)) {
        let _ = Record::decode(&with_head(&body));
    }

    #[test]
    fn no_changed_body_after_a_valid_head_causes_a_panic(
        record in record(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut body = record.encode().split_off(HEAD);
        let at = at.index(body.len());
        body[at] = byte;
        let _ = Record::decode(&with_head(&body));
    }
}

/// Returns what minicbor's derived code reads from the body of a record.
fn as_derived(body: &[u8]) -> Result<Record, RecordError> {
    let mut decoder = minicbor::Decoder::new(body);
    match decoder.decode() {
        Ok(record) if decoder.position() == body.len() => Ok(record),
        _ => Err(RecordError::Damaged),
    }
}

/// Checks that a body is read as derived code reads it. That code takes a break outside of an item of indefinite length
/// for an item, so bodies with such a byte may be refused here.
fn check_as_derived(body: &[u8]) -> Result<(), TestCaseError> {
    let read = Record::decode(&with_head(body));
    if read.is_ok() || !body.contains(&0xff) {
        prop_assert_eq!(read, as_derived(body), "{}", hex(body));
    }
    Ok(())
}

/// Returns a CBOR item of any type and length, or the start of one.
fn item() -> impl Strategy<Value = Vec<u8>> {
    let head =
        (0..8_u8, prop_oneof![0..24_u8, 24..32_u8]).prop_map(|(kind, info)| kind << 5 | info);
    let leaf = prop_oneof![
        vec(any::<u8>(), 0..3),
        (0..4_u8, 0..24_u64).prop_map(|(kind, n)| {
            let content = if kind < 2 { 0 } else { n as usize };
            [&[kind << 5 | n as u8][..], &vec![b'x'; content]].concat()
        }),
        Just(vec![0xf6]),
        Just(b"\x7f\x61a\x60\xff".to_vec()),
        Just(b"\x5f\x41a\xff".to_vec()),
        (head, any::<[u8; 8]>()).prop_map(|(head, more)| [&[head][..], &more].concat()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        (vec(inner, 0..4), any::<bool>(), 0..4_u8).prop_map(|(items, is_definite, kind)| {
            let content = items.concat();
            let count = items.len() as u8;
            match (kind, is_definite) {
                (0, true) => [&[0x80 | count][..], &content].concat(),
                (0, false) => [&[0x9f][..], &content, &[0xff]].concat(),
                (1, true) => [&[0xa0 | (count / 2)][..], &content].concat(),
                (1, false) => [&[0xbf][..], &content, &[0xff]].concat(),
                (2, _) => [&[0xc1][..], &content].concat(),
                _ => content,
            }
        })
    })
}

proptest! {
    #![proptest_config(config(1024))]

    /// minicbor's derived code is the definition of the form.
    #[test]
    fn a_record_is_written_as_derived_code_writes_it(record in record()) {
        let derived = minicbor::to_vec(&record).unwrap();
        prop_assert_eq!(hex(&record.encode()[HEAD..]), hex(&derived));
    }

    #[test]
    fn a_changed_body_is_read_as_derived_code_reads_it(
        record in record(),
        changes in vec((any::<prop::sample::Index>(), 0..3_usize, item()), 1..3),
    ) {
        let mut body = record.encode().split_off(HEAD);
        check_as_derived(&body)?;
        for (at, removed, item) in changes {
            let at = at.index(body.len());
            let end = (at + removed).min(body.len());
            body.splice(at..end, item);
            check_as_derived(&body)?;
        }
    }

    #[test]
    fn a_later_field_is_skipped_as_derived_code_skips_it(record in record(), items in vec(item(), 1..3)) {
        let mut body = record.encode().split_off(HEAD);
        body[0] += items.len() as u8;
        body.extend(items.concat());
        check_as_derived(&body)?;
    }
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn a_record_that_was_cut_is_an_error(record in record()) {
        let bytes = record.encode();
        for length in 0..bytes.len() {
            let expected = if length < HEAD { RecordError::NotARecord } else { RecordError::Damaged };
            prop_assert_eq!(Record::decode(&bytes[..length]), Err(expected), "{} bytes", length);
        }
        let longer = [&bytes[..], &[0]].concat();
        prop_assert_eq!(Record::decode(&longer), Err(RecordError::Damaged));
        let longer = with_head(&longer[HEAD..]);
        prop_assert_eq!(Record::decode(&longer), Err(RecordError::Damaged), "the checksum covers all bytes");
    }

    #[test]
    fn a_record_with_one_bit_changed_is_an_error(record in record()) {
        let mut bytes = record.encode();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                bytes[at] ^= 1 << bit;
                let expected = match at {
                    0 | 1 => RecordError::NotARecord,
                    2 => RecordError::UnknownVersion(bytes[2]),
                    _ => RecordError::Damaged,
                };
                prop_assert_eq!(Record::decode(&bytes), Err(expected), "byte {} bit {}", at, bit);
                bytes[at] ^= 1 << bit;
            }
        }
    }
}

#[test]
fn an_unknown_version_is_reported_with_its_number() {
    for version in (0..=u8::MAX).filter(|version| *version != Record::WIRE_VERSION) {
        let mut bytes = golden_records()[0].1.encode();
        bytes[2] = version;
        assert_eq!(Record::decode(&bytes), Err(RecordError::UnknownVersion(version)));
        let message = RecordError::UnknownVersion(version).to_string();
        assert!(message.contains(&format!("version {version}, ")), "{message}");
    }
}

#[test]
fn a_length_beyond_the_input_allocates_no_memory() {
    // An array, a text, bytes and a map of 2^63 elements.
    for head in [0x9b, 0x7b, 0x5b, 0xbb] {
        let body = [&[head, 0x7f][..], &[0xff; 7]].concat();
        assert_eq!(Record::decode(&with_head(&body)), Err(RecordError::Damaged));
        // The same instead of the record's first field.
        let body = [&[0x87][..], &body].concat();
        assert_eq!(Record::decode(&with_head(&body)), Err(RecordError::Damaged));
    }
}

/// A length has another form from each of these numbers on, which random records rarely meet.
#[test]
fn a_length_at_the_edge_of_a_form_is_written_and_read_as_in_derived_code() {
    let (_, mut record) = golden_records().remove(0);
    for edge in [24_usize, 1 << 8, 1 << 16] {
        for length in edge - 1..=edge + 1 {
            let body = vec![b'x'; length];
            let response = StoredResponse::keep(201, [], body, "req_1", 1 << 20).0;
            let completed_at = record.created_at;
            record.state = RecordState::Completed { response, completed_at };
            let bytes = record.encode();
            assert!(bytes[HEAD..] == minicbor::to_vec(&record).unwrap(), "{length} bytes");
            assert!(Record::decode(&bytes).as_ref() == Ok(&record), "{length} bytes");
        }
    }
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    // An eighth field, which this version skips.
    let mut body = golden_records()[0].1.encode().split_off(HEAD);
    body[0] = 0x88;
    body.extend(std::iter::repeat_n(0x81, 1_000_000));
    assert_eq!(Record::decode(&with_head(&body)), Err(RecordError::Damaged));
}

#[test]
fn a_field_of_a_later_version_is_skipped() {
    for (name, record) in golden_records() {
        let mut body = record.encode().split_off(HEAD);
        assert_eq!(body[0], 0x87, "a record is an array of seven fields");
        body[0] = 0x88;
        body.extend(b"\x82\x01\x61x");
        assert_eq!(Record::decode(&with_head(&body)).as_ref(), Ok(&record), "{name}");
    }
}

fn response_of(status: u16, body: &str) -> StoredResponse {
    let headers = [("content-type".to_owned(), "text/plain".to_owned())];
    StoredResponse::keep(status, headers, body.as_bytes().to_vec(), "req_1", 10_000).0
}

/// Returns the records of `tests/vectors/records.json`, one for each state.
fn golden_records() -> Vec<(&'static str, Record)> {
    let at = UnixMillis::new(1_764_000_000_000);
    let [hold, retry] =
        [UnknownOutcome::Hold, UnknownOutcome::Retry].map(|unknown_outcome| Policy {
            retention: Millis::from_days(1),
            lease: Millis::from_seconds(15),
            unknown_outcome,
            expired_key: ExpiredKey::Refuse,
        });
    let base = Record {
        fingerprint: Some(request("{\"amount\":1}", "2026-01:secret").signing()),
        policy: hold,
        state: RecordState::InFlight { token: token(7), lease_until: at.plus(hold.lease) },
        attempts: 3,
        maybe_executed: false,
        earlier: earlier(&[([5; 16], true), ([6; 16], false)]),
        created_at: at,
    };
    let plain = Some(request("", "").signing());
    let with = |state| Record { state, ..base.clone() };
    let unknown =
        |cause| Record { maybe_executed: true, ..with(RecordState::Unknown { cause, since: at }) };
    let released = |cause| with(RecordState::Released { cause, since: at });
    let completed = |response| with(RecordState::Completed { response, completed_at: at });
    let number = |with_content: bool| {
        let json = [("content-type".to_owned(), "application/json".to_owned())];
        let body = b"{\"data\":{\"id\":\"ord_1\"}}".to_vec();
        let mut response = StoredResponse::keep(201, json, body, "req_1", 10_000).0;
        response.note_resource();
        let response = if with_content { response } else { response.into_status_only() };
        Record { policy: hold.of_business_keys(), ..completed(response) }
    };
    let mut bodiless = response_of(201, "").into_status_only();
    bodiless.request_id = String::new();
    vec![
        ("in_flight", base.clone()),
        (
            "in_flight_plain_fingerprint",
            Record { fingerprint: plain, policy: retry, ..base.clone() },
        ),
        ("completed", completed(response_of(201, "{\"id\":\"ord_1\"}"))),
        ("completed_empty_body", completed(response_of(204, ""))),
        ("completed_status_only", completed(bodiless)),
        ("number_completed", number(true)),
        ("number_status_only", number(false)),
        ("unknown_status", unknown(UnknownCause::Status(503))),
        ("unknown_timed_out", unknown(UnknownCause::TimedOut)),
        ("unknown_connection_lost", unknown(UnknownCause::ConnectionLost)),
        ("unknown_not_stored", unknown(UnknownCause::NotStored)),
        ("unknown_earlier_attempt", unknown(UnknownCause::EarlierAttempt)),
        ("released_status", released(ReleaseCause::Status(429))),
        ("released_not_dispatched", released(ReleaseCause::NotDispatched)),
        ("released_settled", released(ReleaseCause::Settled)),
        (
            "voided",
            Record {
                fingerprint: None,
                attempts: 0,
                earlier: earlier(&[]),
                ..with(RecordState::Voided { since: at })
            },
        ),
        (
            "expired",
            Record {
                fingerprint: None,
                earlier: earlier(&[]),
                ..with(RecordState::Expired { since: at })
            },
        ),
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    let digit = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal digits");
    (0..text.len()).step_by(2).map(digit).collect()
}

/// Stores already contain these bytes. A build that reads them in another way would lose or change keys.
/// A new version adds vectors and never changes one.
#[test]
fn every_record_that_version_1_wrote_is_still_read() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/records.json");
    let text = std::fs::read_to_string(path).unwrap_or_else(|_| "{\"v1\":{}}".to_owned());
    let vectors: BTreeMap<String, BTreeMap<String, String>> =
        serde_json::from_str(&text).expect("versions, each with names and hex");
    let v1 = &vectors["v1"];
    let records = golden_records();
    let lacks: Vec<_> = records
        .iter()
        .filter(|(name, _)| !v1.contains_key(*name))
        .map(|(name, record)| format!("    \"{name}\": \"{}\"", hex(&record.encode())))
        .collect();
    assert!(lacks.is_empty(), "records.json lacks\n{}\n", lacks.join(",\n"));
    for (name, record) in &records {
        let known = &v1[*name];
        assert_eq!(Record::decode(&from_hex(known)).as_ref(), Ok(record), "{name}");
        assert_eq!(&hex(&record.encode()), known, "{name} is written as before");
    }
    assert_eq!(v1.len(), records.len(), "a vector without its record");
}
