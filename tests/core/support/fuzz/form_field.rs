//! The key in a form's field: no field is overlooked, and nothing else is removed. The first line of an
//! input is the `Content-Type`.

use super::form::{Form, Part};
use super::input::{line, unescaped};
use super::multipart_body;
use oncekey::IdempotencyKey;
use oncekey::request::form_key::{FieldName, FormKeyError, SplitForm, take_key};
use std::sync::LazyLock;

const NAME: &str = "key";

static FIELD: LazyLock<FieldName> = LazyLock::new(|| FieldName::parse(NAME).expect("a name"));

pub(crate) fn check(bytes: &[u8]) {
    let Some((content_type, body)) = line(bytes) else {
        return;
    };
    let taken = take_key(content_type, body.to_vec(), &FIELD);
    let essence = content_type.split(';').next().unwrap_or_default();
    match essence.trim_matches([' ', '\t']).to_lowercase().as_str() {
        "application/x-www-form-urlencoded" => check_pairs(body, &taken),
        "multipart/form-data" => {
            check_parts(multipart_body::read(content_type, body), content_type, body, &taken);
        }
        _ => assert_eq!(taken, Ok(SplitForm { key: None, body: body.to_vec() })),
    }
    if let Ok(SplitForm { key: Some(key), body: rest }) = taken {
        assert_eq!(IdempotencyKey::parse_bare(key.as_str()), Ok(key));
        let again = take_key(content_type, rest.clone(), &FIELD);
        assert_eq!(again, Ok(SplitForm { key: None, body: rest }), "there is only one field");
    }
}

fn check_pairs(body: &[u8], taken: &Result<SplitForm, FormKeyError>) {
    let decoded = |text: &[u8]| {
        let spaced: Vec<u8> =
            text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
        unescaped(&spaced)
    };
    let name_of = |piece: &[u8]| {
        let name: Vec<u8> = piece.iter().copied().take_while(|byte| *byte != b'=').collect();
        decoded(&name)
    };
    let pairs: Vec<&[u8]> = body.split(|byte| *byte == b'&').collect();
    let is_named = |pair: &[u8]| {
        pair.split(|byte| *byte == b';').any(|piece| name_of(piece) == NAME.as_bytes())
    };
    let named: Vec<usize> = (0..pairs.len()).filter(|at| is_named(pairs[*at])).collect();
    let [at] = named[..] else {
        return match named.is_empty() {
            true => assert_eq!(*taken, Ok(SplitForm { key: None, body: body.to_vec() })),
            false => assert!(taken.is_err(), "more than one"),
        };
    };
    let value = pairs[at]
        .iter()
        .position(|byte| *byte == b'=')
        .map_or(&b""[..], |at_equals| &pairs[at][at_equals + 1..]);
    let text = String::from_utf8(decoded(value)).ok();
    let key = text.and_then(|text| IdempotencyKey::parse_bare(&text).ok());
    // An invalid escape leaves its percent sign, and so does an escaped percent sign.
    let broken = value
        .split(|byte| *byte == b'%')
        .skip(1)
        .any(|rest| rest.len() < 2 || !rest[..2].iter().all(u8::is_ascii_hexdigit));
    let expected = key.filter(|_| !broken && !pairs[at].contains(&b';'));
    let mut rest = pairs.clone();
    rest.remove(at);
    let expected = expected.map(|key| SplitForm { key: Some(key), body: rest.join(&b"&"[..]) });
    assert_eq!(taken.as_ref().ok(), expected.as_ref());
}

fn check_parts(
    form: Option<Form>,
    content_type: &str,
    body: &[u8],
    taken: &Result<SplitForm, FormKeyError>,
) {
    let holds_name = |text: &[u8]| text.windows(NAME.len()).any(|found| found == NAME.as_bytes());
    let Some(form) = form else {
        let expected = Ok(SplitForm { key: None, body: body.to_vec() });
        return match holds_name(body) {
            true => assert_eq!(*taken, Err(FormKeyError::Unreadable)),
            false => assert_eq!(*taken, expected),
        };
    };
    let plainly: Vec<&Part> =
        form.parts.iter().filter(|part| dispositions(part).any(names_plainly)).collect();
    let perhaps = |part: &Part| {
        dispositions(part).any(|disposition| {
            let loose: Vec<u8> = disposition.iter().copied().filter(|b| *b != b'\\').collect();
            holds_name(disposition) || holds_name(&unescaped(&loose)) || loose.contains(&b'*')
        })
    };
    match taken {
        Ok(SplitForm { key: None, body: rest }) => {
            assert!(plainly.is_empty() && rest == body, "a field was overlooked");
        }
        Ok(SplitForm { key: Some(key), body: rest }) => {
            assert!(plainly.len() <= 1);
            // One part was removed, and it was the field with the key.
            let left = multipart_body::read(content_type, rest).expect("a form as before");
            let mut without = form.clone();
            let gone = (0..form.parts.len())
                .find(|at| left.parts.get(*at) != form.parts.get(*at))
                .expect("a part");
            let part = without.parts.remove(gone);
            assert_eq!(left, without);
            assert_eq!(part.content, key.as_str().as_bytes());
            // If several parts are equal, another one of them may be the field.
            assert!(dispositions(&part).any(holds_name));
        }
        Err(_) => assert!(form.parts.iter().any(perhaps), "no reader finds the field here"),
    }
}

fn dispositions(part: &Part) -> impl Iterator<Item = &[u8]> {
    let named = part.fields.iter().filter(|(name, _)| name == "content-disposition");
    named.map(|(_, value)| &value[..])
}

/// Returns whether a part has the name as browsers write it.
fn names_plainly(disposition: &[u8]) -> bool {
    let text = String::from_utf8_lossy(disposition);
    text.split(';').skip(1).any(|piece| piece.trim_matches([' ', '\t']) == "name=\"key\"")
}
