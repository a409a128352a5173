//! JSON strings: scanning, unescaping, and writing in canonical form.

use std::cmp::Ordering;

use super::sink::Sink;
use super::work::spent;

const SCANNED: &str = "the string was scanned before";

/// A scanned string literal.
pub(super) struct Literal {
    /// The position after the closing quote.
    pub(super) end: usize,
    pub(super) has_escapes: bool,
}

/// Checks the string that starts with the quote at `at`. Returns `None` if the string breaks RFC 8259 §7
/// or contains an escape for half of a surrogate pair, which is not a character (RFC 8259 §8.2).
pub(super) fn scan(source: &[u8], at: usize) -> Option<Literal> {
    let mut end = at + 1;
    let mut has_escapes = false;
    loop {
        end += plain(&source[end..]);
        match source.get(end)? {
            b'"' => break,
            b'\\' => {
                end = unescape(source, end)?.1;
                has_escapes = true;
            }
            _ => return None,
        }
    }
    spent(end - at);
    Some(Literal { end: end + 1, has_escapes })
}

/// Unescapes a literal that was scanned before, and appends its text.
pub(super) fn decode(literal: &[u8], text: &mut Vec<u8>) {
    each_piece(literal, |piece, _| text.extend_from_slice(piece));
}

/// Writes a literal that was scanned before in canonical form, and returns where it ends. Characters that
/// are not escaped in the source need no escape in the output.
pub(super) fn write_literal(source: &[u8], at: usize, sink: &mut impl Sink) -> usize {
    if let Some(end) = end_of_canonical(source, at) {
        sink.put(&source[at..end]);
        return end;
    }
    sink.put(b"\"");
    let length = each_piece(&source[at..], |piece, was_escaped| {
        if was_escaped { write_escaped(piece, sink) } else { sink.put(piece) }
    });
    sink.put(b"\"");
    at + length
}

/// Returns where the literal at `at` ends, if its only escapes are short ones. Then it is canonical. (A short escape
/// of `/` is not.)
pub(super) fn end_of_canonical(source: &[u8], at: usize) -> Option<usize> {
    let mut end = at + 1;
    loop {
        end += plain(&source[end..]);
        if source[end] == b'"' {
            break;
        }
        if matches!(source[end + 1], b'u' | b'/') {
            spent(end - at);
            return None;
        }
        end += 2;
    }
    spent(end - at);
    Some(end + 1)
}

/// Writes a text as a string literal in canonical form.
pub(super) fn write(text: &[u8], sink: &mut impl Sink) {
    sink.put(b"\"");
    write_escaped(text, sink);
    sink.put(b"\"");
}

/// Returns where a literal ends that was scanned before.
pub(super) fn skip(source: &[u8], at: usize) -> usize {
    at + each_piece(&source[at..], |_, _| {})
}

/// Compares two texts by their UTF-16 code units (RFC 8785 §3.2.3). Bytes of UTF-8 sort by code point.
/// The orders differ only for characters above U+FFFF, whose surrogates sort before U+E000 to U+FFFF.
pub(super) fn utf16_order(one: &[u8], other: &[u8]) -> Ordering {
    /// The number of bytes to compare at once, which makes long common prefixes cheap.
    const STRIDE: usize = 32;

    let shorter = one.len().min(other.len());
    let mut at = 0;
    while at + STRIDE <= shorter && one[at..at + STRIDE] == other[at..at + STRIDE] {
        at += STRIDE;
    }
    while at < shorter && one[at] == other[at] {
        at += 1;
    }
    spent(at + 1);
    if at == shorter {
        return one.len().cmp(&other.len());
    }
    // In valid UTF-8, the first bytes that differ are both first bytes of a character, or both later
    // bytes.
    let rank = |byte: u8| {
        if matches!(byte, 0xEE | 0xEF) { byte + 0x10 } else { byte }
    };
    rank(one[at]).cmp(&rank(other[at]))
}

/// Calls `take` for each piece of a literal that starts with its quote. A piece is a run of unescaped
/// text, or one character that was escaped. Returns the length of the literal.
fn each_piece(literal: &[u8], mut take: impl FnMut(&[u8], bool)) -> usize {
    let mut at = 1;
    loop {
        let run = plain(&literal[at..]);
        take(&literal[at..at + run], false);
        at += run;
        if literal[at] == b'"' {
            spent(at);
            return at + 1;
        }
        let (character, next) = unescape(literal, at).expect(SCANNED);
        take(character.encode_utf8(&mut [0; 4]).as_bytes(), true);
        at = next;
    }
}

/// Writes a text with the escapes of RFC 8785 §3.2.2.2: short escapes where they exist, and lower-case hex
/// for other control characters.
fn write_escaped(text: &[u8], sink: &mut impl Sink) {
    let mut rest = text;
    loop {
        let run = plain(rest);
        sink.put(&rest[..run]);
        let Some(&byte) = rest.get(run) else { break };
        match byte {
            b'"' => sink.put(b"\\\""),
            b'\\' => sink.put(b"\\\\"),
            0x08 => sink.put(b"\\b"),
            0x09 => sink.put(b"\\t"),
            0x0A => sink.put(b"\\n"),
            0x0C => sink.put(b"\\f"),
            0x0D => sink.put(b"\\r"),
            _ => {
                let hex = |digit: u8| b"0123456789abcdef"[usize::from(digit)];
                sink.put(&[b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte & 15)]);
            }
        }
        rest = &rest[run + 1..];
    }
    spent(text.len());
}

/// Returns how many bytes at the start of a text need no escape in a literal.
fn plain(text: &[u8]) -> usize {
    // Eight bytes at a time.
    let (words, rest) = text.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let ends = run_ends(u64::from_le_bytes(*word));
        if ends != 0 {
            return 8 * number + ends.trailing_zeros() as usize / 8;
        }
    }
    let is_end = |&byte: &u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    8 * words.len() + rest.iter().position(is_end).unwrap_or(rest.len())
}

