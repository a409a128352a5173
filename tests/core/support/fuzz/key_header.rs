//! An `Idempotency-Key` header: `"k"` and `k` are one key, and a key that was read is written and read
//! again as the same key.

use oncekey::{IdempotencyKey, KeyError};

pub(crate) fn check(bytes: &[u8]) {
    // The platform replaces invalid UTF-8 by U+FFFD.
    let value = &String::from_utf8_lossy(bytes)[..];
    let read = IdempotencyKey::parse_header(value);
    let expected = key_in(value);
    assert_eq!(read.as_ref().ok().map(IdempotencyKey::as_str), expected.as_deref(), "{value:?}");
    let bare = IdempotencyKey::parse_bare(value);
    assert_eq!(bare.is_ok(), is_key(value), "{value:?}");
    let Ok(key) = read else {
        return assert!(bare.is_err() || value.trim_matches([' ', '\t']) != value);
    };

    let text = key.as_str();
    assert_eq!(IdempotencyKey::parse_bare(text).as_ref(), Ok(&key));
    let quoted = format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    for spelling in [text, &quoted, &format!("\t {text} "), &format!(" {quoted}\t")] {
        assert_eq!(IdempotencyKey::parse_header(spelling).as_ref(), Ok(&key), "{spelling:?}");
    }
    // A header that is sent twice, or with an empty second value, is not a key.
    for twice in [format!("{text}, {text}"), format!("{text}, "), format!(", {quoted}")] {
        assert!(IdempotencyKey::parse_header(&twice).is_err(), "{twice:?}");
    }
    assert_eq!(IdempotencyKey::parse_bare(&format!("{text} ")), Err(KeyError::NotVisibleAscii));
    let _ = key.minted_at();
}

/// Reads the key in a header by replacing characters.
fn key_in(value: &str) -> Option<String> {
    let value = value.trim_matches([' ', '\t']);
    if !value.starts_with('"') {
        return is_key(value).then(|| value.to_owned());
    }
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    // Two characters that no key contains stand for the escapes during the other checks.
    if inner.contains(['\u{1}', '\u{2}']) {
        return None;
    }
    let marked = inner.replace("\\\\", "\u{1}").replace("\\\"", "\u{2}");
    if marked.contains(['\\', '"']) {
        return None;
    }
    let text = marked.replace('\u{1}', "\\").replace('\u{2}', "\"");
    is_key(&text).then_some(text)
}

fn is_key(text: &str) -> bool {
    let are_visible = text.chars().all(|character| ('!'..='~').contains(&character));
    // The origin gets the key without quotes, so it must not begin with a quote or look like two keys.
    are_visible && (1..=255).contains(&text.len()) && !text.starts_with('"') && !text.ends_with(',')
}
