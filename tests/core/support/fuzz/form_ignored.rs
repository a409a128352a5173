//! Fields of a form that do not count: all the listed fields, and no others. The first line of an input is
//! the `Content-Type`.

use super::form::{self, Part};
use super::input::{halves, line, unescaped};
use super::multipart_body;
use oncekey::canonical::JsonPointer;
use oncekey::canonical::fields::CSRF_FIELDS;
use oncekey::fingerprint::{Comparison, FingerprintSecrets, Fingerprints, RequestParts};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Fields that pointers name, beside the usual CSRF fields.
const IGNORED: [&str; 2] = ["nonce", "a\"b"];
const POINTERS: [&str; 4] = ["/nonce", "/a\"b", "/deep/er", "/payment/_token"];

pub(crate) fn check(bytes: &[u8]) {
    let Some((content_type, body)) = line(bytes) else {
        return;
    };
    let ignore = POINTERS.map(|pointer| JsonPointer::parse(pointer).expect("a pointer"));
    let parts = |body| RequestParts {
        content_encoding: None,
        method: "POST",
        path: "/o",
        query: None,
        content_type: Some(content_type),
        body,
        ignore: &ignore,
    };
    let compute = |body| Fingerprints::compute(&parts(body), &FingerprintSecrets::none());
    let made = compute(body);
    let essence = content_type.split(';').next().unwrap_or_default();
    let essence = essence.trim_matches([' ', '\t']).to_ascii_lowercase();
    let (tag, counted, whole) = match essence.as_str() {
        "application/x-www-form-urlencoded" | "application/x-form" => {
            (0, pairs(body), body.to_vec())
        }
        "multipart/form-data" => match multipart_body::read(content_type, body) {
            None => (0, body.to_vec(), body.to_vec()),
            Some(read) => {
                let whole = form::write(&read);
                let mut counted = read;
                counted.parts.retain(|part| !is_left_out(part));
                (2, form::write(&counted), whole)
            }
        },
        _ => return,
    };
    assert_eq!(made.signing().digest_hex(), digest(1, &essence, tag, &counted));
    let by_value = if tag == 0 && essence != "multipart/form-data" { by_value(body) } else { None };
    let by_value = by_value.map(|pairs| digest(2, &essence, 4, &pairs));
    assert_eq!(made.signing().pairs_hex(), by_value);
    // The fingerprint that an earlier release stored. It includes all fields.
    let hex = digest(1, &essence, tag, &whole);
    assert_eq!(made.compare(&stored(&hex)), Comparison::Same);
    if counted != whole {
        let other = digest(1, &essence, tag, &[&whole[..], b"x"].concat());
        assert_eq!(made.compare(&stored(&other)), Comparison::Different);
    }
}

fn pairs(body: &[u8]) -> Vec<u8> {
    if !body.iter().all(|byte| (0x21..=0x7e).contains(byte)) {
        return body.to_vec();
    }
    let counted = body.split(|byte| *byte == b'&').filter(|pair| {
        let name: Vec<u8> = pair.iter().copied().take_while(|byte| *byte != b'=').collect();
        let spaced: Vec<u8> =
            name.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
        pair.contains(&b';') || !is_ignored(&unescaped(&spaced))
    });
    counted.collect::<Vec<_>>().join(&b"&"[..])
}

/// Returns the canonical form of the pairs, if they can be compared by value. They are sorted in groups.
fn by_value(body: &[u8]) -> Option<Vec<u8>> {
    let spaced: Vec<u8> =
        body.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    let mut groups = BTreeMap::<String, Vec<(String, String)>>::new();
    let pairs: Vec<&[u8]> = spaced.split(|byte| *byte == b'&').collect();
    let is_plain = |byte: &u8| (0x21..=0x7e).contains(byte) && *byte != b';';
    if !body.iter().all(is_plain) || pairs.len() > 1000 {
        return None;
    }
    for pair in pairs {
        let (name, value) = halves(pair, b'=');
        let [name, value] = [name, value?].map(|text| {
            // Each escape is two bytes shorter when it is decoded.
            let plain = unescaped(text);
            let escapes = text.iter().filter(|byte| **byte == b'%').count();
            let is_whole = plain.len() + 2 * escapes == text.len();
            String::from_utf8(plain).ok().filter(|text| is_whole && !text.contains('\0'))
        });
        let (name, value) = (name?, value?);
        if name.len() > 1024 {
            return None;
        }
        if !is_ignored(name.as_bytes()) {
            let root = letters(name.split('[').next().unwrap_or_default());
            groups.entry(root).or_default().push((name, value));
        }
    }
    let mut form = Vec::new();
    for mut group in groups.into_values() {
        if group.iter().all(|(name, _)| name.contains('[') && !name.contains("[]")) {
            group.sort_by_key(|(name, _)| letters(name));
        }
        for text in group.iter().flat_map(|(name, value)| [name, value]) {
            form.extend((text.len() as u64).to_be_bytes());
            form.extend(text.as_bytes());
        }
    }
    Some(form)
}

