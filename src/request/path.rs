//! Paths of requests, and how an origin may read them.
//!
//! The gateway and the origin must agree on the path of a request. So the gateway first normalizes each
//! path with [`normalize`]. A rule that protects something is then checked against all readings that an
//! origin may have. An origin may:
//!
//! - decode escapes once or several times;
//! - remove path parameters (`;x`), or an escaped query;
//! - take backslashes for slashes, and ignore repeated slashes and letter case;
//! - resolve `.` and `..`.

use crate::codec::percent;

/// How often an origin and the proxies in front of it may decode escapes, in total.
const ROUNDS: usize = 4;

/// Decodes the escapes of unreserved characters in a path (RFC 3986 §6.2.2.2). By that standard,
/// `/order%73` and `/orders` are the same path. All other escapes are kept.
pub fn normalize(path: &str) -> String {
    let mut normalized = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('%') {
        let (before, escape) = rest.split_at(at);
        normalized.push_str(before);
        let plain = percent::escaped(&escape.as_bytes()[1..]).filter(|byte| is_unreserved(*byte));
        // After a percent sign that begins no escape, a decoded byte could complete one: `%%37%33`
        // would become `%73`, which is `s`.
        let plain = plain.filter(|_| !normalized.bytes().rev().take(2).any(|byte| byte == b'%'));
        let length = match plain {
            Some(byte) => {
                normalized.push(char::from(byte));
                3
            }
            None => {
                normalized.push('%');
                1
            }
        };
        rest = &escape[length..];
    }
    normalized.push_str(rest);
    normalized
}

/// Returns whether any reading of a path goes above its root, and so out of the part of the origin that
/// the gateway serves. The platform has already resolved plain `..` segments. This check finds those
/// that only some origins see, such as `..%2f` and `..;`.
pub fn leaves_root(path: &str) -> bool {
    // Only two dots, or escapes of dots, can be read as `..`. Nearly all paths end here.
    if !path.contains("..") && !path.contains('%') {
        return false;
    }
    readings(path).any(|reading| {
        let mut depth: usize = 0;
        // Read literally, a segment is one step even if it contains escaped slashes. The reading
        // that is less deep counts.
        for segment in reading.segments {
            let mut inside = depth;
            for piece in &segment {
                match &piece[..] {
                    b".." if inside == 0 => return true,
                    b".." => inside -= 1,
                    piece if is_step(piece) => inside += 1,
                    _ => {}
                }
            }
            let has_step = segment.iter().any(|piece| is_step(piece));
            depth = inside.min(depth + usize::from(has_step));
        }
        false
    })
}

/// Returns whether any reading of a path has a segment `.` or `..`.
pub fn has_dot_segments(path: &str) -> bool {
    let mut pieces = readings(path).flat_map(|reading| reading.segments.into_iter().flatten());
    pieces.any(|piece| matches!(&piece[..], b"." | b".."))
}

/// Returns whether all origins read a path alike, except for letter case and endings such as `.json`.
pub fn has_one_reading(path: &str) -> bool {
    let is_plain = |byte: u8| is_unreserved(byte) || b"/@:!$&'()*+,=".contains(&byte);
    path.bytes().all(is_plain)
        && !path.contains("//")
        && !path.split('/').any(|step| matches!(step, "." | ".."))
}

/// Returns whether any reading of a path is in this top-level folder, that is, starts with the folder's
/// name and a slash. In a reading with `..`, a segment of that name counts at any position, because
/// origins disagree on how far up `..` leads.
pub fn is_in_folder(path: &str, folder: &str) -> bool {
    readings(path).any(|reading| {
        let pieces: Vec<_> = reading.segments.into_iter().flatten().collect();
        let goes_up = pieces.iter().any(|piece| piece == b"..");
        if goes_up && pieces.iter().any(|piece| piece == folder.as_bytes()) {
            return true;
        }
        // The name without a slash after it is not in the folder; the origin handles that path.
        let first = pieces.iter().position(|piece| is_step(piece));
        first.is_some_and(|at| pieces[at] == folder.as_bytes() && at + 1 < pieces.len())
    })
}

/// Returns the readings of a path by origins that ignore repeated slashes, parameters and letter case.
/// Each reading is a path in lower case.
pub fn lenient_readings(path: &str) -> impl Iterator<Item = String> {
    readings(path).map(|reading| {
        let mut steps: Vec<Vec<u8>> = Vec::new();
        for piece in reading.segments.into_iter().flatten() {
            match &piece[..] {
                b".." => drop(steps.pop()),
                step if is_step(step) => steps.push(piece),
                _ => {}
            }
        }
        let mut text = String::new();
        for step in steps {
            text.push('/');
            text.push_str(&String::from_utf8_lossy(&step));
        }
        text
    })
}

/// A path after some rounds of decoding escapes.
struct Reading {
    /// The literal segments. Each is a list of the pieces that it splits into when its escapes are
    /// decoded. The pieces are in lower case and have no parameters.
    segments: Vec<Vec<Vec<u8>>>,
}

