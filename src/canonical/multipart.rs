//! Multipart bodies (RFC 2046 §5.1): compared part by part, so that the boundary does not matter.
//!
//! Browsers and HTTP clients make up a new boundary each time they serialise a form, so a retry's
//! bytes differ where its content does not. Two bodies have one canonical form if and only if they
//! agree in
//!
//! - the parts, in their order: forms may repeat a name, and servers read the fields in order;
//! - a part's content, byte by byte, whatever its type: JSON within a part is not looked into;
//! - a part's header fields: the names case-free, values as they stand but for spaces around them.
//!   All of them count. Their order does not matter, except among fields of one name;
//! - preamble and epilogue. RFC 2046 has a reader ignore them, but not every reader does.
//!
//! Of the `Content-Type`, other parameters than the boundary (`charset`, `start`) are left out, as
//! with any type.
//!
//! # What has no form
//!
//! These are compared by their raw bytes, since one reader may see other parts in them than another
//! does:
//!
//! - no boundary, two of them, or one that RFC 2046 §5.1.1 does not allow (1 to 70 characters of a
//!   small set);
//! - no closing delimiter;
//! - a line that begins like a delimiter and goes on with other things, such as a boundary that
//!   continues;
//! - a part without the blank line that ends its header fields, or with more than [`MAX_FIELDS`] of
//!   them;
//! - a header field without a name, with a space before the colon, folded, or with a bare CR, LF or
//!   NUL in it.
//!
//! Lines end in CRLF: content that holds the boundary after a bare LF, or within a line, is
//! content.
//!
//! Time grows with the length of the body, and memory does not.

use core::ops::Range;

use super::media_type::{MediaType, is_token};
use super::sink::Sink;
use super::work::spent;

/// How many header fields a part may have. Parts of forms have three at most (RFC 7578 §4.8).
pub const MAX_FIELDS: usize = 16;

/// The canonical form of a multipart body, or `None` if it [has none](self#what-has-no-form), or if
/// its type is not `multipart/*`. The form is made for hashing: lengths and bytes.
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
        .then(|| Message::parse(&media_type, body))??
        .write(|_| false, &mut form);
    Some(form)
}

/// A multipart body that has a canonical form.
pub(crate) struct Message<'a> {
    preamble: &'a [u8],
    parts: Parts<'a>,
}

impl<'a> Message<'a> {
    pub(crate) fn parse(media_type: &MediaType<'a>, body: &'a [u8]) -> Option<Self> {
        let boundary = media_type.boundary()?.as_bytes();
        let first = Delimiter::first(body, boundary)?;
        let message =
            Self { preamble: &body[..first.start], parts: Parts { body, boundary, last: first } };

        // Read once to see that all of it can be read: so nothing has to be kept of it.
        let mut parts = message.parts;
        while !parts.last.closes {
            parts.next()?;
        }
        Some(message)
    }

    /// Writes the form without the parts that are left out. Returns whether there were any.
    pub(crate) fn write(
        &self,
        is_left_out: impl Fn(&Part<'_>) -> bool,
        sink: &mut impl Sink,
    ) -> bool {
        sink.put_sized(self.preamble);
        let mut is_whole = true;
        let mut parts = self.parts;
        while let Some(part) = parts.next() {
            if is_left_out(&part) {
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

    /// The parts, each with the bytes that it takes up: the line of the delimiter before it, and
    /// all up to the next delimiter's line. Without them the body says the same, less this part.
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
    /// The delimiter that was met last.
    last: Delimiter,
}

impl<'a> Parts<'a> {
    /// The next part; `None` after the closing delimiter, and where the body cannot be read.
    fn next(&mut self) -> Option<Part<'a>> {
        if self.last.closes {
            return None;
        }
        // From the CRLF of the last delimiter's own line: a delimiter on the very next line is one
        // too. It leaves no room for a part.
        let next = Delimiter::after(self.body, self.boundary, self.last.end - 2)?;
        let part = Part::parse(self.body.get(self.last.end..next.start)?)?;
        self.last = next;
        Some(part)
    }

    fn rest(&self) -> &'a [u8] {
        &self.body[self.last.end..]
    }
}

/// A line that parts are divided by.
#[derive(Clone, Copy)]
struct Delimiter {
    /// The line break before the line belongs to it (RFC 2046 §5.1.1), if there is one.
    start: usize,
    /// After that line break.
    line: usize,
    /// After its own line break.
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

    /// The first delimiter whose line break is at `at` or later; `None` also if a line only begins
    /// like one.
    fn after(body: &[u8], boundary: &[u8], mut at: usize) -> Option<Self> {
        loop {
            // A boundary holds no CR, so a line that began like one and was none need not be looked
            // at again.
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

    /// Reads the line at `line`, which begins like a delimiter.
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

/// A part, taken apart.
pub(crate) struct Part<'a> {
    fields: [Field<'a>; MAX_FIELDS],
    count: usize,
    content: &'a [u8],
}

#[derive(Clone, Copy, Default)]
struct Field<'a> {
    name: &'a [u8],
    value: &'a [u8],
}

impl<'a> Part<'a> {
    fn parse(part: &'a [u8]) -> Option<Self> {
        let mut fields = [Field::default(); MAX_FIELDS];
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
            let field = Field::parse(line)?;
            if count == MAX_FIELDS {
                return None;
            }
            // Sorted by name; fields of one name keep their order.
            let comes_later = |other: &Field<'_>| other.lower_name().gt(field.lower_name());
            let place = fields[..count].iter().position(comes_later).unwrap_or(count);
            fields.copy_within(place..count, place + 1);
            fields[place] = field;
            count += 1;
        }
        Some(Self { fields, count, content: rest })
    }

    /// The values of the header fields of this name, which is in lower case.
    pub(crate) fn values(&self, name: &'static str) -> impl Iterator<Item = &'a [u8]> {
        let named = self.fields[..self.count].iter();
        named
            .filter(|field| field.name.eq_ignore_ascii_case(name.as_bytes()))
            .map(|field| field.value)
    }

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

impl<'a> Field<'a> {
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

/// Without spaces and tabs around it.
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
    fn hostile_bodies_cost_their_length() {
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
