//! Multipart bodies (RFC 2046 §5.1), compared part by part, so that the boundary does not matter.
//!
//! Browsers and HTTP clients choose a new boundary each time they send a form, so the bytes of a retry
//! differ although the content is the same. Two bodies have the same canonical form if and only if all
//! of these are equal:
//!
//! - the parts, in their order: forms may repeat a name, and servers read the fields in order;
//! - the content of each part, byte by byte. Content of any type is compared this way, JSON too;
//! - the header fields of each part: names without case, and values without white space around them.
//!   The order matters only among fields of the same name;
//! - the preamble and the epilogue. RFC 2046 says that readers ignore them, but not all readers do.
//!
//! Parameters of `Content-Type` other than the boundary (`charset`, `start`) are ignored, as for all
//! types.
//!
//! # What has no form
//!
//! These bodies are compared by their raw bytes, because readers may split them into different parts:
//!
//! - a body without a boundary, with two, or with one that RFC 2046 §5.1.1 does not allow (1 to 70
//!   characters of a small set);
//! - a body without a closing delimiter;
//! - a line that starts with a delimiter and then continues, as with a longer boundary;
//! - a part without the blank line after its header fields, or with more than [`MAX_FIELDS`] of them;
//! - a header field without a name, with a space before the colon, folded, or with a bare CR, LF or NUL.
//!
//! Lines end in CRLF. A boundary after a bare LF or within a line is part of the content.
//!
//! Time is linear in the length of the body, and memory is constant.

use core::ops::Range;

use super::media_type::{MediaType, is_token};
use super::sink::Sink;
use super::work::spent;

/// The maximum number of header fields of a part. A part of a form has at most three (RFC 7578 §4.8).
pub const MAX_FIELDS: usize = 16;

/// Returns the canonical form of a multipart body. Returns `None` if the body [has no
/// form](self#what-has-no-form) or its type is not `multipart/*`. The form is binary, with lengths before
/// the values, and is meant for hashing.
///
/// ```
/// use oncekey::canonical::multipart::canonicalize;
///
/// let form = |boundary: &str| {
///     let part = "Content-Disposition: form-data; name=\"n\"\r\n\r\n10";
///     let body = format!("--{boundary}\r\n{part}\r\n--{boundary}--\r\n");
///     canonicalize(&format!("multipart/form-data; boundary={boundary}"), body.as_bytes())
/// };
/// assert!(form("AaB03x").is_some());
/// assert_eq!(form("AaB03x"), form("----Web9"));
/// ```
pub fn canonicalize(content_type: &str, body: &[u8]) -> Option<Vec<u8>> {
    let media_type = MediaType::parse(Some(content_type));
    let mut form = Vec::new();
    media_type
        .is_multipart()
        .then(|| MultipartBody::parse(&media_type, body))??
        .write(|_| false, &mut form);
    Some(form)
}

/// A multipart body that has a canonical form.
pub(crate) struct MultipartBody<'a> {
    preamble: &'a [u8],
    parts: Parts<'a>,
}

impl<'a> MultipartBody<'a> {
    /// Parses a body. Returns `None` if it [has no form](self#what-has-no-form).
    pub(crate) fn parse(media_type: &MediaType<'a>, body: &'a [u8]) -> Option<Self> {
        let boundary = media_type.boundary()?.as_bytes();
        let first = Delimiter::first(body, boundary)?;
        let multipart =
            Self { preamble: &body[..first.start], parts: Parts { body, boundary, last: first } };

        // Reads all parts once to check them. They are read again when they are needed, and not stored.
        let mut parts = multipart.parts;
        while !parts.last.closes {
            parts.next()?;
        }
        Some(multipart)
    }

