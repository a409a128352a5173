//! The vectors in `tests/vectors`, which do not depend on this implementation.

use oncekey::canonical::{JsonPointer, json};
use oncekey::fingerprint::{Comparison, FingerprintSecrets, Fingerprints, Preimages, RequestParts};
use sha2::{Digest, Sha256};

use crate::support::reference::{self, Value};

#[test]
pub(crate) fn canonical_json() {
    let vectors = reference::read(include_bytes!("../../vectors/json.json")).unwrap();
    for vector in vectors.get("vectors").unwrap().elements() {
        let form = json::canonicalize(&bytes(vector, "input"), &pointers(vector));
        match vector.get("canonical") {
            Some(Value::Null) => assert_eq!(form, None, "{vector:?}"),
            expected => {
                let expected = expected.unwrap().text().unwrap();
                assert_eq!(form.as_deref(), Some(expected.as_bytes()), "{vector:?}");
                assert_eq!(
                    json::canonicalize(expected.as_bytes(), &[]).as_deref(),
                    Some(expected.as_bytes())
                );
            }
        }
    }
}

#[test]
pub(crate) fn fingerprints() {
    let vectors = reference::read(include_bytes!("../../vectors/fingerprint.json")).unwrap();
    for vector in vectors.get("digests").unwrap().elements() {
        let secrets = vector
            .get("secrets")
            .and_then(Value::text)
            .map_or(FingerprintSecrets::none(), |list| FingerprintSecrets::parse(list).unwrap());
        let fingerprints = compute(vector.get("request").unwrap(), &secrets);
        let expected = vector.get("fingerprint").unwrap();
        let signing = fingerprints.signing();
        assert_eq!(signing.digest_hex(), text(expected, "digest"), "{vector:?}");
        assert_eq!(signing.secret_id(), expected.get("secret_id").and_then(Value::text));
        let pairs = expected.get("pairs").and_then(Value::text);
        assert_eq!(signing.pairs_hex().as_deref(), pairs, "{vector:?}");
    }
}

#[test]
pub(crate) fn groups_of_equal_requests_differ_from_one_another() {
    let vectors = reference::read(include_bytes!("../../vectors/fingerprint.json")).unwrap();
    let secrets = FingerprintSecrets::none();
    let groups: Vec<Vec<_>> = vectors
        .get("groups")
        .unwrap()
        .elements()
        .iter()
        .map(|group| {
            group
                .get("requests")
                .unwrap()
                .elements()
                .iter()
                .map(|request| (request, compute(request, &secrets)))
                .collect()
        })
        .collect();
    for (one_group, members) in groups.iter().enumerate() {
        for (other_group, others) in groups.iter().enumerate() {
            for (one, fingerprints) in members {
                for (other, recorded) in others {
                    let expected = if one_group == other_group {
                        Comparison::Same
                    } else {
                        Comparison::Different
                    };
                    assert_eq!(
                        fingerprints.compare(&recorded.signing()),
                        expected,
                        "{one:?} {other:?}"
                    );
                }
            }
        }
    }
}

fn compute(request: &Value, secrets: &FingerprintSecrets) -> Fingerprints {
    let parts = RequestParts {
        method: text(request, "method"),
        path: text(request, "path"),
        query: request.get("query").and_then(Value::text),
        content_encoding: None,
        content_type: request.get("content_type").and_then(Value::text),
        body: &bytes(request, "body"),
        ignore: &pointers(request),
    };
    let digests = Preimages::of(&parts).map(|bytes| Sha256::digest(bytes).into());
    let fingerprints = Fingerprints::compute(&parts, secrets);
    assert_eq!(Fingerprints::of_digests(digests, secrets), fingerprints);
    fingerprints
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::text).unwrap_or_else(|| panic!("no text {name} in {value:?}"))
}

/// Returns the bytes of `name`, a UTF-8 text, or of `name_hex`.
fn bytes(value: &Value, name: &str) -> Vec<u8> {
    match value.get(name) {
        Some(_) => text(value, name).as_bytes().to_vec(),
        None => {
            let hex = text(value, &format!("{name}_hex"));
            (0..hex.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
                .collect()
        }
    }
}

fn pointers(value: &Value) -> Vec<JsonPointer> {
    value.get("ignore").map_or(Vec::new(), |list| {
        list.elements()
            .iter()
            .map(|pointer| JsonPointer::parse(pointer.text().unwrap()).unwrap())
            .collect()
    })
}
