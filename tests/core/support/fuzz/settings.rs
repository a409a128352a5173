//! Settings: any text is either a valid list, or an error that quotes no part of the text. The content of a list is
//! the same as plain splitting finds. The first line of an input is the setting, the rest a JSON body.

use super::input::{line, unescaped};
use super::reference::{self, Value};
use oncekey::canonical::JsonPointer;
use oncekey::request::form_key::FieldName;
use oncekey::webhook::target::{Reach, check_target};
use oncekey::webhook::{Sources, WebhookSecret};
use oncekey::{BusinessKeys, FingerprintSecrets, LookUps, Route, ScopeAliases, StoredResponse};

pub(crate) fn check(bytes: &[u8]) {
    let Some((text, body)) = line(bytes) else { return };
    check_secrets(text);
    check_sources(text);
    check_aliases(text);
    check_pointer(text);
    check_look_ups(text, body);
    check_url(text);
    let entries = || text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    let is_number = |entry: &str| {
        let mut parts = entry.splitn(3, ':');
        let (method, path, pointer) = (parts.next(), parts.next(), parts.next());
        let route = format!("{}:{}", method.unwrap_or_default(), path.unwrap_or_default());
        let pointer = pointer.map(JsonPointer::parse);
        Route::parse(&route).is_ok() && matches!(pointer, Some(Ok(_)))
    };
    assert_eq!(BusinessKeys::parse(text).is_ok(), entries().all(is_number));
    let is_name = (1..=64).contains(&text.len())
        && text.chars().all(|c| ('!'..='~').contains(&c) && !"\"&=%+;\\".contains(c))
        && text.to_lowercase() != "_charset_";
    assert_eq!(FieldName::parse(text).is_ok(), is_name);
}

fn check_secrets(text: &str) {
    let pairs: Vec<&str> = text.split(',').map(str::trim_ascii).collect();
    let ids: Option<Vec<&str>> = pairs
        .iter()
        .map(|pair| {
            let (id, secret) = pair.split_once(':')?;
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            let fits = (1..=32).contains(&id.len()) && id.chars().all(is_plain);
            (fits && !secret.is_empty()).then_some(id)
        })
        .collect();
    let is_unique = |ids: &Vec<&str>| (1..ids.len()).all(|at| !ids[..at].contains(&ids[at]));
    match FingerprintSecrets::parse(text) {
        Ok(secrets) => {
            assert_eq!(Some(secrets.ids().collect()), ids.filter(is_unique));
            assert_eq!(format!("{secrets:?}"), format!("{:?}", secrets.ids().collect::<Vec<_>>()));
        }
        Err(error) => {
            assert!(!ids.is_some_and(|ids| is_unique(&ids)), "{error}");
            shows_nothing(&error.to_string(), text);
        }
    }
}

fn check_sources(text: &str) {
    match Sources::parse(text) {
        Ok(sources) => {
            for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
                let (name, secret) = entry.split_once(':').expect("a pair");
                let secret = WebhookSecret::parse(secret).expect("a secret");
                let known = sources.secrets_of(name).expect("it is listed");
                assert!(known.contains(&secret));
                // Base64 may omit its padding.
                let text = entry.split_once(':').map_or("", |(_, text)| text);
                assert!(secret.expose().trim_end_matches('=') == text.trim_end_matches('='));
            }
        }
        Err(error) => shows_nothing(&error.to_string(), text),
    }
}

fn check_aliases(text: &str) {
    let entries: Vec<&str> =
        text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect();
    let hashes: Option<Vec<String>> = entries
        .iter()
        .map(|entry| {
            let (hash, tenant) = entry.split_once(':')?;
            let is_hash = hash.len() == 64 && hash.chars().all(|c| c.is_ascii_hexdigit());
            (is_hash && !tenant.is_empty()).then(|| hash.to_lowercase())
        })
        .collect();
    let fits = hashes
        .is_some_and(|hashes| (1..hashes.len()).all(|at| !hashes[..at].contains(&hashes[at])));
    assert_eq!(ScopeAliases::parse(text).is_ok(), fits);
}

fn check_pointer(text: &str) {
    let broken = text.split('~').skip(1).any(|rest| !rest.starts_with(['0', '1']));
    let expected = (text.starts_with('/') && !broken).then(|| {
        let steps = text[1..].split('/').map(|step| step.replace("~1", "/").replace("~0", "~"));
        steps.collect::<Vec<String>>()
    });
    let found = JsonPointer::parse(text).ok();
    assert_eq!(found.as_ref().map(|pointer| pointer.steps().to_vec()), expected, "{text:?}");
    if let Some(pointer) = found {
        assert_eq!(pointer.to_string(), text);
    }
}

