//! Fields of a form that do not count: all the listed fields, and no others. The first line of an input is
//! the `Content-Type`.

use super::form::{self, Part};
use super::input::{line, unescaped};
use super::multipart_body;
use oncekey::canonical::JsonPointer;
use oncekey::canonical::fields::CSRF_FIELDS;
use oncekey::fingerprint::{Comparison, FingerprintSecrets, Fingerprints, RequestParts};
use sha2::{Digest, Sha256};

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
    assert_eq!(made.signing().digest_hex(), digest(&essence, tag, &counted));
    // The fingerprint that an earlier release stored. It includes all fields.
    let hex = digest(&essence, tag, &whole);
    assert_eq!(made.compare(&stored(&hex)), Comparison::Same);
    if counted != whole {
        let other = digest(&essence, tag, &[&whole[..], b"x"].concat());
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

fn digest(essence: &str, tag: u8, form: &[u8]) -> String {
    let mut hash = Sha256::new();
    for part in ["oncekey-fingerprint-1", "POST", "/o", "", essence] {
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
