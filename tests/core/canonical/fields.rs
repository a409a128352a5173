//! Fields of forms that do not count: CSRF tokens, and fields that `FINGERPRINT_IGNORE` names.

use oncekey::canonical::JsonPointer;
use oncekey::canonical::fields::CSRF_FIELDS;
use oncekey::fingerprint::{
    Comparison, Fingerprint, FingerprintSecrets, Fingerprints, RequestParts,
};

const PAIRS: &str = "application/x-www-form-urlencoded;charset=UTF-8";
const PARTS: &str = "multipart/form-data; boundary=B";

fn fingerprints(content_type: &str, body: &str, ignore: &[&str], secrets: &str) -> Fingerprints {
    let ignore: Vec<_> = ignore.iter().map(|text| JsonPointer::parse(text).unwrap()).collect();
    let request = RequestParts {
        content_encoding: None,
        method: "POST",
        path: "/pay",
        query: None,
        content_type: Some(content_type),
        body: body.as_bytes(),
        ignore: &ignore,
    };
    let secrets = match secrets {
        "" => FingerprintSecrets::none(),
        list => FingerprintSecrets::parse(list).unwrap(),
    };
    Fingerprints::compute(&request, &secrets)
}

fn of(content_type: &str, body: &str, ignore: &[&str]) -> Fingerprint {
    fingerprints(content_type, body, ignore, "").signing()
}

fn part(disposition: &str, content: &str) -> String {
    format!("--B\r\nContent-Disposition: {disposition}\r\n\r\n{content}\r\n")
}

fn parts(fields: &[(&str, &str)]) -> String {
    let parts =
        fields.iter().map(|(name, value)| part(&format!("form-data; name=\"{name}\""), value));
    parts.collect::<String>() + "--B--\r\n"
}

#[test]
fn fault_76_a_token_of_any_framework_does_not_count_in_a_form() {
    for name in CSRF_FIELDS.iter().map(|name| (*name).to_owned()).chain(["pay[_token]".to_owned()])
    {
        let bare = of(PAIRS, "amount=10&note=x", &[]);
        for body in [
            format!("{name}=one&amount=10&note=x"),
            format!("amount=10&{name}=two%3D%3D&note=x"),
            format!("amount=10&note=x&{name}=&{name}=three"),
        ] {
            assert_eq!(of(PAIRS, &body, &[]), bare, "{body}");
        }
        assert_ne!(of(PAIRS, &format!("{name}=one&amount=11&note=x"), &[]), bare);

        let bare = of(PARTS, &parts(&[("amount", "10")]), &[]);
        assert_eq!(of(PARTS, &parts(&[(&name, "one"), ("amount", "10")]), &[]), bare, "{name}");
        assert_eq!(of(PARTS, &parts(&[("amount", "10"), (&name, "two")]), &[]), bare, "{name}");
        assert_ne!(of(PARTS, &parts(&[("amount", "11"), (&name, "one")]), &[]), bare, "{name}");
    }
}

/// A longer name is a field of its own: the rest of it is not read.
#[test]
fn a_name_of_at_most_1024_bytes_can_be_a_token() {
    let bare = of(PAIRS, "amount=10", &[]);
    let body = |name: &str| format!("amount=10&{name}=one");
    let longest = "a".repeat(1024 - "[_token]".len()) + "[_token]";
    assert_eq!(of(PAIRS, &body(&longest), &[]), bare);
    for longer in [format!("a{longest}"), format!("{longest}a")] {
        assert_ne!(of(PAIRS, &body(&longer), &[]), bare);
    }
}

#[test]
fn a_pointer_with_one_segment_names_a_field() {
    let ignore = &["/nonce", "/a~1b", "/deep/er", "/say \"hi\""];
    let bare = of(PAIRS, "amount=10", &[]);
    for body in ["nonce=1&amount=10", "amount=10&n%6Fnce=2", "a%2Fb=1&amount=10&say+%22hi%22=x"] {
        assert_eq!(of(PAIRS, body, ignore), bare, "{body}");
        assert_ne!(of(PAIRS, body, &[]), bare, "{body}");
    }
    for body in ["amount=10&deep=1", "amount=10&er=1", "amount=10&deep%2Fer=1", "amount=10&Nonce=1"]
    {
        assert_ne!(of(PAIRS, body, ignore), bare, "{body}");
    }
    let bare = of(PARTS, &parts(&[("amount", "10")]), &[]);
    for name in ["nonce", "a/b", "say %22hi%22"] {
        assert_eq!(of(PARTS, &parts(&[(name, "1"), ("amount", "10")]), ignore), bare, "{name}");
    }
    for name in ["deep", "n%6Fnce", "Nonce"] {
        assert_ne!(of(PARTS, &parts(&[(name, "1"), ("amount", "10")]), ignore), bare, "{name}");
    }
}