/// Checks that a look-up requests a path on the origin that contains the body's value, whatever the body contains.
fn check_look_ups(text: &str, body: &[u8]) {
    let Ok(look_ups) = LookUps::parse(text) else { return };
    let Some(entry) = text.split(',').map(str::trim).find(|entry| !entry.is_empty()) else {
        return;
    };
    let mut parts = entry.splitn(3, ':');
    let (method, path) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let (template, proof) = template_and_proof(parts.next().unwrap_or_default());
    check_proof(proof, body);
    let (method, path) = (method.replace('*', "POST"), path.replace('*', "x"));
    let Some(look_up) = look_ups.find(&method, &path, Some("application/json"), body) else {
        return;
    };
    let target = look_up.target;
    assert!(reference::read(body).is_some(), "an unreadable body has no value");
    let plain = |c: char| ('!'..='~').contains(&c) && !"#{}\"<>\\^`|".contains(c);
    assert!(target.starts_with('/') && !target.starts_with("//") && target.chars().all(plain));
    let before = template.split('{').next().unwrap_or_default();
    assert!(target.starts_with(before), "{target} by {template}");
    let path = target.split('?').next().unwrap_or_default();
    assert!(!path.split('/').any(|step| [".", ".."].contains(&step)), "{target}");
    // The value contains no separators.
    for divider in ['/', '?', '&', ';', '='] {
        let pointers = template.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
        let literal = before.to_owned() + &pointers.map(|(_, rest)| rest).collect::<String>();
        assert_eq!(target.matches(divider).count(), literal.matches(divider).count(), "{target}");
    }
}

/// Splits a look-up from its fragment at the first `#` outside braces.
fn template_and_proof(text: &str) -> (&str, &str) {
    let mut is_inside = false;
    let divides = |character: char| {
        is_inside = character == '{' || (is_inside && character != '}');
        character == '#' && !is_inside
    };
    text.split_once(divides).expect("a look-up has a fragment")
}

/// A response proves an execution exactly if the reference finds a value at the pointer.
fn check_proof(proof: &str, body: &[u8]) {
    let text = format!("POST:/o:/x?no={{/no}}#{proof}");
    let look_ups = LookUps::parse(&text).expect("the fragment was taken before");
    let look_up = look_ups.find("POST", "/o", Some("application/json"), b"{\"no\":1}");
    let look_up = look_up.expect("the body has what it needs");
    let json = [("content-type".to_owned(), "application/json".to_owned())];
    let response = StoredResponse::keep(200, json, body.to_vec(), "r", 1 << 30).0;
    let proof = unescaped(proof.as_bytes());
    let proof = String::from_utf8(proof).expect("it was taken before");
    let found = reference::read(body).and_then(|root| {
        proof.split('/').skip(1).try_fold(root, |value, step| {
            let step = step.replace("~1", "/").replace("~0", "~");
            match value {
                Value::Array(elements) => {
                    let index: usize =
                        step.parse().ok().filter(|at: &usize| at.to_string() == step)?;
                    elements.get(index).cloned()
                }
                value => value.get(&step).cloned(),
            }
        })
    });
    let expected = match found {
        Some(Value::String(text)) => {
            let nil = |c: char| c == '0' || "-{}".contains(c);
            let is_nil = text.chars().all(nil) && text.matches('0').count() == 32;
            text.chars().any(char::is_alphanumeric) && !is_nil
        }
        // A number so small that a reader may read it as zero.
        Some(Value::Number(number)) => {
            !number.digits.is_empty() && number.exponent + number.digits.len() as i64 > -99
        }
        _ => false,
    };
    assert_eq!(look_up.is_proved_by(&response), expected, "{text}");
}

/// Checks that an accepted URL has TLS and a host name that is neither an address nor in a private network.
fn check_url(text: &str) {
    let local = check_target(text, Reach::Local);
    if check_target(text, Reach::Public).is_err() {
        return;
    }
    assert!(local.is_ok());
    let rest = text.strip_prefix("https://").expect("TLS");
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.split(':').next().unwrap_or_default().to_lowercase();
    assert!(!authority.contains(['@', '[', '%']) && host.contains('.') && host.is_ascii());
    let last = host.rsplit('.').next().unwrap_or_default();
    assert!(last.chars().next().is_some_and(|c| c.is_ascii_alphabetic()), "{host}");
    for private in ["localhost", "local", "internal", "lan", "home", "corp", "test", "onion", "svc"]
    {
        assert_ne!(last, private);
    }
}

/// Checks that an error does not quote the setting. Errors may be logged, and a setting may contain a secret.
fn shows_nothing(error: &str, text: &str) {
    for piece in text.split([',', ':', ' ']).filter(|piece| piece.len() >= 12) {
        assert!(!error.contains(piece), "{error}");
    }
}
