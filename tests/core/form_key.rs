//! The key in a form's field: which values are accepted, which bytes are removed, and which forms are refused.

use oncekey::request::form_key::{
    FieldName, FieldNameError, FormKeyError, SplitForm, has_fields, merge_keys, take_key,
};
use oncekey::{Dialect, IdempotencyKey, KeyError, Rejection};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::Config;

const PAIRS: &str = "application/x-www-form-urlencoded";
const PARTS: &str = "multipart/form-data; boundary=B";

fn field() -> FieldName {
    FieldName::parse("key").unwrap()
}

fn take(content_type: &str, body: impl AsRef<[u8]>) -> Result<SplitForm, FormKeyError> {
    take_key(content_type, body.as_ref().to_vec(), &field())
}

/// Returns the key and the rest of the body, as text.
fn taken(content_type: &str, body: &str) -> (Option<String>, String) {
    let taken = take(content_type, body).unwrap_or_else(|error| panic!("{body:?}: {error}"));
    let key = taken.key.map(|key| key.as_str().to_owned());
    (key, String::from_utf8(taken.body).unwrap())
}

fn untouched(content_type: &str, body: &str) {
    assert_eq!(taken(content_type, body), (None, body.to_owned()));
}

fn found(key: &str, rest: &str) -> (Option<String>, String) {
    (Some(key.to_owned()), rest.to_owned())
}

/// Returns a multipart body. Each part consists of its header fields and its content.
fn form(parts: &[(&str, &str)]) -> String {
    let parts = parts.iter().map(|(head, content)| format!("--B\r\n{head}\r\n\r\n{content}\r\n"));
    parts.collect::<String>() + "--B--\r\n"
}

fn named(name: &str) -> String {
    format!("Content-Disposition: form-data; name=\"{name}\"")
}

#[test]
fn a_pair_is_removed_with_one_ampersand() {
    for (body, rest) in [
        ("key=k-1", ""),
        ("key=k-1&a=1", "a=1"),
        ("a=1&key=k-1", "a=1"),
        ("a=1&key=k-1&b=2", "a=1&b=2"),
        ("&key=k-1&", "&"),
        ("a=1&&key=k-1", "a=1&"),
        ("a=%E4%B8%AD+1;x&%6B%65y=%6b-1&b=\u{4e2d}", "a=%E4%B8%AD+1;x&b=\u{4e2d}"),
    ] {
        assert_eq!(taken(PAIRS, body), found("k-1", rest), "{body}");
    }
    for value in ["a=b==", "%22", "!~", "%3B%26%3D%25"] {
        let body = format!("key=x{value}");
        assert!(taken(PAIRS, &body).0.is_some(), "{body}");
    }
}

#[test]
fn a_name_must_be_equal_to_the_field_s_name() {
    for body in [
        "",
        "&",
        "=key",
        "KEY=k-1",
        "keys=k-1",
        "xkey=k-1",
        "key[]=k-1",
        "+key=k-1",
        "%2566key=k-1",
        "%6key=k-1",
        "a=key",
        "a=%26key=k-1",
        "a?key=k-1",
    ] {
        untouched(PAIRS, body);
    }
}

#[test]
fn a_repeated_field_is_refused_in_every_spelling() {
    for second in ["key=k-1", "key=k-2", "%6bey=k-1", "k%65%79", "key=", "key"] {
        for body in [format!("key=k-1&{second}"), format!("{second}&a=1&key=k-1")] {
            assert_eq!(take(PAIRS, &body), Err(FormKeyError::Twice), "{body}");
        }
    }
}

#[test]
fn a_field_that_only_some_readers_find_is_refused() {
    for body in ["a=1;key=k-1", "key=k-1;a=1", "key;a=1", "a;%6bey", ";key=k-1", "key=k-1;"] {
        assert_eq!(take(PAIRS, body), Err(FormKeyError::Ambiguous), "{body}");
    }
    for body in ["key=100%", "key=%zz", "key=a%6", "key=%u006b"] {
        assert_eq!(take(PAIRS, body), Err(FormKeyError::Ambiguous), "{body}");
    }
}

