//! Messages between the gateway and a shard: each message is read as it was written, and other bytes are an error.

use crate::support::cases;
use crate::support::fuzz::shard_call::protocol::*;
use crate::support::lifecycle::requests::{request, response, token};
use oncekey::codec::message::{self, Malformed, Message};
use oncekey::{
    Completion, Decision, Execution, ExpiredKey, FailCause, Fingerprints, KeyState, KeyStatus,
    Millis, Policy, Renewal, Scope, ScopedKey, Settlement, Settling, StoredResponse, UnixMillis,
    UnknownOutcome,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::fmt::Debug;

fn time() -> impl Strategy<Value = UnixMillis> {
    any::<u64>().prop_map(UnixMillis::new)
}

fn name() -> impl Strategy<Value = ScopedKey> {
    any::<u8>().prop_map(ScopedKey::in_shard)
}

fn fingerprints() -> impl Strategy<Value = Fingerprints> {
    let secrets = prop_oneof![Just(""), Just("id:secret"), Just("b:other,a:secret")];
    (".{0,8}", secrets).prop_map(|(body, secrets)| request(&body, secrets))
}

fn policy() -> impl Strategy<Value = Policy> {
    let expired = [ExpiredKey::Forget, ExpiredKey::Refuse, ExpiredKey::Remember];
    let unknown = [UnknownOutcome::Retry, UnknownOutcome::Hold];
    (any::<u64>(), any::<u64>(), 0..2_usize, 0..3_usize).prop_map(
        move |(retention, lease, at, of_expired)| Policy {
            retention: Millis::new(retention),
            lease: Millis::new(lease),
            unknown_outcome: unknown[at],
            expired_key: expired[of_expired],
        },
    )
}

fn stored() -> impl Strategy<Value = StoredResponse> {
    let headers = vec((".{0,12}", ".{0,24}"), 0..4);
    let body = option::of(vec(any::<u8>(), 0..300));
    (any::<u16>(), headers, body, ".{0,40}").prop_map(|(status, headers, body, request_id)| {
        let mut response = match body {
            Some(body) => StoredResponse::keep(status, headers, body, &request_id, 10_000).0,
            None => StoredResponse::without_body(status, headers, &request_id),
        };
        response.headers.append("location", "/orders/7");
        response.note_resource();
        response
    })
}

fn state() -> impl Strategy<Value = KeyState> {
    prop_oneof![
        Just(KeyState::InProgress),
        Just(KeyState::Completed),
        Just(KeyState::Unknown),
        Just(KeyState::Released),
        Just(KeyState::Voided),
        Just(KeyState::Expired),
    ]
}

fn operation() -> impl Strategy<Value = AnyOperation> {
    let token = || any::<u8>().prop_map(token);
    let cause = prop_oneof![
        Just(FailCause::NotDispatched),
        Just(FailCause::TimedOut),
        Just(FailCause::ConnectionLost),
        Just(FailCause::NotStored),
    ];
    let settlement =
        prop_oneof![Just(Settlement::NotExecuted), stored().prop_map(Settlement::Executed)];
    prop_oneof![
        (fingerprints(), token(), option::of(time()), policy()).prop_map(
            |(fingerprints, token, minted_at, policy)| {
                Begin { fingerprints, token, minted_at, policy }.into()
            }
        ),
        token().prop_map(|token| Renew(token).into()),
        (token(), stored()).prop_map(|(token, response)| Complete(token, response).into()),
        (token(), cause).prop_map(|(token, cause)| Fail(token, cause).into()),
        (option::of(time()), policy())
            .prop_map(|(minted_at, policy)| Void { minted_at, policy }.into()),
        (settlement, any::<bool>()).prop_map(|(settlement, by_operator)| Settle {
            settlement,
            by_operator
        }
        .into()),
        Just(()).prop_map(|()| GetStatus.into()),
        fingerprints().prop_map(|fingerprints| Peek(fingerprints).into()),
    ]
}

fn any_request() -> impl Strategy<Value = Request> {
    let subject = prop_oneof![Just(Subject::Key), Just(Subject::BusinessKey), Just(Subject::Event)];
    let whose = ("[a-z]{0,9}", subject)
        .prop_map(|(tenant, subject)| Whose { scope: Scope::of_tenant(&tenant), subject });
    let context = (option::of(whose), ".{0,40}", any::<Option<u32>>())
        .prop_map(|(whose, request_id, attempt)| CallContext { whose, request_id, attempt });
    let rows = (
        any::<(u8, u64, u64, u64, u32)>(),
        (option::of(name()), option::of(".{0,9}"), option::of(state())),
    );
    prop_oneof![
        4 => (name(), operation(), context).prop_map(|(name, operation, context)| {
            Request::Call(ShardCall { name, operation, context })
        }),
        1 => rows.prop_map(|((shard, at, id, before, limit), (key, request_id, state))| {
            RowQuery { shard, after: (at, id), before, key, request_id, state, limit }.into()
        }),
        1 => (option::of(name()), option::of(state()), any::<u32>())
            .prop_map(|(key, state, limit)| KeyQuery { key, state, limit }.into()),
    ]
}

fn status() -> impl Strategy<Value = KeyStatus> {
    let times = (time(), option::of(time()), option::of(time()));
    (state(), any::<(u32, Option<u16>)>(), option::of(".{0,20}"), times).prop_map(
        |(state, (attempts, http_status), request_id, (created_at, completed_at, expires_at))| {
            KeyStatus {
                state,
                attempts,
                http_status,
                request_id,
                created_at,
                completed_at,
                expires_at,
            }
        },
    )
}

fn decision() -> impl Strategy<Value = Decision> {
    let lease = any::<u64>().prop_map(Millis::new);
    prop_oneof![
        (any::<u32>(), lease)
            .prop_map(|(attempt, lease)| Decision::Execute(Execution { attempt, lease })),
        stored().prop_map(Decision::Replay),
        (any::<Option<u16>>(), option::of(".{0,20}")).prop_map(|(http_status, resource)| {
            Decision::NotReplayable { http_status, resource }
        }),
        Just(Decision::InProgress),
        Just(Decision::OutcomeUnknown),
        Just(Decision::Mismatch),
        Just(Decision::KeyVoided),
        Just(Decision::KeyExpired),
    ]
}

fn check<T: Message + Debug + PartialEq>(reply: T) -> Result<(), TestCaseError> {
    let bytes = message::encode(&reply);
    for end in 0..bytes.len() {
        prop_assert_eq!(message::decode::<T>(&bytes[..end]), Err(Malformed));
    }
    let longer = [&bytes[..], &[0]].concat();
    prop_assert_eq!(message::decode::<T>(&longer), Err(Malformed));
    prop_assert_eq!(message::decode(&bytes), Ok(reply));
    Ok(())
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn every_request_is_read_as_it_was_written(request in any_request()) {
        let before = format!("{request:?}");
        let bytes = encode(request);
        for end in 0..bytes.len() {
            prop_assert_eq!(decode(&bytes[..end]), None);
        }
        prop_assert_eq!(decode(&[&bytes[..], &[0]].concat()), None);
        let copy = decode(&bytes).expect("what was written");
        prop_assert_eq!(format!("{copy:?}"), before);
        prop_assert_eq!(encode(copy), bytes);
    }

    #[test]
    fn every_reply_is_read_as_it_was_written(
        decision in decision(),
        status in option::of(status()),
        texts in vec((".{0,20}", ".{0,40}"), 0..4),
    ) {
        check::<Decided<Decision>>((decision.clone(), status.clone()))?;
        check::<Decided<Option<Decision>>>((None, status.clone()))?;
        check::<Decided<Option<Decision>>>((Some(decision.clone()), status.clone()))?;
        for renewal in [Renewal::Renewed, Renewal::Lost] {
            check((renewal, status.clone()))?;
        }
        let lost = Completion::LeaseLost(Box::new(decision));
        for completion in [Completion::Recorded, lost, Completion::RecordGone] {
            check((completion, status.clone()))?;
        }
        for settling in [Settling::Settled, Settling::NotUnknown] {
            check((settling, status.clone()))?;
        }
        check(((), status.clone()))?;
        let rows = texts.iter().cloned().map(|(id, json)| Row { id, json });
        check(rows.collect::<Vec<_>>())?;
        let entries = texts.into_iter().zip(status).map(|((_, json), status)| {
            KeyEntry { created_at: status.created_at, state: status.state, json }
        });
        check(entries.collect::<Vec<_>>())?;
    }

    #[test]
    fn a_changed_byte_is_another_message_or_an_error(
        request in any_request(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = encode(request);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Some(other) = decode(&bytes) {
            prop_assert_eq!(encode(other), bytes);
        }
    }

    #[test]
    fn only_bytes_that_the_encoder_writes_are_read(bytes in vec(any::<u8>(), 0..200)) {
        let mut message = VERSION.to_le_bytes().to_vec();
        message.extend(&bytes);
        for bytes in [&bytes, &message] {
            if let Some(request) = decode(bytes) {
                prop_assert_eq!(&encode(request), bytes);
            }
        }
        let reply: Result<Decided<Decision>, _> = message::decode(&bytes);
        if let Ok(reply) = reply {
            prop_assert_eq!(message::encode(&reply), bytes);
        }
    }
}

/// If a message is too short for the announced length of a list, its reader does not allocate memory for the list.
#[test]
fn a_list_longer_than_its_message_is_refused() {
    let endless = u32::MAX.to_le_bytes();
    assert_eq!(message::decode::<String>(&endless), Err(Malformed));
    assert_eq!(message::decode::<Vec<Row>>(&endless), Err(Malformed));
    assert_eq!(message::decode::<Vec<u64>>(&[2, 0, 0, 0, 1, 0]), Err(Malformed));
}

/// A shard and a gateway of different versions do not misread each other.
#[test]
fn messages_of_other_versions_are_not_read() {
    let query = || KeyQuery { key: None, state: None, limit: 9 };
    let mut message = encode(query().into());
    assert_eq!(decode(&message), Some(Request::Keys(query())));
    message[0] += 1;
    assert_eq!(decode(&message), None);
    // Version 2 was CBOR: [2, [2, [[null, null, 9]]]].
    let earlier = [0x82, 2, 0x82, 2, 0x81, 0x83, 0xf6, 0xf6, 9];
    assert_eq!(decode(&earlier), None);
    // An array of two, without which a reader of version 2 refuses a message, begins with 0x82 or 0x9f.
    assert!(minicbor::Decoder::new(&encode(query().into())).array().is_err());
}

/// If this fails, the form of messages has changed: raise `VERSION`.
#[test]
fn the_encoding_of_messages_has_not_changed_since_version_3() {
    let policy = Policy {
        retention: Millis::new(1),
        lease: Millis::new(2),
        unknown_outcome: UnknownOutcome::Hold,
        expired_key: ExpiredKey::Refuse,
    };
    let whose = Whose { scope: Scope::of_tenant("t"), subject: Subject::Event };
    let call = |operation| {
        let context =
            CallContext { whose: Some(whose), request_id: "r".to_owned(), attempt: Some(3) };
        Request::Call(ShardCall { name: ScopedKey::in_shard(5), operation, context })
    };
    let fingerprints = request("{}", "id:secret");
    let (token, minted_at) = (token(7), Some(UnixMillis::new(9)));
    let settlement = Settlement::Executed(response(200, "s"));
    let rows = RowQuery {
        shard: 1,
        after: (2, 3),
        before: 4,
        key: None,
        request_id: Some("r".to_owned()),
        state: Some(KeyState::Expired),
        limit: 5,
    };
    let requests = [
        call(Begin { fingerprints: fingerprints.clone(), token, minted_at, policy }.into()),
        call(Renew(token).into()),
        call(Complete(token, response(201, "c")).into()),
        call(Fail(token, FailCause::NotStored).into()),
        call(Void { minted_at, policy }.into()),
        call(Settle { settlement, by_operator: true }.into()),
        call(GetStatus.into()),
        call(Peek(fingerprints).into()),
        rows.into(),
        KeyQuery { key: Some(ScopedKey::in_shard(6)), state: None, limit: 7 }.into(),
    ];
    let status = KeyStatus {
        state: KeyState::Completed,
        attempts: 1,
        http_status: Some(201),
        request_id: Some("r".to_owned()),
        created_at: UnixMillis::new(1),
        completed_at: Some(UnixMillis::new(2)),
        expires_at: None,
    };
    let not_replayable =
        Decision::NotReplayable { http_status: Some(201), resource: Some("o".to_owned()) };
    let lost = Completion::LeaseLost(Box::new(not_replayable));
    let replay: Decided<Decision> = (Decision::Replay(response(201, "c")), Some(status.clone()));
    let entry =
        KeyEntry { created_at: UnixMillis::new(1), state: KeyState::Voided, json: "{}".to_owned() };
    let row = Row { id: "1-2-3".to_owned(), json: "{}".to_owned() };
    let mut all = requests.map(encode).concat();
    all.extend(message::encode(&replay));
    all.extend(message::encode(&(lost, Some(status))));
    all.extend(message::encode(&vec![entry]));
    all.extend(message::encode(&vec![row]));
    assert_eq!((VERSION, all.len(), crc32fast::hash(&all)), (3, 1293, 690_170_102));
}