fn readings(path: &str) -> impl Iterator<Item = Reading> {
    let mut spellings = vec![path.as_bytes().to_vec()];
    let mut is_last = false;
    let rounds = (0..ROUNDS).map_while(move |_| {
        if is_last {
            return None;
        }
        // An origin removes parameters before or after it decodes escapes: `/.;x%2fy/..;/z` goes up
        // only if parameters are removed first.
        let cut: Vec<_> = spellings.iter().map(|spelling| cut_parameters(spelling)).collect();
        spellings.extend(cut);
        // An origin that decodes escapes before it looks for a query finds one after `%3f`.
        let cut: Vec<_> = spellings.iter().filter_map(|spelling| cut_query(spelling)).collect();
        spellings.extend(cut);
        spellings.sort();
        spellings.dedup();
        let readings: Vec<_> = spellings.iter().map(|spelling| Reading::of(spelling)).collect();
        let next = spellings.iter().map(|spelling| percent::decoded(spelling).collect());
        let next: Vec<Vec<u8>> = next.collect();
        is_last = next == spellings;
        spellings = next;
        Some(readings)
    });
    rounds.flatten()
}

/// Removes everything between a `;` or a NUL and the next slash.
fn cut_parameters(path: &[u8]) -> Vec<u8> {
    let mut is_parameter = false;
    let kept = path.iter().copied().filter(|&byte| {
        is_parameter = !is_slash(byte) && (is_parameter || begins_parameter(byte));
        !is_parameter
    });
    kept.collect()
}

impl Reading {
    /// Reads a path, and decodes escapes inside each segment once more.
    fn of(path: &[u8]) -> Self {
        let segments = path.split(|&byte| is_slash(byte)).map(|segment| {
            let read: Vec<u8> = percent::decoded(segment).map(|b| b.to_ascii_lowercase()).collect();
            read.split(|&byte| is_slash(byte)).map(without_parameters).collect()
        });
        Self { segments: segments.collect() }
    }
}

fn without_parameters(piece: &[u8]) -> Vec<u8> {
    piece.split(|&byte| begins_parameter(byte)).next().unwrap_or_default().to_vec()
}

/// Returns whether a segment may end at this byte. A program in C may end it at a NUL.
fn begins_parameter(byte: u8) -> bool {
    matches!(byte, b';' | 0)
}

/// Returns the path before its query or fragment, if it has one.
fn cut_query(path: &[u8]) -> Option<Vec<u8>> {
    let at = path.iter().position(|byte| matches!(byte, b'?' | b'#'))?;
    Some(path[..at].to_vec())
}

fn is_slash(byte: u8) -> bool {
    matches!(byte, b'/' | b'\\')
}

/// Returns whether a piece is a step down: not empty, `.` or `..`.
fn is_step(piece: &[u8]) -> bool {
    !matches!(piece, b"" | b"." | b"..")
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_removed_both_before_and_after_decoding() {
        for path in ["/.;x%2fy/..;/z", "/;%2f/..;/z", "/%252e;x%2fy/..;/z", "/a/..;/..;/z"] {
            assert!(leaves_root(path), "{path}");
        }
        for path in [
            "/.;x%2fy/webhooks/dodo",
            "/;x%5cy/webhooks/dodo",
            "/webhooks;%2f/dodo",
            "//webhooks/%5c;/.;",
        ] {
            assert!(is_in_folder(path, "webhooks"), "{path}");
        }
        assert!(lenient_readings("/v1;x%2fy/orders").any(|reading| reading == "/v1/orders"));
        assert!(!leaves_root("/a;x%2fy/..;/z"));
    }

    #[test]
    fn a_path_without_dot_dot_stays_below_the_root() {
        for path in ["/", "/v1/orders", "/a/.;x/b", "/.;./a", "/.\0./a", "/./\\./a", "/.?./.#."] {
            assert!(!leaves_root(path), "{path}");
            assert!(!has_dot_dot(path), "{path}");
        }
        assert!(has_dot_dot("/a/..;x/b") && has_dot_dot("/a/%2e./b"));
    }

    fn has_dot_dot(path: &str) -> bool {
        let mut pieces = readings(path).flat_map(|reading| reading.segments.into_iter().flatten());
        pieces.any(|piece| piece == b"..")
    }

    #[test]
    fn a_normalized_path_is_not_changed_by_normalizing_again() {
        for (path, spelling) in [
            ("/v1/order%73", "/v1/orders"),
            ("/v1/%7Eorders%2fx", "/v1/~orders%2fx"),
            // Decoded further, these would become escapes of `s`, and so another path than the one checked.
            ("/v1/order%%37%33", "/v1/order%%373"),
            ("/v1/order%7%33", "/v1/order%7%33"),
            ("/v1/order%%373", "/v1/order%%373"),
            ("/v1/%zz%41", "/v1/%zzA"),
            ("/%25%37%33", "/%2573"),
        ] {
            assert_eq!(normalize(path), spelling, "{path}");
            assert_eq!(normalize(spelling), spelling, "{path}");
        }
    }
}
