//! Paths as a request spells them, and as an origin may read them.
//!
//! What is judged here and what the origin does with it must be about one path. So a path has one
//! spelling first, [`normal`]; and where a rule protects something, it is asked of all the readings
//! that an origin may have: escapes undone once or several times, parameters cut off, and a query that
//! was escaped, backslashes as slashes, slashes to spare, capitals, dots that go up.

use crate::codec::percent;

/// How often an origin, and what stands before it, may undo escapes.
const ROUNDS: usize = 4;

/// The one spelling of a path: no escape for what needs none (RFC 3986 §6.2.2.2). `/order%73` is
/// `/orders` for everybody who keeps to that standard, so it may be no other path here. Every other
/// escape stays as it is.
pub fn normal(path: &str) -> String {
    let mut spelt = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('%') {
        let (before, escape) = rest.split_at(at);
        spelt.push_str(before);
        let plain = percent::escaped(&escape.as_bytes()[1..]).filter(|byte| is_unreserved(*byte));
        // Behind a percent sign that begins no escape, what is undone could complete one:
        // `%%37%33` would become `%73`, which is `s`.
        let plain = plain.filter(|_| !spelt.bytes().rev().take(2).any(|byte| byte == b'%'));
        let length = match plain {
            Some(byte) => {
                spelt.push(char::from(byte));
                3
            }
            None => {
                spelt.push('%');
                1
            }
        };
        rest = &escape[length..];
    }
    spelt.push_str(rest);
    spelt
}

/// Whether some reading of a path goes up over its start: out of the part of a host that the
/// gateway stands before. The platform has resolved what is spelt plainly; what is left is meant for
/// an origin that reads more into it, such as `..%2f` or `..;`.
pub fn leads_out(path: &str) -> bool {
    readings(path).any(|reading| {
        let mut depth: usize = 0;
        // By the letter a segment is one step, though it may hold slashes in escapes; whichever
        // reading is less deep counts.
        for segment in reading.by_letter {
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

/// Whether some reading of a path has a segment that leads nowhere or up: `.`, `..`.
pub fn has_dots(path: &str) -> bool {
    let mut pieces = readings(path).flat_map(|reading| reading.by_letter.into_iter().flatten());
    pieces.any(|piece| matches!(&piece[..], b"." | b".."))
}

/// Whether some reading of a path lies in this folder of the root: the folder's name and a slash
/// behind it. Where dots go up, any segment of that name counts, for nobody knows how far up.
pub fn lies_in(path: &str, folder: &str) -> bool {
    readings(path).any(|reading| {
        let pieces: Vec<_> = reading.by_letter.into_iter().flatten().collect();
        let goes_up = pieces.iter().any(|piece| piece == b"..");
        if goes_up && pieces.iter().any(|piece| piece == folder.as_bytes()) {
            return true;
        }
        // Without a slash behind it, the name alone is the origin's.
        let first = pieces.iter().position(|piece| is_step(piece));
        first.is_some_and(|at| pieces[at] == folder.as_bytes() && at + 1 < pieces.len())
    })
}

/// The readings of a path in which slashes to spare, parameters and capitals do not count: each
/// spelt as a path in small letters.
pub fn careless(path: &str) -> impl Iterator<Item = String> {
    readings(path).map(|reading| {
        let mut steps: Vec<Vec<u8>> = Vec::new();
        for piece in reading.by_letter.into_iter().flatten() {
            match &piece[..] {
                b".." => drop(steps.pop()),
                step if is_step(step) => steps.push(piece),
                _ => {}
            }
        }
        let mut spelt = String::new();
        for step in steps {
            spelt.push('/');
            spelt.push_str(&String::from_utf8_lossy(&step));
        }
        spelt
    })
}

/// A path after so many rounds of undoing escapes.
struct Reading {
    /// The segments by the letter, each with the pieces that it falls into once its escapes are
    /// undone: in small letters, without parameters.
    by_letter: Vec<Vec<Vec<u8>>>,
}

fn readings(path: &str) -> impl Iterator<Item = Reading> {
    let mut spellings = vec![path.as_bytes().to_vec()];
    let mut is_last = false;
    let rounds = (0..ROUNDS).map_while(move |_| {
        if is_last {
            return None;
        }
        // Parameters are cut off after escapes are undone, or before: `/.;x%2fy/..;/z` goes up only
        // for who cuts first.
        let cut: Vec<_> = spellings.iter().map(|spelling| cut_parameters(spelling)).collect();
        spellings.extend(cut);
        // What undoes escapes before it looks for a query finds one behind `%3f`.
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

/// Without what stands between a `;` (or a NUL) and the next slash.
fn cut_parameters(path: &[u8]) -> Vec<u8> {
    let mut is_parameter = false;
    let kept = path.iter().copied().filter(|&byte| {
        is_parameter = !is_slash(byte) && (is_parameter || begins_parameter(byte));
        !is_parameter
    });
    kept.collect()
}

impl Reading {
    /// With one more round of escapes undone inside each segment.
    fn of(path: &[u8]) -> Self {
        let by_letter = path.split(|&byte| is_slash(byte)).map(|segment| {
            let read: Vec<u8> = percent::decoded(segment).map(|b| b.to_ascii_lowercase()).collect();
            read.split(|&byte| is_slash(byte)).map(without_parameters).collect()
        });
        Self { by_letter: by_letter.collect() }
    }
}

fn without_parameters(piece: &[u8]) -> Vec<u8> {
    piece.split(|&byte| begins_parameter(byte)).next().unwrap_or_default().to_vec()
}

/// Returns whether a segment may end here: for programs in C at a NUL, too.
fn begins_parameter(byte: u8) -> bool {
    matches!(byte, b';' | 0)
}

/// Returns the path up to a query or a fragment, if it has one.
fn cut_query(path: &[u8]) -> Option<Vec<u8>> {
    let at = path.iter().position(|byte| matches!(byte, b'?' | b'#'))?;
    Some(path[..at].to_vec())
}

fn is_slash(byte: u8) -> bool {
    matches!(byte, b'/' | b'\\')
}

/// Whether a piece leads somewhere.
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
    fn parameters_are_cut_before_escapes_are_undone_or_after() {
        for path in ["/.;x%2fy/..;/z", "/;%2f/..;/z", "/%252e;x%2fy/..;/z", "/a/..;/..;/z"] {
            assert!(leads_out(path), "{path}");
        }
        for path in [
            "/.;x%2fy/webhooks/dodo",
            "/;x%5cy/webhooks/dodo",
            "/webhooks;%2f/dodo",
            "//webhooks/%5c;/.;",
        ] {
            assert!(lies_in(path, "webhooks"), "{path}");
        }
        assert!(careless("/v1;x%2fy/orders").any(|reading| reading == "/v1/orders"));
        assert!(!leads_out("/a;x%2fy/..;/z"));
    }

    #[test]
    fn a_path_in_its_one_spelling_has_no_other() {
        for (path, spelling) in [
            ("/v1/order%73", "/v1/orders"),
            ("/v1/%7Eorders%2fx", "/v1/~orders%2fx"),
            // Undone further, these would be escapes of `s`: another path than the one judged.
            ("/v1/order%%37%33", "/v1/order%%373"),
            ("/v1/order%7%33", "/v1/order%7%33"),
            ("/v1/order%%373", "/v1/order%%373"),
            ("/v1/%zz%41", "/v1/%zzA"),
            ("/%25%37%33", "/%2573"),
        ] {
            assert_eq!(normal(path), spelling, "{path}");
            assert_eq!(normal(spelling), spelling, "{path}");
        }
    }
}
