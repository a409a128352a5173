//! Tests of the cost of hostile texts, counted in bytes that are read and in memory, not in time.

use super::super::sink::Sink;
use super::super::work;
use super::document::{Member, Object};
use super::*;

const SIZE: usize = 1 << 18;

struct Bytes(usize);

impl Sink for Bytes {
    fn put(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }
}

/// Reads and writes a text, asserts that the bytes read are at most `times` its length, and returns the
/// memory that the document takes. Returns `None` if the text has no form.
#[track_caller]
fn cost(text: &str, times: usize) -> Option<usize> {
    let mut written = Bytes(0);
    let (memory, spent) = work::measure(|| {
        let document = Document::parse(text.as_bytes())?;
        document.write(&[], &mut written);
        Some(
            document.members.capacity() * size_of::<Member>()
                + document.objects.capacity() * size_of::<Object>()
                + document.unescaped.capacity(),
        )
    });
    assert!(spent <= times * text.len() + 100, "{} times", spent as f64 / text.len() as f64);
    // `\u001f` stays as long as it was, `1e20` grows to 21 digits.
    assert!(written.0 <= 6 * text.len());
    memory
}

#[test]
fn json_without_members_takes_no_memory() {
    for text in [
        format!("\"{}\"", "x".repeat(SIZE)),
        format!("\"{}\"", "\\u0041".repeat(SIZE / 6)),
        format!("\"{}\"", "\\n\\\"".repeat(SIZE / 4)),
        format!("\"{}\"", "\\ud83d\\ude00".repeat(SIZE / 12)),
        "7".repeat(SIZE),
        format!("0.{}7", "0".repeat(SIZE)),
        format!("7{}", "0".repeat(SIZE)),
        format!("0e{}", "9".repeat(SIZE)),
        format!("1e{}1", "0".repeat(SIZE)),
        format!("[{}0]", "0,".repeat(SIZE / 2)),
        format!("[{}0]", "1e20,".repeat(SIZE / 5)),
        format!("[{}0]", "{},".repeat(SIZE / 3)),
        format!("[{}0]", "[[]],".repeat(SIZE / 5)),
        format!("{}0", " ".repeat(SIZE)),
        format!("[{}0]", " 0\n, ".repeat(SIZE / 5)),
        format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH)),
    ] {
        assert_eq!(cost(&text, 8), Some(0), "{}", &text[..20]);
    }
}

#[test]
fn invalid_json_is_refused_in_linear_time() {
    for text in [
        "[".repeat(SIZE),
        "{\"a\":".repeat(SIZE / 5),
        format!("[{}", "0,".repeat(SIZE / 2)),
        format!("1e{}", "9".repeat(SIZE)),
        format!("1e{}x", "0".repeat(SIZE)),
        format!("0{}", "0".repeat(SIZE)),
        format!("\"{}", "\\\\".repeat(SIZE / 2)),
        format!("{{{}\"x\":0}}", "\"x\":0,".repeat(SIZE / 6)),
        format!("{}x", " ".repeat(SIZE)),
    ] {
        assert_eq!(cost(&text, 4), None, "{}", &text[..20]);
    }
}

#[test]
fn members_are_sorted_without_quadratic_time() {
    let object = |name: &dyn Fn(usize) -> String, count: usize| {
        let members: Vec<_> = (0..count).map(|i| format!("\"{}\":{i}", name(i))).collect();
        format!("{{{}}}", members.join(","))
    };
    let shuffled = |i: usize| i.wrapping_mul(2_654_435_761) % 1_000_003;
    let prefix = "p".repeat(1000);
    // A thousand names are compared about ten times each.
    for text in [
        object(&|i| format!("{}", shuffled(i)), 50_000),
        object(&|i| format!("{prefix}{}", shuffled(i)), 1000),
        object(&|i| format!("{}{}", "p".repeat(i), shuffled(i)), 1000),
        object(&|i| format!("\\u0070{prefix}{}", shuffled(i)), 1000),
        // Two long names that differ at their very end, among many short ones.
        object(
            &|i| {
                if i % 500 == 3 {
                    format!("{}{i}", prefix.repeat(100))
                } else {
                    format!("p{}", shuffled(i))
                }
            },
            1000,
        ),
    ] {
        let memory = cost(&text, 24).unwrap();
        assert!(memory <= 8 * text.len(), "{memory} for {}", text.len());
    }
}

#[test]
fn nested_json_is_read_in_linear_time() {
    let mut text = format!("\"{}\"", "x".repeat(SIZE));
    for _ in 0..MAX_DEPTH - 2 {
        text = format!("{{\"z\":0,\"y\":{text},\"a\":{{\"c\":[1],\"b\":{{}}}}}}");
    }
    assert!(cost(&text, 8).is_some());
}

#[test]
fn json_with_too_many_members_is_refused() {
    let object = |count: usize| {
        let members: Vec<_> = (0..count).map(|i| format!("\"{i:x}\":0")).collect();
        format!("{{{}}}", members.join(","))
    };
    assert!(Document::parse(object(MAX_MEMBERS).as_bytes()).is_some());
    assert!(Document::parse(object(MAX_MEMBERS + 1).as_bytes()).is_none());
    let spread = format!("[{}0]", "{\"\":0},".repeat(MAX_MEMBERS));
    let memory = cost(&spread, 8).unwrap();
    assert_eq!(memory, MAX_MEMBERS * (size_of::<Member>() + size_of::<Object>()));
    assert!(Document::parse(format!("[{{\"\":0}},{}", &spread[1..]).as_bytes()).is_none());
}

#[test]
fn ignored_values_are_left_out_in_linear_time() {
    let text =
        format!("[[{}0],{}0]", "{\"a\":[{}]},".repeat(SIZE / 11), "{\"a\":1},".repeat(SIZE / 8));
    let ignore =
        ["/0", "/1/a", "/7/a", "/7000"].map(|pointer| JsonPointer::parse(pointer).unwrap());
    let mut written = Bytes(0);
    let ((), spent) =
        work::measure(|| Document::parse(text.as_bytes()).unwrap().write(&ignore, &mut written));
    assert!(spent <= 8 * text.len(), "{}", spent as f64 / text.len() as f64);
}
