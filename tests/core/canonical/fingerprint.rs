use oncekey::canonical::JsonPointer;
use oncekey::fingerprint::{
    Comparison, Fingerprint, FingerprintSecrets, Fingerprints, Preimages, RequestParts,
    SecretsError,
};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

use crate::support::form;
use crate::support::random::{form, value};
use crate::support::spelling::{Choices, spell};

const REQUEST: RequestParts<'_> = RequestParts {
    method: "POST",
    path: "/v1/orders",
    query: None,
    content_encoding: None,
    content_type: Some("application/json"),
    body: br#"{"amount":10}"#,
    ignore: &[],
};

fn plain(request: &RequestParts<'_>) -> Fingerprint {
    Fingerprints::compute(request, &FingerprintSecrets::none()).signing()
}

fn secrets(list: &str) -> FingerprintSecrets {
    FingerprintSecrets::parse(list).unwrap()
}

/// As a shell does it whose platform hashes.
fn hashed_elsewhere(request: &RequestParts<'_>, secrets: &FingerprintSecrets) -> Fingerprints {
    let digests = Preimages::of(request).map(|bytes| Sha256::digest(bytes).into());
    Fingerprints::of_digests(digests, secrets)
}

#[test]
fn streamed_and_whole_bodies_have_the_same_fingerprint() {
    let large = "x".repeat(100_000);
    let (json, pairs) = (format!("{{\"b\":[1.0],\"a\":\"{large}\"}}"), "amount=10&_token=1");
    let ignore = [JsonPointer::parse("/b").unwrap()];
    let multipart = "--b\r\nContent-Disposition: form-data; name=\"_token\"\r\n\r\n1\r\n--b--\r\n";
    let gzip = b"\x1f\x8b\x08\0\x01\x02\x03\x04\x05\x06the data, compressed";
    let of =
        |content_type, body| RequestParts { content_type: Some(content_type), body, ..REQUEST };
    let coded = RequestParts { content_encoding: Some("gzip"), ..of("text/plain", gzip) };
    let requests = [
        of("text/plain", b""),
        of("text/plain", large.as_bytes()),
        of("application/json", json.as_bytes()),
        of("application/json", b"{"),
        RequestParts { ignore: &ignore, ..of("application/json", json.as_bytes()) },
        of("application/x-www-form-urlencoded", pairs.as_bytes()),
        of("multipart/form-data; boundary=b", multipart.as_bytes()),
        coded,
    ];
    for request in requests {
        for list in [FingerprintSecrets::none(), secrets("new:n,old:o")] {
            let here = Fingerprints::compute(&request, &list);
            assert_eq!(hashed_elsewhere(&request, &list), here, "{request:?}");
        }
    }
    let wholes = requests.map(|request| Preimages::of(&request).whole.is_some());
    assert_eq!(wholes, [false, false, false, false, false, true, true, true]);
    let pairs = requests.map(|request| Preimages::of(&request).pairs.is_some());
    assert_eq!(pairs, [false, false, false, false, false, true, false, false]);
}

proptest! {
    #![proptest_config(crate::support::cases(256))]

    #[test]
    fn json_in_two_spellings_is_one_request(value in value(), one: u64, other: u64) {
        let [one, other] = [one, other].map(|seed| spell(&value, &mut Choices(seed)));
        let request = |body: &str, content_type| {
            plain(&RequestParts { body: body.as_bytes(), content_type: Some(content_type), ..REQUEST })
        };
        let as_json = request(&other, "Application/JSON; charset=utf-8");
        prop_assert_eq!(request(&one, "application/json"), as_json);
        // As plain text, the bytes are the same request only if they are equal.
        prop_assert_eq!(request(&one, "text/plain") == request(&other, "text/plain"), one == other);
    }

    #[test]
    fn a_form_with_two_boundaries_is_one_request(form in form(), one: u64, other: u64) {
        let [one, other] = [one, other].map(|seed| {
            let (content_type, body) = form::spell(&form, &mut Choices(seed));
            plain(&RequestParts { body: &body, content_type: Some(&content_type), ..REQUEST })
        });
        prop_assert_eq!(one, other);
    }

    #[test]
    fn any_request_has_a_fingerprint(
        path: String, query: Option<String>, content_type: Option<String>, body: Vec<u8>,
    ) {
        let (query, content_type) = (query.as_deref(), content_type.as_deref());
        let request = RequestParts { path: &path, query, content_type, body: &body, ..REQUEST };
        prop_assert_eq!(plain(&request), plain(&request));
    }
}