fn letters(name: &str) -> String {
    name.replace(|letter: char| letter.is_ascii() && !letter.is_ascii_alphanumeric(), "")
        .to_ascii_lowercase()
}

fn is_ignored(name: &[u8]) -> bool {
    let Ok(name) = core::str::from_utf8(name) else {
        return false;
    };
    let last_step = match name.rsplit_once('[') {
        Some((before, step)) if !before.is_empty() && step.ends_with(']') => {
            &step[..step.len() - 1]
        }
        _ => name,
    };
    IGNORED.contains(&name) || CSRF_FIELDS.contains(&last_step)
}

/// Reads a part letter by letter.
fn is_left_out(part: &Part) -> bool {
    let mut dispositions = part.fields.iter().filter(|(name, _)| name == "content-disposition");
    let (Some((_, value)), None) = (dispositions.next(), dispositions.next()) else {
        return false;
    };
    let mut letters = value.iter().copied().peekable();
    let mut kind = Vec::new();
    while let Some(letter) = letters.next_if(|letter| *letter != b';') {
        kind.push(letter);
    }
    let kind = kind.to_ascii_lowercase();
    if kind.trim_ascii() != b"form-data" || kind.iter().any(|byte| b"\x0b\x0c".contains(byte)) {
        return false;
    }
    let mut names = Vec::new();
    loop {
        while letters.next_if(|letter| b" \t;".contains(letter)).is_some() {}
        if letters.peek().is_none() {
            break;
        }
        let mut parameter = Vec::new();
        loop {
            match letters.next() {
                None => return false,
                Some(b'=') => break,
                Some(letter) => parameter.push(letter),
            }
        }
        let parameter = parameter.to_ascii_lowercase();
        let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
        if parameter.is_empty() || !parameter.iter().all(allowed) {
            return false;
        }
        let mut value = Vec::new();
        if letters.next_if_eq(&b'"').is_some() {
            loop {
                match letters.next() {
                    // Readers disagree about what follows a backslash and a quote.
                    None => return false,
                    Some(b'"') if value.ends_with(b"\\") => return false,
                    Some(b'"') => break,
                    Some(letter) => value.push(letter),
                }
            }
            while letters.next_if(|letter| b" \t".contains(letter)).is_some() {}
            if letters.peek().is_some_and(|letter| *letter != b';') {
                return false;
            }
        } else {
            while let Some(letter) = letters.next_if(|letter| *letter != b';') {
                value.push(letter);
            }
            if value.contains(&b'"') {
                return false;
            }
        }
        if parameter == b"name" {
            names.push(value);
        } else if parameter.starts_with(b"name*") || parameter.starts_with(b"filename") {
            return false;
        }
    }
    let [name] = &names[..] else {
        return false;
    };
    // A quote in the spelling of browsers.
    is_ignored(name) && name != b"a\"b" || name == b"a%22b"
}

fn digest(version: u8, essence: &str, tag: u8, form: &[u8]) -> String {
    let mut hash = Sha256::new();
    for part in [&format!("oncekey-fingerprint-{version}")[..], "POST", "/o", "", essence] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.update([tag]);
    hash.update(form);
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the fingerprint of a record with this digest, in its stored form.
fn stored(hex: &str) -> oncekey::fingerprint::Fingerprint {
    let digest = (0..32).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hex"));
    let mut cbor = vec![0x83, 1, 0xf6, 0x58, 32];
    cbor.extend(digest);
    minicbor::decode(&cbor).expect("a fingerprint")
}