    /// Writes the form without the ignored parts. Returns whether any part was ignored.
    pub(crate) fn write(
        &self,
        is_ignored: impl Fn(&Part<'_>) -> bool,
        sink: &mut impl Sink,
    ) -> bool {
        sink.put_sized(self.preamble);
        let mut is_whole = true;
        let mut parts = self.parts;
        while let Some(part) = parts.next() {
            if is_ignored(&part) {
                is_whole = false;
                continue;
            }
            sink.put(b"\x01");
            part.write(sink);
        }
        sink.put(b"\x00");
        sink.put_sized(parts.rest());
        !is_whole
    }

    /// Returns the parts, each with its range in the body. The range starts with the line of the
    /// delimiter before the part and ends before the line of the next one. Removing that range removes
    /// exactly this part.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (Range<usize>, Part<'a>)> {
        let mut parts = self.parts;
        core::iter::from_fn(move || {
            let start = parts.last.line;
            let part = parts.next()?;
            Some((start..parts.last.line, part))
        })
    }
}

#[derive(Clone, Copy)]
struct Parts<'a> {
    body: &'a [u8],
    boundary: &'a [u8],
    /// The delimiter that was read last.
    last: Delimiter,
}

impl<'a> Parts<'a> {
    /// Reads the next part. Returns `None` after the closing delimiter, or if the body cannot be parsed.
    fn next(&mut self) -> Option<Part<'a>> {
        if self.last.closes {
            return None;
        }
        // Starts at the CRLF of the last delimiter's line, so that a delimiter on the very next line
        // is found. There is no room for a part between the two, so the body cannot be parsed.
        let next = Delimiter::after(self.body, self.boundary, self.last.end - 2)?;
        let part = Part::parse(self.body.get(self.last.end..next.start)?)?;
        self.last = next;
        Some(part)
    }

    fn rest(&self) -> &'a [u8] {
        &self.body[self.last.end..]
    }
}

/// The position of a delimiter line between parts.
#[derive(Clone, Copy)]
struct Delimiter {
    /// Where the delimiter starts. The line break before its line belongs to it, if there is one (RFC
    /// 2046 §5.1.1).
    start: usize,
    /// Where its line starts, after that line break.
    line: usize,
    /// Where its line ends, after its own line break.
    end: usize,
    closes: bool,
}

impl Delimiter {
    fn first(body: &[u8], boundary: &[u8]) -> Option<Self> {
        if begins_line(body, boundary) {
            Self::read(body, boundary, 0, 0)
        } else {
            Self::after(body, boundary, 0)
        }
    }

    /// Finds the first delimiter whose line break is at `at` or later. Returns `None` if there is none, or
    /// if a line starts like a delimiter but is not one.
    fn after(body: &[u8], boundary: &[u8], mut at: usize) -> Option<Self> {
        loop {
            // A boundary contains no CR, so bytes before the next CR need not be checked again.
            let rest = &body[at..];
            let skipped = rest.iter().position(|&byte| byte == b'\r');
            spent(skipped.unwrap_or(rest.len()) + 1);
            at += skipped?;
            if body[at + 1..].strip_prefix(b"\n").is_some_and(|line| begins_line(line, boundary)) {
                return Self::read(body, boundary, at, at + 2);
            }
            at += 1;
        }
    }

    /// Reads the line at `line`, which starts with two hyphens and the boundary.
    fn read(body: &[u8], boundary: &[u8], start: usize, line: usize) -> Option<Self> {
        let mut end = line + 2 + boundary.len();
        let closes = body[end..].starts_with(b"--");
        if closes {
            end += 2;
        }
        end += body[end..]
            .iter()
            .position(|byte| !matches!(byte, b' ' | b'\t'))
            .unwrap_or(body.len() - end);
        if body[end..].starts_with(b"\r\n") {
            end += 2;
        } else if !(closes && end == body.len()) {
            return None;
        }
        spent(end - line);
        Some(Self { start, line, end, closes })
    }
}

fn begins_line(line: &[u8], boundary: &[u8]) -> bool {
    line.strip_prefix(b"--").is_some_and(|line| line.starts_with(boundary))
}

/// A parsed part.
pub(crate) struct Part<'a> {
    /// The header fields, sorted by name. Only the first `count` are used.
    fields: [HeaderField<'a>; MAX_FIELDS],
    count: usize,
    content: &'a [u8],
}

#[derive(Clone, Copy, Default)]
struct HeaderField<'a> {
    name: &'a [u8],
    value: &'a [u8],
}