#[test]
fn each_part_of_a_request_changes_its_fingerprint() {
    let ignore = [JsonPointer::parse("/amount").unwrap()];
    let json = "application/json";
    let form = b"--B\r\n\r\nx\r\n--B--";
    let requests = [
        REQUEST,
        RequestParts { method: "post", ..REQUEST },
        RequestParts { method: "PUT", ..REQUEST },
        RequestParts { path: "/v1/orders/", ..REQUEST },
        RequestParts { path: "/v1/order", query: Some("s"), ..REQUEST },
        RequestParts { query: Some("to=alice"), ..REQUEST },
        RequestParts { query: Some("to=mallory"), ..REQUEST },
        RequestParts { query: Some("a=1&b=2"), ..REQUEST },
        RequestParts { query: Some("b=2&a=1"), ..REQUEST },
        RequestParts { content_type: None, ..REQUEST },
        RequestParts { content_type: Some("text/plain"), ..REQUEST },
        RequestParts { content_type: Some("application/problem+json"), ..REQUEST },
        RequestParts { body: br#"{"amount":11}"#, ..REQUEST },
        RequestParts { body: br#"{"amount":"10"}"#, ..REQUEST },
        RequestParts { body: b"", ..REQUEST },
        RequestParts { body: b"{}", ..REQUEST },
        RequestParts { body: br#"{"amount":10"#, ..REQUEST },
        RequestParts { body: br#"{"amount":10,"amount":10}"#, ..REQUEST },
        RequestParts { body: br#"{"amount":10,"amount": 10}"#, ..REQUEST },
        RequestParts { body: br#"{"a":{"amount":10}}"#, ignore: &ignore, ..REQUEST },
        RequestParts {
            content_type: Some("multipart/form-data; boundary=B"),
            body: form,
            ..REQUEST
        },
        RequestParts { content_type: Some("multipart/mixed; boundary=B"), body: form, ..REQUEST },
        RequestParts {
            content_type: Some("multipart/form-data; boundary=C"),
            body: form,
            ..REQUEST
        },
        RequestParts { content_type: Some(json), body: form, ..REQUEST },
        RequestParts {
            content_type: Some("application/x-www-form-urlencoded"),
            body: b"a=1&b=2",
            ..REQUEST
        },
        RequestParts {
            content_type: Some("application/x-www-form-urlencoded"),
            body: b"b=1&a=2",
            ..REQUEST
        },
    ];
    for (index, one) in requests.iter().enumerate() {
        for other in &requests[index + 1..] {
            assert_ne!(plain(one), plain(other), "{one:?} {other:?}");
        }
    }
}

#[test]
fn spelling_an_empty_query_and_ignored_members_do_not_change_the_fingerprint() {
    let ignore = [JsonPointer::parse("/nonce").unwrap()];
    for same in [
        RequestParts { query: Some(""), ..REQUEST },
        RequestParts { content_type: Some(" APPLICATION/json ; charset=latin1"), ..REQUEST },
        RequestParts { body: b" { \"amount\" : 1.0e1 } ", ..REQUEST },
        RequestParts { body: br#"{"nonce":[{"x":1}],"amount":10}"#, ignore: &ignore, ..REQUEST },
    ] {
        assert_eq!(plain(&same), plain(&REQUEST), "{same:?}");
    }
    let unlike_in_boundary =
        |boundary| plain(&RequestParts { content_type: Some(boundary), body: b"x", ..REQUEST });
    assert_eq!(
        unlike_in_boundary("multipart/form-data; boundary=A"),
        unlike_in_boundary("multipart/form-data")
    );
}

#[test]
fn equal_bytes_of_different_body_types_are_different_requests() {
    // The bytes of a canonical form, sent as a body without a canonical form.
    let form = b"--B\r\n\r\nx\r\n--B--";
    let content_type = "multipart/form-data; boundary=B";
    let canonical = oncekey::canonical::multipart::canonicalize(content_type, form).unwrap();
    let multipart = RequestParts { content_type: Some(content_type), body: form, ..REQUEST };
    assert_ne!(plain(&multipart), plain(&RequestParts { body: &canonical, ..multipart }));

    let duplicates = RequestParts { body: br#"{"a":1,"a":1}"#, ..REQUEST };
    assert_ne!(plain(&duplicates), plain(&RequestParts { body: br#"{"a":1}"#, ..REQUEST }));
}

#[test]
fn a_record_is_compared_with_its_own_secret() {
    let other = RequestParts { body: br#"{"amount":11}"#, ..REQUEST };
    let (old, both, swapped) =
        (secrets("old:alpha"), secrets("new:beta,old:alpha"), secrets("old:beta"));
    let recorded = Fingerprints::compute(&REQUEST, &old).signing();
    assert_eq!(recorded.secret_id(), Some("old"));

    for listed in [&old, &both] {
        assert_eq!(Fingerprints::compute(&REQUEST, listed).compare(&recorded), Comparison::Same);
        assert_eq!(Fingerprints::compute(&other, listed).compare(&recorded), Comparison::Different);
    }
    assert_eq!(Fingerprints::compute(&REQUEST, &both).signing().secret_id(), Some("new"));
    assert_eq!(Fingerprints::compute(&REQUEST, &swapped).compare(&recorded), Comparison::Different);
    for unlisted in [secrets("new:alpha"), FingerprintSecrets::none()] {
        assert_eq!(
            Fingerprints::compute(&REQUEST, &unlisted).compare(&recorded),
            Comparison::SecretRemoved
        );
    }
}

#[test]
fn a_record_without_a_secret_can_be_compared() {
    let other = RequestParts { query: Some("x"), ..REQUEST };
    let recorded = plain(&REQUEST);
    assert_eq!((recorded.version(), recorded.secret_id()), (1, None));
    for listed in [FingerprintSecrets::none(), secrets("a:b")] {
        assert_eq!(Fingerprints::compute(&REQUEST, &listed).compare(&recorded), Comparison::Same);
        assert_eq!(
            Fingerprints::compute(&other, &listed).compare(&recorded),
            Comparison::Different
        );
    }
}

#[test]
fn the_wire_form_is_stable() {
    for fingerprint in
        [plain(&REQUEST), Fingerprints::compute(&REQUEST, &secrets("k1:s")).signing()]
    {
        let mut bytes = minicbor::to_vec(&fingerprint).unwrap();
        assert_eq!(minicbor::decode::<Fingerprint>(&bytes).unwrap(), fingerprint);
        // array(3), then the version. A fingerprint of a later version is read, but cannot be compared.
        assert_eq!(bytes[..2], [0x83, 1]);
        bytes[1] = 2;
        let later = minicbor::decode::<Fingerprint>(&bytes).unwrap();
        assert_eq!((fingerprint.version(), later.version()), (1, 2));
        assert_eq!(
            Fingerprints::compute(&REQUEST, &secrets("k1:s")).compare(&later),
            Comparison::SecretRemoved
        );
        for end in 0..bytes.len() {
            assert!(minicbor::decode::<Fingerprint>(&bytes[..end]).is_err());
        }
    }
}

#[test]
fn a_list_of_secrets_is_checked() {
    assert_eq!(secrets(" a:x:y=/+ ,b-2._:z\n").ids().collect::<Vec<_>>(), ["a", "b-2._"]);
    let same = |one: &str, other: &str| {
        Fingerprints::compute(&REQUEST, &secrets(one)).signing()
            == Fingerprints::compute(&REQUEST, &secrets(other)).signing()
    };
    assert!(same("a:x", " a:x\n"));
    assert!(!same("a:x", "a:x:y"));

    let long = format!("a:1,{}:2", "i".repeat(33));
    for (list, error) in [
        ("", SecretsError::EmptyPair { number: 1 }),
        ("a:1,", SecretsError::EmptyPair { number: 2 }),
        ("hunter2", SecretsError::NoColon { number: 1 }),
        ("a:1,hunter2", SecretsError::NoColon { number: 2 }),
        (":1", SecretsError::BadId { number: 1 }),
        ("hunter 2:1", SecretsError::BadId { number: 1 }),
        (&long, SecretsError::BadId { number: 2 }),
        ("a:", SecretsError::EmptySecret { number: 1 }),
        ("a:1,b:2,a:3", SecretsError::RepeatedId { number: 3 }),
    ] {
        let found = FingerprintSecrets::parse(list).unwrap_err();
        assert_eq!(found, error, "{list}");
        assert!(
            found.to_string().starts_with("pair ") || found.to_string().contains(" pair "),
            "{found}"
        );
        assert!(!format!("{found} {found:?}").contains("hunter"));
    }
}

#[test]
fn debug_output_contains_no_secret() {
    let listed = secrets("k1:hunter2");
    let request = RequestParts { query: Some("token=hunter2"), body: b"hunter2", ..REQUEST };
    let fingerprints = Fingerprints::compute(&request, &listed);
    let shown = format!("{listed:?} {request:?} {fingerprints:?}");
    assert_eq!(format!("{listed:?}"), r#"["k1"]"#);
    assert!(shown.contains("k1") && shown.contains("/v1/orders"), "{shown}");
    assert!(!shown.contains("hunter") && !shown.contains("104, 117"), "{shown}");
    assert!(!shown.contains(&fingerprints.signing().digest_hex()));
    assert!(shown.contains(&fingerprints.signing().digest_hex()[..8]));
}

#[test]
fn the_gzip_header_does_not_count_if_the_coding_is_gzip() {
    let header = |flags: u8, time: u8| vec![0x1f, 0x8b, 8, flags, time, 1, 2, 3, 2, 255];
    let data = [0x4b, 0x04, 0x00, 0x43, 0xbe, 0xb7, 0xe8, 0x01, 0, 0, 0];
    let stream = |flags, time, more: &[u8]| [&header(flags, time)[..], more, &data[..]].concat();
    let of =
        |body: &[u8], coding| plain(&RequestParts { content_encoding: coding, body, ..REQUEST });
    let first = stream(0, 1, b"");
    let gzip = Some(" GZIP");
    for same in [
        stream(0, 2, b""),
        stream(0x01, 2, b""),
        stream(0x08, 2, b"name\0"),
        stream(0x10, 2, b"comment\0"),
        stream(0x04, 2, b"\x02\0ab"),
        stream(0x02, 2, b"cc"),
        stream(0x1f, 2, b"\x02\0abname\0comment\0cc"),
    ] {
        assert_eq!(of(&first, gzip), of(&same, gzip), "{same:02x?}");
        assert_eq!(of(&first, Some("x-gzip")), of(&same, gzip));
        assert_ne!(of(&first, None), of(&same, None), "as content, each byte counts");
        assert_ne!(of(&first, Some("br")), of(&same, Some("br")));
    }
    // A compressed body that is cut or invalid is compared byte by byte.
    for broken in [0x20, 0x04, 0x08].map(|flags| header(flags, 1)) {
        let other = [&broken[..4], &[9], &broken[5..]].concat();
        assert_ne!(of(&broken, gzip), of(&other, gzip));
    }
    for end in 0..first.len() {
        assert_ne!(of(&first[..end], gzip), of(&first, gzip));
    }
    // A body that is not compressed, whatever its headers say, is compared by its type.
    assert_eq!(of(br#"{"amount":10}"#, gzip), of(br#"{ "amount":1e1}"#, None));
    // The compressed data differs from a raw body with the same bytes.
    assert_ne!(of(&first, gzip), of(&data, None));
}