/// Returns a word whose lowest set bit is in the first byte that ends a run; 0 if no byte does. The bits
/// above the lowest mean nothing.
fn run_ends(word: u64) -> u64 {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    // A byte below `bound` borrows from its highest bit, which was not set. So may the bytes above it.
    let below = |word: u64, bound: u8| word.wrapping_sub(EACH * u64::from(bound)) & !word;
    let equal = |byte: u8| below(word ^ (EACH * u64::from(byte)), 1);
    (below(word, 0x20) | equal(b'"') | equal(b'\\')) & (EACH << 7)
}

/// Reads the escape that starts with the backslash at `at`. Returns its character and where it ends.
fn unescape(source: &[u8], at: usize) -> Option<(char, usize)> {
    let character = match source.get(at + 1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{C}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unescape_unicode(source, at),
        _ => return None,
    };
    Some((character, at + 2))
}

fn unescape_unicode(source: &[u8], at: usize) -> Option<(char, usize)> {
    let unit = code_unit(source, at)?;
    if !(0xD800..0xDC00).contains(&unit) {
        return Some((char::from_u32(unit)?, at + 6));
    }
    let low = code_unit(source, at + 6).filter(|low| (0xDC00..0xE000).contains(low))?;
    Some((char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00))?, at + 12))
}

/// Reads `\uXXXX` at `at` and returns its UTF-16 code unit.
fn code_unit(source: &[u8], at: usize) -> Option<u32> {
    let digits = source.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, &digit| Some(unit * 16 + char::from(digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(literal: &str) -> Option<String> {
        let source = literal.as_bytes();
        let scanned = scan(source, 0)?;
        assert_eq!(skip(source, 0), scanned.end);
        let mut written = Vec::new();
        assert_eq!(write_literal(source, 0, &mut written), scanned.end);

        let (mut text, mut again) = (Vec::new(), Vec::new());
        decode(source, &mut text);
        write(&text, &mut again);
        assert_eq!(written, again);
        assert!(scanned.has_escapes || text == source[1..scanned.end - 1]);
        (scanned.end == source.len()).then(|| String::from_utf8(written).unwrap())
    }

    #[test]
    fn escaped_and_literal_text_have_one_canonical_form() {
        for (written, literal) in [
            (r#""""#, r#""""#),
            (r#""x/é€😀""#, r#""\u0078\/\u00e9\u20AC\uD83D\ude00""#),
            (r#""\b\t\n\f\r\"\\""#, r#""\u0008\u0009\u000a\u000C\u000d\u0022\u005c""#),
            (
                r#""\u0000\u001f\u007f""#.replace("\\u007f", "\u{7f}").as_str(),
                r#""\u0000\u001F\u007F""#,
            ),
            ("\"\u{2028}\u{FEFF}\u{FFFF}\"", r#""\u2028\ufeff\uffff""#),
        ] {
            assert_eq!(canonical(literal).as_deref(), Some(written));
            assert_eq!(canonical(written).as_deref(), Some(written));
        }
    }

    #[test]
    fn plain_text_ends_at_the_first_quote_backslash_or_control_character() {
        let slow =
            |text: &[u8]| text.iter().position(|byte| matches!(byte, 0..0x20 | b'"' | b'\\'));
        for length in 0..19 {
            for at in 0..length {
                for byte in 0..=255 {
                    for other in [0, 0x1f, 0x20, 0x21, b'"', b'\\', b'a', 0x80, 0xff] {
                        let mut text = vec![b'a'; length];
                        text[at] = byte;
                        if let Some(next) = text.get_mut(at + 1) {
                            *next = other;
                        }
                        assert_eq!(plain(&text), slow(&text).unwrap_or(length), "{text:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn invalid_strings_are_refused() {
        for literal in [
            "\"",
            "\"a",
            "\"\\\"",
            "\"\\",
            "\"\\x41\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\\u+123\"",
            "\"\\U0041\"",
            "\"\n\"",
            "\"\t\"",
            "\"\u{0}\"",
            r#""\ud800""#,
            r#""\udc00""#,
            r#""\ud800\ud800""#,
            r#""\ud800x""#,
            r#""\ud83d\u0041""#,
            r#""\ude00\ud83d""#,
            r#""\ud83d\n""#,
            r#""\ud83d\ude0""#,
            r#""\ud800\ue000""#,
            r#""\ud800\udbff""#,
        ] {
            assert_eq!(canonical(literal), None, "{literal}");
        }
    }

    #[test]
    fn strings_are_ordered_by_their_utf16_code_units() {
        let long = "x".repeat(70);
        let mut texts = [
            "",
            "a",
            "ab",
            "b",
            "z",
            "\u{7f}",
            "\u{80}",
            "é",
            "\u{7ff}",
            "\u{800}",
            "\u{d7ff}",
            "\u{e000}",
            "\u{fb33}",
            "\u{ffff}",
            "😀",
            "😁",
            "\u{10000}",
            "\u{10ffff}",
        ]
        .into_iter()
        .flat_map(|text| {
            [
                String::from(text),
                format!("{long}{text}"),
                format!("{text}{long}"),
                format!("\u{e000}{text}"),
                format!("😀{text}"),
            ]
        })
        .collect::<Vec<_>>();
        texts.sort();
        for one in &texts {
            for other in &texts {
                let expected = one.encode_utf16().cmp(other.encode_utf16());
                assert_eq!(
                    utf16_order(one.as_bytes(), other.as_bytes()),
                    expected,
                    "{one:?} {other:?}"
                );
            }
        }
    }
}