impl<'a> Part<'a> {
    fn parse(part: &'a [u8]) -> Option<Self> {
        let mut fields = [HeaderField::default(); MAX_FIELDS];
        let mut count = 0;
        let mut rest = part;
        loop {
            let end = rest.iter().position(|&byte| byte == b'\r')?;
            spent(end);
            let line = &rest[..end];
            rest = rest[end..].strip_prefix(b"\r\n")?;
            if line.is_empty() {
                break;
            }
            let field = HeaderField::parse(line)?;
            if count == MAX_FIELDS {
                return None;
            }
            // Inserted in the order of names. Fields of the same name keep their order.
            let comes_later = |other: &HeaderField<'_>| other.lower_name().gt(field.lower_name());
            let place = fields[..count].iter().position(comes_later).unwrap_or(count);
            fields.copy_within(place..count, place + 1);
            fields[place] = field;
            count += 1;
        }
        Some(Self { fields, count, content: rest })
    }

    /// Returns the values of the header fields with this name, which must be in lower case.
    pub(crate) fn values(&self, name: &'static str) -> impl Iterator<Item = &'a [u8]> {
        let named = self.fields[..self.count].iter();
        named
            .filter(|field| field.name.eq_ignore_ascii_case(name.as_bytes()))
            .map(|field| field.value)
    }

    /// Returns the content, which is everything after the blank line.
    pub(crate) fn content(&self) -> &'a [u8] {
        self.content
    }

    fn write(&self, sink: &mut impl Sink) {
        sink.put_count(self.count);
        for field in &self.fields[..self.count] {
            sink.put_count(field.name.len());
            for byte in field.lower_name() {
                sink.put(&[byte]);
            }
            sink.put_sized(field.value);
        }
        sink.put_sized(self.content);
    }
}

impl<'a> HeaderField<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        let is_plain = is_token(name) && !value.iter().any(|byte| matches!(byte, 0 | b'\n'));
        is_plain.then(|| Self { name, value: trim(value) })
    }

    fn lower_name(&self) -> impl Iterator<Item = u8> {
        spent(self.name.len());
        self.name.iter().map(u8::to_ascii_lowercase)
    }
}

/// Returns a value without spaces and tabs around it.
pub(crate) fn trim(value: &[u8]) -> &[u8] {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = value.iter().position(|byte| !is_space(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !is_space(byte)).map_or(start, |last| last + 1);
    &value[start..end]
}

#[cfg(test)]
mod tests {
    use super::super::work::measure;
    use super::*;

    const SIZE: usize = 1 << 18;

    #[test]
    fn hostile_bodies_are_read_in_linear_time() {
        for (text, has_form) in [
            (format!("--B\r\n\r\n{}\r\n--B--", "x".repeat(SIZE)), true),
            (format!("--B\r\n\r\n{}\r\n--B--", "\r".repeat(SIZE)), true),
            (format!("--B\r\n\r\n{}\r\n--B--", "\r\n--A".repeat(SIZE / 5)), true),
            (format!("{}--B--", "--B\r\n\r\n\r\n".repeat(SIZE / 9)), true),
            (format!("{}--B--", "--B\r\na:b\r\n\r\n\r\n".repeat(SIZE / 14)), true),
            (format!("--B{}\r\n--B--", " ".repeat(SIZE)), false),
            (format!("{}--B--", "x\r\n".repeat(SIZE / 3)), true),
            (format!("--B\r\n{}:\r\n\r\n\r\n--B--", "x".repeat(SIZE)), true),
            (format!("--B\r\n{}", "a:b\r\n".repeat(SIZE / 5)), false),
            (format!("--B\r\n\r\n{}", "\r\n--BB".repeat(SIZE / 6)), false),
            ("--B\r\n\r\n\r\n".repeat(SIZE / 9), false),
        ] {
            let (form, spent) =
                measure(|| canonicalize("multipart/x; boundary=B", text.as_bytes()));
            assert_eq!(form.is_some(), has_form, "{}", &text[..20]);
            assert!(spent <= 8 * text.len(), "{}: {}", &text[..20], spent / text.len());
        }
    }
}