#[test]
fn the_value_of_the_field_must_be_a_key() {
    for (value, error) in [
        ("", KeyError::Empty),
        ("a+b", KeyError::NotVisibleAscii),
        ("a%20b", KeyError::NotVisibleAscii),
        ("%00", KeyError::NotVisibleAscii),
        ("a%0D%0AX-A:%201", KeyError::NotVisibleAscii),
        ("%C3%A9", KeyError::NotVisibleAscii),
        ("%E9", KeyError::NotVisibleAscii),
        ("\u{e9}", KeyError::NotVisibleAscii),
        ("%22k%22", KeyError::BrokenString),
        (&"x".repeat(256), KeyError::TooLong(255)),
    ] {
        let body = format!("key={value}&a=1");
        assert_eq!(take(PAIRS, &body), Err(FormKeyError::Malformed(error)), "{body}");
    }
    assert_eq!(take(PAIRS, "a&key&b"), Err(FormKeyError::Malformed(KeyError::Empty)));
    let longest = "x".repeat(255);
    assert_eq!(taken(PAIRS, &format!("key={longest}")), found(&longest, ""));
    for (content, error) in [
        ("", KeyError::Empty),
        ("k\r\n", KeyError::NotVisibleAscii),
        (" k", KeyError::NotVisibleAscii),
        ("k\u{e9}", KeyError::NotVisibleAscii),
        ("\"k\"", KeyError::BrokenString),
    ] {
        let body = form(&[(&named("key"), content)]);
        assert_eq!(take(PARTS, &body), Err(FormKeyError::Malformed(error)), "{content:?}");
    }
}

#[test]
fn only_the_part_of_the_field_is_removed() {
    let (amount, key) = (named("amount"), named("key"));
    let file = format!("{}; filename=\"key.txt\"\r\nContent-Type: text/plain", named("f"));
    for (before, after) in [
        (vec![], vec![]),
        (vec![], vec![(&amount[..], "10")]),
        (vec![(&amount[..], "10")], vec![]),
        (vec![(&amount[..], "key")], vec![(&file[..], "--\r\n--A\r\nkey=1")]),
    ] {
        let whole = [&before[..], &[(&key, "k-1")], &after].concat();
        let rest = form(&[before, after].concat());
        assert_eq!(taken(PARTS, &form(&whole)), found("k-1", &rest));
        let around = |body: &str| format!("preamble\r\n{body}epilogue");
        assert_eq!(taken(PARTS, &around(&form(&whole))), found("k-1", &around(&rest)));
    }
    assert_eq!(
        taken(PARTS, &format!("\r\n--B \t\r\n{key}\r\n\r\nk-1\r\n--B--")),
        found("k-1", "\r\n--B--")
    );
}

#[test]
fn a_part_with_the_plain_name_is_the_field() {
    for head in [
        "Content-Disposition: form-data; name=\"key\"",
        "content-disposition:Form-Data;NAME=key",
        "Content-Disposition: form-data; x=\"a;b\"; name=\"key\" ;",
        "Content-Type: text/plain; charset=utf-8\r\nContent-Disposition: form-data; name=\"key\"",
        "Content-Disposition: form-data; name=\"key\"\r\nContent-Transfer-Encoding: 8BIT",
    ] {
        assert_eq!(taken(PARTS, &form(&[(head, "k-1")])).0.as_deref(), Some("k-1"), "{head}");
    }
    for head in [
        "Content-Disposition: form-data; name=\"KEY\"",
        "Content-Disposition: form-data; name=\"keys\"",
        "Content-Disposition: form-data; name=\"a%22; name=%22key\"",
        "Content-Disposition: form-data; name=\"a\"; filename=\"key\"",
        "Content-Disposition: form-data; name=\"a\"; filename=\"C:\\key\"",
        "Content-Disposition: form-data; name=\"a\"; filename*=utf-8''key",
        "Content-Disposition: form-data; name=\"a\"; filename=\"\\\"quoted\\\"\"",
        "Content-Disposition: attachment; name=\"a\"",
        "Content-Disposition: form-data; broken",
        "Content-Disposition:",
        "Content-Type: text/plain; name=\"key\"",
        "X: name=\"key\"",
    ] {
        untouched(PARTS, &form(&[(head, "k-1")]));
    }
}

