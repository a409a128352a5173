//! Paths: each has one spelling, and no reading of a path that a rule protects is overlooked.
//! The first line of an input is the path, the second a route.

use super::input::{line, unescaped};
use oncekey::request::path;
use oncekey::{Route, webhook};

/// How often escapes are decoded.
const ROUNDS: usize = 4;

pub(crate) fn check(bytes: &[u8]) {
    let Some((path, rest)) = line(bytes) else { return };
    let normal = path::normalize(path);
    assert_eq!(path::normalize(&normal), normal);
    assert_eq!(
        decoded_once(&normal),
        decoded_once(path),
        "the normal form is another spelling of the path"
    );
    check_readings(path);

    let Some((route, _)) = line(rest) else { return };
    let Ok(route) = Route::parse(route) else { return };
    let method = rest.split(|byte| *byte == b':').next().unwrap_or_default();
    let method = String::from_utf8_lossy(method);
    let method = if method == "*" { "POST" } else { &method };
    let pattern = &String::from_utf8_lossy(rest)[..];
    let pattern = pattern.split('\n').next().and_then(|line| line.split_once(':'));
    let pattern: Vec<&str> = pattern.map_or("", |(_, path)| path).split('/').collect();
    let segments: Vec<&str> = path.split('/').collect();
    let expected = path.starts_with('/') && fits(&pattern[1..], &segments[1..]);
    assert_eq!(route.matches(method, path), expected, "{pattern:?} {path:?}");
    assert!(
        !expected || route.could_match(method, path),
        "the exact reading is one of the readings"
    );
    // No route has a method in lower case.
    assert!(!route.could_match("no", path) || rest.starts_with(b"*"));
}

fn fits(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        ([], []) => true,
        (["*"], [first, ..]) => !first.is_empty(),
        (["*", pattern @ ..], [first, path @ ..]) => !first.is_empty() && fits(pattern, path),
        ([wanted, pattern @ ..], [first, path @ ..]) => wanted == first && fits(pattern, path),
        _ => false,
    }
}

/// Checks the readings that an origin may plainly use: escapes are decoded up to four times, then slashes divide.
fn check_readings(path: &str) {
    let mut bytes = path.as_bytes().to_vec();
    for _ in 0..=ROUNDS {
        let text = bytes.to_ascii_lowercase();
        let segments: Vec<&[u8]> = text
            .split(|byte| matches!(byte, b'/' | b'\\'))
            .map(|segment| segment.split(|byte| *byte == b';').next().unwrap_or_default())
            .collect();
        let mut way: Vec<&[u8]> = Vec::new();
        let (mut leaves, mut has_dots) = (false, false);
        for segment in &segments {
            has_dots |= matches!(*segment, b"." | b"..");
            match *segment {
                b"" | b"." => {}
                b".." => leaves |= way.pop().is_none(),
                segment => way.push(segment),
            }
        }
        assert!(!leaves || path::leaves_root(path), "the path goes up past its start");
        assert!(!has_dots || path::has_dot_segments(path), "the path has dot segments");
        let is_inbound = way.first() == Some(&&b"webhooks"[..]) && way.len() > 1;
        assert!(!is_inbound || webhook::is_inbound(path), "the path is in the folder of webhooks");
        bytes = unescaped(&bytes);
    }
}

/// Decodes escapes once, and marks the escaped characters that have a meaning in paths.
fn decoded_once(path: &str) -> Vec<(u8, bool)> {
    let bytes = path.as_bytes();
    let (mut read, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let escape = bytes
            .get(at..at + 3)
            .filter(|escape| escape[0] == b'%' && escape[1..].iter().all(u8::is_ascii_hexdigit));
        let Some(escape) = escape else {
            read.push((bytes[at], false));
            at += 1;
            continue;
        };
        let byte = unescaped(escape)[0];
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        read.push((byte, !is_plain));
        at += 3;
    }
    read
}