#[test]
fn a_field_that_readers_may_read_differently_is_compared() {
    for [one, other] in [
        // Some readers also divide pairs at a semicolon.
        ["_token=1;amount=10", "_token=1;amount=11"],
        ["amount=1&_token=2;x", "amount=1&_token=3;x"],
        // A form that no browser writes, or a compressed form.
        ["_token=1&a=\u{e9}", "_token=2&a=\u{e9}"],
        ["_token=1&a=\u{1}", "_token=2&a=\u{1}"],
        ["_token=1&a= ", "_token=2&a= "],
        ["_TOKEN=1", "_TOKEN=2"],
        ["_token[]=1", "_token[]=2"],
        ["[_token]=1", "[_token]=2"],
        ["token=1", "token=2"],
        ["form_key=1", "form_key=2"],
    ] {
        assert_ne!(of(PAIRS, one, &[]), of(PAIRS, other, &[]), "{one}");
    }
    for disposition in [
        "form-data; name=\"_token\"; filename=\"a\"",
        "form-data; name=\"_token\"; filename*=utf-8''a",
        "form-data; name=\"_token\"; name=\"amount\"",
        "form-data; name=\"_token\"; name*=utf-8''amount",
        "form-data; name=\"_token\"\r\nContent-Disposition: form-data; name=\"amount\"",
        "form-data; name=\"_token\" amount",
        "form-data; name=\"\\\"; x=\"; name=\"_token\"",
        "form-data; x=\"a\\\"; name=\"_token\"",
        "attachment; name=\"_token\"",
        "form-data; name=\"_tok%65n\"",
    ] {
        let body = |value| part(disposition, value) + "--B--\r\n";
        assert_ne!(of(PARTS, &body("1"), &[]), of(PARTS, &body("2"), &[]), "{disposition}");
    }
    // Tokens are found only in forms that can be parsed.
    for content_type in ["application/json", "text/plain", "multipart/mixed; boundary=B"] {
        let of = |body: &str| of(content_type, body, &["/nonce"]);
        assert_ne!(of("_token=1"), of("_token=2"), "{content_type}");
        assert_ne!(of(r#"{"_token":1}"#), of(r#"{"_token":2}"#), "{content_type}");
        let token = |value| parts(&[("_token", value)]);
        assert_ne!(of(&token("1")), of(&token("2")), "{content_type}");
    }
    let cut_off = |value| part("form-data; name=\"_token\"", value);
    assert_ne!(of(PARTS, &cut_off("1"), &[]), of(PARTS, &cut_off("2"), &[]));
}

#[test]
fn a_record_of_an_earlier_release_can_be_compared() {
    // The digests of the whole form were computed by another program.
    let (form, retried) = ("_token=1&amount=10", "_token=2&amount=10");
    for (secrets, id, hex) in [
        ("", None, "c8f6b7fbd6dc05a0901e39008656de2d05f92dbc7e64c2436c9e6cdf45f61eb2"),
        (
            "k1:secret",
            Some("k1"),
            "6ec1073b2cee8586cf4818aecad670e1d451cde45a79fe587431314d2b631f4c",
        ),
    ] {
        let stored = stored(id, hex);
        let compare = |body| {
            fingerprints("application/x-www-form-urlencoded", body, &[], secrets).compare(&stored)
        };
        assert_eq!(compare(form), Comparison::Same);
        // The request is refused, because the digest does not show that only the token has changed.
        assert_eq!(compare(retried), Comparison::Different);
        assert_eq!(compare("_token=1&amount=11"), Comparison::Different);
        assert_eq!(compare("amount=10"), Comparison::Different);
    }
}

fn stored(secret_id: Option<&str>, hex: &str) -> Fingerprint {
    let digest = (0..32).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap());
    let mut cbor = vec![0x83, 1];
    match secret_id {
        None => cbor.push(0xf6),
        Some(id) => {
            cbor.push(0x60 + id.len() as u8);
            cbor.extend_from_slice(id.as_bytes());
        }
    }
    cbor.extend([0x58, 32]);
    cbor.extend(digest);
    minicbor::decode(&cbor).unwrap()
}