#[test]
fn a_part_that_only_some_readers_read_as_the_field_is_refused() {
    for head in [
        "Content-Disposition: form-data; name=\"%6bey\"",
        "Content-Disposition: form-data; name=\"k\\ey\"",
        "Content-Disposition: form-data; name=\" key\"",
        "Content-Disposition: form-data; name= key",
        "Content-Disposition: form-data; name =\"key\"",
        "Content-Disposition: form-data; name=\"key",
        "Content-Disposition: form-data; name=\"key\"x",
        "Content-Disposition: form-data; name=\"a\"; name=\"key\"",
        "Content-Disposition: form-data; name=\"key\"; name=\"a\"",
        "Content-Disposition: form-data; name=\"key\"; name=\"key\"",
        "Content-Disposition: form-data; name*=utf-8''k%65y",
        "Content-Disposition: form-data; name*0=ke; name*1=y",
        "Content-Disposition: form-data; name=\"key\"; name*=utf-8''other",
        "Content-Disposition: form-data; name*=utf-8''other; name=\"key\"",
        "Content-Disposition: form-data; name=\"a\"; filename=\"\\\"; name=\"key\"",
        "Content-Disposition: attachment; name=\"key\"",
        "Content-Disposition: form-data name=\"x\"; name=\"key\"",
        "Content-Disposition: form-data; name=\"a\"\r\nContent-Disposition: form-data; name=\"key\"",
        "Content-Disposition: form-data; name=\"key\"\r\nContent-Disposition: form-data; name=\"key\"",
        "Content-Disposition: form-data; name=\"key\"\r\nContent-Transfer-Encoding: base64",
    ] {
        let body = form(&[(head, "k-1")]);
        assert_eq!(take(PARTS, &body), Err(FormKeyError::Ambiguous), "{head}");
    }
    for more in ["; filename=\"k.txt\"", "; filename=\"\"", "; filename*=utf-8''k"] {
        let body = form(&[(&(named("key") + more), "k-1")]);
        assert_eq!(take(PARTS, &body), Err(FormKeyError::File), "{more}");
    }
    let twice = form(&[(&named("key"), "k-1"), (&named("a"), "1"), (&named("key"), "k-1")]);
    assert_eq!(take(PARTS, &twice), Err(FormKeyError::Twice));
}

#[test]
fn an_unreadable_form_is_refused_only_if_it_may_contain_the_field() {
    let whole = form(&[(&named("key"), "k-1")]);
    for (content_type, body) in [
        (PARTS, whole.replace("\r\n", "\n")),
        (PARTS, whole.replace("--B--", "--B-")),
        (PARTS, whole.replace("--B--", "--Bx\r\n--B--")),
        (PARTS, whole.replace(": form", " : form")),
        ("multipart/form-data", whole.clone()),
        ("multipart/form-data; boundary=B; boundary=C", whole.clone()),
        ("multipart/form-data; boundary=C", whole.clone()),
    ] {
        assert_eq!(take(content_type, &body), Err(FormKeyError::Unreadable), "{body:?}");
        untouched(content_type, &body.replace("key", "yek"));
    }
    untouched(PARTS, "");
}

#[test]
fn only_forms_have_fields() {
    let multipart = form(&[(&named("key"), "k-1")]);
    for other in [
        "",
        "text/plain",
        "application/json",
        "multipart/mixed; boundary=B",
        "application/x-www-form-urlencoded, text/plain",
        "application/x-www-form-urlencoded+json",
    ] {
        assert!(!has_fields(Some(other), None), "{other}");
        untouched(other, "key=k-1");
        untouched(other, &multipart);
    }
    for form in [PAIRS, PARTS, "Application/X-WWW-Form-URLEncoded ;charset=UTF-8"] {
        for plain in [None, Some(""), Some(" Identity ")] {
            assert!(has_fields(Some(form), plain), "{form}");
        }
        for coding in ["gzip", "br", "x", "identity, gzip"] {
            assert!(!has_fields(Some(form), Some(coding)), "{coding}");
        }
    }
    assert!(!has_fields(None, None));
    let loud = "Application/X-WWW-Form-URLEncoded ;charset=utf-16";
    assert_eq!(taken(loud, "key=k-1").0.as_deref(), Some("k-1"));
}

#[test]
fn header_and_field_may_both_carry_the_key_if_they_are_equal() {
    let [one, other] = ["k-1", "k-2"].map(|text| IdempotencyKey::parse_bare(text).ok());
    assert_eq!(merge_keys(None, None), Ok(None));
    assert_eq!(merge_keys(one.clone(), None), Ok(one.clone()));
    assert_eq!(merge_keys(None, one.clone()), Ok(one.clone()));
    assert_eq!(merge_keys(one.clone(), one.clone()), Ok(one.clone()));
    assert_eq!(merge_keys(one, other), Err(FormKeyError::Differs));
}

#[test]
fn the_name_of_the_field_has_only_one_spelling_in_forms() {
    for name in ["k", "idempotency_key", "order[key]", "_key.1", &"x".repeat(64)] {
        assert_eq!(FieldName::parse(name).map(|name| name.as_str().to_owned()), Ok(name.into()));
    }
    let long = "x".repeat(65);
    for name in
        ["", "a b", "a\"", "a&b", "a=b", "%6b", "a+b", "a;b", "a\\b", "a\n", "\u{e9}", &long]
    {
        assert_eq!(FieldName::parse(name), Err(FieldNameError::NotAName), "{name}");
    }
    assert_eq!(FieldName::parse("_Charset_"), Err(FieldNameError::FilledInByBrowsers));
}

#[test]
fn every_refusal_is_a_400_that_says_what_to_do() {
    for error in [
        FormKeyError::Malformed(KeyError::Empty),
        FormKeyError::Twice,
        FormKeyError::Differs,
        FormKeyError::File,
        FormKeyError::Ambiguous,
        FormKeyError::Unreadable,
    ] {
        let response = Rejection::FormKey(error).to_response(
            Dialect::Kukopay,
            None,
            "",
            oncekey::RequestKind::KeyedWrite,
        );
        assert_eq!((response.status, response.code), (400, "invalid_request_error"));
        assert!(error.to_string().contains(". Send "), "{error}");
    }
    let shown = format!("{:?}", take(PAIRS, "key=secret&card=4242").unwrap());
    assert!(!shown.contains("secret") && !shown.contains("4242"), "{shown}");
}

/// proptest prints the smallest failing input, which then becomes a test. No files of seeds are stored.
fn cases(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// Returns a text with each byte in a random spelling.
fn spelled(text: &str, mut choices: u64) -> String {
    let mut spell = |byte: u8| {
        let choice = choices % 3;
        choices = choices.rotate_right(7);
        match choice {
            0 => format!("%{byte:02x}"),
            1 => format!("%{byte:02X}"),
            _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        }
    };
    text.bytes().map(&mut spell).collect()
}

/// Returns random bytes that often resemble a form.
fn noise(pieces: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => prop::sample::select(pieces).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..3),
    ];
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn a_pair_that_was_inserted_is_found(
        pairs in vec("[a-jl-z+=%;0-9]{0,6}", 0..6),
        place: prop::sample::Index,
        key in "[!#-~][!-~]{0,20}[!-+\\--~]",
        choices: u64,
    ) {
        let field = format!("{}={}", spelled("key", choices), spelled(&key, choices.reverse_bits()));
        let mut whole = pairs.clone();
        whole.insert(place.index(pairs.len() + 1), field);
        let rest = pairs.join("&");
        // Joining nothing and joining one empty text give the same result.
        prop_assume!(!(pairs.len() == 1 && rest.is_empty()));
        prop_assert_eq!(taken(PAIRS, &whole.join("&")), found(&key, &rest));
    }

    #[test]
    fn a_part_that_was_inserted_is_found(
        contents in vec(noise(&["\r\n", "\r", "\n", "--", "--A", "key", "\0", "name=\"key\""]), 0..5),
        preamble in prop::option::of(noise(&["\r\n", "--", "-", "C", "x"])),
        place: prop::sample::Index,
        key in "[!#-~][!-~]{0,20}[!-+\\--~]",
    ) {
        // A delimiter in the content would make other parts, or end the form before the field.
        let mut pieces = contents.iter().chain(&preamble);
        prop_assume!(!pieces.any(|piece| piece.windows(3).any(|bytes| bytes == b"--B")));
        let mut parts: Vec<_> = contents
            .iter()
            .map(|content| [named("a").as_bytes(), b"\r\n\r\n", content, b"\r\n"].concat())
            .collect();
        let body = |parts: &[Vec<u8>]| {
            let mut body = preamble.clone().map(|preamble| [&preamble, &b"\r\n"[..]].concat()).unwrap_or_default();
            for part in parts {
                body.extend([b"--B \r\n", &part[..]].concat());
            }
            [&body, &b"--B--\r\nepilogue"[..]].concat()
        };
        let rest = body(&parts);
        let field = format!("{}\r\n\r\n{key}\r\n", named("key")).into_bytes();
        parts.insert(place.index(parts.len() + 1), field);
        let taken = take(PARTS, body(&parts)).unwrap();
        prop_assert_eq!(taken.key, IdempotencyKey::parse_bare(&key).ok());
        prop_assert_eq!(taken.body, rest);
    }

    #[test]
    fn no_form_causes_a_panic_and_the_rest_of_a_form_has_no_field(
        pairs in noise(&["key", "=", "&", ";", "%6b", "%", "ey", "+", "k-1"]),
        parts in noise(&[
            "--B", "--", "\r\n", "\r\n\r\n", "--B\r\nContent-Disposition: form-data; ", "name=", "\"", "key",
            "\\", ";", "filename=x", "name*=", "=", "%6b", "k-1",
        ]),
    ) {
        for (content_type, body) in [(PAIRS, pairs), (PARTS, parts)] {
            match take(content_type, &body) {
                Ok(SplitForm { key: None, body: rest }) => prop_assert_eq!(rest, body),
                Ok(SplitForm { key: Some(_), body: rest }) => {
                    prop_assert!(rest.len() < body.len());
                    let again = take(content_type, &rest).unwrap();
                    prop_assert_eq!((again.key, again.body), (None, rest));
                }
                Err(_) => {}
            }
        }
    }
}
